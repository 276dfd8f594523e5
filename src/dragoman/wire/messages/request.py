"""A messages request, in both directions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from dragoman.dialect.model import Dialect
from dragoman.types.base import Origin
from dragoman.types.message import Message
from dragoman.types.opaque import bag, nested, restore
from dragoman.types.request import Request
from dragoman.wire import jsonio
from dragoman.wire.base import Exchange, Fields, Http, Incoming, Notes, Outgoing, own
from dragoman.wire.caching import take_cache, write_cache
from dragoman.wire.glance import Glance, glance
from dragoman.wire.hoisting import defined
from dragoman.wire.jsonio import refuse
from dragoman.wire.messages import shapes
from dragoman.wire.messages.adapt import adapt
from dragoman.wire.messages.blocks import HOSTED
from dragoman.wire.messages.calls import keep_inputs
from dragoman.wire.messages.history import HistoryEncoder
from dragoman.wire.messages.parts import WIRE, nest, own_nested
from dragoman.wire.messages.tools import (
    NAME,
    NAME_LIMIT,
    put_choice,
    put_output,
    put_tools,
    take_choice,
    take_output,
    take_tools,
)
from dragoman.wire.messages.turns import decode_messages, take_system
from dragoman.wire.namespaces import flat
from dragoman.wire.naming import legalised
from dragoman.wire.params import Param, note_unsaid, put_params, put_tier, split_sampling, take_params, take_tier
from dragoman.wire.schema.fit import Fitted, fitted

PATH = "messages"
CONTENT_TYPE = ("content-type", "application/json")
VERSION = ("anthropic-version", "2023-06-01")
KEPT_HEADERS = ("anthropic-version", "anthropic-beta")  # evidence B5
HEADERS = "~headers"

PARAMS = (
    Param("max_tokens", "max_output", int),
    Param("temperature", "temperature", float),
    Param("top_p", "top_p", float),
    Param("top_k", "top_k", float),
)
SAID = (*(param.field for param in PARAMS), "parallel_tools", "stop", "effort", "budget", "tier", "user")
OTHER_EFFORTS = {"minimal": "low"}  # dialects §6: five levels, low to max
OFF = "none"  # the effort that turns thinking off

# A key that only another wire's body has, and that wire: such a body is refused with the place (S3-01).
TELLTALES = {"input": "responses", "instructions": "responses", "max_completion_tokens": "chat"}


def decode_request(http: Http, dialect: Dialect, exchange: Exchange) -> Incoming:
    """A client's body as a Request. Raises RemoteError with the place in the body."""
    notes = Notes()
    fields, messages = _take_messages(http.body, notes)
    values, sampling = split_sampling(take_params(fields, PARAMS))
    values |= _take_thinking(fields) | _take_user(fields)
    values["tool_choice"], values["parallel_tools"] = take_choice(fields)
    _keep_headers(fields, http)
    request = Request(
        model=fields.take("model", str),
        messages=messages,
        tools=take_tools(fields),
        sampling=sampling,
        stop=fields.strings("stop_sequences"),
        tier=take_tier(fields, WIRE),
        cache=take_cache(fields),
        stream=fields.take("stream", bool),
        opaque=fields.opaque(WIRE),
        **values,
    )
    made = _exchange(Fitted(request), msgspec.structs.replace(exchange, wire=WIRE), {}, {})
    return Incoming(request=request, exchange=made, notes=notes.done())


