"""A whole reply of this wire, in both directions."""

from __future__ import annotations

from typing import Any

import msgspec

from dragoman.dialect.model import Dialect
from dragoman.types.base import Origin
from dragoman.types.content import ToolCall
from dragoman.types.message import Message
from dragoman.types.opaque import bag, marks, restore
from dragoman.types.reply import Reply, Usage
from dragoman.wire import jsonio
from dragoman.wire.back import undone
from dragoman.wire.base import Decoded, Encoded, Exchange, Fields, Notes, own
from dragoman.wire.figures import MOST
from dragoman.wire.ids import made_id
from dragoman.wire.jsonio import refuse
from dragoman.wire.ollama.errors import error_in
from dragoman.wire.ollama.history import write_message
from dragoman.wire.ollama.stops import WIRE, decode_stop, encode_stop, read_time, write_time
from dragoman.wire.ollama.turns import decode_assistant
from dragoman.wire.params import note_unsaid_usage

FIGURES = {"input": "prompt_eval_count", "output": "eval_count"}
TIME = "created_at"


def decode_reply(body: bytes, dialect: Dialect, exchange: Exchange) -> Decoded[Reply]:
    """A reply's body; what the server measured in nanoseconds stays a leftover.

    Raises ApiError when a 200 holds an error, RemoteError with the place otherwise.
    """
    value, found = jsonio.decode_object(body)
    failed = error_in(value)
    if failed is not None:
        raise failed
    notes = Notes()
    notes.taken += found
    fields = Fields(value)
    said = fields.left.pop("message", None)
    if not isinstance(said, dict):
        refuse(f"expected a message (an object), got {jsonio.kind(said)}", "message")
    model = fields.take("model", str)
    inner = Fields(said)
    if inner.left.get("role") == "assistant":
        del inner.left["role"]
    else:
        inner.marks["role"] = "absent"
    message = decode_assistant(inner, ids_of(exchange), notes, ("message",))
    origin = Origin(wire=WIRE, provider=exchange.provider, model=exchange.model or model)
    message = msgspec.structs.replace(message, origin=origin)
    usage = take_usage(fields)
    created = take_time(fields)
    stop = decode_stop(fields.take("done_reason", str), _has_calls(message))
    reply = Reply(message=message, stop=stop, usage=usage, model=model, created=created, opaque=fields.opaque(WIRE))
    return Decoded(value=undone(reply, exchange, notes), notes=notes.done())


def encode_reply(reply: Reply, dialect: Dialect, exchange: Exchange) -> Encoded:
    """The body for a client: the time that strict clients need comes from the exchange when nobody said it."""
    notes = Notes()
    ours = reply.message.origin is not None and reply.message.origin.wire == WIRE
    out: dict[str, Any] = {}
    if reply.model is not None or not ours:
        out["model"] = reply.model or exchange.model or ""
    put_time(out, reply, exchange.now, notes)
    path = ("message",)
    if reply.message.name is not None:
        notes.add((*path, "name"), "dropped", "this wire has no names of speakers")
    notes.leftovers(reply.message.opaque, WIRE, path)
    written = write_message(reply.message, (shown(dialect), notes, Origin(wire=WIRE)), path)
    if marks(reply.message.opaque, WIRE).get("role") == "absent":
        del written["role"]
        written |= {key: value for key, value in own(reply.message.opaque, WIRE).items() if key == "role"}
    out["message"] = written
    word = encode_stop(reply.stop, reply.message, notes, ("stop",))
    if word is not None:
        out["done_reason"] = word
    if not ours:
        out["done"] = True
    if reply.usage is not None:
        out |= write_usage(reply.usage, notes)
    for field in ("id", "others"):
        if getattr(reply, field) is not None:
            notes.add((field,), "dropped", f"a reply of this wire has no {field}")
    notes.leftovers(reply.opaque, WIRE, ())
    return Encoded(body=jsonio.encode(restore(out, bag(reply.opaque, WIRE))), notes=notes.done())


def shown(dialect: Dialect) -> Dialect:
    """The dialect for writing to a client: reasoning of any origin is shown."""
    return msgspec.structs.replace(dialect, replay="always")


def ids_of(exchange: Exchange) -> str:
    """What the ids of a reply's calls begin with, where the server says none."""
    return made_id("call_", exchange.seed) + "_"


def take_usage(fields: Fields) -> Usage | None:
    """The two counts, where one was said."""
    found: dict[str, Any] = {}
    for field, key in FIGURES.items():
        value = fields.left.get(key)
        if type(value) is int and 0 <= value <= MOST:
            found[field] = fields.left.pop(key)
    return Usage(**found) if found else None


def write_usage(usage: Usage, notes: Notes) -> dict[str, Any]:
    """The two counts; any other figure is noted."""
    note_unsaid_usage(notes, usage, tuple(FIGURES), WIRE)
    return {key: value for field, key in FIGURES.items() if (value := getattr(usage, field)) is not None}


def take_time(fields: Fields) -> float | int | None:
    """Seconds since the epoch; how they were written is a mark."""
    created = read_time(fields.left.get(TIME))
    if created is not None:
        fields.marks[TIME] = fields.left.pop(TIME)
    return created


def put_time(out: dict[str, Any], reply: Reply, now: int, notes: Notes) -> None:
    """Write the time as it was written, when it still is that time."""
    spelled = marks(reply.opaque, WIRE).get(TIME)
    ours = reply.message.origin is not None and reply.message.origin.wire == WIRE
    if reply.created is not None and read_time(spelled) == reply.created:
        out[TIME] = spelled
        return
    created = reply.created if reply.created is not None or ours else now
    if created is None:
        return
    said = write_time(created)
    if said is None:
        notes.add(("created",), "dropped", "a time beyond this wire's calendar")
    elif reply.created is not None and read_time(said) != reply.created:
        notes.add(("created",), "substituted", "times are told to a millionth of a second here")
    if said is not None:
        out[TIME] = said


def _has_calls(message: Message) -> bool:
    return any(isinstance(block, ToolCall) for block in message.content)
