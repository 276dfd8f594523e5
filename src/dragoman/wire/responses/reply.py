"""A whole response, in both directions."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from msgspec.structs import replace

from dragoman.dialect.model import Dialect
from dragoman.types.base import Origin
from dragoman.types.content import Content, Text
from dragoman.types.message import Message
from dragoman.types.opaque import Bag, bag, marks, nested, restore
from dragoman.types.reply import Reply, Usage
from dragoman.wire import jsonio
from dragoman.wire.back import undone
from dragoman.wire.base import Decoded, Encoded, Exchange, Fields, Notes
from dragoman.wire.ids import made_id
from dragoman.wire.jsonio import refuse
from dragoman.wire.naming import reply_for_caller
from dragoman.wire.responses.errors import error_in
from dragoman.wire.responses.items import To, decode_item, encode_items
from dragoman.wire.responses.parts import WIRE
from dragoman.wire.responses.stops import Status, decode_stop, encode_stop
from dragoman.wire.responses.usage import decode_usage, encode_usage

# What a response repeats of its request, and what strict clients read where nobody said it.
ECHO: dict[str, Any] = {
    "background": False,
    "frequency_penalty": 0.0,
    "instructions": None,
    "max_output_tokens": None,
    "max_tool_calls": None,
    "metadata": {},
    "parallel_tool_calls": True,
    "presence_penalty": 0.0,
    "previous_response_id": None,
    "prompt_cache_key": None,
    "reasoning": {"effort": None, "summary": None},
    "safety_identifier": None,
    "service_tier": "default",
    "store": True,
    "temperature": 1.0,
    "text": {"format": {"type": "text"}},
    "tool_choice": "auto",
    "tools": [],
    "top_logprobs": 0,
    "top_p": 1.0,
    "truncation": "disabled",
    "user": None,
}
ECHOED = frozenset(ECHO) | {
    *("conversation", "moderation", "prompt", "prompt_cache_options"),
    "prompt_cache_retention",
}
# What a function says of itself in there, said or not; a tool of another kind is repeated as it is.
FUNCTION: dict[str, Any] = {"description": None, "parameters": None, "strict": None}
ECHO_BAG = (
    "~echo"  # in the leftovers of a reply: what it repeats of its request or says of nothing, of no meaning elsewhere
)
Context = tuple[Dialect, Exchange, Notes]


def decode_reply(body: bytes, dialect: Dialect, exchange: Exchange) -> Decoded[Reply]:
    """A reply's body. Raises ApiError when a 200 holds an error or a failed response, else RemoteError with the place."""
    value, found = jsonio.decode_object(body)
    failed = error_in(value)
    if failed is not None:
        raise failed
    notes = Notes()
    notes.taken += found
    items = value.get("output")
    if not isinstance(items, list):
        refuse(f"expected an array of output items, got {jsonio.kind(items)}", "output")
    content: list[Content] = []
    for at, item in enumerate(items):
        if not isinstance(item, dict):
            refuse("expected an output item (an object)", "output", at)
        content += decode_item(item, ("output", at), notes, ("message", "content", len(content)))
    reply = decode_envelope(value, tuple(content), (dialect, exchange, notes))
    return Decoded(value=undone(reply_for_caller(reply, exchange.names), exchange, notes), notes=notes.done())


def decode_envelope(value: Mapping[str, Any], content: tuple[Content, ...], context: Context) -> Reply:
    """The reply of a response object whose output has been read."""
    dialect, exchange, notes = context
    fields = Fields(value)
    fields.left.pop("output", None)
    model = fields.take("model", str)
    origin = Origin(wire=WIRE, provider=exchange.provider, model=exchange.model or model)
    message = Message(role="assistant", content=content, origin=origin)
    usage = fields.left.get("usage")
    if isinstance(usage, dict):
        del fields.left["usage"]
    if isinstance(fields.left.get("output_text"), str) and fields.left["output_text"] == output_text(content):
        del fields.left["output_text"]
        fields.marks["output_text"] = True
    counted = decode_usage(usage, dialect, notes) if isinstance(usage, dict) else None
    stop = decode_stop(take_status(fields), message)
    if dialect.limit_unsaid and stop.reason in ("end", "tool_calls") and _reached(counted, exchange):
        stop = replace(stop, reason="length")
    echo = {key: fields.left.pop(key) for key in sorted(ECHOED) if key in fields.left}
    if _is_idle(fields.left.get("tool_usage")):
        echo["tool_usage"] = fields.left.pop("tool_usage")
    if echo:
        fields.left[ECHO_BAG] = echo
    return Reply(
        message=message,
        stop=stop,
        usage=counted,
        id=fields.take("id", str),
        model=model,
        created=fields.number("created_at"),
        opaque=fields.opaque(WIRE),
    )