def encode_request(request: Request, dialect: Dialect, exchange: Exchange) -> Outgoing:
    """The body to send, under the dialect. Deterministic, and element by element (L7)."""
    notes = Notes()
    seen = glance(request)
    request, namespaces = flat(request, notes, seen)
    fit = fitted(request, WIRE, dialect, notes, own=exchange.wire == WIRE, seen=seen)
    request, names = legalised(fit.request, dialect.tool_name_pattern or NAME, NAME_LIMIT, notes, seen)
    out: dict[str, Any] = {} if request.model is None else {"model": request.model}
    target = Origin(wire=WIRE, provider=exchange.provider, model=request.model)
    history = HistoryEncoder(dialect, notes, target)
    for at, message in enumerate(request.messages):
        history.encode(message, ("messages", at))
    _note_prefill(request, history.out, notes)
    history.put_system(out)
    out["messages"] = history.out
    put_tools(out, request, notes, seen)
    put_choice(out, request, notes)
    put_params(out, request, PARAMS)
    _put_limit(out, request, dialect, notes, said_here=exchange.wire == WIRE)
    _put_rest(out, request, dialect, notes)
    _note_rest(request, notes)
    if request.stream is not None:
        out["stream"] = request.stream
    out = restore(out, bag(request.opaque, WIRE))
    adapt(out, dialect, notes)
    http = Http(path=PATH, headers=_headers(request, notes), body=jsonio.encode(out))
    made = msgspec.structs.replace(_exchange(fit, exchange, names, history.ids, seen), namespaces=namespaces)
    return Outgoing(http=http, exchange=made, notes=notes.done())


def _exchange(
    fit: Fitted, exchange: Exchange, names: Mapping[str, str], ids: Mapping[str, str], seen: Glance | None = None
) -> Exchange:
    request = fit.request
    tools = defined(request, seen)
    written = {name: made for made, name in names.items()}
    custom = [tool.name for tool in tools if tool.kind == "custom"]
    return Exchange(
        wire=exchange.wire,
        stream=request.stream or False,
        model=request.model,
        provider=exchange.provider,
        names=names,
        reverse=fit.reverse,
        answer=fit.answer,
        ids=ids,
        custom=frozenset([written.get(name, name) for name in custom]),
        offered=tuple([tool.name for tool in tools]),
        seed=exchange.seed,
        now=exchange.now,
    )


def _take_messages(body: bytes, notes: Notes) -> tuple[Fields, tuple[Message, ...]]:
    """The messages of a body, the system prompt before them, and what stands beside."""
    shaped = shapes.read(body)
    if shaped is not None:
        fields = Fields(shaped[0])
        return fields, (*take_system(fields, notes), *shaped[1])
    value, found = jsonio.decode_object(body)
    for key, wire in TELLTALES.items():
        if key in value:
            refuse(f"a messages body has no `{key}`: this looks like a body of the {wire} wire", key)
    notes.taken += found
    fields = Fields(jsonio.in_order(value, shapes.BESIDE))
    items = fields.left.pop("messages", None)
    if isinstance(items, list):
        keep_inputs(items, body)
    return fields, (*take_system(fields, notes), *decode_messages(items, notes))


def _take_thinking(fields: Fields) -> dict[str, Any]:
    """`thinking` with a budget, or turned off; `output_config` with its effort and form. Other forms of thinking stay
    leftovers: they have no twin on another wire."""
    values: dict[str, Any] = {}
    said = fields.left.get("output_config")
    config = Fields(said if isinstance(said, dict) else {})
    values["effort"] = config.take("effort", str)
    thinking = fields.left.get("thinking")
    if isinstance(thinking, dict):
        inner = Fields(thinking)
        kind = inner.left.pop("type", None)
        if kind == "enabled" and (budget := inner.take("budget_tokens", int)) is not None:
            values["budget"] = budget
        elif kind == "disabled" and values["effort"] is None:
            values["effort"] = OFF
        else:
            inner = Fields({})
            kind = None
        if kind is not None:
            del fields.left["thinking"]
            nest(fields, inner, "thinking")
    output = take_output(fields, config)
    if isinstance(said, dict) and said and len(config.left) < len(said):
        del fields.left["output_config"]
        nest(fields, config, "output_config")
    return {**values, "output": output}


def _take_user(fields: Fields) -> dict[str, Any]:
    metadata = fields.left.get("metadata")
    inner = Fields(metadata if isinstance(metadata, dict) else {})
    user = inner.take("user_id", str)
    if user is None:
        return {}
    del fields.left["metadata"]
    nest(fields, inner, "metadata")
    return {"user": user}


