"""Guards callers against a form of schema that was never theirs: what comes back of a call or an answer has the form of the
schema that was given, whole and streamed, on every wire, and whatever needs no change keeps its bytes."""

from __future__ import annotations

import json
from itertools import product
from typing import Any

import msgspec
import pytest

from dragoman import translate
from dragoman.dialect.model import BASE, override
from dragoman.translate import Options, StreamTranslator
from dragoman.types import Output, Text, Tool, ToolCall, explode
from dragoman.types.collect import Collector
from dragoman.types.events import BlockStart, Delta, Failure
from dragoman.wire import find
from dragoman.wire.base import Exchange, Http, Outgoing
from hazards.cases import cuts
from hazards.schemas import (
    LEFT_OUT,
    LOOSE,
    MEANT,
    NULL,
    PAIRS,
    PLAIN,
    SAID,
    answer_of,
    answered,
    ask,
    body_of,
    each_wire,
    outline,
    schemas_in,
    sent,
)


@each_wire
def test_a_strict_tool_is_sent_strict_and_its_calls_come_back_as_they_are_meant(wire: str) -> None:
    out = sent(wire, ask(Tool(name="find", parameters=LOOSE, strict=True)))
    (written,) = schemas_in(out.http.body)
    assert written == {
        "type": "object",
        "properties": LEFT_OUT if wire == "messages" else NULL,
        "required": ["query"] if wire == "messages" else ["query", "limit", "env"],
        "additionalProperties": False,
    }
    assert [note for note in out.notes if note.loss] == []
    (call,) = answered(wire, ToolCall.of("c1", "find", SAID), out).calls
    assert (call.id, call.name, json.loads(call.arguments)) == ("c1", "find", MEANT | left_alone(wire))
    assert "\\u" not in call.arguments


def left_alone(wire: str) -> dict[str, Any]:
    """A null that the form did not ask for is the model's own word, and stays for the validator."""
    return {"limit": None} if wire == "messages" else {}


TEXTS = ['{"query":  "x"}', '{"query": 1e400}', '{"query": ', "[1]", "", "null", "nothing"]


@pytest.mark.parametrize(("wire", "text"), [("messages", TEXTS[0]), *product(("chat", "responses"), TEXTS)])
def test_arguments_that_need_no_change_are_not_touched(wire: str, text: str) -> None:
    out = sent(wire, ask(Tool(name="find", parameters=LOOSE, strict=True)))
    assert out.exchange.reverse
    assert answered(wire, ToolCall(id="c1", name="find", arguments=text), out).calls[0].arguments == text


@each_wire
def test_two_calls_at_once_and_words_beside_them_are_told_apart(wire: str) -> None:
    out = sent(wire, ask(Tool(name="find", parameters=LOOSE, strict=True), Tool(name="read", parameters=PLAIN)))
    calls = (ToolCall.of("c1", "find", SAID), ToolCall(id="c2", name="read", arguments='{"q": "z"}'))
    reply = answered(wire, Text(text="Looking."), *calls, out)
    assert reply.text == "Looking."
    assert [(call.name, json.loads(call.arguments)) for call in reply.calls] == [
        ("find", MEANT | left_alone(wire)),
        ("read", {"q": "z"}),
    ]
    assert reply.calls[1].arguments in ('{"q": "z"}', '{"q":"z"}')


@each_wire
def test_each_change_of_an_answer_is_told_and_is_no_loss(wire: str) -> None:
    codec = find(wire)
    out = sent(wire, ask(Tool(name="find", parameters=LOOSE, strict=True)))
    body = codec.encode_reply(answer_of(ToolCall.of("c1", "find", SAID)), BASE, Exchange(seed="s")).body
    told = codec.decode_reply(body, BASE, out.exchange).notes
    assert outline(told) == [(("message", "content", 0, "arguments"), "substituted", False)]


@each_wire
def test_a_tool_under_another_name_has_its_own_way_back(wire: str) -> None:
    out = sent(wire, ask(Tool(name="找 文件", parameters=LOOSE, strict=True)))
    (written,) = [name for name, meant in out.exchange.names.items() if meant == "找 文件"]
    (call,) = answered(wire, ToolCall.of("c1", written, SAID), out).calls
    assert (call.name, json.loads(call.arguments)) == ("找 文件", MEANT | left_alone(wire))


@pytest.mark.parametrize("wire", ["chat", "responses"])
def test_an_answer_of_a_strict_schema_is_read_as_the_schema_that_was_given(wire: str) -> None:
    output = Output(kind="schema", name="list", schema={"type": "array", "items": LOOSE}, strict=True)
    out = sent(wire, ask(output=output))
    reply = answered(wire, Text(text=json.dumps({"value": [SAID]}, ensure_ascii=False)), out)
    assert json.loads(reply.text) == [MEANT]


def test_an_answer_on_the_messages_wire_is_always_held_to_its_form_and_read_back() -> None:
    out = sent("messages", ask(output=Output(kind="schema", schema={"type": "array", "items": LOOSE})))
    said = {"value": [{"query": "x", "env": [{"key": "A", "value": "1"}]}]}
    reply = answered("messages", Text(text=json.dumps(said)), out)
    assert json.loads(reply.text) == [{"query": "x", "env": {"A": "1"}}]


