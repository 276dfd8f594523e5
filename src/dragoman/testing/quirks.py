"""Every way in which the fake provider can misbehave: one table, a name, what it does, and how."""

from __future__ import annotations

import json
from collections.abc import Callable
from email.utils import formatdate
from typing import Any, NamedTuple, TypeAlias

import msgspec

from dragoman.dialect.model import BASE
from dragoman.errors import ApiDetail, ApiError, UsageError
from dragoman.passed import hold
from dragoman.testing.plan import JSON, SSE, Act, Part, Plan, answer
from dragoman.types.codes import ErrorCode
from dragoman.types.events import Failure
from dragoman.wire import WIRES

Change: TypeAlias = Callable[[Plan], None]


class Quirk(NamedTuple):
    """A row: what it does, in words and in deed, and the wires on which it can be."""

    help: str
    change: Change
    wires: tuple[str, ...] = WIRES


class Chosen(NamedTuple):
    """A quirk that was asked for: `NAME`, or `NAME:3` for the first three requests only."""

    name: str
    times: int | None = None

    def at(self, number: int) -> bool:
        """Whether it changes the answer to the request of that number, counted from 1."""
        return self.times is None or number <= self.times


def chosen(said: str, wire: str) -> Chosen:
    """A quirk by name. Raises UsageError for one there is not, for a wire it cannot be on, and for a count of none."""
    hold("quirk", said, str, "a name, as rate-limit or rate-limit:2")
    name, colon, count = said.partition(":")
    if name not in QUIRKS:
        from difflib import get_close_matches

        near = get_close_matches(name, QUIRKS, 1)
        hint = f": did you mean {near[0]}?" if near else ": `dragoman fake --list` shows them all"
        raise UsageError("usage", f"unknown quirk {name!r}{hint}")
    if wire not in QUIRKS[name].wires:
        raise UsageError("usage", f"the quirk {name} is for the wire {', '.join(QUIRKS[name].wires)}, not for {wire}")
    if colon and not (count.isdecimal() and int(count) > 0):
        raise UsageError("usage", f"{said!r}: after the colon stands for how many requests, as in {name}:2")
    return Chosen(name, int(count) if colon else None)


def apply(quirk: str, plan: Plan) -> None:
    """Change `plan`."""
    QUIRKS[quirk].change(plan)


def _whole(plan: Plan, status: int, headers: dict[str, str], body: bytes) -> None:
    plan.status, plan.headers, plan.parts, plan.stream = status, headers, [body], False
    plan.content = plan.end = 0


def _refuse(status: int, code: ErrorCode, message: str, headers: dict[str, str] | None = None) -> Change:
    """A refusal in the wire's own form."""

    def change(plan: Plan) -> None:
        error = ApiError(code, message, ApiDetail(status=status))
        said, written, body = plan.wire.encode_error(error, BASE)
        _whole(plan, said, {**dict(written), **(headers or {})}, body)

    return change


def _without(word: str, message: str) -> Change:
    """A server that refuses a request in which this key or role stands, and answers any other."""
    refuse = _refuse(400, "invalid_request", message)

    def change(plan: Plan) -> None:
        if f'"{word}"'.encode() in plan.asked:
            refuse(plan)

    return change


def _dated(plan: Plan) -> None:
    """A rate limit whose wait is a date, two seconds after the answer's own."""
    _refuse(429, "rate_limit", "slow down")(plan)
    plan.headers["date"] = formatdate(plan.date, usegmt=True)
    plan.headers["retry-after"] = formatdate(plan.date + 2, usegmt=True)


def _body(status: int, body: Any, kind: str = JSON, **headers: str) -> Change:
    """These bytes, whatever was asked."""
    data = body if isinstance(body, bytes) else json.dumps(body, ensure_ascii=False).encode()
    return lambda plan: _whole(plan, status, {"content-type": kind, **headers}, data)


def _from(where: str, *acts: Part) -> Change:
    """The answer up to a place (its first content, what follows that, its last signal, its end), then `acts`."""

    def change(plan: Plan) -> None:
        places = {"content": plan.content, "after": plan.content + 1, "end": plan.end, "close": len(plan.parts)}
        plan.parts = [*plan.parts[: places[where]], *acts]

    return change


def _into(*parts: Part) -> Change:
    """The answer with these parts right after its first content."""

    def change(plan: Plan) -> None:
        at = plan.content + 1
        plan.parts = [*plan.parts[:at], *parts, *plan.parts[at:]]
        plan.end += len(parts)

    return change


