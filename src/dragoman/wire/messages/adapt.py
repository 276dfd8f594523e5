"""A messages body made fit for a server that deviates: each step is one fact of the dialect, and notes what it changed."""

from __future__ import annotations

from dragoman.dialect.model import Dialect
from dragoman.types.note import Path
from dragoman.types.opaque import Bag
from dragoman.wire.bare import Keys, strip
from dragoman.wire.base import Notes
from dragoman.wire.choices import taken_choice
from dragoman.wire.messages.tools import MODES, WORDS
from dragoman.wire.params import drop_refused

# Body key → place in the middle format, for the keys whose names differ.
PLACES: dict[str, Path] = {
    "max_tokens": ("max_output",),
    "stop_sequences": ("stop",),
    "service_tier": ("tier",),
    "metadata": ("user",),
    "cache_control": ("cache",),
    "thinking": ("budget",),
    "output_config": ("output",),
    "temperature": ("sampling", "temperature"),
    "top_p": ("sampling", "top_p"),
    "top_k": ("sampling", "top_k"),
}

# What a written choice intends: `tool` names one, where `required` means any.
INTENTS = {**MODES, "tool": "named"}

KEYS = Keys(frozenset({"parsed_output"}))  # what clients dump of a reply


def adapt(out: Bag, dialect: Dialect, notes: Notes) -> None:
    """Change `out` in place as the dialect asks; the base asks for nothing."""
    temperature, most = out.get("temperature"), dialect.temperature_max
    if most is not None and isinstance(temperature, int | float) and temperature > most:
        out["temperature"] = most
        notes.add(PLACES["temperature"], "clamped", f"this server takes at most {most}")
    stop = out.get("stop_sequences")
    if dialect.max_stop is not None and isinstance(stop, list) and len(stop) > dialect.max_stop:
        out["stop_sequences"] = stop[: dialect.max_stop]
        notes.add(("stop",), "clamped", f"this server takes at most {dialect.max_stop} stop sequences")
    if dialect.strict_tools == "omit" and isinstance(out.get("tools"), list):
        out["tools"] = [{key: value for key, value in tool.items() if key != "strict"} for tool in out["tools"]]
    if "tool_choice" in out:
        _choice(out, dialect, notes)
    _thinking(out, dialect, notes)
    thinking = out.get("thinking")
    drop_refused(out, dialect.unsupported, _place, notes)
    if isinstance(thinking, dict) and thinking.get("type") not in (None, "disabled"):
        drop_refused(out, dialect.unsupported_thinking, _place, notes)
    if not dialect.nulls:
        strip(out, KEYS, notes)


def _place(key: str) -> Path:
    return PLACES.get(key, (key,))


def _choice(out: Bag, dialect: Dialect, notes: Notes) -> None:
    """An intent the server does not take becomes the nearest one it does; the tools stay as they are. Whether calls may run
    in parallel is said within the choice, and stays where the choice stays and could call at all."""
    choice = out["tool_choice"]
    if not isinstance(choice, dict):
        return
    intent = INTENTS.get(str(choice.get("type")), "")
    nearest = taken_choice(intent, dialect, notes)
    if nearest == intent:
        return
    if nearest is not None:
        out["tool_choice"] = {**choice, "type": WORDS[nearest]}
        out["tool_choice"].pop("name", None)
        return
    del out["tool_choice"]
    if "disable_parallel_tool_use" in choice:
        notes.add(
            ("parallel_tools",), "dropped", "this wire says it beside a choice, and this server takes none that is near"
        )


def _thinking(out: Bag, dialect: Dialect, notes: Notes) -> None:
    """A budget becomes thinking that finds its own measure, for models that take no budget."""
    thinking = out.get("thinking")
    if dialect.thinking_form == "adaptive" and isinstance(thinking, dict) and thinking.get("type") == "enabled":
        rest = {key: value for key, value in thinking.items() if key not in ("type", "budget_tokens")}
        out["thinking"] = {"type": "adaptive", **rest}
        notes.add(PLACES["thinking"], "substituted", "this model takes no budget: its thinking is adaptive")
