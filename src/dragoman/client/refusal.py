"""What people are told when a service refuses."""

from __future__ import annotations

from typing import Any, NamedTuple

import msgspec

from dragoman.catalog.target import Target
from dragoman.errors import ApiDetail, ApiError, RemoteError, TransportError
from dragoman.explain import Asked, explain
from dragoman.transport.base import address
from dragoman.transport.flow import Head
from dragoman.transport.redact import Redaction
from dragoman.types.events import Failure
from dragoman.wire.base import Http, Wire

SHOWN = 500  # characters of the service's own words (S0-67)
OWN = ("vendor_code", "vendor_type", "param")
ONE_LINE = dict.fromkeys(range(32), " ")

# What a status is a clue to, where the words themselves tell nothing.
WHERE = "check the base URL {base_url}"
MOVED = "redirects are not followed, for a key must not go where nobody said: " + WHERE
HINTS = {
    401: "check {key}",
    404: "check the model id {model} and the base URL {base_url}",
    **dict.fromkeys((301, 302, 303, 307, 308), MOVED),
}


class Sent(NamedTuple):
    """A request as it went out: what it asked, where to, and its bytes."""

    target: Target
    asked: Asked
    http: Http

    def hidden(self, text: str) -> str:
        """`text` without any key that was sent."""
        return Redaction(self.http).text(self.target.hidden(text))


def refused(sent: Sent, wire: Wire, head: Head, body: bytes) -> ApiError:
    """The error of an answer that is no reply: `"{Label} API error {status}: {the body, cut at 500}"`, then a hint.

    The hint is a clue and never stands instead of the service's own words (S0-67, S0-68, S0-69): what the words mean,
    where the table of causes knows them, else what the status suggests. The keys are taken out of whatever the service
    quotes.
    """
    target = sent.target
    text = sent.hidden(_decoded(body, head.headers.get("content-type", "")))
    read = wire.decode_error(head.status, head.headers, text.encode(), target.dialect)
    names = _names(target)
    known = explain(read, sent.asked, names)
    detail = msgspec.structs.replace(read.detail, status=read.status or head.status, message=read.message)
    said = f"{target.label} API error {head.status}: {text[:SHOWN].translate(ONE_LINE)}"
    clue = HINTS.get(head.status, "") if names["key"] or head.status != 401 else ""
    hint = str(known) if known else clue.format_map(names)
    return ApiError(read.code, f"{said} — {hint}" if hint else said, detail, known)


def unreadable(sent: Sent, head: Head, body: bytes, error: RemoteError) -> RemoteError:
    """The error of a success that is no reply: what is wrong with it, where it came from and what it said."""
    text = sent.hidden(_decoded(body, head.headers.get("content-type", "")))[:SHOWN].translate(ONE_LINE)
    said = f"{sent.target.label} API: the answer {head.status} cannot be read: {error.message}: {text}"
    hint = f" — {WHERE.format_map(_names(sent.target))}" if error.code == "bad_json" else ""
    told = RemoteError(error.code, said + hint)
    told.path = error.path
    return told


def page(target: Target, head: Head) -> str | None:
    """What to say of a stream that is a page for people, None for any other."""
    if not head.headers.get("content-type", "").startswith("text/html"):
        return None
    return f"{target.label} API: the answer {head.status} is a page of HTML, no stream — {WHERE.format_map(_names(target))}"


def empty(target: Target, head: Head) -> ApiError:
    """The error of a success without a body (S0-67)."""
    message = f"{target.label} API error {head.status}: the answer has no body"
    return ApiError("incomplete", message, ApiDetail(status=head.status))


def failed(target: Target | None, failure: Failure) -> ApiError:
    """The error of a stream that failed, for callers who wait for a whole reply."""
    label = "local model" if target is None else f"{target.label} API"
    detail = ApiDetail(
        status=failure.status or 0, retryable=failure.retryable, body=failure.message, message=failure.message
    )
    read = ApiError(failure.code, failure.message, detail)
    known = None if target is None else explain(read, names=_names(target))
    said = f"{label} error: {failure.message}"
    untold = known is not None and known.fix not in said
    return ApiError(failure.code, f"{said} — {known}" if untold else said, detail, known)


def meant(sent: Sent, failure: Failure) -> str:
    """The words of a stream that failed, and what they mean."""
    read = ApiError(failure.code, failure.message, ApiDetail(status=failure.status or 0))
    known = explain(read, sent.asked, _names(sent.target))
    return failure.message if known is None else f"{failure.message} — {known}"


def inside(sent: Sent, error: ApiError) -> ApiError:
    """The error inside a success, without the keys, and with what it means."""
    said = msgspec.json.encode(error.detail.body).decode()
    hidden = sent.hidden(said)
    body = error.detail.body if hidden == said else _value(hidden)
    known = explain(error, sent.asked, _names(sent.target))
    message = f"{sent.target.label} API error: {sent.hidden(error.message)}"
    own = {name: said and sent.hidden(said) for name in OWN if (said := getattr(error.detail, name)) is not None}
    detail = msgspec.structs.replace(error.detail, body=body, message=sent.hidden(error.message), **own)
    return ApiError(error.code, f"{message} — {known}" if known else message, detail, known)


def told(why: str, attempts: int) -> str:
    """What follows an error: why it was not tried again, and how often it was."""
    times = f" (after {attempts} attempts)" if attempts > 1 else ""
    return f"{f' — {why}' if why else ''}{times}"


def added(error: ApiError | TransportError, why: str, attempts: int) -> ApiError | TransportError:
    """The error with that told."""
    message = error.message + told(why, attempts)
    if message == error.message:
        return error
    if isinstance(error, ApiError):
        return ApiError(error.code, message, error.detail, error.explanation)
    return TransportError(error.code, message)


def _value(text: str) -> Any:
    """What a body says once the keys are out of it: a text where that left no JSON (a key of digits in a number's place)."""
    try:
        return msgspec.json.decode(text)
    except msgspec.DecodeError:
        return text


def _names(target: Target) -> dict[str, str]:
    """What a hint names: the key's variable, the model's id, the base URL with the variable that sets it."""
    base_env = f" ({target.base_env})" if target.base_env else ""
    return {"key": target.key_env, "model": target.model, "base_url": address(target.base_url) + base_env}


def _decoded(body: bytes, content_type: str) -> str:
    """The words of a body, in the charset it names, else UTF-8."""
    named = content_type.lower().partition("charset=")[2].partition(";")[0].strip(" \"'")
    try:
        return body.decode(named or "utf-8", "replace")
    except (LookupError, ValueError):  # a charset that nobody knows
        return body.decode("utf-8", "replace")
