"""What a run remembers of a long conversation: when to cut it, what to sum up, and what to do when it was too long.

The machine knows the whole conversation and says so in each request; this stands between it and the model, and sends less.
"""

from __future__ import annotations

from collections.abc import Callable, Generator
from typing import TypeAlias

import msgspec

from dragoman.client.completion import prompt_of
from dragoman.errors import ApiError
from dragoman.history.weigh import SAMPLES, calibrated, weigh_request, weigh_text
from dragoman.history.window import (
    ASK,
    WHOLE,
    Cut,
    Window,
    composed,
    cutting,
    due,
    fixed,
    room,
    settling,
    shortened,
    tokens,
    transcript,
)
from dragoman.types.note import Note
from dragoman.types.reply import Reply
from dragoman.types.request import Request

OVERFLOW = "context_overflow"
CUTS = 2  # in a row without an answer: a third would save no more (CTX-004)
SHARE = 0.75  # of the room: so much of what goes is shown to whoever sums it up
GAP = "\n\n[… {} characters left out …]\n\n"

OnCut: TypeAlias = Callable[[Cut, Note], object]
Summing: TypeAlias = Generator[
    str, "str | Exception", Request
]  # gives a prompt, is sent its answer or why there is none


class Memory:
    """Decides what of a conversation is sent. It does nothing itself: `compose` asks for summaries by yielding prompts.

    `cut` is how things stand, and what a session keeps; `on_cut` is told of each new one with a note that names it.
    `compact` False never cuts, neither ahead of a limit nor after an overflow (CTX-008). `samples` are the figures by
    which estimates are corrected.
    """

    def __init__(self, window: Window, *, cut: Cut = WHOLE, compact: bool = True, on_cut: OnCut | None = None) -> None:
        self.window = window
        self.cut = cut
        self.compact = compact
        self.notes: tuple[Note, ...] = ()  # about what was sent last
        self.samples: list[tuple[float, int]] = []
        self._on_cut = on_cut
        self._cuts = 0  # since the last answer
        self._overflowed = False

    @property
    def scale(self) -> float:
        """How many tokens an estimated one is, by what was reported."""
        return calibrated(self.samples)

    def compose(self, request: Request) -> Summing:
        """The request to send, cut first where that is due (S4-15, CTX-003)."""
        self._overflowed = False
        if self.compact and self._cuts < CUTS and due(request, self.cut, self.window, self.scale):
            yield from self._shrink(request)
        return self._sent(request)

    def overflowed(self, request: Request, error: ApiError) -> Summing:
        """What to send instead of what was too long: once, then the error is raised with what no cut can save."""
        self._learn(request, error)
        if not self.compact:
            raise error
        before = self.cut
        if not self._overflowed and self._cuts < CUTS:
            self._overflowed = True
            yield from self._shrink(request, least=True)
        if self.cut == before:
            raise self._hopeless(request, error)
        return self._sent(request)

    def answered(self, sent: Request, reply: Reply, notes: tuple[Note, ...] = ()) -> None:
        """An answer came to what was sent: how many tokens it really had, and whether the service cut it (CTX-010)."""
        usage = reply.usage
        if reply.stop.reason not in ("error", "cancelled"):
            self._cuts = 0
        if usage is None or not usage.input:
            return
        silent = any(note.path == ("messages",) and note.action == "dropped" for note in notes)
        if silent or reply.stop.reason == "context":
            self._limit(usage.input + (usage.output or 0))
        if not silent:
            self._sample(sent, usage.input)

    def _sent(self, request: Request) -> Request:
        sent, told = composed(request, self.cut)
        sent, clamped = shortened(sent, self.window, self.scale)
        self.notes = (*told, *clamped)
        return sent

    def _shrink(self, request: Request, *, least: bool = False) -> Generator[str, str | Exception, None]:
        """The next cut: old results in few words where that is enough, else the oldest rounds summed up (S4-14, S4-16)."""
        before = self.cut
        light = settling(request, before, self.window)
        goal = (self.window.full + self.window.low) / 2 * room(request, self.window)
        small = tokens(composed(request, light)[0], self.scale) <= goal
        if not least and light != before and self.window.rounds is None and small:
            self._take(request, light, "old results are left out and errors that were put right")
            return
        after = cutting(request, before, self.window, self.scale, least=least)
        if after == before:
            return
        text = transcript(request, before, after)
        answer = yield prompt_of(ASK, self._fitted(text))
        messages = after.upto - before.upto
        if isinstance(answer, Exception) or not answer.strip():
            why = str(answer) or "it was empty"
            after = msgspec.structs.replace(after, summary=before.summary)
            self._take(request, after, f"{messages} messages are left out; there is no summary of them ({why})")
        else:
            after = msgspec.structs.replace(after, summary=answer.strip())
            self._take(request, after, f"{messages} messages are left out, a summary stands for them")

    def _take(self, request: Request, cut: Cut, what: str) -> None:
        was = tokens(composed(request, self.cut)[0], self.scale)
        now = tokens(composed(request, cut)[0], self.scale)
        self.cut = cut
        self._cuts += 1
        reason = f"compaction: {what}; about {now} tokens are sent instead of {was}, and the prompt cache begins anew"
        action = "substituted" if cut.summary is not None else "dropped"
        if self._on_cut is not None:
            self._on_cut(cut, Note(path=("messages",), action=action, reason=reason))

    def _fitted(self, text: str) -> str:
        """The text that is summed up, its middle left out where it would itself be too long."""
        if self.window.tokens is None:
            return text
        about = max(weigh_text(text) * self.scale, 1.0)
        most = int(len(text) * SHARE * self.window.tokens / about)
        if len(text) <= most:
            return text
        return text[: most // 3] + GAP.format(len(text) - most) + text[len(text) - (most - most // 3) :]

    def _learn(self, request: Request, error: ApiError) -> None:
        """The figures of a refusal: what the window is, and how many tokens that was."""
        if error.detail.limit:
            self._limit(error.detail.limit)
        if error.detail.tokens:
            self._sample(composed(request, self.cut)[0], error.detail.tokens)

    def _sample(self, sent: Request, told: int) -> None:
        self.samples = [*self.samples, (weigh_request(sent), told)][-SAMPLES:]

    def _limit(self, tokens: int) -> None:
        if self.window.tokens is None or tokens < self.window.tokens:
            self.window = msgspec.structs.replace(self.window, tokens=tokens)

    def _hopeless(self, request: Request, error: ApiError) -> ApiError:
        """The error that names what every request carries (CTX-004)."""
        about = fixed(request, self.scale)
        of = f" of {self.window.tokens}" if self.window.tokens else ""
        count = len(request.tools or ())
        said = (
            f"the conversation was shortened and is still too long: the system prompt and {count} tools alone are about "
            f"{about} tokens{of}. Offer fewer tools, a shorter prompt, or a model with a larger window. {error.message}"
        )
        return ApiError(OVERFLOW, said, error.detail, error.explanation)
