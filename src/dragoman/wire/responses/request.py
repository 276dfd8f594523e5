"""A Responses request, in both directions."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from dragoman.dialect.model import Dialect
from dragoman.types.base import Origin
from dragoman.types.content import Text
from dragoman.types.message import Message
from dragoman.types.opaque import bag, marks, restore
from dragoman.types.request import Request, ServerState
from dragoman.types.tool import Tool
from dragoman.wire import jsonio
from dragoman.wire.base import Exchange, Fields, Http, Incoming, Notes, Outgoing
from dragoman.wire.glance import Glance, glance
from dragoman.wire.jsonio import refuse
from dragoman.wire.keeping import STATE  # asks for what the client sends back: how, not what, it says
from dragoman.wire.naming import legalised
from dragoman.wire.params import Param, note_unsaid, put_params, put_tier, split_sampling, take_params, take_tier
from dragoman.wire.responses import plain, shapes
from dragoman.wire.responses.adapt import adapt
from dragoman.wire.responses.history import HistoryEncoder, note_unsaid_message
from dragoman.wire.responses.items import To
from dragoman.wire.responses.parts import WIRE
from dragoman.wire.responses.reply import ECHO
from dragoman.wire.responses.tools import (
    keep_beside,
    put_beside,
    put_choice,
    put_text,
    put_tools,
    take_choice,
    take_text,
    take_tools,
)
from dragoman.wire.responses.turns import decode_input
from dragoman.wire.schema.fit import Fitted, fitted

PATH = "responses"
HEADERS = (("content-type", "application/json"),)
NAME, NAME_LIMIT = "[a-zA-Z0-9_-]{1,64}", 64  # of a tool: dialects §1.1, §8d
NO_NAMES: Mapping[str, str] = {}

PARAMS = (
    Param("temperature", "temperature", float),
    Param("top_p", "top_p", float),
    Param("parallel_tool_calls", "parallel_tools", bool),
    Param("max_output_tokens", "max_output", int),
    Param("store", "store", bool),
    Param("user", "user", str),
    Param("prompt_cache_key", "cache_key", str),
    Param("top_logprobs", "top_logprobs", int),
)
SAID = (*(param.field for param in PARAMS), "effort", "verbosity", "metadata", "tier")

# A key that only another wire's body has, and that wire: such a body is refused with the place (S3-01).
TELLTALES = {
    "messages": "chat or messages",
    "system": "messages",
    "anthropic_version": "messages",
    "functions": "chat",
    "response_format": "chat",
}


def decode_request(http: Http, dialect: Dialect, exchange: Exchange) -> Incoming:
    """A client's body as a Request. Raises RemoteError with the place in the body."""
    notes = Notes()
    shaped = shapes.read(http.body)
    body, said = (_any_body(http.body, notes), None) if shaped is None else shaped
    fields = Fields(body)
    values, sampling = split_sampling(take_params(fields, PARAMS))
    values |= take_text(fields) | _take_effort(fields)
    if fields.left.get("include") == [STATE]:
        del fields.left["include"]
        fields.marks["include"] = STATE
    elif body.get("store") is False and "include" not in body:
        fields.marks["include"] = "absent"
    request = Request(
        messages=_take_messages(fields, said, notes),
        model=fields.take("model", str),
        tools=take_tools(fields),
        tool_choice=take_choice(fields),
        sampling=sampling,
        state=_take_state(fields),
        metadata=_take_metadata(fields),
        tier=take_tier(fields, WIRE),
        stream=fields.take("stream", bool),
        opaque=fields.opaque(WIRE),
        **values,
    )
    return Incoming(
        request=request,
        exchange=_exchange(Fitted(request), msgspec.structs.replace(exchange, wire=WIRE), body),
        notes=notes.done(),
    )


def _any_body(body: bytes, notes: Notes) -> dict[str, Any]:
    """A body of any shape."""
    value, found = jsonio.decode_object(body)
    for key, wire in TELLTALES.items():
        if key in value:
            refuse(f"a responses body has no `{key}`: this looks like a body of the {wire} wire", key)
    notes.taken += found
    return jsonio.in_order(value, shapes.BESIDE)


def encode_request(request: Request, dialect: Dialect, exchange: Exchange) -> Outgoing:
    """The body to send, under the dialect. Deterministic, and element by element (L7)."""
    notes = Notes()
    seen = glance(request)
    fit = fitted(request, WIRE, dialect, notes, own=exchange.wire == WIRE, seen=seen)
    request, names = legalised(fit.request, dialect.tool_name_pattern or NAME, NAME_LIMIT, notes, seen)
    out: dict[str, Any] = {}
    if request.model is not None:
        out["model"] = request.model
    origin = Origin(wire=WIRE, provider=exchange.provider, model=request.model)
    to = To(dialect, notes, origin, stateless=request.store is False)
    _put_messages(out, request, to)
    put_tools(out, request, notes)
    put_choice(out, request)
    put_params(out, request, PARAMS)
    put_tier(out, request, WIRE, notes)
    put_beside(out, request, "reasoning", {} if request.effort is None else {"effort": request.effort})
    put_text(out, request, notes)
    if request.metadata is not None:
        out["metadata"] = request.metadata
    _put_state(out, request, notes)
    note_unsaid(notes, request, SAID, WIRE)
    notes.leftovers(request.opaque, WIRE, ())
    if request.cache is not None:
        notes.add(("cache",), "dropped", "the responses wire has no cache hint for a whole request")
    if request.stream is not None:
        out["stream"] = request.stream
    if marks(request.opaque, WIRE).get("include") == STATE or _wants_state(request, seen):
        out["include"] = [STATE]
    out = restore(out, bag(request.opaque, WIRE))
    adapt(out, dialect, notes)
    http = Http(path=PATH, headers=HEADERS, body=jsonio.encode(out))
    return Outgoing(http=http, exchange=_exchange(fit, exchange, out, names), notes=notes.done())


