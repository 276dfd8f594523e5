"""Guards that no loss on the way through the gateway goes without a word: what is known when the answer begins is in a header, what
is known only later in a comment behind the stream, which the vendors' SDKs pass over; bytes that pass are left as they are."""

from __future__ import annotations

import json
from contextlib import suppress
from typing import Any

import anthropic
import openai
import pytest

from dragoman.dialect.model import BASE
from dragoman.errors import DragomanError
from dragoman.gateway.losses import ASKED, MOST, header, since
from dragoman.testing import FakeProvider
from dragoman.types.content import Text
from dragoman.types.events import BlockEnd, BlockStart, Delta, Finish, Start, StreamEvent
from dragoman.types.note import Note
from dragoman.types.reply import Stop
from dragoman.types.request import Request
from dragoman.wire import LIBRARY, find
from gate import PATHS, Gate, body_of
from hazards.cases import DONE, data
from odds import EXCHANGE, odd_replies, odd_streams
from origin import Answer, Origin

SSE = {"content-type": "text/event-stream"}
COMPLETIONS, OLLAMA = "/v1/completions", "/api/chat"
CITED = "reply.message.content[0].citations dropped"
LATE = b"\n\n: dragoman-lost: %s\n\n"
CITATION = {
    "type": "char_location",
    "cited_text": "x",
    "document_index": 0,
    "document_title": None,
    "start_char_index": 0,
    "end_char_index": 1,
}


def event(kind: str, **fields: Any) -> bytes:
    return f"event: {kind}\ndata: {json.dumps({'type': kind, **fields})}\n\n".encode()


USAGE = {"input_tokens": 5, "output_tokens": 5}
MESSAGE = {"id": "msg_1", "type": "message", "role": "assistant", "model": "m", "stop_sequence": None, "usage": USAGE}
TEXT = {"type": "text", "text": "hello", "citations": [CITATION]}
WHOLE = Answer(200, body=json.dumps({**MESSAGE, "content": [TEXT], "stop_reason": "end_turn"}).encode())
STREAM = [
    event("message_start", message={**MESSAGE, "content": [], "stop_reason": None}),
    event("content_block_start", index=0, content_block={"type": "text", "text": ""}),
    event("content_block_delta", index=0, delta={"type": "text_delta", "text": "hello"}),
    event("content_block_delta", index=0, delta={"type": "citations_delta", "citation": CITATION}),
    event("content_block_stop", index=0),
    event("message_delta", delta={"stop_reason": "end_turn", "stop_sequence": None}, usage=USAGE),
    event("message_stop"),
]


@pytest.mark.parametrize("wire", ["chat", "responses"])
def test_what_an_answer_loses_is_in_the_header_of_a_whole_one_and_behind_a_stream(wire: str) -> None:
    with Origin(WHOLE, Answer(200, SSE, STREAM)) as origin, Gate(f"{origin.url}/v1#messages:m") as gate:
        whole, stream = gate.say(wire), gate.say(wire, stream=True)
    assert (whole.headers["dragoman-lost"], stream.headers.get("dragoman-lost")) == (CITED, None)
    assert stream.body.endswith(LATE % CITED.encode())
    assert (whole.body + stream.body).count(b"dragoman-lost") == 1


@pytest.mark.parametrize("stream", [True, False])
def test_bytes_that_pass_lose_nothing_and_are_left_as_they_are(stream: bool) -> None:
    answer = Answer(200, SSE, STREAM) if stream else WHOLE
    with Origin(answer) as origin, Gate(f"{origin.url}/v1#messages:m") as gate:
        got = gate.say("messages", stream=stream)
    assert (got.body, got.headers.get("dragoman-lost")) == (b"".join(STREAM) if stream else WHOLE.body, None)


def test_lines_of_json_have_no_place_for_it_and_whole_ones_the_header() -> None:
    body = {"model": "m", "messages": [{"role": "user", "content": "x"}]}
    with Origin(Answer(200, SSE, STREAM), WHOLE) as origin, Gate(f"{origin.url}/v1#messages:m") as gate:
        stream, whole = gate.ask(OLLAMA, body), gate.ask(OLLAMA, {**body, "stream": False})
    assert [json.loads(line)["done"] for line in stream.body.splitlines()][-1] is True
    assert CITED in whole.headers["dragoman-lost"]


