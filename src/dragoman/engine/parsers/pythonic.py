"""Calls as a list of Python calls: `[f(a=1), g(b="x")]`, as Llama 4 and LFM2 write them.

Python's own parser is of no use: parameters are called `from`, strings hold raw line breaks, and one bad value must not
take its neighbours with it (TPA-012, TPA-013).
"""

from __future__ import annotations

import math
import re
from collections.abc import Generator
from typing import Any

from dragoman.engine.parsers.json_forms import Form
from dragoman.engine.parsers.scan import Call, Cut, Reading, Said, Scan, told
from dragoman.engine.parsers.values import Tools, arguments

NAME = re.compile(r"\s*([A-Za-z_][\w.\-]*)\s*\(")
KEYWORD = re.compile(r"\s*([A-Za-z_]\w*)\s*=(?!=)")
NUMBER = re.compile(r"[+-]?(?:\d[\d_]*\.?\d*(?:[eE][+-]?\d+)?|\.\d+)")
WORDS = {"True": True, "true": True, "False": False, "false": False, "None": None, "null": None}
ESCAPES = {"n": "\n", "t": "\t", "r": "\r", "0": "\0", "b": "\b", "f": "\f", "\n": ""}
CLOSES = {"(": ")", "[": "]", "{": "}"}
DEEPEST = 64
DIGITS_MAX = 4300  # what Python makes a number of; a longer one stays text


class _Bad(Exception):
    """No value stands here."""


def pythonic(opening: str | None = None, closing: str | None = None) -> Form:
    """The list of calls alone, or between marks with text around it. A bare list must begin the answer."""

    def form(scan: Scan, tools: Tools) -> Reading:
        if opening is None:
            yield from _answer(scan, tools)
        while opening is not None and (yield from told(scan.until(opening), Said)) is not None:
            yield from _marked(scan, opening, closing)
        yield from told(scan.until(), Said)

    return form


def _answer(scan: Scan, tools: Tools) -> Reading:
    scan.keep()
    yield from scan.space()
    yield from scan.starts("<|python_start|>")
    text, whole = yield from _list(scan)
    calls = calls_in(text) if whole else None
    read = scan.kept()
    found = NAME.match(text[1:])
    if calls:
        yield from calls
        yield from scan.starts("<|python_end|>")
    elif found is not None and not whole:
        yield Cut(found[1], text)
    elif read:
        yield Said(read)


def _marked(scan: Scan, opening: str, closing: str | None) -> Reading:
    scan.keep(opening)
    yield from scan.space()
    text, whole = yield from _list(scan)
    calls = calls_in(text) if whole else None
    found = NAME.match(text[1:])
    if text and not whole:
        yield Cut(found[1] if found else "", text)
        return
    if closing is not None:
        yield from scan.space()
        yield from scan.starts(closing)
    read = scan.kept()
    if calls is None:
        yield Said(read)
    else:
        yield from calls


def _list(scan: Scan) -> Generator[None, None, tuple[str, bool]]:
    """Reads a list to its closing bracket; brackets within strings of either quote do not count."""
    if (yield from scan.looks()) != "[":
        return "", False
    pieces: list[str] = []
    open_brackets, quote, escaped = 0, "", False
    while (yield from scan.wait(1)):
        text = scan.ahead()
        for at, sign in enumerate(text):
            if escaped:
                escaped = False
            elif quote:
                escaped = sign == "\\"
                quote = "" if sign == quote else quote
            elif sign in "\"'":
                quote = sign
            elif sign in "([{":
                open_brackets += 1
            elif sign in ")]}":
                open_brackets -= 1
                if open_brackets == 0:
                    return "".join((*pieces, scan.read(at + 1))), True
        pieces.append(scan.read(len(text)))
    return "".join(pieces), False


def calls_in(text: str) -> list[Call] | None:
    """The calls of a whole list; None where it holds none. A value that is no literal is kept as its text."""
    found: list[Call] = []
    at = 1
    while at < len(text):
        named = NAME.match(text, at)
        if named is None:
            break
        values: dict[str, Any] = {}
        at = _arguments(text, named.end(), values)
        found.append(Call(named[1], arguments(values)))
        while at < len(text) and text[at] in " \t\r\n,":
            at += 1
    return found if found and text[at:].strip() in ("]", "") else None


