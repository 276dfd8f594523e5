"""A whole messages reply, in both directions."""

from __future__ import annotations

import msgspec

from dragoman.dialect.model import Dialect
from dragoman.types.base import Origin
from dragoman.types.content import Content, ToolCall
from dragoman.types.message import Message
from dragoman.types.opaque import Bag, marks, restore
from dragoman.types.reply import Reply
from dragoman.wire import jsonio
from dragoman.wire.back import undone
from dragoman.wire.base import Decoded, Encoded, Exchange, Fields, Notes, own
from dragoman.wire.ids import made_id
from dragoman.wire.jsonio import refuse
from dragoman.wire.messages.blocks import decode_block
from dragoman.wire.messages.calls import custom_text, keep_inputs
from dragoman.wire.messages.errors import error_in
from dragoman.wire.messages.history import encode_shown
from dragoman.wire.messages.parts import WIRE
from dragoman.wire.messages.stops import encode_stop, take_stop
from dragoman.wire.messages.usage import decode_usage, encode_usage

STOP = ("stop_reason", "stop_sequence")
CONSTANTS = {"type": "message", "role": "assistant"}
# What strict clients read of a reply, of its blocks by their type and of its usage, and no other wire's server says.
UNSAID: Bag = {"container": None, "stop_details": None}
UNSAID_OF_BLOCK: dict[str, Bag] = {"text": {"citations": None}, "tool_use": {"caller": {"type": "direct"}}}
UNSAID_OF_USAGE: Bag = {
    **dict.fromkeys(("cache_creation", "cache_creation_input_tokens", "cache_read_input_tokens", "inference_geo")),
    **dict.fromkeys(("output_tokens_details", "server_tool_use", "service_tier")),
}


def decode_reply(body: bytes, dialect: Dialect, exchange: Exchange) -> Decoded[Reply]:
    """A reply's body. Raises ApiError when a 200 holds an error, RemoteError with the place otherwise."""
    value, found = jsonio.decode_object(body)
    failed = error_in(value)
    if failed is not None:
        raise failed
    content = value.get("content")
    if not isinstance(content, list):
        refuse(f"expected an array of blocks, got {jsonio.kind(content)}", "content")
    notes = Notes()
    notes.taken += found
    keep_inputs([value], body, whole=True)
    fields = Fields(value)
    del fields.left["content"]
    take_constants(fields)
    decoded = (decode_block(block, ("content", at), notes) for at, block in enumerate(content))
    blocks = tuple(for_caller(block, exchange) for block in decoded)
    model = fields.take("model", str)
    origin = Origin(wire=WIRE, provider=exchange.provider, model=exchange.model or model)
    usage = fields.take("usage", dict)
    for key in STOP:
        if key not in fields.left:
            fields.marks[key] = "absent"
    stop = take_stop(fields, has_calls=any(isinstance(block, ToolCall) for block in blocks))
    reply = Reply(
        message=Message(role="assistant", content=blocks, origin=origin),
        stop=stop,
        usage=None if usage is None else decode_usage(usage, dialect, notes=notes),
        id=fields.take("id", str),
        model=model,
        opaque=fields.opaque(WIRE),
    )
    return Decoded(value=undone(reply, exchange, notes), notes=notes.done())


def encode_reply(reply: Reply, dialect: Dialect, exchange: Exchange) -> Encoded:
    """The body for a client: an id comes from the exchange when nobody said one."""
    notes = Notes()
    message, spelled = reply.message, marks(reply.opaque, WIRE)
    ours = message.origin is not None and message.origin.wire == WIRE
    out: Bag = envelope(reply.id, reply.model, exchange, ours=ours)
    for key in CONSTANTS:
        if spelled.get(key) == "absent" or key in own(reply.opaque, WIRE):
            out.pop(key, None)
    out["content"] = encode_shown(message, notes, ("message",))
    notes.leftovers(message.opaque, WIRE, ("message",))
    out |= encode_stop(reply.stop, message, notes, ("stop",))
    left = own(reply.opaque, WIRE)
    for key in STOP:
        if out[key] is None and (key in left or spelled.get(key) == "absent"):
            del out[key]
    if reply.usage is not None or not ours:
        out["usage"] = encode_usage(reply.usage, dialect, notes)
    if reply.created is not None:
        notes.add(("created",), "dropped", "a reply of this wire does not say when it was made", loss=False)
    for at in range(len(reply.others or ())):
        notes.add(("others", at), "dropped", "this wire has one answer a reply")
    notes.leftovers(reply.opaque, WIRE, ())
    written = restore(out, left)
    return Encoded(body=jsonio.encode(written if ours else _whole(written)), notes=notes.done())


def _whole(reply: Bag) -> Bag:
    """A reply of another wire's server, with what strict clients read beside what it says."""
    content = [{**UNSAID_OF_BLOCK.get(str(part.get("type")), {}), **part} for part in reply["content"]]
    return {**UNSAID, **reply, "content": content, "usage": {**UNSAID_OF_USAGE, **reply["usage"]}}


def envelope(id: str | None, model: str | None, exchange: Exchange, *, ours: bool) -> Bag:
    """The keys that stand before the content of a reply, whole or streamed."""
    out: Bag = {}
    if id is not None or not ours:
        out["id"] = id if id or ours else made_id("msg_", exchange.seed)
    out |= CONSTANTS
    if model is not None or not ours:
        out["model"] = model or exchange.model or ""
    return out


def take_constants(fields: Fields) -> None:
    """Take off what every reply says of itself."""
    for key, word in CONSTANTS.items():
        if fields.left.get(key) == word:
            del fields.left[key]
        elif key not in fields.left:
            fields.marks[key] = "absent"


def for_caller(block: Content, exchange: Exchange) -> Content:
    """A call under the name its caller gave the tool, with the free text that a custom tool takes."""
    if not isinstance(block, ToolCall):
        return block
    name = exchange.names.get(block.name, block.name)
    if block.name in exchange.custom:
        arguments = custom_text(block.arguments)
        return msgspec.structs.replace(block, name=name, kind="custom", arguments=arguments)
    return block if name == block.name else msgspec.structs.replace(block, name=name)
