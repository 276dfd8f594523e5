"""A whole text completion, in both directions."""

from __future__ import annotations

from typing import Any

from dragoman.dialect.model import Dialect
from dragoman.types.base import Origin
from dragoman.types.content import Text
from dragoman.types.message import Message
from dragoman.types.note import Path
from dragoman.types.opaque import bag, marks, restore
from dragoman.types.reply import Choice, Reply
from dragoman.wire import jsonio
from dragoman.wire.base import Decoded, Encoded, Exchange, Fields, Notes, own
from dragoman.wire.chat.reply import whole
from dragoman.wire.completions.errors import error_in
from dragoman.wire.completions.parts import WIRE, text_of
from dragoman.wire.completions.stops import decode_stop, encode_stop
from dragoman.wire.completions.usage import decode_usage, encode_usage, usage_of
from dragoman.wire.ids import made_id
from dragoman.wire.jsonio import refuse

KIND, ID = "text_completion", "cmpl-"


def decode_reply(body: bytes, dialect: Dialect, exchange: Exchange) -> Decoded[Reply]:
    """A reply's body: one choice for each prompt and each of `n`, the first on the reply, the rest in `others`.

    Raises ApiError when a 200 holds an error, RemoteError with the place otherwise.
    """
    value, found = jsonio.decode_object(body)
    failed = error_in(value)
    if failed is not None:
        raise failed
    notes = Notes()
    notes.taken += found
    fields = Fields(value)
    items = fields.left.pop("choices", None)
    if not isinstance(items, list) or not items:
        refuse(f"expected an array of choices, got {jsonio.kind(items)}", "choices")
    model = fields.take("model", str)
    origin = Origin(wire=WIRE, provider=exchange.provider, model=exchange.model or model)
    first, *others = (_decode_choice(item, origin, ("choices", at)) for at, item in enumerate(items))
    raw = usage_of(value)
    if raw is not None:
        fields.left.pop("usage")
    reply = Reply(
        message=first.message,
        stop=first.stop,
        usage=None if raw is None else decode_usage(raw, dialect, notes),
        id=fields.take("id", str),
        model=model,
        created=fields.number("created"),
        others=tuple(others) or None,
        opaque=fields.opaque(WIRE),
    )
    return Decoded(value=reply, notes=notes.done())


def encode_reply(reply: Reply, dialect: Dialect, exchange: Exchange) -> Encoded:
    """The body for a client: ids and times that strict clients need come from the exchange when nobody said them."""
    notes = Notes()
    ours = _from_here(reply.message)
    id = reply.id if reply.id is not None or ours else made_id(ID, exchange.seed)
    created = reply.created if reply.created is not None or ours else exchange.now
    out: dict[str, Any] = {} if id is None else {"id": id}
    if not ours:
        out["object"] = KIND
    if created is not None:
        out["created"] = whole(created)
    if reply.model is not None or not ours:
        out["model"] = reply.model or exchange.model or ""
    choices = (Choice(message=reply.message, stop=reply.stop), *(reply.others or ()))
    out["choices"] = [_encode_choice(choice, at, notes) for at, choice in enumerate(choices)]
    if reply.usage is not None:
        out["usage"] = encode_usage(reply.usage, dialect, notes)
    notes.leftovers(reply.opaque, WIRE, ())
    return Encoded(body=jsonio.encode(restore(out, bag(reply.opaque, WIRE))), notes=notes.done())


def _decode_choice(choice: Any, origin: Origin, path: Path) -> Choice:
    """A choice is a message here: what it says beside its text is the message's leftovers."""
    if not isinstance(choice, dict):
        refuse("expected a choice (an object)", *path)
    fields = Fields(choice)
    text = fields.take("text", str)
    if text is None:
        fields.marks["text"] = "absent"
    raw = fields.take("finish_reason", str)
    content = (Text(text=text),) if text else ()
    message = Message(role="assistant", content=content, origin=origin, opaque=fields.opaque(WIRE))
    return Choice(message=message, stop=decode_stop(raw))


def _encode_choice(choice: Choice, at: int, notes: Notes) -> dict[str, Any]:
    path: Path = ("others", at - 1) if at else ()
    message, ours = choice.message, _from_here(choice.message)
    place = (*path, "message")
    notes.leftovers(message.opaque, WIRE, place)
    left = own(message.opaque, WIRE)
    for block in message.content:
        left |= own(block.opaque, WIRE)
    if message.name is not None:
        notes.add((*place, "name"), "dropped", "a text completion has no author")
    text = text_of(message, notes, place)
    out: dict[str, Any] = {}
    if text or marks(message.opaque, WIRE).get("text") != "absent":
        out["text"] = text
    if not ours:
        out |= {"index": at, "logprobs": None}
    word = encode_stop(choice.stop, message, notes, (*path, "stop"))
    if word is not None or not ours:
        out["finish_reason"] = word
    return left | out if ours else out | {key: value for key, value in left.items() if key not in out}


def _from_here(message: Message) -> bool:
    return message.origin is not None and message.origin.wire == WIRE
