"""The one door for JSON: bytes to values and back, with limits, and nothing changed silently."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Sequence
from typing import Any, NoReturn, TypeVar

import msgspec

from dragoman.errors import LocalError, RemoteError
from dragoman.types.note import Note, Path

T = TypeVar("T")

MAX_BYTES = 256 * 1024 * 1024
MAX_DEPTH = 512
MOST_SAID = 500  # characters of a refusal
_HALF = re.compile("[\ud800-\udfff]")


class _Object(msgspec.Struct):
    """Any object: its members are looked at, and not kept."""


_decode = msgspec.json.Decoder().decode
_encode = msgspec.json.Encoder().encode
_object = msgspec.json.Decoder(_Object).decode


def decode(body: bytes, *, max_bytes: int = MAX_BYTES, max_depth: int = MAX_DEPTH) -> tuple[Any, tuple[Note, ...]]:
    """The value of a JSON text, and notes for what could not be kept: lone surrogates become U+FFFD, NaN, the
    infinities and numbers beyond a double become null. Big integers stay whole.

    Raises RemoteError: too_large, too_deep, or bad_json with the byte where reading stopped.
    """
    if len(body) > max_bytes:
        raise RemoteError("too_large", f"{len(body)} bytes, the limit is {max_bytes}: raise max_bytes to read it")
    try:
        value, notes = _decode(body), ()
    except RecursionError:
        raise RemoteError("too_deep", f"more than {max_depth} levels of nesting") from None
    except (msgspec.MsgspecError, UnicodeError) as error:
        value, notes = _decode_leniently(body, error)
    if not _is_flat(body, max_depth) and _deeper_than(value, max_depth):
        raise RemoteError("too_deep", f"more than {max_depth} levels of nesting")
    return value, notes


def decode_object(body: bytes, *, max_bytes: int = MAX_BYTES) -> tuple[dict[str, Any], tuple[Note, ...]]:
    """The same for a body that must be an object; raises RemoteError bad_shape for any other value."""
    value, notes = decode(body, max_bytes=max_bytes)
    if not isinstance(value, dict):
        raise RemoteError("bad_shape", f"expected a JSON object, got {kind(value)}")
    return value, notes


def shaped(body: bytes, decoder: msgspec.json.Decoder[T], loose: Callable[[T], Any], around: int = 0) -> T | None:
    """The value of a JSON text as a decoder of one shape reads it, within the limits of `decode`; None for a text of any
    other shape, right or wrong. `loose` gives what of the value may be of any depth, at the depth where it stands;
    `around` counts the levels around a text that stands in another."""
    if len(body) > MAX_BYTES:
        return None
    try:
        value = decoder.decode(body)
    except (msgspec.MsgspecError, UnicodeError, RecursionError):
        return None
    limit = MAX_DEPTH - around
    return value if _is_flat(body, limit) or not _deeper_than(loose(value), limit) else None


def in_order(value: dict[str, T], keys: Sequence[str]) -> dict[str, T]:
    """An object with these keys first, as `shaped` finds them: what is left of it is then written the same either way."""
    return {key: value[key] for key in keys if key in value} | value


def encode(value: Any) -> bytes:
    """Compact UTF-8 JSON, unescaped. Raises LocalError for what JSON cannot say."""
    try:
        return _encode(value)
    except (TypeError, ValueError, RecursionError, OverflowError) as error:
        raise LocalError("bad_json", f"cannot be written as JSON: {error}") from None


def text(value: Any, *, spaced: bool = False) -> str:
    """JSON text of a value; `spaced` writes `", "` and `": "` as some vendors do (dialect: arguments_style)."""
    if spaced:
        return json.dumps(value, ensure_ascii=False)
    return encode(value).decode()


def is_object(text: str | bytes, around: int = 0) -> bool:
    """Whether this is the text of a JSON object, as strict parsers read it, that is no deeper than a body may be where
    `around` levels are around it; its numbers may be of any size."""
    limit = MAX_DEPTH - around
    try:
        _object(text)
        if len(text) > limit:
            raw = text.encode() if isinstance(text, str) else text
            if not _is_flat(raw, limit):
                decode(raw, max_depth=limit)
    except (msgspec.MsgspecError, UnicodeError, RecursionError, RemoteError):
        return False
    return True


def kind(value: Any) -> str:
    """What a JSON value is, in words for an error message."""
    if value is None:
        return "null"
    names = {dict: "an object", list: "an array", str: "a string", bool: "a boolean", int: "a number"}
    return names.get(type(value), "a number")


def strict_error(body: bytes, error: Exception) -> RemoteError:
    """Why a strict parser refused a body that is to be taken as it is, and where: it is no JSON, or holds half a character.
    `error` is the parser's own."""
    try:
        text = body.decode("utf-8-sig")
        value = json.loads(text, parse_constant=_no_number)
    except UnicodeDecodeError as found:
        return RemoteError("bad_json", f"not UTF-8 at byte {found.start}")
    except RecursionError:
        return RemoteError("too_deep", f"more than {MAX_DEPTH} levels of nesting")
    except RemoteError as found:
        return found
    except ValueError as found:
        return RemoteError("bad_json", _explain(body, error, found))
    half = _half(value)
    return RemoteError("bad_json", str(error)) if half is None else RemoteError("bad_json", *half)


