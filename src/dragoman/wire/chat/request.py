"""A chat request, in both directions."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from dragoman.dialect.model import Dialect
from dragoman.types.base import Origin
from dragoman.types.opaque import bag, marks, nested, restore, word
from dragoman.types.request import Request
from dragoman.types.tool import Tool
from dragoman.wire import jsonio
from dragoman.wire.base import Exchange, Fields, Http, Incoming, Notes, Outgoing
from dragoman.wire.chat import shapes
from dragoman.wire.chat.adapt import OFF, adapt
from dragoman.wire.chat.history import HistoryEncoder
from dragoman.wire.chat.parts import WIRE
from dragoman.wire.chat.shapes import Shaped
from dragoman.wire.chat.tools import put_choice, put_output, put_tools, take_choice, take_output, take_tools
from dragoman.wire.chat.turns import decode_messages
from dragoman.wire.glance import glance
from dragoman.wire.jsonio import refuse
from dragoman.wire.namespaces import Known, flat
from dragoman.wire.naming import legalised
from dragoman.wire.params import Param, note_unsaid, put_params, put_tier, split_sampling, take_params, take_tier
from dragoman.wire.schema.fit import Fitted, fitted

PATH = "chat/completions"
HEADERS = (("content-type", "application/json"),)
NAME, NAME_LIMIT = "[a-zA-Z0-9_-]{1,64}", 64  # of a tool: dialects §1.1, §8d
NO_NAMES: Mapping[str, str] = {}
NO_NAMESPACES: Mapping[str, Known] = {}

PARAMS = (
    Param("temperature", "temperature", float),
    Param("top_p", "top_p", float),
    Param("seed", "seed", int),
    Param("presence_penalty", "presence_penalty", float),
    Param("frequency_penalty", "frequency_penalty", float),
    Param("parallel_tool_calls", "parallel_tools", bool),
    Param("store", "store", bool),
    Param("user", "user", str),
    Param("prompt_cache_key", "cache_key", str),
    Param("verbosity", "verbosity", str),
    Param("logprobs", "logprobs", bool),
    Param("top_logprobs", "top_logprobs", int),
    Param("n", "n", int),
)
TOP_K = (Param("top_k", "top_k", float),)  # of some servers only
TAKEN = (*PARAMS, *TOP_K)
SAID = (*(param.field for param in PARAMS), "max_output", "stop", "effort", "metadata", "top_k", "tier")
TAKES_BUDGET = ("reasoning", "enable_thinking")
# How servers that have no word for an effort are told not to think (dialects §4); to think has no twin, being no measure.
SWITCHED_OFF: dict[str, Any] = {"thinking": {"type": "disabled"}, "enable_thinking": False}
EFFORTS = frozenset({"reasoning_effort", "reasoning", *SWITCHED_OFF})
LIMIT_KEYS = ("max_tokens", "max_completion_tokens")

# A key that only another wire's body has, and that wire: such a body is refused with the place (S3-01).
TELLTALES = {"system": "messages", "anthropic_version": "messages", "input": "responses", "instructions": "responses"}


def decode_request(http: Http, dialect: Dialect, exchange: Exchange) -> Incoming:
    """A client's body as a Request. Raises RemoteError with the place in the body."""
    notes = Notes()
    body, messages, tools = shapes.read(http.body) or _long_way(http.body, dialect, notes)
    fields = Fields(body)
    stream = fields.take("stream", bool)
    values, sampling = split_sampling(take_params(fields, TAKEN))
    if sampling.top_k is not None:
        fields.marks["top_k"] = True
    values |= _take_limits(fields)
    if not EFFORTS.isdisjoint(fields.left):
        values |= _take_effort(fields)
    request = Request(
        model=fields.take("model", str),
        messages=messages,
        tools=tools,
        tool_choice=take_choice(fields),
        sampling=sampling,
        stop=_take_stop(fields),
        output=take_output(fields),
        metadata=_take_metadata(fields),
        tier=take_tier(fields, WIRE),
        stream=stream,
        opaque=fields.opaque(WIRE),
        **values,
    )
    return Incoming(
        request=request,
        exchange=_exchange(Fitted(request), exchange, WIRE, body),
        notes=notes.done(),
    )


def _long_way(body: bytes, dialect: Dialect, notes: Notes) -> Shaped:
    """A body of any shape."""
    value, found = jsonio.decode_object(body)
    for key, wire in TELLTALES.items():
        if key in value:
            refuse(f"a chat body has no `{key}`: this looks like a body of the {wire} wire", key)
    notes.taken += found
    fields = Fields(value)
    messages = decode_messages(fields.left.pop("messages", None), dialect, notes)
    tools = take_tools(fields)
    return Shaped(jsonio.in_order(fields.left, shapes.BESIDE), messages, tools)


