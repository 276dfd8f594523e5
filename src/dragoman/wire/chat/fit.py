"""One written chat message made fit for a server that deviates: names, content form, reasoning, call ids."""

from __future__ import annotations

from typing import Any

from dragoman.dialect.model import Dialect
from dragoman.types.note import Path
from dragoman.types.opaque import Bag
from dragoman.wire.base import Notes
from dragoman.wire.ids import IdFitter


class MessageFitter:
    """Changes each written message as the dialect asks, in place; the base asks for nothing.

    One instance per request, since a replaced call id must be the same in call and result.
    """

    def __init__(self, dialect: Dialect, notes: Notes) -> None:
        self._dialect = dialect
        self._notes = notes
        self._ids = IdFitter(dialect.call_id_pattern, dialect.call_id_length) if dialect.call_id_pattern else None

    @property
    def idle(self) -> bool:
        """Whether the dialect asks nothing of a message without a name."""
        dialect = self._dialect
        fills = dialect.reasoning_out is not None and dialect.reasoning_filler is not None
        return self._ids is None and not dialect.text_only and not fills

    def fit(self, out: Bag, path: Path) -> Bag:
        """The message, fit to be sent."""
        dialect, role = self._dialect, str(out.get("role"))
        if "name" in out and role != "function" and role not in dialect.names_on:
            self._notes.add((*path, "name"), "dropped", f"this server takes no name on a {role} message")
            del out["name"]
        if dialect.text_only:
            self._flatten(out, path)
        self._fill_reasoning(out, path)
        if self._ids is not None:
            self._fit_ids(out, path, self._ids)
        return out

    def _fill_reasoning(self, out: Bag, path: Path) -> None:
        key, filler = self._dialect.reasoning_out, self._dialect.reasoning_filler
        if key is not None and filler is not None and out.get("tool_calls") and key not in out:
            out[key] = filler
            self._notes.add(path, "synthesised", "this server wants reasoning beside every call", loss=False)

    def _flatten(self, out: Bag, path: Path) -> None:
        parts = out.get("content")
        if isinstance(parts, list) and parts and all(_is_text(part) for part in parts):
            out["content"] = "\n".join(part["text"] for part in parts)
            if len(parts) > 1:
                self._notes.add((*path, "content"), "merged", "this server takes text as one string", loss=False)

    def _fit_ids(self, out: Bag, path: Path, ids: IdFitter) -> None:
        for holder, key in ((out, "tool_call_id"), *((call, "id") for call in out.get("tool_calls") or ())):
            said = holder.get(key)
            if isinstance(said, str) and (fitted := ids(said)) != said:
                holder[key] = fitted
                self._notes.add(path, "renamed", "a tool call id of a form this server refuses", loss=False)


def _is_text(part: Any) -> bool:
    return isinstance(part, dict) and part.get("type") == "text" and set(part) == {"type", "text"}