def _fail(where: str, code: ErrorCode, message: str) -> Change:
    """A stream that fails in the wire's own form; a whole answer is a refusal inside a success."""

    def change(plan: Plan) -> None:
        if not plan.stream:
            _inside(code, message)(plan)
            return
        _from(where)(plan)
        plan.parts.append(plan.wire.stream_encoder(BASE, plan.exchange).encode(Failure(code=code, message=message)))

    return change


def _inside(code: ErrorCode, message: str) -> Change:
    """A refusal whose status says success."""

    def change(plan: Plan) -> None:
        _refuse(200, code, message)(plan)
        plan.status = 200

    return change


def _said_twice(plan: Plan) -> None:
    twice = [part for part in plan.parts if isinstance(part, bytes) and b'"usage":{' in part]
    at = plan.parts.index(twice[-1]) if plan.stream and twice else None
    if at is not None:
        plan.parts.insert(at, plan.parts[at])
        plan.end += 1


def _unmetered(plan: Plan) -> None:
    if plan.reply is not None:
        answer(msgspec.structs.replace(plan.reply, usage=None), plan)


def _alive(plan: Plan) -> None:
    if plan.stream:
        _each(lambda part: [PING, part])(plan)


def _each(make: Callable[[Part], list[Part]]) -> Change:
    def change(plan: Plan) -> None:
        plan.parts = [piece for part in plan.parts for piece in make(part)]

    return change


def _bytewise(part: Part) -> list[Part]:
    return [part[at : at + 1] for at in range(len(part))] if isinstance(part, bytes) else [part]


def _headers(**changes: str) -> Change:
    return lambda plan: plan.headers.update({name.replace("_", "-"): value for name, value in changes.items()})


def _mute(plan: Plan) -> None:
    plan.mute = True


def _drop(plan: Plan) -> None:
    plan.drop = True


SLOW = "slow down"
BUSY = "the service is overloaded"
NO_MONEY = "You have no credits remaining"
LONG = "This model's maximum context length is 8192 tokens; please reduce the length of the messages"
NEWER = ("max_tokens", "Unsupported parameter: 'max_tokens' is not supported; use 'max_completion_tokens' instead.")
FIXED = ("temperature", "Unsupported value: 'temperature' does not support this value with this model.")
PLAIN = ("developer", "Unsupported value: 'messages[0].role' does not support 'developer' with this model.")
OLDER = ("stream_options", "Extra inputs are not permitted, field: 'stream_options'")
WRONG = {"message": "tool call validation failed", "type": "invalid_request_error", "code": "tool_use_failed"}
PAGE = b"<!doctype html><html><head><title>502 Bad Gateway</title></head><body><h1>502 Bad Gateway</h1></body></html>"
PING = b": keep-alive\n\n"
GARBAGE = b'data: {"choices": [{"delta": \xff\x00 not json\n\n'

