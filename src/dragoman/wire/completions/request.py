"""A request for a text completion, in both directions."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from dragoman.dialect.model import Dialect
from dragoman.types.note import Path
from dragoman.types.opaque import bag, marks, restore
from dragoman.types.request import Request
from dragoman.wire import jsonio
from dragoman.wire.base import Exchange, Fields, Http, Incoming, Notes, Outgoing
from dragoman.wire.completions.parts import WIRE
from dragoman.wire.completions.prompt import put_prompt, take_prompt
from dragoman.wire.jsonio import refuse
from dragoman.wire.params import Param, drop_refused, note_unsaid, put_params, split_sampling, take_params

PATH = "completions"
HEADERS = (("content-type", "application/json"),)

PARAMS = (
    Param("max_tokens", "max_output", int),
    Param("temperature", "temperature", float),
    Param("top_p", "top_p", float),
    Param("seed", "seed", int),
    Param("presence_penalty", "presence_penalty", float),
    Param("frequency_penalty", "frequency_penalty", float),
    Param("user", "user", str),
    Param("n", "n", int),
)
TOP_K = (Param("top_k", "top_k", float),)  # of some servers only
SAID = (*(param.field for param in PARAMS), "stop", "top_k")
IN_SAMPLING = ("temperature", "top_p", "top_k", "seed", "presence_penalty", "frequency_penalty")

# A key that only another wire's body has, and that wire: such a body is refused with the place (S3-01).
TELLTALES = {"messages": "chat", "input": "responses", "instructions": "responses"}

# Fields of a request that a prompt cannot say, and why.
UNSAID = {
    "tools": "a text completion has no tools",
    "tool_choice": "a text completion has no tools",
    "output": "a text completion has no form of answer to ask for",
    "cache": "a text completion has no cache hint",
    "state": "a text completion keeps no conversation on the server",
}


def decode_request(http: Http, dialect: Dialect, exchange: Exchange) -> Incoming:
    """A client's body as a Request: what is not about the words stays a leftover (suffix, echo, best_of, logprobs).
    Raises RemoteError with the place in the body."""
    body, found = jsonio.decode_object(http.body)
    for key, wire in TELLTALES.items():
        if key in body and "prompt" not in body:
            refuse(f"a body for a text completion has no `{key}`: this looks like a body of the {wire} wire", key)
    notes = Notes()
    notes.taken += found
    fields = Fields(body)
    messages = take_prompt(fields)
    values, sampling = split_sampling(take_params(fields, (*PARAMS, *TOP_K)))
    if sampling.top_k is not None:
        fields.marks["top_k"] = True
    stop, stream = _take_stop(fields), fields.take("stream", bool)
    model = fields.take("model", str)
    request = Request(
        model=model,
        messages=messages,
        sampling=sampling,
        stop=stop,
        stream=stream,
        opaque=fields.opaque(WIRE),
        **values,
    )
    made = _exchange(request, msgspec.structs.replace(exchange, wire=WIRE), body)
    return Incoming(request=request, exchange=made, notes=notes.done())


def encode_request(request: Request, dialect: Dialect, exchange: Exchange) -> Outgoing:
    """The body to send, under the dialect. One user message is the prompt itself; a conversation is said in plain words."""
    notes = Notes()
    out: dict[str, Any] = {}
    if request.model is not None:
        out["model"] = request.model
    put_prompt(out, request.messages, notes)
    put_params(out, request, PARAMS)
    if dialect.top_k or marks(request.opaque, WIRE).get("top_k"):
        put_params(out, request, TOP_K)
    elif request.sampling.top_k is not None:
        notes.add(("sampling", "top_k"), "dropped", "this server has no such parameter")
    if request.stop is not None:
        lone = marks(request.opaque, WIRE).get("stop") == "string" and len(request.stop) == 1
        out["stop"] = request.stop[0] if lone else list(request.stop)
    if request.stream is not None:
        out["stream"] = request.stream
    _note_rest(request, notes)
    out = restore(out, bag(request.opaque, WIRE))
    if request.stream and "stream_options" not in out and exchange.include_usage:
        out["stream_options"] = {"include_usage": True}
    _adapt(out, dialect, notes)
    http = Http(path=PATH, headers=HEADERS, body=jsonio.encode(out))
    return Outgoing(http=http, exchange=_exchange(request, exchange, out), notes=notes.done())


def _exchange(request: Request, exchange: Exchange, body: Mapping[str, Any]) -> Exchange:
    options = body.get("stream_options")
    asked = options.get("include_usage") if isinstance(options, dict) else None
    return Exchange(
        wire=exchange.wire,
        stream=request.stream or False,
        model=request.model,
        provider=exchange.provider,
        include_usage=asked if isinstance(asked, bool) else None,
        seed=exchange.seed,
        now=exchange.now,
    )


def _take_stop(fields: Fields) -> tuple[str, ...] | None:
    lone = fields.take("stop", str)
    if lone is not None:
        fields.marks["stop"] = "string"
        return (lone,)
    return fields.strings("stop")


def _note_rest(request: Request, notes: Notes) -> None:
    note_unsaid(notes, request, SAID, WIRE)
    notes.leftovers(request.opaque, WIRE, ())
    for field, reason in UNSAID.items():
        if getattr(request, field):
            notes.add((field,), "dropped", reason)


def _adapt(out: dict[str, Any], dialect: Dialect, notes: Notes) -> None:
    """Change `out` in place as the dialect asks; the base asks for nothing."""
    temperature, most = out.get("temperature"), dialect.temperature_max
    if most is not None and isinstance(temperature, int | float) and temperature > most:
        out["temperature"] = most
        notes.add(_place("temperature"), "clamped", f"this server takes at most {most}")
    stop = out.get("stop")
    if dialect.max_stop is not None and isinstance(stop, list) and len(stop) > dialect.max_stop:
        out["stop"] = stop[: dialect.max_stop]
        notes.add(("stop",), "clamped", f"this server takes at most {dialect.max_stop} stop sequences")
    if dialect.usage_in_stream == "never":
        out.pop("stream_options", None)
    drop_refused(out, dialect.unsupported, _place, notes)


def _place(key: str) -> Path:
    """Where a body key's value stands in the middle format."""
    return ("sampling", key) if key in IN_SAMPLING else ("max_output",) if key == "max_tokens" else (key,)
