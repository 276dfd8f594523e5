"""Guards the one path between any two wires, for requests, replies, streams and errors; and that strict means it."""

from __future__ import annotations

import json
from itertools import product
from typing import Any

import msgspec
import pytest

from carrying import carrier, echoed
from dragoman import translate
from dragoman.dialect.model import BASE, Dialect
from dragoman.errors import LossyError, RemoteError
from dragoman.translate import Options, StreamTranslator
from dragoman.types import Failure, Media, Request, Sampling, Text, ToolCall, ToolResult, assistant, system, tool, user
from dragoman.wire import WIRES, find
from dragoman.wire.base import Exchange, Http
from golden.written import READ
from laws.bodies import of
from laws.bodies.sse import stream
from laws.both_ways import (
    collected,
    decode_reply,
    decode_request,
    decode_stream,
    encode_reply,
    encode_request,
    encode_stream,
    gathered,
)
from meaning import differences

nine = pytest.mark.parametrize(("here", "there"), list(product(WIRES, repeat=2)))
six = pytest.mark.parametrize(("here", "there"), [pair for pair in product(WIRES, repeat=2) if pair[0] != pair[1]])

ASKED = Request(
    model="some-model",
    messages=(
        system("根据项目文件回答用户的问题。"),
        user("Look.", Media(kind="image", media_type="image/png", data="aWc=")),
        assistant("I will.", ToolCall.of("t1", "read", {"path": "a"}), ToolCall.of("t2", "read", {"path": "说明.md"})),
        tool(
            ToolResult(call_id="t1", content=(Text(text="启动命令:npm run dev"),)),
            ToolResult(call_id="t2", content=(Text(text="👩🏽‍💻"),)),
        ),
    ),
    tools=(READ,),
    max_output=512,
    sampling=Sampling(temperature=0),
    stream=True,
)
EDGE = Options(client=Exchange(seed="s", model="m", include_usage=True))
STRICT = Options(client=EDGE.client, strict=True)


def asked(wire: str, request: Request = ASKED) -> Http:
    return encode_request(wire, request).http


@nine
def test_a_request(here: str, there: str) -> None:
    done = translate.request(asked(here), find(here), find(there), STRICT)
    kept = msgspec.structs.replace(ASKED, store=False if there == "responses" != here else None)  # see wire.keeping
    assert differences(decode_request(there, done.http.body).request, kept) == []
    assert [note for note in done.notes if note.loss] == []
    assert (done.client.stream, done.provider.stream) == (True, True)
    assert done.client.offered == done.provider.offered == ("read",)


REPLY = decode_reply(
    "chat",
    {
        "id": "r1",
        "model": "some-model",
        "created": 1,
        "choices": [
            {
                "message": {
                    "role": "assistant",
                    "content": "好的。",
                    "tool_calls": [
                        {"id": "t1", "type": "function", "function": {"name": "read", "arguments": '{"a":1}'}}
                    ],
                },
                "finish_reason": "tool_calls",
            }
        ],
        "usage": {"prompt_tokens": 929, "completion_tokens": 60, "prompt_tokens_details": {"cached_tokens": 890}},
    },
).value


@nine
def test_a_reply(here: str, there: str) -> None:
    said = encode_reply(here, REPLY).body
    done = translate.reply(said, find(here), find(there), STRICT)
    assert differences(_timeless(decode_reply(there, done.body).value), _timeless(REPLY)) == []


@nine
@pytest.mark.parametrize("size", [1, 7, 10_000])
def test_a_stream(here: str, there: str, size: int) -> None:
    said, _ = encode_stream(here, REPLY)
    translator = StreamTranslator(find(here), find(there), STRICT)
    written = b"".join(translator.feed(said[at : at + size]) for at in range(0, len(said), size)) + translator.close()
    assert differences(_timeless(collected(decode_stream(there, [written]))), _timeless(REPLY)) == []
    assert [note for note in translator.notes if note.loss] == []


