"""A whole chat reply, in both directions."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from dragoman.dialect.model import BASE, Dialect
from dragoman.types.base import Origin
from dragoman.types.content import ToolCall
from dragoman.types.message import Message
from dragoman.types.note import Path
from dragoman.types.opaque import bag, marks, nested, restore
from dragoman.types.reply import Choice, Reply
from dragoman.wire import jsonio
from dragoman.wire.back import undone
from dragoman.wire.base import Decoded, Encoded, Exchange, Fields, Notes, own
from dragoman.wire.chat import plain_reply
from dragoman.wire.chat.errors import error_in
from dragoman.wire.chat.history import encode_assistant
from dragoman.wire.chat.parts import WIRE
from dragoman.wire.chat.stops import decode_stop, encode_stop
from dragoman.wire.chat.thoughts import take_thoughts
from dragoman.wire.chat.turns import decode_assistant
from dragoman.wire.chat.usage import decode_usage, encode_usage, usage_of
from dragoman.wire.ids import made_id
from dragoman.wire.jsonio import refuse
from dragoman.wire.naming import reply_for_caller

CHOICE = "~choice"
# What strict clients read of a message and of a choice, and no other wire's server says.
UNSAID: dict[str, Any] = {"refusal": None}
UNSAID_OF_CHOICE: dict[str, Any] = {"logprobs": None}
EXACT = 2**53  # whole numbers up to here are exact as floats


def whole(seconds: float) -> float:
    """A time as the whole number that strict clients want; one with a fraction as it was said."""
    plain = isinstance(seconds, float) and seconds.is_integer() and abs(seconds) < EXACT
    return int(seconds) if plain else seconds


def decode_reply(body: bytes, dialect: Dialect, exchange: Exchange) -> Decoded[Reply]:
    """A reply's body. Raises ApiError when a 200 holds an error, RemoteError with the place otherwise."""
    value, found = jsonio.decode_object(body)
    failed = error_in(value)
    if failed is not None:
        raise failed
    return decode_body(value, dialect, exchange, found)


def decode_body(
    value: Mapping[str, Any], dialect: Dialect, exchange: Exchange, found: tuple[Any, ...] = ()
) -> Decoded[Reply]:
    """The same for a body already parsed."""
    notes = Notes()
    notes.taken += found
    fields = Fields(value)
    choices = fields.left.pop("choices", None)
    if not isinstance(choices, list) or not choices:
        refuse(f"expected an array of choices, got {jsonio.kind(choices)}", "choices")
    model = fields.take("model", str)
    origin = Origin(wire=WIRE, provider=exchange.provider, model=exchange.model or model)
    first, left = _decode_choice(choices[0], (dialect, notes, origin), ("choices", 0))
    others = tuple(_other(item, (dialect, notes, origin), at + 1) for at, item in enumerate(choices[1:]))
    raw = usage_of(value)
    if raw is not None and raw is value.get("usage"):
        fields.left.pop("usage")
    if left:
        fields.left[CHOICE] = left
    reply = Reply(
        message=first.message,
        stop=first.stop,
        usage=None if raw is None else decode_usage(raw, dialect, notes),
        id=fields.take("id", str),
        model=model,
        created=fields.number("created"),
        others=others or None,
        opaque=fields.opaque(WIRE),
    )
    return Decoded(value=undone(reply_for_caller(reply, exchange.names), exchange, notes), notes=notes.done())


def encode_reply(reply: Reply, dialect: Dialect, exchange: Exchange) -> Encoded:
    """The body for a client: ids and times that strict clients need come from the exchange when nobody said them."""
    notes = Notes()
    ours = _is_ours(reply)
    out: dict[str, Any] = {}
    id = reply.id if reply.id is not None or ours else made_id("chatcmpl-", exchange.seed)
    created = reply.created if reply.created is not None or ours else exchange.now
    if id is not None:
        out["id"] = id
    if not ours:
        out["object"] = "chat.completion"
    if created is not None:
        out["created"] = whole(created)
    if reply.model is not None or not ours:
        out["model"] = reply.model or exchange.model or ""
    out["choices"] = [_encode_choice(reply, dialect, notes, ours)]
    for at, other in enumerate(reply.others or ()):
        out["choices"].append(_encode_other(other, dialect, notes, at + 1))
    if reply.usage is not None and not _boxed(reply):
        out["usage"] = encode_usage(reply.usage, dialect, notes)
    notes.leftovers(reply.opaque, WIRE, ())
    return Encoded(body=jsonio.encode(restore(out, bag(reply.opaque, WIRE))), notes=notes.done())


def shown(dialect: Dialect) -> Dialect:
    """The dialect for writing to a client: reasoning of any origin is shown, under the key clients read."""
    return SHOWN if dialect is BASE else _shown(dialect)


