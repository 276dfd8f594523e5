"""One conversion as data in and data out: what `dragoman convert` does, a file or a line at a time."""

from __future__ import annotations

import binascii
from base64 import b64decode
from collections.abc import Mapping
from typing import Any, Literal

import msgspec

from dragoman import translate
from dragoman.dialect.find import find as find_dialect
from dragoman.dialect.model import BASE, Dialect, override
from dragoman.errors import ApiError, DragomanError, LossyError, RemoteError, UsageError
from dragoman.translate import Options
from dragoman.types.collect import Collector
from dragoman.types.note import Note, show_path
from dragoman.wire import find, jsonio
from dragoman.wire.base import Exchange, Http, Wire

UNIFIED = "unified"
Op = Literal["request", "reply", "stream", "error"]


class Job(msgspec.Struct, frozen=True, kw_only=True):
    """What to convert. `target` is a wire's id or "unified"; `status` 400 and more makes any answer an error."""

    op: Op
    source: str
    target: str
    body: bytes
    status: int = 200
    headers: Mapping[str, str] = {}
    provider: str | None = None
    model: str | None = None
    dialect: Mapping[str, Any] = {}
    strict: bool = False


class Result(msgspec.Struct, frozen=True, kw_only=True):
    """The converted bytes, and what was not carried over as it stood."""

    body: bytes
    notes: tuple[Note, ...] = ()


def convert(job: Job) -> Result:
    """Do one job. Raises RemoteError for a body that cannot be read, LossyError under strict, UsageError otherwise."""
    source = find(job.source)
    target = None if job.target == UNIFIED else find(job.target)
    if job.op == "request":
        return _request(job, source, target)
    if job.op == "error" or job.status >= 400:
        error = source.decode_error(job.status, job.headers, job.body, BASE)
        return Result(body=_error(error, target))
    try:
        return _stream(job, source, target) if job.op == "stream" else _reply(job, source, target)
    except ApiError as error:  # the service's own error inside a 200: it was read, so it is an answer
        return Result(body=_error(error, target))


def convert_line(line: bytes) -> bytes:
    """One JSON line of `--jsonl` in, one out; never raises. `error` means that we could not convert."""
    id, body, notes, failed = None, msgspec.Raw(b"null"), (), None
    try:
        asked, read = jsonio.decode_object(line)
        id, notes = asked.get("id"), read
        job = _job(asked)
        if job.strict and (lost := [note for note in read if note.loss]):
            raise LossyError(lost)
        result = convert(job)
        notes = (*read, *result.notes)
        is_stream = job.op == "stream" and job.target != UNIFIED and job.status < 400
        body = jsonio.encode(result.body.decode("utf-8", "replace")) if is_stream else result.body
        body = msgspec.Raw(body)
    except DragomanError as error:
        failed = {"code": error.code, "message": error.message}
        notes = getattr(error, "notes", notes)
    told = [
        {"path": show_path(note.path), "action": note.action, "reason": note.reason, "loss": note.loss}
        for note in notes
    ]
    return jsonio.encode({"id": id, "body": body, "notes": told, "error": failed})


def unified_reply(collector: Collector) -> dict[str, Any]:
    """A gathered stream in the unified form, with `failure` when it failed or was cut."""
    out: dict[str, Any] = msgspec.to_builtins(collector.reply)
    if collector.failure is not None:
        failure = collector.failure
        said = {"status": failure.status, "retryable": failure.retryable}
        out["failure"] = {"code": failure.code, "message": failure.message, **said}
    return out


def _request(job: Job, source: Wire, target: Wire | None) -> Result:
    http = Http(body=job.body, headers=tuple(job.headers.items()))
    if target is None:
        incoming = source.decode_request(http, BASE, Exchange())
        return Result(body=jsonio.encode(incoming.request), notes=incoming.notes)
    options = _options(job, job.model or _model(http, source), towards_provider=True)
    done = translate.request(http, source, target, options)
    return Result(body=done.http.body, notes=done.notes)


