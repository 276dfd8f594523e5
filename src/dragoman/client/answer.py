"""The value in what a model said: with patience for words and fences around it, with none for what was cut off.

The first JSON object in the text that fits wins; one that is broken is not searched for smaller ones within (STO-003).
Raw line breaks in strings are taken. An object that says a key twice says two things and is refused; only `repair` takes
the last (STO-006).
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from dragoman.client.form import Form, Misfit

START = re.compile(r'\{(?=\s*["}])')
START_OF_ANY = re.compile(r'\{(?=\s*["}])|\[')
BRACKET = re.compile(r"[{\[]")
TRIES = 200  # values and beginnings that are looked at: an answer with more of them is no answer
# What weak models write: their strings are passed over whole, so that nothing within them is changed.
HABITS = re.compile(
    r'"(?:[^"\\]|\\.)*"|\'(?:[^\'\\]|\\.)*\'|,(?=\s*[}\]])|-?\b(?:None|True|False|NaN|Infinity)\b', re.DOTALL
)
WORDS = {"None": "null", "True": "true", "False": "false", "NaN": "null", "Infinity": "null", "-Infinity": "null"}


def read(texts: Iterable[str], form: Form) -> tuple[Any, bool]:
    """The value that the first of `texts` with a fitting one holds, and whether it had to be mended.

    Raises Misfit with what is wrong with the first that was found, or says that there is none. The work is bounded by the length.
    """
    listed = [text.strip("\ufeff \t\r\n") for text in texts]
    why: list[Misfit] = []
    for mends in (False, True) if form.wanted.repair else (False,):
        for text in listed:
            for value in _values(mended(text), form, dict) if mends else _values(text, form, _once):
                try:
                    if isinstance(value, Misfit):
                        raise value
                    return form.read(value), mends
                except Misfit as misfit:
                    why.append(misfit)
    raise why[0] if why else Misfit("there is no JSON in it" if any(listed) else "it is empty")


def mended(text: str) -> str:
    """`text` from its first bracket on, with single quotes, Python's words, NaN and trailing commas as JSON has them; nothing is closed."""
    begins = BRACKET.search(text)
    return HABITS.sub(_mend, text[begins.start() :]) if begins else text


def _mend(found: re.Match[str]) -> str:
    said = found[0]
    if said.startswith("'"):
        return '"' + said[1:-1].replace("\\'", "'").replace('"', '\\"') + '"'
    return "" if said == "," else WORDS.get(said, said)


def _values(text: str, form: Form, pairs: Callable[[list[tuple[str, Any]]], Any]) -> Iterator[Any]:
    """The JSON values in `text`, one after another; a Misfit for one that begins and cannot be read."""
    decoder = json.JSONDecoder(strict=False, parse_constant=_refuse, object_pairs_hook=pairs)
    start = START_OF_ANY if form.wrapped else START
    if form.wrapped:
        value, end = _one(decoder, text, 0)
        if end == len(text):
            yield value
            return
    at, tried = 0, 0
    while tried < TRIES and (found := start.search(text, at)) is not None:
        value, end = _one(decoder, text, found.start())
        if not (isinstance(value, Misfit) and end <= found.end()):  # a bracket of the prose is no JSON that failed
            yield value
        tried += 1
        at = max(end, found.end())


def _one(decoder: json.JSONDecoder, text: str, at: int) -> tuple[Any, int]:
    """A value and its end, or why there is none and how far it was read."""
    try:
        return decoder.raw_decode(text, at)
    except json.JSONDecodeError as error:
        return Misfit(f"invalid JSON: {error}"), error.pos
    except (ValueError, RecursionError) as error:
        return Misfit(str(error) if isinstance(error, ValueError) else "it is nested too deep"), len(text)


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    made: dict[str, Any] = {}
    for name, value in pairs:
        if name in made:
            raise ValueError(f"`{name}` is said twice")
        made[name] = value
    return made


def _refuse(word: str) -> Any:
    raise ValueError(f"{word} is no JSON")
