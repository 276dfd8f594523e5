"""What an answer gives away that its service does not say: that the conversation was cut to a small window (CTX-010)."""

from __future__ import annotations

from dragoman.client.count import estimate
from dragoman.types.note import Note
from dragoman.types.reply import Usage

WINDOW = 1024  # windows of local servers are multiples of it
FEW = 1.5  # an estimate is off by a third at times; beyond this factor something is missing


def cut(body: bytes, usage: Usage | None) -> Note | None:
    """The suspicion that much of `body` was never read; None for none.

    Some servers drop the beginning of what does not fit, answer all the same and report no error: the tokens that they
    counted are far fewer than were sent, and end at a round window.
    """
    if usage is None or not usage.input or usage.output is None:
        return None
    total = usage.input + usage.output
    if total % WINDOW and usage.input % WINDOW and (usage.input + 1) % WINDOW:
        return None
    if len(body) < usage.input or (about := estimate(body)) < FEW * usage.input:
        return None
    reason = (
        f"the service counted {usage.input} tokens of some {about} and stopped at {total} in all: it seems to have cut the "
        "conversation to its window without a word; give it a larger one (Ollama: num_ctx) or a shorter conversation"
    )
    return Note(path=("messages",), action="dropped", reason=reason)