@each_wire
def test_words_that_are_no_json_are_not_touched(wire: str) -> None:
    out = sent(wire, ask(output=Output(kind="schema", name="n", schema={"type": "array"}, strict=True)))
    assert answered(wire, Text(text="I cannot say {that"), out).text == "I cannot say {that"


@pytest.mark.parametrize(("source", "target"), PAIRS)
def test_a_client_of_another_wire_gets_the_form_of_his_own_schema(source: str, target: str) -> None:
    """Through a gateway, whole and streamed: the client never sees the form that was made for the server."""
    client, provider = find(source), find(target)
    wrapped = body_of(source, {"type": "array", "items": {"type": "string"}})
    there = translate.request(Http(body=json.dumps(wrapped).encode()), client, provider)
    options = Options(client=there.client, provider=there.provider)
    answer = answer_of(ToolCall.of("c1", "t0", {"value": ["a"]}))
    whole = translate.reply(provider.encode_reply(answer, BASE, Exchange(seed="s")).body, provider, client, options)
    (call,) = client.decode_reply(whole.body, BASE, Exchange()).value.calls
    meant = {"_raw": '["a"]'} if source == "messages" else ["a"]  # its calls have an object, whatever the schema says
    assert json.loads(call.arguments) == meant
    encoder = provider.stream_encoder(BASE, Exchange(stream=True, seed="s"))
    stream = b"".join(encoder.encode(event) for event in explode(answer)) + encoder.close()  # type: ignore[arg-type]
    for pieces in cuts(stream):
        translator = StreamTranslator(provider, client, options)
        written = b"".join(translator.feed(piece) for piece in pieces) + translator.close()
        assert b'"value"' not in written
        assert b'\\"a\\"' in written


def test_bytes_do_not_pass_where_there_is_something_to_undo() -> None:
    chat = find("chat")
    rules = override(BASE, {"schema_subset": "gemini"})
    said = body_of("chat", {"type": "array", "items": {"type": "string"}})
    there = translate.request(Http(body=json.dumps(said).encode()), chat, chat, Options(target=rules))
    answer = chat.encode_reply(answer_of(ToolCall.of("c1", "t0", {"value": ["a"]})), BASE, Exchange(seed="s")).body
    options = Options(client=there.client, provider=there.provider)
    (call,) = json.loads(translate.reply(answer, chat, chat, options).body)["choices"][0]["message"]["tool_calls"]
    assert call["function"]["arguments"] == '["a"]'


# --- a stream that needs undoing


def begun(wire: str = "chat") -> tuple[bytes, Outgoing]:
    """A stream of one strict call, cut before its last signal."""
    out = sent(wire, ask(Tool(name="find", parameters=LOOSE, strict=True)))
    call = {"index": 0, "id": "c1", "function": {"name": "find", "arguments": ""}}
    pieces = [
        {"choices": [{"index": 0, "delta": {"role": "assistant", "tool_calls": [call]}}]},
        *(
            {"choices": [{"index": 0, "delta": {"tool_calls": [{"index": 0, "function": {"arguments": text}}]}}]}
            for text in ('{"query": "x", "li', 'mit": null')
        ),
    ]
    return b"".join(b"data: " + json.dumps(piece).encode() + b"\n\n" for piece in pieces), out


def test_the_pieces_wait_for_the_end_of_their_call_and_come_as_one() -> None:
    stream, out = begun()
    decoder = find("chat").stream_decoder(BASE, out.exchange)
    early = decoder.feed(stream)
    assert [event for event in early if isinstance(event, Delta)] == []
    assert [
        event.block.name for event in early if isinstance(event, BlockStart) and isinstance(event.block, ToolCall)
    ] == ["find"]
    last = {"choices": [{"index": 0, "delta": {"tool_calls": [{"index": 0, "function": {"arguments": "}"}}]}}]}
    late = decoder.feed(b"data: " + json.dumps(last).encode() + b"\n\n" + b"data: [DONE]\n\n")
    assert [event.text for event in late if isinstance(event, Delta)] == ['{"query":"x"}']


def test_what_came_of_a_call_before_a_stream_was_cut_is_kept_as_it_came() -> None:
    stream, out = begun()
    decoder, collector = find("chat").stream_decoder(BASE, out.exchange), Collector()
    for event in (*decoder.feed(stream), *decoder.close()):
        collector.feed(event)
    assert isinstance(collector.failure, Failure)
    assert [call.arguments for call in collector.reply.calls] == ['{"query": "x", "limit": null']


@each_wire
def test_the_way_back_is_a_plain_value_that_a_paused_run_can_keep(wire: str) -> None:
    output = Output(kind="schema", name="n", schema={"type": "array", "items": LOOSE}, strict=True)
    tools = (Tool(name="find", parameters=LOOSE, strict=True, namespace="crm"),)
    exchange = sent(wire, ask(*tools, output=output)).exchange
    assert exchange.reverse and exchange.answer is not None
    assert msgspec.json.decode(msgspec.json.encode(exchange), type=Exchange) == exchange
