"""A chat body made fit for a server that deviates: each step is one fact of the dialect, and notes what it changed."""

from __future__ import annotations

from typing import Any

from dragoman.dialect.model import Dialect
from dragoman.types.note import Path
from dragoman.types.opaque import Bag, marks
from dragoman.types.request import Request
from dragoman.wire.bare import Keys, strip
from dragoman.wire.base import Notes
from dragoman.wire.chat.parts import WIRE
from dragoman.wire.choices import taken_choice
from dragoman.wire.params import drop_refused

# Body key → place in the middle format, for the keys whose names differ.
PLACES: dict[str, Path] = {
    "parallel_tool_calls": ("parallel_tools",),
    "service_tier": ("tier",),
    "prompt_cache_key": ("cache_key",),
    "reasoning_effort": ("effort",),
    "max_tokens": ("max_output",),
    "max_completion_tokens": ("max_output",),
    "response_format": ("output",),
}
OFF = "none"  # the effort that turns thinking off
IN_SAMPLING = ("temperature", "top_p", "top_k", "seed", "presence_penalty", "frequency_penalty")

KEYS = Keys(
    frozenset({"index", "parsed", "parsed_arguments"}), null_speaks=frozenset({"content"})
)  # what clients dump of a reply


def adapt(out: Bag, request: Request, dialect: Dialect, notes: Notes) -> None:
    """Change `out` in place as the dialect asks; the base asks for nothing."""
    _limit(out, dialect, notes)
    thinks = out.get("reasoning_effort") not in (None, OFF)
    _effort(out, request, dialect, notes)
    _choice(out, request, dialect, notes)
    _output(out, dialect, notes)
    _tools(out, dialect)
    if dialect.seed_key != "seed" and "seed" in out:
        out[dialect.seed_key] = out.pop("seed")
    if dialect.usage_in_stream == "never":
        out.pop("stream_options", None)
    drop_refused(out, dialect.unsupported, place, notes)
    if thinks:
        drop_refused(out, dialect.unsupported_thinking, place, notes)
    if not dialect.nulls:
        strip(out, KEYS, notes)


def place(key: str) -> Path:
    """Where a body key's value stands in the middle format."""
    return PLACES.get(key, ("sampling", key) if key in IN_SAMPLING else (key,))


def _limit(out: Bag, dialect: Dialect, notes: Notes) -> None:
    temperature, most = out.get("temperature"), dialect.temperature_max
    if most is not None and isinstance(temperature, int | float) and temperature > most:
        out["temperature"] = most
        notes.add(place("temperature"), "clamped", f"this server takes at most {most}")
    stop = out.get("stop")
    if dialect.max_stop is not None and isinstance(stop, list) and len(stop) > dialect.max_stop:
        out["stop"] = stop[: dialect.max_stop]
        notes.add(("stop",), "clamped", f"this server takes at most {dialect.max_stop} stop sequences")


def _effort(out: Bag, request: Request, dialect: Dialect, notes: Notes) -> None:
    said = out.get("reasoning_effort")
    if isinstance(said, str) and said in dialect.effort_map:
        out["reasoning_effort"] = dialect.effort_map[said]
        notes.add(("effort",), "substituted", f"this server calls {said!r} {dialect.effort_map[said]!r}", loss=False)
    if dialect.effort_in == "reasoning_effort" or marks(request.opaque, WIRE).get("effort") == "reasoning":
        return
    effort = out.pop("reasoning_effort", None)
    if effort is None and request.budget is None:
        return
    wanted = effort != OFF
    match dialect.effort_in:
        case "reasoning":
            values = {"effort": effort, "max_tokens": request.budget}
            out["reasoning"] = {key: value for key, value in values.items() if value is not None}
            return
        case "thinking":
            out["thinking"] = {"type": "enabled" if wanted else "disabled"}
        case "enable_thinking":
            out["enable_thinking"] = wanted
            if request.budget is not None:
                out["thinking_budget"] = request.budget
        case "chat_template_kwargs":
            said = out.get("chat_template_kwargs")
            out["chat_template_kwargs"] = {**(said if isinstance(said, dict) else {}), "enable_thinking": wanted}
        case _:
            notes.add(("effort",), "dropped", "this server has no switch for reasoning")
            return
    if wanted and effort is not None:
        notes.add(("effort",), "substituted", "this server can only switch thinking on or off")


def _choice(out: Bag, request: Request, dialect: Dialect, notes: Notes) -> None:
    """An intent the server does not take becomes the nearest one it does; the tools stay as they are."""
    choice = out.get("tool_choice")
    if choice is None:
        return
    intent = _intent(choice)
    nearest = taken_choice(intent, dialect, notes)
    if nearest is None:
        del out["tool_choice"]
        return
    if nearest != intent:
        out["tool_choice"] = nearest
    if out["tool_choice"] == "required":
        out["tool_choice"] = dialect.required_word


def _output(out: Bag, dialect: Dialect, notes: Notes) -> None:
    form: Any = out.get("response_format")
    kind = form.get("type") if isinstance(form, dict) else None
    if kind == "json_schema" and "schema" not in dialect.json_modes:
        if "json" in dialect.json_modes:
            out["response_format"] = {"type": "json_object"}
            notes.add(
                ("output", "schema"), "dropped", "this server knows plain JSON output only: say the schema yourself"
            )
            return
        kind = "json_object"
    if kind == "json_object" and "json" not in dialect.json_modes:
        del out["response_format"]
        notes.add(("output",), "dropped", "this server knows no JSON output")


def _tools(out: Bag, dialect: Dialect) -> None:
    tools = out.get("tools")
    if not isinstance(tools, list):
        return
    if dialect.strict_tools == "omit":
        out["tools"] = [_without_strict(tool) for tool in tools]
    if dialect.tool_stream and out.get("stream"):
        out.setdefault("tool_stream", True)


def _without_strict(tool: Any) -> Any:
    inner = tool.get("function") if isinstance(tool, dict) else None
    if not isinstance(inner, dict) or "strict" not in inner:
        return tool
    return {**tool, "function": {key: value for key, value in inner.items() if key != "strict"}}


def _intent(choice: Any) -> str:
    """The word for a written choice; a value of no known form is nobody's intent and goes on as it is."""
    if isinstance(choice, dict):
        return "allowed" if choice.get("type") == "allowed_tools" else "named"
    return choice if isinstance(choice, str) else ""