def _timeless(reply: Any) -> Any:
    """Messages says no time, so one from the edge stands there on the others."""
    return msgspec.structs.replace(reply, created=None)


ERRORS: dict[str, dict[str, Any]] = {
    "chat": {"error": {"message": "slow down", "type": "requests", "code": "rate_limit_exceeded"}},
    "messages": {"type": "error", "error": {"type": "rate_limit_error", "message": "slow down"}},
    "responses": {"error": {"message": "slow down", "type": "requests", "code": "rate_limit_exceeded"}},
}


@nine
def test_an_error(here: str, there: str) -> None:
    body = json.dumps(ERRORS[here]).encode()
    status, headers, written = translate.error(429, {"Retry-After": "3"}, body, find(here), find(there))
    read = find(there).decode_error(status, dict(headers), written, BASE)
    assert (status, read.code, read.message, read.retryable) == (429, "rate_limit", "slow down", True)
    assert read.detail.retry_after == 3


# One thing that each other wire cannot say.
LOSSY: dict[str, Request] = {
    "chat": msgspec.structs.replace(ASKED, budget=2048),
    "messages": msgspec.structs.replace(ASKED, sampling=Sampling(seed=7)),
    "responses": msgspec.structs.replace(ASKED, stop=("END",)),
}
SAY_IT = {"chat": "messages", "messages": "chat", "responses": "chat"}


@pytest.mark.parametrize("there", WIRES)
def test_strict_refuses_a_request_that_would_lose_something(there: str) -> None:
    here = SAY_IT[there]
    http = asked(here, LOSSY[there])
    with pytest.raises(LossyError) as caught:
        translate.request(http, find(here), find(there), STRICT)
    assert caught.value.code == "lossy"
    lost = [note for note in translate.request(http, find(here), find(there), EDGE).notes if note.loss]
    assert list(caught.value.notes) == lost != []


@pytest.mark.parametrize("there", ["messages", "responses"])
def test_strict_refuses_a_reply_that_would_lose_something(there: str) -> None:
    said = json.dumps(of("chat").REPLIES["rich"]).encode()
    with pytest.raises(LossyError):
        translate.reply(said, find("chat"), find(there), STRICT)


# The first two of three pieces can be said on every wire, the third is a choice of its own.
LOSING = stream(
    {"id": "c", "model": "m", "choices": [{"index": 0, "delta": {"role": "assistant", "content": "Hel"}}]},
    {"id": "c", "choices": [{"index": 0, "delta": {"content": "lo"}}]},
    {"id": "c", "choices": [{"index": 1, "delta": {"content": "another answer"}}]},
    {"id": "c", "choices": [{"index": 0, "delta": {"content": " never said"}, "finish_reason": "stop"}]},
    "[DONE]",
)


@pytest.mark.parametrize("there", ["messages", "responses"])
def test_the_first_loss_ends_a_strict_stream_in_the_clients_own_form(there: str) -> None:
    translator = StreamTranslator(find("chat"), find(there), STRICT)
    written = b"".join(translator.feed(event + b"\n\n") for event in LOSING.split(b"\n\n")) + translator.close()
    reply, failure = gathered(decode_stream(there, [written]))
    assert reply.text == "Hello"
    assert isinstance(failure, Failure)
    assert "would be dropped" in failure.message
    assert (translator.feed(b"data: more\n\n"), translator.close()) == (b"", b"")
    loose = StreamTranslator(find("chat"), find(there), EDGE)
    kept = loose.feed(LOSING) + loose.close()
    assert collected(decode_stream(there, [kept])).text == "Hello never said"
    assert {note.loss for note in loose.notes} == {True}