def _wants_state(request: Request, seen: Glance) -> bool:
    """Whether reasoning must come whole, since the server will not keep it; models that do not think refuse to be asked.

    A client's body of this wire says itself what it asks for.
    """
    if (
        request.store is not False
        or "include" in bag(request.opaque, WIRE)
        or marks(request.opaque, WIRE).get("include")
    ):
        return False
    return request.effort is not None or seen.thought


def _exchange(
    fit: Fitted, exchange: Exchange, body: Mapping[str, Any], names: Mapping[str, str] = NO_NAMES
) -> Exchange:
    request = fit.request
    tools = [tool for tool in request.tools or () if isinstance(tool, Tool)]
    return Exchange(
        wire=exchange.wire,
        stream=request.stream or False,
        model=request.model,
        provider=exchange.provider,
        echo={key: body[key] for key in ECHO if body.get(key) is not None},
        names=names,
        reverse=fit.reverse,
        answer=fit.answer,
        offered=tuple(tool.name for tool in tools),
        include_usage=True,  # this wire always says it
        seed=exchange.seed,
        now=exchange.now,
    )


def _take_messages(fields: Fields, said: tuple[Message, ...] | None, notes: Notes) -> tuple[Message, ...]:
    """`instructions` as the leading system message, then the input: what was `said` in it where it was read already."""
    head: tuple[Message, ...] = ()
    instructions = fields.take("instructions", str)
    if instructions is not None:
        head = (Message(role="system", content=(Text(text=instructions),)),)
    if said is not None:
        return _placed(fields, head, said)
    if "input" not in fields.left:
        fields.marks["input"] = "absent"
        return head
    value = fields.left.get("input")
    if value is None:
        fields.marks["input"] = "absent"
        return head
    del fields.left["input"]
    if isinstance(value, str):
        fields.marks["input"] = "string"
        return (*head, Message(role="user", content=(Text(text=value),)))
    if not isinstance(value, list):
        refuse(f"expected text or an array of items, got {jsonio.kind(value)}", "input")
    return _placed(fields, head, decode_input(value, notes, len(head)))


def _placed(fields: Fields, head: tuple[Message, ...], said: tuple[Message, ...]) -> tuple[Message, ...]:
    if not head and said and said[0].role == "system":
        fields.marks["place"] = "item"
    return (*head, *said)


def _put_messages(out: dict[str, Any], request: Request, to: To) -> None:
    """The leading system message goes to `instructions` unless it was, or the dialect wants it, an item (C-12)."""
    spelled = marks(request.opaque, WIRE)
    messages = list(enumerate(request.messages))
    as_item = to.dialect.system_as_item or spelled.get("place") == "item"
    if messages and not as_item and _is_instructions(messages[0][1]):
        message = messages.pop(0)[1]
        text = plain.write_instructions(message)
        out["instructions"] = _instructions(message, to.notes) if text is None else text
    history = HistoryEncoder(to)
    for at, message in messages:
        history.encode(message, ("messages", at))
    if spelled.get("input") == "string" and len(history.out) == 1 and _is_plain(history.out[0]):
        out["input"] = history.out[0]["content"]
    elif history.out or spelled.get("input") != "absent":
        out["input"] = history.out


def _instructions(message: Message, notes: Notes) -> str:
    path = ("messages", 0)
    note_unsaid_message(message, notes, path)
    for at, block in enumerate(message.content):
        notes.leftovers(block.opaque, WIRE, (*path, "content", at))
        if block.cache is not None:
            notes.add((*path, "content", at, "cache"), "dropped", "`instructions` holds no cache hint")
    if len(message.content) > 1:
        notes.add(path, "merged", "the texts of the system message became one", loss=False)
    return message.text


def _is_instructions(message: Message) -> bool:
    return message.role == "system" and all(isinstance(block, Text) for block in message.content)


def _is_plain(item: Mapping[str, Any]) -> bool:
    return set(item) == {"role", "content"} and item["role"] == "user" and isinstance(item["content"], str)


def _take_effort(fields: Fields) -> dict[str, Any]:
    """`reasoning.effort`, with what else stands there."""
    nested = fields.left.get("reasoning")
    if not isinstance(nested, dict):
        return {}
    inner = Fields(nested)
    effort = inner.take("effort", str)
    keep_beside(fields, inner, "reasoning", nested)
    return {} if effort is None else {"effort": effort}


def _take_state(fields: Fields) -> ServerState | None:
    previous = fields.take("previous_response_id", str)
    conversation = fields.left.pop("conversation") if fields.left.get("conversation") is not None else None
    if previous is None and conversation is None:
        return None
    return ServerState(previous_id=previous, conversation=conversation)


def _put_state(out: dict[str, Any], request: Request, notes: Notes) -> None:
    state = request.state
    if state is None:
        return
    notes.leftovers(state.opaque, WIRE, ("state",))
    if state.previous_id is not None:
        out["previous_response_id"] = state.previous_id
    if state.conversation is not None:
        out["conversation"] = state.conversation
    if state.cached_content is not None:
        notes.add(("state", "cached_content"), "dropped", "the responses wire has no cached contents")


def _take_metadata(fields: Fields) -> dict[str, str] | None:
    metadata = fields.left.get("metadata")
    if isinstance(metadata, dict) and all(isinstance(value, str) for value in metadata.values()):
        return fields.left.pop("metadata")
    return None
