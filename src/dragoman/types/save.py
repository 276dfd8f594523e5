"""Conversations on disk: JSON with a version, opened forever."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec

from dragoman.errors import RemoteError, UsageError
from dragoman.types.note import Note
from dragoman.types.reply import Reply
from dragoman.types.request import Request

FORMAT = "dragoman.conversation"
VERSION = 1
MAX_DEPTH = 640  # levels of a file: those that a body of a wire may have, and ours around them


class Conversation(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What `save` writes: the request as it stands (its messages are the history) and the replies' bookkeeping."""

    request: Request
    replies: tuple[Reply, ...] = ()
    notes: tuple[Note, ...] = ()


# version → the function that lifts a file of that version to the next one; none yet.
UPGRADES: dict[int, Callable[[dict[str, Any]], dict[str, Any]]] = {}


def dumps(conversation: Conversation) -> bytes:
    """The bytes of a saved conversation: UTF-8, unescaped, indented for people."""
    body = {"format": FORMAT, "version": VERSION, **msgspec.to_builtins(conversation)}
    return msgspec.json.format(msgspec.json.encode(body), indent=2) + b"\n"


def loads(data: bytes) -> Conversation:
    """A conversation from its bytes, old versions included.

    Raises RemoteError with the place in the file, UsageError for a version newer than this library. What leftovers and marks
    hold is not looked at: a mark of no known meaning is no mark (`types/opaque.py`).
    """
    body: Any = None
    try:
        body = msgspec.json.decode(data)
        is_deep = is_too_deep(body)
    except RecursionError:
        is_deep = True
    except (msgspec.DecodeError, UnicodeError) as error:
        raise RemoteError("bad_json", f"not a saved conversation: {error}") from None
    if is_deep:
        raise RemoteError("too_deep", f"not a saved conversation: more than {MAX_DEPTH} levels of nesting")
    if not is_saved(body):
        raise RemoteError("bad_shape", f"not a saved conversation: no format {FORMAT!r}")
    version = body.get("version")
    if not isinstance(version, int) or version > VERSION:
        raise UsageError("usage", f"this file has version {version!r}, this library reads up to {VERSION}: upgrade it")
    while version < VERSION:
        if version not in UPGRADES:
            raise RemoteError("bad_shape", f"there was no version {version}", ("version",))
        body = UPGRADES[version](body)
        version += 1
    try:
        return msgspec.convert({key: body[key] for key in Conversation.__struct_fields__ if key in body}, Conversation)
    except msgspec.ValidationError as error:
        raise RemoteError("bad_shape", str(error)) from None


def is_saved(body: Any) -> bool:
    """Whether a decoded JSON value is a saved conversation rather than a request body."""
    return isinstance(body, dict) and body.get("format") == FORMAT


def is_too_deep(value: Any) -> bool:
    """Whether a decoded JSON value is deeper than a file of ours may be."""
    level: list[Any] = [value]
    for _ in range(MAX_DEPTH + 1):
        level = [
            item
            for held in level
            if isinstance(held, dict | list)
            for item in (held.values() if isinstance(held, dict) else held)
        ]
        if not level:
            return False
    return True
