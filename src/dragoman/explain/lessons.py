"""The table of lessons, and the one that a refusal teaches."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Container, Iterator, Mapping
from functools import cache
from importlib.resources import files
from typing import Any

import msgspec

from dragoman.dialect.model import Dialect
from dragoman.errors import ApiError, RemoteError
from dragoman.explain.causes import words
from dragoman.wire import jsonio

# Words about the size or the type of a value, which is the caller's own (S3-17).
OF_A_VALUE = re.compile(
    r"too (?:large|small|long|short|many|few|high|low)|above max|below min|out of range|greater than|less than|at (?:most|least)"
    r"|maximum|minimum|must be between|invalid type|type must be|expected an? (?:value|string|number|integer)"
    r"|must be an? (?:value|string|number|integer|boolean|array|object|list)"
)
REFUSES = (
    r"(?:is |are )?(?:not (?:yet )?(?:supported|permitted|allowed|available|implemented|enabled|recogni[sz]ed)|unsupported"
    r"|deprecated|unknown|unrecognized|does not support|cannot be (?:used|set)|may only|must not|only supports?)"
)
KIND = r"(?:parameter|argument|propert(?:y|ies)|field|key|input|option|value)s?"
# The words for an effort that any service has.
EFFORTS = frozenset({"none", "minimal", "low", "medium", "high", "xhigh", "max"})


class Row(msgspec.Struct, frozen=True, kw_only=True):
    """One row of lessons.toml, whose head says what each field means."""

    name: str
    source: str
    wires: tuple[str, ...] = ("chat", "messages", "responses")
    keys: tuple[str, ...] = ()
    quoted: bool = False
    pattern: str = ""
    at: str = ""
    value: str | None = None
    unless: str | None = None
    set: dict[str, Any] = {}
    unset: tuple[str, ...] = ()
    add: str = ""
    remove: dict[str, str] = {}
    learn: str = ""


class Lesson(msgspec.Struct, frozen=True, kw_only=True):
    """What was learned: the row, what of the request the service quoted, and the facts of the dialect that change."""

    name: str
    quoted: str
    facts: dict[str, Any]
    source: str


def lesson(
    error: ApiError, body: bytes, wire: str, dialect: Dialect, *, but: Container[tuple[str, str]] = ()
) -> Lesson | None:
    """What the refusal of `body` teaches, by the first row that fits and changes something; None for nothing (S3-18).

    `but` are lessons already taught, as (name, quoted): two facts that a server refuses alike must not take turns.
    """
    try:
        sent, _ = jsonio.decode(body)
    except RemoteError:
        return None
    said = words(error).lower()
    for row in lessons():
        if wire not in row.wires or (row.unless is None and OF_A_VALUE.search(said)):
            continue
        for quoted, groups in _fits(row, said, sent):
            facts = _facts(row, quoted, groups, dialect)
            if facts and (row.name, quoted) not in but:
                return Lesson(name=row.name, quoted=quoted, facts=facts, source=row.source)
    return None


@cache
def lessons() -> tuple[Row, ...]:
    """Every row in its order."""
    text = files("dragoman.explain").joinpath("lessons.toml").read_text(encoding="utf-8")
    return tuple(msgspec.convert(tomllib.loads(text)["lesson"], list[Row]))


def _fits(row: Row, said: str, sent: Any) -> Iterator[tuple[str, Mapping[str, str]]]:
    """What the words quote of what was sent, and what they say of it."""
    for key in row.keys:
        if _names(key, said, alone=row.quoted) and _holds(sent, row.at or key, row.value):
            yield key, {}
    found = _compiled(row.pattern).search(said) if row.pattern else None
    if found is not None:
        groups = {name: text for name, text in found.groupdict().items() if text}
        quoted = groups.get("sent", row.value or groups.get("key") or row.name)
        value = groups.get("sent") if row.learn else row.value
        if _holds(sent, row.at.format_map(groups), value) and _stands("sent" in groups, quoted, sent):
            yield quoted, groups


def _names(key: str, said: str, *, alone: bool) -> bool:
    return any(form.search(said) for form in (_quoted(key) if alone else _refused(key)))


@cache
def _quoted(key: str) -> tuple[re.Pattern[str], ...]:
    """The forms that quote a key: between quotation marks, or as the place that a validator names."""
    return (re.compile(_between(key)), *_located(key))


@cache
def _refused(key: str) -> tuple[re.Pattern[str], ...]:
    """The same with its refusal right beside it."""
    between = _between(key)
    before = rf"(?:unsupported|unknown|unrecognized|unexpected|extra|additional) (?:request |body )?{KIND}[^'\"`.;]{{0,20}}{between}"
    return (re.compile(before), re.compile(rf"{between}[^'\"`.;]{{0,24}}{REFUSES}"), *_located(key))


def _between(key: str) -> str:
    return rf"['\"`“‘](?:[\w.\[\]#/]*[./\[])?{re.escape(key)}\]?['\"`”’]"


def _located(key: str) -> tuple[re.Pattern[str], ...]:
    name = re.escape(key)
    return (
        re.compile(rf"(?:^|[\s#/.(\[]){name}: (?:extra (?:inputs|fields) )?(?:are )?not permitted"),
        re.compile(rf"argument supplied: {name}(?:$|[\s,.])"),
        re.compile(rf"not permitted, field: ['\"`]{name}['\"`]"),
        re.compile(rf"['\"]{name}['\"][\])]?, ['\"]?msg['\"]?: ['\"]extra (?:inputs|fields)"),
    )


def _holds(body: Any, at: str, value: str | None) -> bool:
    """Whether something stands at one of these places: `value`, where one is asked for."""
    found = (each for path in at.split("|") for each in _at(body, path.split(".")))
    return any(each == value if value is not None else each is not None for each in found)


def _at(body: Any, steps: list[str]) -> Iterator[Any]:
    if not steps:
        yield body
    elif steps[0] == "*":
        for each in body if isinstance(body, list) else body.values() if isinstance(body, dict) else ():
            yield from _at(each, steps[1:])
    elif isinstance(body, dict) and steps[0] in body:
        yield from _at(body[steps[0]], steps[1:])


def _stands(asked: bool, text: str, body: Any) -> bool:
    return not asked or text in jsonio.text(body).lower()


def _facts(row: Row, quoted: str, groups: Mapping[str, str], dialect: Dialect) -> dict[str, Any]:
    """The facts that change, as they become; none when all of them are so already."""
    facts: dict[str, Any] = {**row.set, **dict.fromkeys(row.unset)}
    if row.add:
        facts[row.add] = tuple(dict.fromkeys((*getattr(dialect, row.add), quoted)))
    for name, value in row.remove.items():
        facts[name] = tuple(each for each in facts.get(name, getattr(dialect, name)) if each != value)
    if row.learn:
        facts[row.learn] = tuple(word for word in re.findall(r"[a-z]+", groups.get("words", "")) if word in EFFORTS)
    return {name: value for name, value in facts.items() if _plain(getattr(dialect, name)) != _plain(value)}


def _plain(value: Any) -> Any:
    return list(value) if isinstance(value, tuple) else value


@cache
def _compiled(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern)
