"""A chat request of this wire, in both directions."""

from __future__ import annotations

from typing import Any

import msgspec

from dragoman.dialect.model import Dialect
from dragoman.types.base import Origin
from dragoman.types.note import Path
from dragoman.types.opaque import bag, marks, nested, restore
from dragoman.types.request import Request
from dragoman.types.tool import Tool
from dragoman.wire import jsonio
from dragoman.wire.base import Exchange, Fields, Http, Incoming, Notes, Outgoing
from dragoman.wire.jsonio import refuse
from dragoman.wire.namespaces import flat
from dragoman.wire.ollama.history import HistoryEncoder
from dragoman.wire.ollama.stops import WIRE
from dragoman.wire.ollama.tools import put_effort, put_output, put_tools, take_effort, take_output, take_tools
from dragoman.wire.ollama.turns import decode_messages
from dragoman.wire.params import SAMPLING, Param, drop_refused, note_unsaid, put_params, split_sampling, take_params
from dragoman.wire.schema.fit import Fitted, fitted

PATH = "api/chat"
HEADERS = (("content-type", "application/json"),)

PARAMS = (Param("logprobs", "logprobs", bool), Param("top_logprobs", "top_logprobs", int))
# Under `options`.
OPTIONS = (
    Param("num_predict", "max_output", int),
    Param("temperature", "temperature", float),
    Param("top_p", "top_p", float),
    Param("top_k", "top_k", float),
    Param("seed", "seed", int),
    Param("presence_penalty", "presence_penalty", float),
    Param("frequency_penalty", "frequency_penalty", float),
)
SAID = (*(param.field for param in (*PARAMS, *OPTIONS)), "stop", "effort")
REST = "~options"

# A key that only another wire's body has, and that wire: such a body is refused with the place (S3-01).
TELLTALES = {"prompt": "completions", "input": "responses", "instructions": "responses"}


def decode_request(http: Http, dialect: Dialect, exchange: Exchange) -> Incoming:
    """A client's body as a Request; a stream is asked for by saying nothing. Raises RemoteError with the place."""
    body, found = jsonio.decode_object(http.body)
    for key, wire in TELLTALES.items():
        if key in body and "messages" not in body:
            refuse(f"a chat of this wire has no `{key}`: this looks like a body of the {wire} wire", key)
    notes = Notes()
    notes.taken += found
    fields = Fields(body)
    messages = decode_messages(fields.left.pop("messages", None), notes)
    values, sampling = split_sampling({**take_params(fields, PARAMS), **_take_options(fields)})
    stream = fields.take("stream", bool)
    if stream is None:
        fields.marks["stream"] = "absent"
    request = Request(
        model=fields.take("model", str),
        messages=messages,
        tools=take_tools(fields),
        output=take_output(fields),
        effort=take_effort(fields),
        sampling=sampling,
        stream=True if stream is None else stream,
        opaque=fields.opaque(WIRE),
        **values,
    )
    made = _exchange(Fitted(request), msgspec.structs.replace(exchange, wire=WIRE))
    return Incoming(request=request, exchange=made, notes=notes.done())


def encode_request(request: Request, dialect: Dialect, exchange: Exchange) -> Outgoing:
    """The body to send, under the dialect. Deterministic, and element by element (L7)."""
    notes = Notes()
    request, namespaces = flat(request, notes)
    fit = fitted(request, WIRE, dialect, notes, own=exchange.wire == WIRE)
    request = fit.request
    out: dict[str, Any] = {}
    if request.model is not None:
        out["model"] = request.model
    target = Origin(wire=WIRE, provider=exchange.provider, model=request.model)
    history = HistoryEncoder(dialect, notes, target)
    for at, message in enumerate(request.messages):
        history.encode(message, ("messages", at))
    out["messages"] = history.out
    put_tools(out, request, notes)
    put_output(out, request.output, notes)
    put_effort(out, request, notes)
    put_params(out, request, PARAMS)
    _put_options(out, request, dialect, notes)
    if request.stream is not True or marks(request.opaque, WIRE).get("stream") != "absent":
        out["stream"] = bool(request.stream)  # unasked, a stream comes
    note_unsaid(notes, request, SAID, WIRE)
    notes.leftovers(request.opaque, WIRE, ())
    for field in ("cache", "state"):
        if getattr(request, field) is not None:
            notes.add((field,), "dropped", f"this wire has no {field} of a whole request")
    out = restore(out, bag(request.opaque, WIRE))
    drop_refused(out, dialect.unsupported, _place, notes)
    http = Http(path=PATH, headers=HEADERS, body=jsonio.encode(out))
    made = msgspec.structs.replace(_exchange(fit, exchange), namespaces=namespaces)
    return Outgoing(http=http, exchange=made, notes=notes.done())


def _exchange(fit: Fitted, exchange: Exchange) -> Exchange:
    request = fit.request
    return Exchange(
        wire=exchange.wire,
        stream=request.stream or False,
        model=request.model,
        provider=exchange.provider,
        reverse=fit.reverse,
        answer=fit.answer,
        offered=tuple(tool.name for tool in request.tools or () if isinstance(tool, Tool)),
        include_usage=True,
        seed=exchange.seed,
        now=exchange.now,
    )


def _take_options(fields: Fields) -> dict[str, Any]:
    """The settings we know; a number of tokens below 1 means "no limit" here and stays a leftover."""
    options = fields.left.get("options")
    if not isinstance(options, dict):
        return {}
    del fields.left["options"]
    fields.marks["options"] = True
    inner = Fields(options)
    values = take_params(inner, OPTIONS)
    if values.get("max_output", 1) < 1:
        inner.left["num_predict"] = values.pop("max_output")
    stop = inner.left.get("stop")
    if isinstance(stop, str):
        fields.marks["stop"] = "string"
        values["stop"] = (inner.left.pop("stop"),)
    elif (several := inner.strings("stop")) is not None:
        values["stop"] = several
    if inner.left:
        fields.left[REST] = inner.left
    return values


def _put_options(out: dict[str, Any], request: Request, dialect: Dialect, notes: Notes) -> None:
    options: dict[str, Any] = {}
    put_params(options, request, OPTIONS)
    spelled = marks(request.opaque, WIRE)
    if request.stop is not None:
        lone = spelled.get("stop") == "string" and len(request.stop) == 1
        options["stop"] = request.stop[0] if lone else list(request.stop)
    restore(options, nested(bag(request.opaque, WIRE), REST))
    drop_refused(options, dialect.unsupported, _place, notes)
    if options or spelled.get("options"):
        out["options"] = options


def _place(key: str) -> Path:
    """Where a body key's value stands in the middle format."""
    field = next((param.field for param in (*PARAMS, *OPTIONS) if param.key == key), key)
    return ("sampling", field) if field in SAMPLING else (field,)