def _arguments(text: str, at: int, values: dict[str, Any]) -> int:
    """Fills `values` up to the closing bracket and returns the place behind it."""
    while at < len(text):
        at = _skip(text, at, " \t\r\n,")
        if text[at : at + 1] == ")":
            return at + 1
        keyed = KEYWORD.match(text, at)
        start = keyed.end() if keyed else at
        try:
            value, at = _value(text, start)
            at = _skip(text, at, " \t\r\n")
            if text[at : at + 1] not in (",", ")"):
                raise _Bad
        except _Bad:
            at = max(_end_of_value(text, start), start + 1)  # a bracket that closes nothing is a value too
            value = text[start:at].strip()
        values[keyed[1] if keyed else f"arg{len(values)}"] = value
    return at


def _value(text: str, at: int, depth: int = 0) -> tuple[Any, int]:
    at = _skip(text, at, " \t\r\n")
    sign = text[at : at + 1]
    if not sign or depth > DEEPEST:
        raise _Bad
    if sign in "\"'":
        return _string(text, at)
    if sign in "[(":
        return _items(text, at, depth)
    if sign == "{":
        return _pairs(text, at, depth)
    if number := NUMBER.match(text, at):
        return _number(number[0].replace("_", "")), number.end()
    for word, value in WORDS.items():
        if text.startswith(word, at) and not text[at + len(word) : at + len(word) + 1].isalnum():
            return value, at + len(word)
    raise _Bad


def _number(said: str) -> int | float:
    if said.lstrip("+-").isdigit():
        if len(said) > DIGITS_MAX:
            raise _Bad
        return int(said)
    value = float(said)
    if math.isinf(value):  # JSON has no such number
        raise _Bad
    return value


def _items(text: str, at: int, depth: int) -> tuple[list[Any], int]:
    closing = CLOSES[text[at]]
    items: list[Any] = []
    at = _skip(text, at + 1, " \t\r\n,")
    while text[at : at + 1] != closing:
        value, at = _value(text, at, depth + 1)
        items.append(value)
        at = _skip(text, at, " \t\r\n,")
    return items, at + 1


def _pairs(text: str, at: int, depth: int) -> tuple[dict[str, Any], int]:
    pairs: dict[str, Any] = {}
    at = _skip(text, at + 1, " \t\r\n,")
    while text[at : at + 1] != "}":
        key, at = _value(text, at, depth + 1)
        at = _skip(text, at, " \t\r\n")
        if text[at : at + 1] != ":" or not isinstance(key, str):
            raise _Bad
        pairs[key], at = _value(text, at + 1, depth + 1)
        at = _skip(text, at, " \t\r\n,")
    return pairs, at + 1


def _string(text: str, at: int) -> tuple[str, int]:
    quote, at = text[at], at + 1
    made: list[str] = []
    while at < len(text):
        sign = text[at]
        if sign == quote:
            return "".join(made), at + 1
        if sign == "\\":
            escaped, at = _escaped(text, at + 1)
            made.append(escaped)
        else:
            made.append(sign)
            at += 1
    raise _Bad


def _escaped(text: str, at: int) -> tuple[str, int]:
    sign = text[at : at + 1]
    size = {"x": 2, "u": 4, "U": 8}.get(sign, 0)
    digits = text[at + 1 : at + 1 + size]
    if size and len(digits) == size and all(digit in "0123456789abcdefABCDEF" for digit in digits):
        number = int(digits, 16)
        if number < 0x110000 and not 0xD800 <= number < 0xE000:
            return chr(number), at + 1 + size
    if sign in "\\'\"":
        return sign, at + 1
    return ESCAPES.get(sign, f"\\{sign}"), at + 1


def _end_of_value(text: str, at: int) -> int:
    depth, quote = 0, ""
    while at < len(text):
        sign = text[at]
        if quote:
            at += sign == "\\"
            quote = "" if sign == quote else quote
        elif sign in "\"'":
            quote = sign
        elif sign in "([{":
            depth += 1
        elif sign in ")]}" or (sign == "," and depth == 0):
            if depth == 0:
                return at
            depth -= 1
        at += 1
    return at


def _skip(text: str, at: int, signs: str) -> int:
    while at < len(text) and text[at] in signs:
        at += 1
    return at
