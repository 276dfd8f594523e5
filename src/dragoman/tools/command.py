"""Which words a shell command consists of, where nothing in it can mean more than words."""

from __future__ import annotations

import re

# What acts outside of quotes (joins, redirects, expands, escapes, comments), within double ones, and within single ones.
ACTING = {"": frozenset(";&|<>()$`\\!*?[]{}#~"), '"': frozenset("$`\\!"), "'": frozenset[str]()}
PROGRAM = re.compile(r"[\w./+-]+", re.ASCII)


def simple_words(command: str) -> tuple[str, ...] | None:
    """The words of a simple command; None for one that chains, redirects, substitutes, expands, sets a variable or
    holds anything else that a shell acts upon. Quoted text is a word like any other.
    """
    words: list[str] = []
    word: list[str] | None = None
    quote = ""
    for letter in f"{command} ":
        if letter in ACTING[quote] or _is_strange(letter, quoted=quote != ""):
            return None
        if not quote and letter in " \t":
            words += [] if word is None else ["".join(word)]
            word = None
            continue
        word = [] if word is None else word
        if letter == quote:
            quote = ""
        elif not quote and letter in "'\"":
            quote = letter
        else:
            word.append(letter)
    if quote:
        return None
    return tuple(words) if words and PROGRAM.fullmatch(words[0]) else None


def _is_strange(letter: str, *, quoted: bool) -> bool:
    """A line break is text only within quotes; other control characters and blanks that are no space nowhere."""
    if letter == "\n":
        return not quoted
    return letter not in " \t" and (letter.isspace() or not letter.isprintable())