QUIRKS: dict[str, Quirk] = {
    # refusals
    "rate-limit": Quirk("429, no word of when to come back", _refuse(429, "rate_limit", SLOW)),
    "rate-limit-seconds": Quirk("429, retry-after: 2", _refuse(429, "rate_limit", SLOW, {"retry-after": "2"})),
    "rate-limit-ms": Quirk("429, retry-after-ms: 250", _refuse(429, "rate_limit", SLOW, {"retry-after-ms": "250"})),
    "rate-limit-date": Quirk("429, retry-after as a date, two seconds on", _dated),
    "rate-limit-invalid": Quirk("429, retry-after: soon", _refuse(429, "rate_limit", SLOW, {"retry-after": "soon"})),
    "rate-limit-day": Quirk("429, retry-after: 86400", _refuse(429, "rate_limit", SLOW, {"retry-after": "86400"})),
    "quota": Quirk("429 that means: no money left", _refuse(429, "quota", NO_MONEY)),
    "quota-402": Quirk("402, no money left", _body(402, {"error": {"message": NO_MONEY}})),
    "overloaded": Quirk("529, overloaded", _refuse(529, "overloaded", BUSY)),
    "overloaded-seconds": Quirk("529, retry-after: 2", _refuse(529, "overloaded", BUSY, {"retry-after": "2"})),
    "error-500": Quirk("500", _refuse(500, "server_error", "internal error")),
    "error-503": Quirk("503", _refuse(503, "overloaded", BUSY)),
    "should-retry": Quirk(
        "400 with x-should-retry: true", _refuse(400, "invalid_request", "a lock", {"x-should-retry": "true"})
    ),
    "should-not-retry": Quirk(
        "503 with x-should-retry: false", _refuse(503, "overloaded", BUSY, {"x-should-retry": "false"})
    ),
    "bad-request": Quirk("400 in the wire's own form", _refuse(400, "invalid_request", "messages[0] is wrong")),
    "bad-request-text": Quirk("400, plain text", _body(400, b"Bad Request: messages[0] is wrong", "text/plain")),
    "bad-request-detail": Quirk(
        "400, {detail: [...]}", _body(400, {"detail": [{"loc": ["body", "messages"], "msg": "wrong"}]})
    ),
    "bad-request-string": Quirk("400, {error: text}", _body(400, {"error": "messages[0] is wrong"})),
    "bad-request-wrapped": Quirk(
        "a bad request that a gateway calls 500", _body(500, {"error": {**WRONG, "status_code": 400}})
    ),
    "overflow": Quirk("400, the conversation is too long", _refuse(400, "context_overflow", LONG)),
    "no-max-tokens": Quirk("400 where max_tokens is said: the other key is wanted", _without(*NEWER), ("chat",)),
    "no-temperature": Quirk("400 where a temperature is said", _without(*FIXED)),
    "no-developer": Quirk("400 where the role developer stands", _without(*PLAIN), ("chat", "responses")),
    "no-stream-options": Quirk("400 where stream_options is said", _without(*OLDER), ("chat",)),
    "auth": Quirk("401, wrong key", _refuse(401, "auth", "invalid api key")),
    "not-found": Quirk("404, no such model", _refuse(404, "not_found", "no such model")),
    "html": Quirk("502, a page of HTML", _body(502, PAGE, "text/html")),
    "redirect": Quirk("307 to another path", _body(307, b"", "text/plain", location="/elsewhere")),
    # errors that are no refusal
    "error-in-200": Quirk("a success whose body is an error", _inside("overloaded", BUSY)),
    "bad-request-in-200": Quirk(
        "a success whose body is a bad request", _body(200, {"error": {**WRONG, "status_code": 400}})
    ),
    "bad-request-in-stream": Quirk(
        "a stream that begins with a bad request", _fail("content", "invalid_request", "wrong tool call")
    ),
    "error-at-start": Quirk("a stream that fails before its first content", _fail("content", "overloaded", BUSY)),
    "error-in-stream": Quirk("a stream that fails after its first content", _fail("after", "overloaded", BUSY)),
    "html-200": Quirk("a success that is a page of HTML", _body(200, PAGE, "text/html")),
    "empty": Quirk("a success without a body", _body(200, b"")),
    # connections
    "no-answer": Quirk("the connection is closed without an answer", _drop),
    "silence": Quirk("the request is taken, and nothing comes", _mute),
    "silence-at-start": Quirk("a head, and nothing more", _from("content", Act.HOLD)),
    "silence-in-stream": Quirk("nothing more after the first content", _from("after", Act.HOLD)),
    "silence-at-end": Quirk("all of the answer, and the connection stays open", _from("close", Act.HOLD)),
    "pings": Quirk("a head, then signs of life for ever", _from("content", Act.PING)),
    "cut-at-start": Quirk("the connection breaks before the first content", _from("content", Act.CUT)),
    "cut-in-stream": Quirk("the connection breaks after the first content", _from("after", Act.CUT)),
    # bodies
    "no-end": Quirk("the last signal of the stream is missing", _from("end")),
    "garbage": Quirk("bytes that are no event, in mid-stream", _into(GARBAGE)),
    "keep-alives": Quirk("a comment before each event", _alive),
    "trickle": Quirk("one byte at a time", _each(_bytewise)),
    "slow": Quirk("a pause before each event", _each(lambda part: [Act.PAUSE, part])),
    "usage-twice": Quirk("usage is said twice in the stream", _said_twice, ("chat", "messages")),
    "usage-never": Quirk("usage is not said", _unmetered),
    "wrong-content-type": Quirk("text/plain, whatever it is", _headers(content_type="text/plain")),
    "json-for-stream": Quirk("a stream is called application/json", _headers(content_type=JSON)),
    "stream-for-json": Quirk("a whole answer is called an event stream", _headers(content_type=SSE)),
}