@pytest.mark.parametrize("wire", ["chat", "responses"])
def test_reasoning_state_that_is_too_large_to_travel_is_told(wire: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("dragoman.wire.carrier.MAX_STATE", 9)
    thought = {"type": "thinking", "thinking": "hm", "signature": "s" * 99}
    body = json.dumps({**MESSAGE, "content": [thought, TEXT], "stop_reason": "end_turn"}).encode()
    begun = {"type": "thinking", "thinking": "hm", "signature": ""}
    sealed = {"type": "signature_delta", "signature": "s" * 99}
    events = [
        STREAM[0],
        event("content_block_start", index=0, content_block=begun),
        event("content_block_delta", index=0, delta=sealed),
        event("content_block_stop", index=0),
        *STREAM[-2:],
    ]
    with (
        Origin(Answer(200, body=body), Answer(200, SSE, events)) as origin,
        Gate(f"{origin.url}/v1#messages:m") as gate,
    ):
        whole, stream = gate.say(wire), gate.say(wire, stream=True)
    told = "reply.message.opaque dropped"
    assert told in whole.headers["dragoman-lost"].split("; ")
    assert told in stream.body.decode().rpartition(": dragoman-lost: ")[2].strip().split("; ")


def test_each_further_choice_of_a_stream_tells_its_own() -> None:
    calls = {"text": "said", "calls": [{"id": "c1", "name": "f", "arguments": {}}]}
    with FakeProvider("chat", script=["one", calls, calls]) as fake, Gate(fake.spec) as gate:
        got = gate.ask(COMPLETIONS, {"model": "m", "prompt": ["x", "y", "z"], "stream": True})
    head, _, told = got.body.partition(b": dragoman-lost: ")
    assert head.endswith(b"data: [DONE]\n\n")
    assert told.decode().strip().split("; ") == [
        "reply.others[0].message.content[1] dropped",
        "reply.others.stop.reason substituted",
        "reply.others[1].message.content[1] dropped",
    ]


def test_what_is_told_of_the_request_is_told_once() -> None:
    asked = body_of("chat", stream=True, logit_bias={"5": 1})
    with Origin(Answer(200, SSE, STREAM)) as origin, Gate(f"{origin.url}/v1#messages:m") as gate:
        got = gate.ask(PATHS["chat"], asked)
    assert got.headers["dragoman-lost"] == "logit_bias dropped"
    assert got.body.endswith(LATE % CITED.encode())


@pytest.mark.parametrize("stream", [True, False])
def test_so_is_what_the_service_would_not_take(stream: bool) -> None:
    said = {"message": "Unsupported parameter: 'top_p' is not supported with this model.", "param": "top_p"}
    refused = Answer(400, body=json.dumps({"error": {**said, "code": "unsupported_parameter"}}).encode())
    choice = {"index": 0, "delta": {"role": "assistant", "content": "hello"}, "finish_reason": "stop"}
    taken = Answer(200, SSE, [data({"id": "c", "object": "x", "created": 1, "model": "m", "choices": [choice]}), DONE])
    with Origin(refused, taken) as origin, Gate(f"{origin.url}/v1#chat:m") as gate:
        got = gate.say("messages", stream=stream, top_p=0.5)
    assert (got.status, ["top_p" in seen.json for seen in origin.seen]) == (200, [True, False])
    assert got.headers["dragoman-lost"] == "sampling.top_p dropped"


def test_a_conversation_that_the_service_cut_is_told_behind_the_stream() -> None:
    usage = {"prompt_tokens": 2047, "completion_tokens": 1, "total_tokens": 2048}
    chunk = {"id": "c", "object": "chat.completion.chunk", "created": 1, "model": "m", "usage": usage}
    choice = {"index": 0, "delta": {"role": "assistant", "content": "hello"}, "finish_reason": "stop"}
    answer = Answer(200, SSE, [data({**chunk, "choices": [choice]}), DONE])
    with Origin(answer) as origin, Gate(f"{origin.url}/v1#chat:m") as gate:
        got = gate.say("messages", "word " * 9000, stream=True)
    assert (got.headers.get("dragoman-lost"), got.body.endswith(LATE % b"messages dropped")) == (None, True)


def test_the_vendors_sdks_read_such_streams() -> None:
    odd = data({"id": "c", "object": "x", "created": 1, "model": "m", "odd": 1, "choices": [], "usage": None})
    choice = {"index": 0, "delta": {"role": "assistant", "content": "hello"}, "finish_reason": "stop"}
    said = data({"id": "c", "object": "x", "created": 1, "model": "m", "choices": [choice]})
    asked: Any = [{"role": "user", "content": "x"}]
    with Origin(Answer(200, SSE, STREAM)) as origin, Gate(f"{origin.url}/v1#messages:m") as gate:
        sdk = openai.OpenAI(base_url=f"{gate.url}/v1", api_key="none", max_retries=0)
        chunks = [*sdk.chat.completions.create(model="m", messages=asked, stream=True)]
        with sdk.responses.stream(model="m", input="x") as stream:
            kinds = [each.type for each in stream]
            response = stream.get_final_response().output_text
        raw = sdk.chat.completions.with_raw_response.create(model="m", messages=asked, stream=True).http_response
        assert raw.read().endswith(LATE % CITED.encode())
        sdk.close()
    with Origin(Answer(200, SSE, [odd, said, DONE])) as origin, Gate(f"{origin.url}/v1#chat:m") as gate:
        claude = anthropic.Anthropic(base_url=gate.url, api_key="none", max_retries=0)
        with claude.messages.stream(model="m", messages=asked, max_tokens=9) as read:
            text, stop = "".join(read.text_stream), read.get_final_message().stop_reason
        told = gate.say("messages", stream=True).body
        claude.close()
    assert "".join(each.choices[0].delta.content or "" for each in chunks) == "hello"
    assert (kinds[-1], response) == ("response.completed", "hello")
    assert (text, stop, told.endswith(LATE % b"reply.odd dropped")) == ("hello", "end_turn", True)


ODD = event("message_delta", delta="odd", usage=USAGE)  # tells of its `stop`, before a word was said


@pytest.mark.parametrize("wire", ["messages", "chat", "responses"])
def test_a_place_that_requests_have_too_is_the_answers_where_the_answer_tells_of_it(wire: str) -> None:
    with Origin(Answer(200, SSE, [STREAM[0], ODD, *STREAM[1:]])) as origin, Gate(f"{origin.url}/v1#messages:m") as gate:
        got = gate.say(wire, stream=True)
    lost = got.headers.get("dragoman-lost")
    assert lost == (None if wire == "messages" else "reply.stop dropped")  # where bytes pass, this one does
    assert (b"odd" in got.body) == (wire == "messages")


@pytest.mark.parametrize("stream", [True, False])
def test_it_is_the_requests_where_the_request_was_written_anew_without_it(stream: bool) -> None:
    said = {"message": "Unsupported parameter: 'stop' is not supported with this model.", "param": "stop"}
    refused = Answer(400, body=json.dumps({"error": {**said, "code": "unsupported_parameter"}}).encode())
    choice = {"index": 0, "delta": {"role": "assistant", "content": "hello"}, "finish_reason": "stop"}
    taken = Answer(200, SSE, [data({"id": "c", "object": "x", "created": 1, "model": "m", "choices": [choice]}), DONE])
    for wire in ("messages", "chat"):
        with Origin(refused, taken) as origin, Gate(f"{origin.url}/v1#chat:m") as gate:
            body = body_of(wire, stream=stream)
            got = gate.ask(PATHS[wire], {**body, "stop_sequences" if wire == "messages" else "stop": ["x"]})
        assert (got.status, ["stop" in seen.json for seen in origin.seen]) == (200, [True, False])
        assert got.headers["dragoman-lost"] == "stop dropped"


class Telling:
    """A model in this process that tells of its request and of its answer in one breath."""

    notes = tuple(
        Note(path=path, action="dropped", reason="why")
        for path in (("logit_bias",), ("stop",), ("messages", 0), ("message", "content", 0), ("usage",))
    )

    def stream(self, request: Request) -> Telling:
        self._events = iter([Start(), BlockStart(index=0, block=Text(text="")), Delta(index=0, text="x"), BlockEnd(index=0), Finish(stop=Stop(reason="end"))])  # fmt: skip
        return self

    def __iter__(self) -> Telling:
        return self

    def __next__(self) -> StreamEvent:
        return next(self._events)


def test_a_model_in_this_process_tells_of_both_and_each_has_its_place() -> None:
    with Gate(Telling()) as gate:
        got = [gate.say("chat", stream=stream).headers["dragoman-lost"] for stream in (True, False)]
    asked = "logit_bias dropped; stop dropped; messages[0] dropped"
    assert got == [f"{asked}; reply.message.content[0] dropped; reply.usage dropped"] * 2


@pytest.mark.parametrize("wire", LIBRARY)
def test_whatever_a_service_says_nothing_that_is_told_of_its_answer_has_a_place_in_requests_alone(wire: str) -> None:
    """So that what has such a place is of the request."""
    codec = find(wire)
    told: list[Note] = []
    for body in odd_replies(wire):
        with suppress(DragomanError):
            told += codec.decode_reply(body, BASE, EXCHANGE).notes
    for body in odd_streams(wire):
        decoder = codec.stream_decoder(BASE, EXCHANGE)
        decoder.feed(body)
        decoder.close()
        told += decoder.notes
    roots = {str(note.path[0]) for note in told if note.path}
    assert (roots & ASKED, bool(roots)) == (set(), True)


def test_places_of_the_request_and_of_the_answer_are_told_apart_each_once() -> None:
    told = [Note(path=(name,), action="dropped", reason="why") for name in ("user", "tier", "usage", "stop", "user")]
    assert since(told[:1], told, passes=False) == ["tier dropped", "reply.usage dropped", "reply.stop dropped"]
    assert since(told[:1], told, passes=True) == ["tier dropped"]
    tried = Note(path=("attempts", 1), action="substituted", reason="why", loss=False)
    anew = [told[0], told[3], tried, told[2]]
    assert since(told[:1], anew, passes=False) == ["stop dropped", "reply.usage dropped"]
    assert since(told[:1], anew, passes=True) == ["stop dropped"]
    assert header(["user dropped", "user dropped"]) == (("dragoman-lost", "user dropped"),)


def test_a_header_that_cannot_hold_all_places_says_that_there_are_more() -> None:
    ((_, whole),) = header(["x" * MOST])
    ((_, cut),) = header(["x" * MOST, "\n键"])
    assert (whole, cut) == ("x" * MOST, "x" * MOST + "...")
    assert header(["\n键"]) == (("dragoman-lost", "??"),)
