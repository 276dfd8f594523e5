"""Thinking that stands in the text itself, between `<think>` and `</think>`."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal, NamedTuple

OPEN, CLOSE = "<think>", "</think>"


class Part(NamedTuple):
    """A piece of one kind; never empty."""

    kind: Literal["reasoning", "text"]
    text: str


class ThinkTags:
    """`feed` the text as it comes, get it apart; `close` gives what was held back. One reader for whole and streamed.

    A tag counts wherever reads part it, but only before the first visible word: later ones are the model's own text.
    `inside`: the prompt ended in an open tag, so the text begins in it and brings the closing tag alone. Thinking that
    is never closed is thinking. White space around the tags belongs to them. `tags` are other ones than `<think>`.
    """

    def __init__(self, *, inside: bool = False, tags: tuple[str, str] = (OPEN, CLOSE)) -> None:
        self._opening, self._closing = tags
        self._inside = inside
        self._tagged = inside
        self._silent = True  # of this thought nothing was told yet
        self._spoken = False
        self._held: list[str] = []  # the beginning of a tag, or white space that may belong to one
        self._blank = False  # it is white space alone

    @property
    def plain(self) -> bool:
        """Whether a visible word came: from here on all is text."""
        return self._spoken

    def feed(self, text: str) -> list[Part]:
        """What can be told of the text so far."""
        if not text:
            return []
        if self._blank and self._held and text.isspace():
            self._held.append(text)
            return []
        out: list[Part] = []
        rest, self._held = "".join((*self._held, text)), []
        while rest and not self._spoken:
            rest = self._think(rest, out) if self._inside else self._begin(rest)
        return [*out, Part("text", rest)] if rest else out

    def close(self) -> list[Part]:
        """What looked like a tag and was none; white space that no tag took is text."""
        rest, self._held = "".join(self._held), []
        if self._inside:
            rest = rest.rstrip()
        elif self._tagged:
            rest = rest.lstrip()
        return [Part("reasoning" if self._inside else "text", rest)] if rest else []

    def _begin(self, rest: str) -> str:
        """Before the first visible word: gives what is left to read."""
        word = rest.lstrip()
        if word.startswith(self._opening):
            self._inside = self._tagged = self._silent = True
            return word[len(self._opening) :]
        if self._opening.startswith(word):
            return self._hold(word if self._tagged else rest)
        self._spoken = True
        return word if self._tagged else rest

    def _think(self, rest: str, out: list[Part]) -> str:
        """Within a thought: gives what is left to read."""
        if self._silent:
            rest = rest.lstrip()
            if rest.startswith(self._opening):  # said although the prompt had said it
                return rest[len(self._opening) :]
            if self._opening.startswith(rest):
                return self._hold(rest)
        thought, closed, after = rest.partition(self._closing)
        thought = thought if closed else thought[: len(thought) - _begun(thought, self._closing)]
        said = thought.rstrip()
        if said:
            self._silent = False
            out.append(Part("reasoning", said))
        if closed:
            self._inside = False
            return after
        return self._hold(rest[len(said) :])

    def _hold(self, text: str) -> str:
        self._held = [text] if text else []
        self._blank = text.isspace()
        return ""


def apart(texts: Iterable[str], *, inside: bool = False) -> list[list[Part]]:
    """Whole texts taken apart, each as its own list: pieces of one kind joined, the last with what was held back."""
    tags = ThinkTags(inside=inside)
    found = [tags.feed(text) for text in texts]
    if found:
        found[-1] += tags.close()
    return [_joined(parts) for parts in found]


def left_open(prompt: str, tags: tuple[str, str] = (OPEN, CLOSE)) -> bool:
    """Whether a prompt ends within a thought, so that the text goes on with it: templates write the opening tag."""
    return prompt.rfind(tags[0]) > prompt.rfind(tags[1])


def written(thought: str) -> str:
    """A thought as a server of this kind writes it; the text that follows stands on a line of its own."""
    return f"{OPEN}\n{thought}\n{CLOSE}\n"


def _joined(parts: list[Part]) -> list[Part]:
    out: list[Part] = []
    for part in parts:
        if out and out[-1].kind == part.kind:
            part = Part(part.kind, out.pop().text + part.text)
        out.append(part)
    return out


def _begun(text: str, mark: str) -> int:
    """How many characters at the end may be the beginning of `mark`."""
    return next((size for size in range(len(mark) - 1, 0, -1) if text.endswith(mark[:size])), 0)
