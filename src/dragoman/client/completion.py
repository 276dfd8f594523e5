"""Text in, text out: one prompt of an instruction and data, with settings for its purpose."""

from __future__ import annotations

import re
from typing import Any, Literal, NamedTuple, TypeAlias, cast

from msgspec.structs import replace

from dragoman.errors import OutputError, RefusedError, TruncatedError, UsageError
from dragoman.types.content import Refusal
from dragoman.types.note import Note
from dragoman.types.reply import Reply
from dragoman.types.request import Request

Purpose: TypeAlias = Literal["deterministic", "tools", "prose"]

# What a call for this purpose is drawn with (S4-07, S4-32, C-20): used where the caller said no temperature.
TEMPERATURES: dict[Purpose, float] = {"deterministic": 0.2, "tools": 0.1, "prose": 0.7}
LEAST_WITH_TOOLS = 512  # tokens: less cuts arguments off in mid-word (S4-33)
MARK = re.compile(r"<(?=\s*/?\s*data\s*>)", re.IGNORECASE)


class Tiered(NamedTuple):
    """A request, and what its purpose added."""

    request: Request
    notes: tuple[Note, ...] = ()


def prompt_of(instruction: str, data: str | None = None) -> str:
    """The instruction first, the data last, between `<data>` and `</data>` (S4-09). The same marks within the data lose
    their meaning: a backslash after the bracket, so that nobody's data can end where it does not. Raises UsageError for
    what is no text.
    """
    for name, text in cast(tuple[tuple[str, Any], ...], (("prompt", instruction), ("data", data or ""))):
        if not isinstance(text, str):
            raise UsageError("usage", f"{name} is {type(text).__name__}: pass a text")
    if data is None:
        return instruction
    said = MARK.sub(r"<\\", data)
    return f"{instruction.rstrip()}\n\n<data>\n{said}\n</data>"


def tiered(request: Request, purpose: Purpose | None) -> Tiered:
    """`request` with what its purpose asks for, each noted; what the caller said wins, save a limit of output so low that
    calls would be cut off (C-33). For agents and completions alone: a plain chat is sent as it was said.
    """
    if purpose is None:
        return Tiered(request)
    if type(purpose) is not str or purpose not in TEMPERATURES:
        raise UsageError("usage", f"unknown purpose {purpose!r}: one of {', '.join(TEMPERATURES)}")
    notes: list[Note] = []
    if request.sampling.temperature is None:
        warmth = TEMPERATURES[purpose]
        request = replace(request, sampling=replace(request.sampling, temperature=warmth))
        notes.append(_note(("sampling", "temperature"), f"{purpose}: {warmth}"))
    most = request.max_output
    if (purpose == "tools" or request.tools) and most is not None and most < LEAST_WITH_TOOLS:
        request = replace(request, max_output=LEAST_WITH_TOOLS)
        notes.append(_note(("max_output",), f"{most} cuts the arguments of calls off: {LEAST_WITH_TOOLS}"))
    return Tiered(request, tuple(notes))


def unusable(reply: Reply) -> OutputError | None:
    """Why the text of a reply is not the answer: the reason it stopped comes before what it says (STO-005)."""
    stop, words = reply.stop, [block.text for block in reply.message.content if isinstance(block, Refusal)]
    if stop.reason in ("length", "context"):
        said = f"the answer was cut off ({stop.raw or stop.reason}): allow more with max_output, or ask for less"
        return TruncatedError("limit", said, reply)
    if words or stop.reason in ("refusal", "filter"):
        why = " ".join(words) or stop.detail or stop.raw or stop.reason
        return RefusedError("content_filter", f"the model did not answer: {why}", reply)
    return None


def text_of(reply: Reply) -> str:
    """The text of a completion. Raises TruncatedError and RefusedError rather than giving a part (S4-08)."""
    error = unusable(reply)
    if error is not None:
        raise error
    return reply.text


def _note(path: tuple[str, ...], reason: str) -> Note:
    return Note(path=path, action="synthesised", reason=reason, loss=False)