def _half(value: Any) -> tuple[str, Path] | None:
    """The first lone surrogate of a value, and the place of its text."""
    waiting: list[tuple[Path, Any]] = [((), value)]
    while waiting:
        path, held = waiting.pop()
        match held:
            case str() if found := _HALF.search(held):
                said = (
                    f"half a surrogate pair, \\u{ord(found[0]):04x}, is no character: send both halves of it, or U+FFFD"
                )
                return said, path
            case dict():
                if any(map(_HALF.search, held)):
                    return "a key holds half a surrogate pair, which is no character", path
                waiting += [((*path, key), held[key]) for key in reversed(held)]
            case list():
                waiting += [((*path, at), held[at]) for at in reversed(range(len(held)))]
            case _:
                pass
    return None


def _no_number(word: str) -> NoReturn:
    raise RemoteError("bad_json", f"{word} is no JSON number")


def _decode_leniently(body: bytes, first: Exception) -> tuple[Any, tuple[Note, ...]]:
    """A second reading for what strict parsers refuse and real servers send; anything else is the first error."""
    reasons: list[str] = []
    try:
        text = body.decode("utf-8-sig", "surrogatepass")
        value = json.loads(text, parse_constant=lambda word: _unreadable(reasons, word), parse_float=_float(reasons))
    except UnicodeDecodeError as error:
        raise RemoteError("bad_json", f"not UTF-8 at byte {error.start}") from None
    except RecursionError:
        raise RemoteError("too_deep", f"more than {MAX_DEPTH} levels of nesting") from None
    except ValueError as error:
        raise RemoteError("bad_json", _explain(body, first, error)) from None
    value = _without_surrogates(value, reasons)
    return value, tuple(Note(path=(), action="substituted", reason=reason) for reason in dict.fromkeys(reasons))


def _explain(body: bytes, first: Exception, second: ValueError) -> str:
    if not body.strip():
        return "the body is empty"
    if isinstance(second, json.JSONDecodeError):
        what = "the JSON ends too early" if "truncated" in str(first) else second.msg.removesuffix(" at")
        return f"{what}, at line {second.lineno}, column {second.colno} (character {second.pos})"
    return str(first)


def _unreadable(reasons: list[str], word: str) -> None:
    reasons.append(f"{word} is no JSON number: null instead")


def _float(reasons: list[str]) -> Any:
    def parse(digits: str) -> float | None:
        number = float(digits)
        if math.isinf(number):
            reasons.append(f"{digits} is beyond a double: null instead")
            return None
        return number

    return parse


def _without_surrogates(value: Any, reasons: list[str]) -> Any:
    """The value, changed in place, level by level: it may be as deep as the interpreter's own stack."""
    whole: list[Any] = [value]
    level: list[Any] = [whole]
    while level:
        for held in level:
            if type(held) is list:
                held[:] = [_as_text(item, reasons) for item in held]
            else:
                items = list(held.items())
                held.clear()
                held.update((_as_text(key, reasons), _as_text(item, reasons)) for key, item in items)
        level = _containers(level)
    return whole[0]


def _as_text(value: Any, reasons: list[str]) -> Any:
    if type(value) is not str:
        return value
    try:
        value.encode()
        return value
    except UnicodeEncodeError:
        reasons.append("lone surrogates became U+FFFD")
        # A pair that arrived as two halves is one character; what is left over is not text.
        return value.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def _is_flat(body: bytes, limit: int) -> bool:
    """Whether a text has too few containers to be deeper than `limit`."""
    return len(body) <= limit or _holds(body, b"{", limit) + _holds(body, b"[", limit) <= limit


def _holds(body: bytes, byte: bytes, most: int) -> int:
    """How often a byte stands in a body, counted a little beyond `most`: taking it out is five times as fast as `count`."""
    return len(body) - len(body.replace(byte, b"", most + 1))


def _deeper_than(value: Any, limit: int) -> bool:
    level: list[Any] = [value]
    for _ in range(limit):
        level = _containers(level)
        if not level:
            return False
    return True


def _containers(level: list[Any]) -> list[Any]:
    """The objects and arrays that stand in others."""
    return [
        item
        for container in level
        for item in (container.values() if type(container) is dict else container)
        if type(item) is dict or type(item) is list
    ]


def refuse(message: str, *path: str | int) -> NoReturn:
    """Raise RemoteError bad_shape at `path` of the body being read; what `message` repeats of the body may be of any length."""
    raise RemoteError("bad_shape", message if len(message) <= MOST_SAID else f"{message[:MOST_SAID]}…", path)
