"""Blocks made sayable: texts that say nothing left out, arguments wrapped, broken Unicode mended."""

from __future__ import annotations

from typing import Any

import msgspec

from dragoman.history.content import (
    REFUSES_BLANK,
    WRAPPED,
    ends_blank,
    holds_broken,
    is_broken,
    is_empty_reasoning,
    is_invalid,
    says_nothing,
)
from dragoman.history.draft import Draft, Placed, Turn
from dragoman.history.view import INSTRUCTIONS, is_blank
from dragoman.types.content import Reasoning, Text, ToolCall, ToolResult
from dragoman.types.note import Path
from dragoman.wire import jsonio
from dragoman.wire.tree import rewritten

TELLS = ("user", "tool")  # whose words make a user's turn on the wire


def mend_unicode(draft: Draft) -> None:
    """Two halves of a pair become their character, a lone half U+FFFD (REQ-019)."""
    for turn in draft.turns:
        for at, block in enumerate(turn.content):
            if holds_broken(block):
                turn.content[at] = _mended(block)
                draft.notes.add(turn.paths[at], "substituted", "lone surrogates became U+FFFD")


def mend_blanks(draft: Draft) -> None:
    """Leave out what says nothing where it is refused (S3-24), and then the messages that say nothing.

    A user's turn is never left out whole: an assistant would answer itself. It gets the placeholder (REQ-004, C-05).
    """
    strict = draft.wire in REFUSES_BLANK
    kept: list[Turn] = []
    emptied: set[int] = set()
    for turn in draft.turns:
        if strict:
            turn.blocks = [
                placed for placed in map(_without_blanks(draft), turn.blocks) if not _is_left_out(draft, placed)
            ]
        if turn.role == "assistant" and draft.wire in ("chat", "messages") and says_nothing(turn.done(), draft.wire):
            draft.notes.add(turn.path, "dropped", "an assistant message that says nothing", loss=False)
            continue
        if strict and not turn.content and turn.role != "assistant":
            emptied.add(id(turn))
        kept.append(turn)
    draft.turns = _filled(draft, kept, emptied)


def mend_end(draft: Draft) -> None:
    """The end of a last assistant text without its white space."""
    last = draft.turns[-1] if draft.turns else None
    if draft.wire not in REFUSES_BLANK or last is None or last.role != "assistant":
        return
    text = ends_blank(last.content)
    if text is not None:
        reason = "this wire refuses white space at the end of the last text"
        draft.notes.add(last.paths[-1], "substituted", reason, loss=False)
        last.content[-1] = msgspec.structs.replace(text, text=text.text.rstrip())


def mend_arguments(draft: Draft) -> None:
    """Arguments that no object can be made of, whole under one key."""
    if draft.wire not in WRAPPED:
        return
    from dragoman.wire.messages.calls import RAW

    for turn in draft.turns:
        for at, block in enumerate(turn.content):
            if isinstance(block, ToolCall) and is_invalid(block):
                wrapped = jsonio.text({RAW: block.arguments})
                turn.content[at] = msgspec.structs.replace(block, arguments=wrapped)
                reason = f"arguments that are no JSON object went as the value of {RAW!r}"
                draft.notes.add((*turn.paths[at], "arguments"), "substituted", reason)


def _without_blanks(draft: Draft) -> Any:
    """A result without its empty texts, as long as another one stands beside them."""

    def mended(placed: Placed) -> Placed:
        path, block = placed
        if not isinstance(block, ToolResult) or len(block.content) < 2:
            return placed
        inner = [(deep, item) for deep, item in enumerate(block.content)]
        left = tuple(item for deep, item in inner if not _is_left_out(draft, ((*path, "content", deep), item)))
        return placed if len(left) == len(inner) else (path, msgspec.structs.replace(block, content=left))

    return mended


def _is_left_out(draft: Draft, placed: Placed) -> bool:
    path, block = placed
    if is_blank(block):
        reason = "a text that is empty or white space only"
    elif isinstance(block, Reasoning) and is_empty_reasoning(block):
        reason = "reasoning without words or a state"
    else:
        return False
    draft.notes.add(path, "dropped", f"{reason}: this wire refuses it", loss=block.cache is not None)
    return True


def _filled(draft: Draft, turns: list[Turn], emptied: set[int]) -> list[Turn]:
    """Turns without the emptied ones; where a user's turn would be gone altogether, the placeholder stands for it."""
    follower, followers = "", [""] * len(turns)
    for at in range(len(turns) - 1, -1, -1):
        followers[at] = follower
        follower = turns[at].role if turns[at].role not in INSTRUCTIONS else follower
    out: list[Turn] = []
    for turn, after in zip(turns, followers, strict=True):
        if id(turn) not in emptied:
            out.append(turn)
            continue
        told = after in TELLS or (bool(out) and out[-1].role in TELLS)
        if turn.role != "user" or told:
            draft.notes.add(turn.path, "dropped", "a message that says nothing", loss=False)
            continue
        place: Path = (*turn.path, "content", 0)
        turn.blocks = [(place, Text(text=draft.placeholder))]
        draft.notes.add(place, "synthesised", "a user's turn that says nothing got the placeholder (C-05)", loss=False)
        out.append(turn)
    return out


def _mended(value: Any) -> Any:
    """A value with every broken text in it mended, bags of leftovers too: those are JSON, however deep."""
    if isinstance(value, msgspec.Struct):
        fields = {name: _mended(getattr(value, name)) for name in value.__struct_fields__}
        return msgspec.structs.replace(value, **fields)
    if isinstance(value, tuple):
        return tuple(_mended(item) for item in value)
    return rewritten(value, _with_whole_text)


def _with_whole_text(value: Any) -> Any:
    if isinstance(value, str):
        return value.encode("utf-16", "surrogatepass").decode("utf-16", "replace") if is_broken(value) else value
    return {_with_whole_text(key): item for key, item in value.items()} if isinstance(value, dict) else value