def test_a_loss_at_the_end_of_a_strict_stream_is_a_failure_too() -> None:
    reply = msgspec.structs.replace(REPLY, stop=msgspec.structs.replace(REPLY.stop, reason="context", raw="x"))
    said, _ = encode_stream("messages", reply)
    translator = StreamTranslator(find("messages"), find("chat"), STRICT)
    _, failure = gathered(decode_stream("chat", [translator.feed(said) + translator.close()]))
    assert failure is not None


def passes(here: str, there: str, options: Options, body: bytes) -> bool:
    return translate.request(Http(body=body), find(here), find(there), options).http.body == body


@pytest.mark.parametrize("wire", WIRES)
def test_bytes_pass_untouched_only_where_nothing_is_asked(wire: str) -> None:
    body = b" " + asked(wire).body.replace(b'"stream":true', b'"stream" :  true')
    assert passes(wire, wire, EDGE, body)
    assert passes(wire, wire, Options(carrier=carrier()), body)
    assert not passes(wire, wire, Options(target=Dialect(name="other")), body)
    assert not passes(wire, wire, EDGE, body.replace(b"npm run dev", b"drg1abcd"))
    for other in WIRES:
        assert other == wire or not passes(wire, other, EDGE, body)


@pytest.mark.parametrize("wire", WIRES)
def test_a_reply_and_a_stream_pass_untouched_on_their_own_wire(wire: str) -> None:
    said = b"\n " + encode_reply(wire, REPLY).body
    assert translate.reply(said, find(wire), find(wire)).body == said
    written, _ = encode_stream(wire, REPLY)
    translator = StreamTranslator(find(wire), find(wire))
    assert translator.feed(b": hi\n\n" + written[:9]) == b": hi\n\n" + written[:9]
    assert translator.feed(written[9:]) + translator.close() == written[9:]
    other = Options(target=Dialect(name="other"), client=EDGE.client)
    assert StreamTranslator(find(wire), find(wire), other).feed(b": hi\n\n") != b": hi\n\n" or wire == "chat"
    assert translate.reply(said, find(wire), find(wire), other).body != said


@pytest.mark.parametrize("wire", WIRES)
def test_a_body_that_cannot_be_read_never_passes(wire: str) -> None:
    for body in (b"{", b"[]", b'{"messages":'):
        with pytest.raises(RemoteError):
            translate.request(Http(body=body), find(wire), find(wire))


@six
def test_carried_state_goes_out_and_comes_home(here: str, there: str) -> None:
    """A provider of `here`, a client of `there`: the second request is what the provider's own client would send."""
    edge = carrier()
    options = Options(client=EDGE.client, carrier=edge)
    said = json.dumps(of(here).REPLIES["rich"]).encode()
    shown = json.loads(translate.reply(said, find(here), find(there), options).body)
    request = json.dumps(echoed(there, shown)).encode()
    lenient = msgspec.structs.replace(options, target=Dialect(replay="always", reasoning_out="reasoning_content"))
    home = translate.request(Http(body=request), find(there), find(here), lenient)
    assert b"drg1" not in home.http.body
    own = decode_reply(here, said).value.message
    back = next(m for m in decode_request(here, home.http.body).request.messages if m.role == "assistant")
    carried = [type(block).__name__ for block in own.content if type(block).__name__ in ("Reasoning", "HostedCall")]
    assert [type(b).__name__ for b in back.content if type(b).__name__ in ("Reasoning", "HostedCall")] == carried != []


@six
def test_without_a_carrier_a_value_of_ours_never_reaches_a_provider(here: str, there: str) -> None:
    edge = Options(client=EDGE.client, carrier=carrier())
    said = json.dumps(of(here).REPLIES["rich"]).encode()
    shown = json.loads(translate.reply(said, find(here), find(there), edge).body)
    request = Http(body=json.dumps(echoed(there, shown)).encode())
    for target in (here, there):
        done = translate.request(request, find(there), find(target), Options())
        assert b"drg1" not in done.http.body
        assert any("reasoning state" in note.reason for note in done.notes)