def _reached(usage: Usage | None, exchange: Exchange) -> bool:
    """Whether an answer has as many tokens as it may have."""
    most: Any = exchange.echo.get("max_output_tokens")
    return isinstance(most, int) and usage is not None and (usage.output or 0) >= most


def take_status(fields: Fields) -> Status:
    """`status` and the reason in `incomplete_details`, when it says no more than a reason."""
    details = fields.left.get("incomplete_details")
    reason = None
    if isinstance(details, dict) and set(details) == {"reason"} and isinstance(details["reason"], str):
        reason = fields.left.pop("incomplete_details")["reason"]
    return Status(fields.take("status", str), reason)


def encode_reply(reply: Reply, dialect: Dialect, exchange: Exchange) -> Encoded:
    """The body for a client: what strict clients need beside the answer comes from the exchange or a default."""
    notes = Notes()
    seed = None if is_ours(reply.message) else exchange.seed
    target = reply.message.origin or Origin(wire=WIRE)
    notes.leftovers(reply.message.opaque, WIRE, ("message",))
    if reply.others:
        notes.add(("others",), "dropped", "the responses wire has one answer only")
    output = encode_items(reply.message, ("message",), To(dialect, notes, target, seed))
    return Encoded(body=jsonio.encode(encode_envelope(reply, output, (dialect, exchange, notes))), notes=notes.done())


def encode_envelope(reply: Reply, output: list[Bag], context: Context) -> dict[str, Any]:
    """A response object with its output already written."""
    dialect, exchange, notes = context
    ours = is_ours(reply.message)
    out: dict[str, Any] = {} if ours else blank(exchange)
    said = {"id": reply.id, "created_at": reply.created, "model": reply.model}
    out |= {key: value for key, value in said.items() if value is not None}
    status = encode_stop(reply.stop, reply.message, notes, ("stop",))
    if status.word is not None:
        out["status"] = status.word
    if status.reason is not None:
        out["incomplete_details"] = {"reason": status.reason}
    if reply.stop.reason == "error" and not ours:
        out["error"] = {"code": "server_error", "message": reply.stop.detail or "the model failed"}
    if reply.usage is not None:
        out["usage"] = encode_usage(reply.usage, dialect, notes)
    out["output"] = output
    if marks(reply.opaque, WIRE).get("output_text"):
        out["output_text"] = output_text(reply.message.content)
    notes.leftovers(reply.opaque, WIRE, ())
    return restore(restore(out, bag(reply.opaque, WIRE)), nested(bag(reply.opaque, WIRE), ECHO_BAG))


def blank(exchange: Exchange) -> dict[str, Any]:
    """A response of nobody's, with all that strict clients read; the request's own words are repeated."""
    return {
        "id": made_id("resp_", exchange.seed),
        "object": "response",
        "created_at": exchange.now,
        "completed_at": None,
        "model": exchange.model or "",
        "error": None,
        "incomplete_details": None,
        "usage": None,
        **ECHO,
        **_echoed(exchange.echo),
    }


def _echoed(said: Mapping[str, Any]) -> dict[str, Any]:
    """A request's own words as a response repeats them: whole objects, whatever of them was left to the default."""
    out = dict(said)
    for key in ("reasoning", "text"):
        if isinstance(out.get(key), dict):
            out[key] = {**ECHO[key], **out[key]}
    if isinstance(out.get("tools"), list):
        out["tools"] = [{**FUNCTION, **tool} if _is_function(tool) else tool for tool in out["tools"]]
    return out


def _is_function(tool: Any) -> bool:
    return isinstance(tool, dict) and tool.get("type") == "function"


def is_ours(message: Message) -> bool:
    """Whether a server of this wire said it."""
    return message.origin is not None and message.origin.wire == WIRE


def _is_idle(value: Any) -> bool:
    """Whether an object of figures counts nothing."""
    level: list[Any] = [value]
    while level:
        if not all(isinstance(item, dict) for item in level):
            return False
        level = [inner for item in level for inner in item.values() if inner != 0]
    return True


def output_text(content: tuple[Content, ...]) -> str:
    """All text of the answer, as the vendor's own clients join it."""
    return "".join(block.text for block in content if isinstance(block, Text))
