"""A messages body made fit for a server that deviates: each step is one fact of the dialect, and notes what it changed."""

from __future__ import annotations

from dragoman.dialect.model import Dialect
from dragoman.types.note import Path
from dragoman.types.opaque import Bag
from dragoman.wire.base import Notes

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
    for key in dialect.unsupported:
        if out.get(key) is not None:
            notes.add(PLACES.get(key, (key,)), "dropped", f"this server refuses `{key}`")
        out.pop(key, None)