def encode_request(request: Request, dialect: Dialect, exchange: Exchange) -> Outgoing:
    """The body to send, under the dialect. Deterministic, and element by element (L7)."""
    notes = Notes()
    seen = glance(request)
    request, namespaces = flat(request, notes, seen)
    fit = fitted(request, WIRE, dialect, notes, own=exchange.wire == WIRE, seen=seen)
    request, names = legalised(fit.request, dialect.tool_name_pattern or NAME, NAME_LIMIT, notes, seen)
    out: dict[str, Any] = {}
    if request.model is not None:
        out["model"] = request.model
    target = Origin(wire=WIRE, provider=exchange.provider, model=request.model)
    history = HistoryEncoder(dialect, notes, target)
    for at, message in enumerate(request.messages):
        history.encode(message, ("messages", at))
    history.flush()
    out["messages"] = history.out
    put_tools(out, request, dialect, notes, seen)
    put_choice(out, request)
    put_params(out, request, PARAMS)
    if dialect.top_k or marks(request.opaque, WIRE).get("top_k"):
        put_params(out, request, TOP_K)
    elif request.sampling.top_k is not None:
        notes.add(("sampling", "top_k"), "dropped", "this server has no such parameter")
    put_tier(out, request, WIRE, notes)
    _put_limits(out, request, dialect, notes)
    put_output(out, request.output, notes)
    if request.metadata is not None:
        out["metadata"] = request.metadata
    _note_rest(request, notes)
    if request.stream is not None:
        out["stream"] = request.stream
    out = restore(out, bag(request.opaque, WIRE))
    if request.stream and "stream_options" not in out and exchange.include_usage:
        out["stream_options"] = {"include_usage": True}
    adapt(out, request, dialect, notes)
    http = Http(path=PATH, headers=HEADERS, body=jsonio.encode(out))
    made = _exchange(fit, exchange, exchange.wire, out, names, namespaces)
    return Outgoing(http=http, exchange=made, notes=notes.done())


def _exchange(
    fit: Fitted,
    exchange: Exchange,
    wire: str | None,
    body: Mapping[str, Any],
    names: Mapping[str, str] = NO_NAMES,
    namespaces: Mapping[str, Known] = NO_NAMESPACES,
) -> Exchange:
    request = fit.request
    options = body.get("stream_options")
    asked = options.get("include_usage") if isinstance(options, dict) else None
    return Exchange(
        wire=wire,
        stream=request.stream or False,
        model=request.model,
        provider=exchange.provider,
        names=names,
        reverse=fit.reverse,
        answer=fit.answer,
        namespaces=namespaces,
        offered=tuple([tool.name for tool in request.tools or () if isinstance(tool, Tool)]),
        include_usage=asked if isinstance(asked, bool) else None,
        seed=exchange.seed,
        now=exchange.now,
    )


def _take_limits(fields: Fields) -> dict[str, Any]:
    for key in LIMIT_KEYS:
        value = fields.take(key, int)
        if value is not None:
            fields.marks["max_output"] = key
            return {"max_output": value}
    return {}


def _put_limits(out: dict[str, Any], request: Request, dialect: Dialect, notes: Notes) -> None:
    spelled = marks(request.opaque, WIRE)
    if request.max_output is not None:
        key = word(spelled, "max_output", LIMIT_KEYS)
        out[dialect.max_tokens_key if key is None or key in dialect.unsupported else key] = request.max_output
    if request.stop is not None:
        lone = spelled.get("stop") == "string" and len(request.stop) == 1
        out["stop"] = request.stop[0] if lone else list(request.stop)
    if spelled.get("effort") == "reasoning":
        values = {"effort": request.effort, "max_tokens": request.budget}
        said = {key: value for key, value in values.items() if value is not None}
        out["reasoning"] = restore(said, nested(bag(request.opaque, WIRE), "~reasoning"))
        return
    switch = word(spelled, "effort", SWITCHED_OFF)
    if request.effort == OFF and switch is not None:
        out[switch] = SWITCHED_OFF[switch]
    elif request.effort is not None:
        out["reasoning_effort"] = request.effort
    if request.budget is not None and dialect.effort_in not in TAKES_BUDGET:
        notes.add(("budget",), "dropped", "this server takes an effort, not a budget of thinking tokens")


def _take_effort(fields: Fields) -> dict[str, Any]:
    """`reasoning_effort`, or the `reasoning` object of routers with its effort or budget, or a switch that is off."""
    effort = fields.take("reasoning_effort", str)
    if effort is not None:
        return {"effort": effort}
    nested = fields.left.get("reasoning")
    inner = Fields(nested if isinstance(nested, dict) else {})
    values = {"effort": inner.take("effort", str), "budget": inner.take("max_tokens", int)}
    if values["effort"] is None and values["budget"] is None:
        return _take_switch(fields)
    del fields.left["reasoning"]
    fields.marks["effort"] = "reasoning"
    if inner.left:
        fields.left["~reasoning"] = inner.left
    return values


def _take_switch(fields: Fields) -> dict[str, Any]:
    for key, off in SWITCHED_OFF.items():
        said = fields.left.get(key)
        if type(said) is type(off) and said == off:
            del fields.left[key]
            fields.marks["effort"] = key
            return {"effort": OFF}
    return {}


def _take_stop(fields: Fields) -> tuple[str, ...] | None:
    lone = fields.take("stop", str)
    if lone is not None:
        fields.marks["stop"] = "string"
        return (lone,)
    return fields.strings("stop")


def _take_metadata(fields: Fields) -> dict[str, str] | None:
    metadata = fields.left.get("metadata")
    if isinstance(metadata, dict) and all(isinstance(value, str) for value in metadata.values()):
        return fields.left.pop("metadata")
    return None


def _note_rest(request: Request, notes: Notes) -> None:
    note_unsaid(notes, request, (*SAID, "budget"), WIRE)
    notes.leftovers(request.opaque, WIRE, ())
    if request.cache is not None:
        notes.add(("cache",), "dropped", "the chat wire has no cache hint for a whole request")
    if request.state is not None:
        notes.add(("state",), "dropped", "the chat wire keeps no conversation on the server: send the whole history")