def _shown(dialect: Dialect) -> Dialect:
    return msgspec.structs.replace(dialect, reasoning_out=dialect.reasoning_shown, replay="always")


SHOWN = _shown(BASE)  # a dialect has many fields to copy


def has_calls(message: Message) -> bool:
    """Whether the caller owes an answer to a call."""
    return any(isinstance(block, ToolCall) for block in message.content)


def _decode_choice(choice: Any, context: tuple[Dialect, Notes, Origin], path: Path) -> tuple[Choice, dict[str, Any]]:
    if not isinstance(choice, dict):
        refuse("expected a choice (an object)", *path)
    dialect, notes, origin = context
    at_once = plain_reply.read_choice(choice, dialect, origin)
    if at_once is not None:
        return at_once
    fields = Fields(choice)
    message = fields.left.get("message")
    if message is None:  # filtered before a word was said: recorded, so kept as said
        spelled = None if "message" in fields.left else {WIRE: {"~": {"message": "absent"}}}
        decoded = Message(role="assistant", content=(), origin=origin, opaque=spelled)
        return Choice(message=decoded, stop=decode_stop(fields.take("finish_reason", str), False)), fields.left
    if not isinstance(message, dict):
        refuse(f"expected a message (an object), got {jsonio.kind(message)}", *path, "message")
    del fields.left["message"]
    inner = Fields(message)
    if inner.left.get("role") == "assistant":
        del inner.left["role"]
    elif "role" not in inner.left:
        inner.marks["role"] = "absent"
    decoded = decode_assistant(inner, dialect, notes, (*path, "message"))
    content = take_thoughts(decoded.content, dialect)
    decoded = msgspec.structs.replace(decoded, content=content, origin=origin)
    raw = fields.take("finish_reason", str)
    left = fields.left
    return Choice(message=decoded, stop=decode_stop(raw, has_calls(decoded))), left


def _other(choice: Any, context: tuple[Dialect, Notes, Origin], at: int) -> Choice:
    decoded, left = _decode_choice(choice, context, ("choices", at))
    return msgspec.structs.replace(decoded, opaque={WIRE: left} if left else None)


def _encode_choice(reply: Reply, dialect: Dialect, notes: Notes, ours: bool) -> dict[str, Any]:
    left = nested(bag(reply.opaque, WIRE), CHOICE)
    choice = Choice(message=reply.message, stop=reply.stop, opaque={WIRE: left})
    return _write_choice(choice, dialect, notes, (), 0 if not ours else None)


def _encode_other(choice: Choice, dialect: Dialect, notes: Notes, at: int) -> dict[str, Any]:
    index = None if _from_here(choice.message.origin) else at
    return _write_choice(choice, dialect, notes, ("others", at - 1), index)


def _write_choice(choice: Choice, dialect: Dialect, notes: Notes, path: Path, index: int | None) -> dict[str, Any]:
    out: dict[str, Any] = {} if index is None else {"index": index}
    message = choice.message
    written = plain_reply.write_message(message, dialect) or _write_message(message, dialect, notes, path)
    left = own(choice.opaque, WIRE)
    foreign = not _from_here(message.origin)
    written = restore(written, UNSAID) if foreign else written
    unsaid = "message" in left or marks(message.opaque, WIRE).get("message") == "absent"
    if message.content or not unsaid:
        out["message"] = written
    word = encode_stop(choice.stop, message, notes, (*path, "stop"))
    if word is not None or "finish_reason" not in left:
        out["finish_reason"] = word
    if word is None and "finish_reason" not in left and not foreign:
        del out["finish_reason"]
    return restore(restore(out, left), UNSAID_OF_CHOICE if foreign else {})


def _write_message(message: Message, dialect: Dialect, notes: Notes, path: Path) -> dict[str, Any]:
    """A message of any kind."""
    written = encode_assistant(message, shown(dialect), notes, (*path, "message"), Origin(wire=WIRE))
    notes.leftovers(message.opaque, WIRE, (*path, "message"))
    written = written or {"role": "assistant", "content": ""}
    if marks(message.opaque, WIRE).get("role") == "absent":
        written.pop("role", None)
    return written | {key: value for key, value in own(message.opaque, WIRE).items() if key == "role"}


def _is_ours(reply: Reply) -> bool:
    return _from_here(reply.message.origin)


def _from_here(origin: Origin | None) -> bool:
    return origin is not None and origin.wire == WIRE


def _boxed(reply: Reply) -> bool:
    """Whether the usage came in a box that the leftovers hold: written there, not on top."""
    left = bag(reply.opaque, WIRE)
    choice = nested(left, CHOICE)
    if "usage" not in left and "usage" not in choice and not any(key.startswith("x_") for key in left):
        return False
    return usage_of({"choices": [choice], **own(reply.opaque, WIRE)}) is not None
