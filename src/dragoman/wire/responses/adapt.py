"""A Responses body made fit for a server that deviates: each step is one fact of the dialect, and notes what it changed."""

from __future__ import annotations

from typing import Any

from dragoman.dialect.model import Dialect
from dragoman.types.note import Path
from dragoman.types.opaque import Bag
from dragoman.wire.bare import Keys, strip
from dragoman.wire.base import Notes
from dragoman.wire.choices import taken_choice
from dragoman.wire.ids import IdFitter
from dragoman.wire.params import drop_refused

OFF = "none"  # the effort that turns thinking off

# Body key → place in the middle format, for the keys whose names differ.
PLACES: dict[str, Path] = {
    "temperature": ("sampling", "temperature"),
    "top_p": ("sampling", "top_p"),
    "max_output_tokens": ("max_output",),
    "parallel_tool_calls": ("parallel_tools",),
    "service_tier": ("tier",),
    "prompt_cache_key": ("cache_key",),
    "previous_response_id": ("state", "previous_id"),
    "conversation": ("state", "conversation"),
    "reasoning": ("effort",),
    "text": ("output",),
}

KEYS = Keys(
    frozenset({"parsed", "parsed_arguments"}), null_speaks=frozenset({"parameters", "strict"})
)  # what clients dump of a reply


def adapt(out: Bag, dialect: Dialect, notes: Notes) -> None:
    """Change `out` in place as the dialect asks; the base asks for nothing."""
    temperature, most = out.get("temperature"), dialect.temperature_max
    if most is not None and isinstance(temperature, int | float) and temperature > most:
        out["temperature"] = most
        notes.add(PLACES["temperature"], "clamped", f"this server takes at most {most}")
    reasoning = out.get("reasoning")
    thinks = isinstance(reasoning, dict) and reasoning.get("effort") not in (None, OFF)
    _effort(out, dialect, notes)
    _choice(out, dialect, notes)
    _output(out, dialect, notes)
    if dialect.strict_tools == "omit" and isinstance(out.get("tools"), list):
        out["tools"] = [{key: value for key, value in tool.items() if key != "strict"} for tool in out["tools"]]
    if dialect.call_id_pattern is not None and isinstance(out.get("input"), list):
        _call_ids(out["input"], IdFitter(dialect.call_id_pattern, dialect.call_id_length), notes)
    drop_refused(out, dialect.unsupported, _place, notes)
    if thinks:
        drop_refused(out, dialect.unsupported_thinking, _place, notes)
    if not dialect.nulls:
        strip(out, KEYS, notes)


def _place(key: str) -> Path:
    return PLACES.get(key, (key,))


def _effort(out: Bag, dialect: Dialect, notes: Notes) -> None:
    reasoning = out.get("reasoning")
    said = reasoning.get("effort") if isinstance(reasoning, dict) else None
    if not isinstance(said, str):
        return
    if dialect.effort_in == "none":
        notes.add(("effort",), "dropped", "this server has no switch for reasoning")
        left = {key: value for key, value in out.pop("reasoning").items() if key != "effort"}
        if left:
            out["reasoning"] = left
    elif said in dialect.effort_map:
        out["reasoning"] = {**out["reasoning"], "effort": dialect.effort_map[said]}
        notes.add(("effort",), "substituted", f"this server calls {said!r} {dialect.effort_map[said]!r}", loss=False)


def _choice(out: Bag, dialect: Dialect, notes: Notes) -> None:
    """An intent the server does not take becomes the nearest one it does; the tools stay as they are."""
    choice: Any = out.get("tool_choice")
    intent = choice
    if isinstance(choice, dict):
        intent = {"allowed_tools": "allowed", "function": "named", "custom": "named"}.get(str(choice.get("type")))
    if not isinstance(intent, str):
        return
    nearest = taken_choice(intent, dialect, notes)
    if nearest is None:
        del out["tool_choice"]
    elif nearest != intent:
        out["tool_choice"] = nearest


def _output(out: Bag, dialect: Dialect, notes: Notes) -> None:
    text: Any = out.get("text")
    form = text.get("format") if isinstance(text, dict) else None
    kind = form.get("type") if isinstance(form, dict) else None
    mode = {"json_schema": "schema", "json_object": "json"}.get(str(kind))
    if mode is None or mode in dialect.json_modes:
        return
    if mode == "schema" and "json" in dialect.json_modes:
        out["text"] = {**text, "format": {"type": "json_object"}}
        reason = "this server knows plain JSON output only: say the schema yourself"
        notes.add(("output", "schema"), "dropped", reason)
        return
    notes.add(("output",), "dropped", "this server knows no JSON output")
    left = {key: value for key, value in text.items() if key != "format"}
    out["text"] = left
    if not left:
        del out["text"]


def _call_ids(items: list[Any], ids: IdFitter, notes: Notes) -> None:
    for item in items:
        said = item.get("call_id") if isinstance(item, dict) else None
        if isinstance(said, str) and (fitted := ids(said)) != said:
            item["call_id"] = fitted
            notes.add(("messages",), "renamed", "a tool call id of a form this server refuses", loss=False)