def _put_limit(out: dict[str, Any], request: Request, dialect: Dialect, notes: Notes, *, said_here: bool) -> None:
    """`max_tokens` is mandatory here and holds the thinking too, so it must be more than the budget (PAR-002). What a
    client of this wire said of it is his own affair: a count of tokens wants none."""
    limit, budget = request.max_output, request.budget or 0
    if limit is None:
        if said_here or "max_tokens" in own(request.opaque, WIRE):
            return
        limit = dialect.default_max_output + budget
        out["max_tokens"] = limit = min(limit, dialect.most_output or limit)
        notes.add(("max_output",), "synthesised", f"this wire wants a limit: {limit} tokens", loss=False)
    elif 0 < limit <= budget and dialect.thinking_form != "adaptive" and not said_here:
        limit += budget
        out["max_tokens"] = limit = min(limit, dialect.most_output or limit)
        reason = f"thinking counts within the limit here: {limit} tokens"
        notes.add(("max_output",), "substituted", reason, loss=False)


def _put_rest(out: dict[str, Any], request: Request, dialect: Dialect, notes: Notes) -> None:
    if request.stop is not None:
        out["stop_sequences"] = list(request.stop)
    if request.cache is not None:
        out |= write_cache(request.cache)
    _put_thinking(out, request, dialect, notes)
    put_tier(out, request, WIRE, notes)
    metadata = {} if request.user is None else {"user_id": request.user}
    metadata = restore(metadata, own_nested(request, "metadata"))
    if metadata:
        out["metadata"] = metadata


def _put_thinking(out: dict[str, Any], request: Request, dialect: Dialect, notes: Notes) -> None:
    word = request.effort or ""
    effort = dialect.effort_map.get(word) or OTHER_EFFORTS.get(word, request.effort)
    if effort != request.effort:
        notes.add(("effort",), "clamped", f"this wire's nearest effort is {effort!r}")
    thinking: dict[str, Any] | None = None
    if request.budget is not None:
        thinking = {"type": "enabled", "budget_tokens": request.budget}
    elif effort == OFF:
        thinking = {"type": "disabled"}
    if thinking is not None:
        out["thinking"] = restore(thinking, own_nested(request, "thinking"))
    config: dict[str, Any] = {} if effort in (None, OFF) else {"effort": effort}
    put_output(out, config, request.output, dialect, notes)
    config = restore(config, own_nested(request, "output_config"))
    if config:
        out["output_config"] = config


def _keep_headers(fields: Fields, http: Http) -> None:
    fields.left.pop(HEADERS, None)  # a body's own key of this name must not become a header
    if not http.headers:
        return
    said = {name: ",".join(value for key, value in http.headers if key.lower() == name) for name in KEPT_HEADERS}
    kept = {name: value for name, value in said.items() if value and (name, value) != VERSION}
    if kept:
        fields.left[HEADERS] = kept


def _headers(request: Request, notes: Notes) -> tuple[tuple[str, str], ...]:
    """The headers that were said with the request. A saved file from elsewhere may hold any: none but those that this wire
    keeps is sent."""
    said: dict[str, str] = {VERSION[0]: VERSION[1]}
    for name, value in nested(bag(request.opaque, WIRE), HEADERS).items():
        if name in KEPT_HEADERS and isinstance(value, str) and value.isascii() and value.isprintable():
            said[name] = value
        else:
            notes.add(("headers", name), "dropped", "no header that this wire keeps")
    return (CONTENT_TYPE, *said.items())


def _note_prefill(request: Request, written: Sequence[Any], notes: Notes) -> None:
    """A text of the assistant that stands last is gone on with here, whoever wrote it."""
    last = written[-1] if written else {}
    parts = last.get("content")
    kinds = [part.get("type") for part in parts] if isinstance(parts, list) else ["text"]
    if last.get("role") != "assistant" or kinds[-1:] != ["text"] or set(kinds) & set(HOSTED):
        return
    at = max(at for at, message in enumerate(request.messages) if message.role == "assistant")
    if not request.messages[at].prefill:
        reason = "this wire goes on with an answer that stands last"
        notes.add(("messages", at, "prefill"), "synthesised", reason, loss=False)


def _note_rest(request: Request, notes: Notes) -> None:
    note_unsaid(notes, request, SAID, WIRE)
    notes.leftovers(request.opaque, WIRE, ())
    if request.state is not None:
        notes.add(("state",), "dropped", "this wire keeps no conversation on the server: send the whole history")