def _model(http: Http, source: Wire) -> str | None:
    """The model that a body names; a body that cannot be read is told of when it is read whole."""
    try:
        return source.peek(http, BASE).model
    except RemoteError:
        return None


def _reply(job: Job, source: Wire, target: Wire | None) -> Result:
    options = _options(job)
    if target is None:
        decoded = source.decode_reply(job.body, options.source, options.provider)
        return Result(body=jsonio.encode(decoded.value), notes=decoded.notes)
    done = translate.reply(job.body, source, target, options)
    return Result(body=done.body, notes=done.notes)


def _stream(job: Job, source: Wire, target: Wire | None) -> Result:
    options = _options(job)
    if target is None:
        decoder, collector = source.stream_decoder(options.source, options.provider), Collector()
        for event in (*decoder.feed(job.body), *decoder.close()):
            collector.feed(event)
        return Result(body=jsonio.encode(unified_reply(collector)), notes=tuple(decoder.notes))
    translator = translate.StreamTranslator(source, target, options)
    body = translator.feed(job.body) + translator.close()
    return Result(body=body, notes=tuple(translator.notes))


def _error(error: ApiError, target: Wire | None) -> bytes:
    if target is not None:
        return target.encode_error(error, BASE)[2]
    detail = error.detail
    said = {"code": error.code, "message": error.message, "status": detail.status, "retryable": error.retryable}
    return jsonio.encode({"error": {**said, "retry_after": detail.retry_after}})


def _options(job: Job, model: str | None = None, *, towards_provider: bool = False) -> Options:
    """A request is written in the dialect of provider and `model`, an answer is read in it; the client's end is the
    base. What stays on its wire, and for no provider in particular, passes as it is."""
    wire = job.target if towards_provider else job.source
    known = None if job.provider is None and job.source == job.target else model
    dialect = override(find_dialect(job.provider, wire, known), dict(job.dialect))
    exchange = Exchange(provider=job.provider, model=job.model)
    if towards_provider:
        return Options(target=dialect, provider=exchange, strict=job.strict)
    client = Exchange(model=job.model, include_usage=True)
    return Options(source=dialect, target=_client(job, dialect), provider=exchange, client=client, strict=job.strict)


def _client(job: Job, dialect: Dialect) -> Dialect:
    """An answer that stays on its wire passes untouched: reading it in a dialect is no reason to rewrite it."""
    return dialect if job.source == job.target else BASE


class _Line(msgspec.Struct, kw_only=True):
    op: Op
    source: str = msgspec.field(name="from")
    target: str = msgspec.field(name="to")
    status: int | None = None
    headers: dict[str, str] | None = None
    provider: str | None = None
    model: str | None = None
    dialect: dict[str, Any] | None = None
    strict: bool | None = None
    body_base64: str | None = None


def _job(asked: dict[str, Any]) -> Job:
    try:
        line = msgspec.convert(asked, _Line)
    except msgspec.ValidationError as error:
        raise UsageError("usage", f"not a job: {error}") from None
    return Job(
        op=line.op,
        source=line.source,
        target=line.target,
        body=_body(asked.get("body"), line.body_base64, line.op),
        status=line.status or 200,
        headers=line.headers or {},
        provider=line.provider,
        model=line.model,
        dialect=line.dialect or {},
        strict=bool(line.strict),
    )


def _body(body: Any, base64: str | None, op: Op) -> bytes:
    if base64 is not None:
        try:
            return b64decode(base64, validate=True)
        except binascii.Error:
            raise RemoteError("bad_shape", "not base64", ("body_base64",)) from None
    if op == "stream" and isinstance(body, str):
        return body.encode()
    if op == "error" and isinstance(body, str):  # many services answer an error in plain text
        return body.encode()
    return jsonio.encode(body)
