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

    Raises RemoteError with the place in the file, UsageError for a version newer than this library.
    """
    try:
        body: Any = msgspec.json.decode(data)
    except (msgspec.DecodeError, RecursionError, UnicodeError) as error:
        raise RemoteError("bad_json", f"not a saved conversation: {error}") from None
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
