"""Guards reasoning that goes back to a server: whole, in place, under its own signature, or not at all."""

from __future__ import annotations

import json
from typing import Any

import msgspec
import pytest

from dragoman.agent import run
from dragoman.dialect.find import find as find_dialect
from dragoman.dialect.model import BASE, Dialect
from dragoman.tools.base import ToolOutput
from dragoman.types import (
    Message,
    Origin,
    Reasoning,
    Request,
    Text,
    Tool,
    ToolCall,
    ToolResult,
    tool,
    user,
)
from dragoman.types.content import Content
from dragoman.wire import find
from dragoman.wire.base import Exchange
from hazards.cases import DONE, chat, chunk, event, piece, read, read_however_cut, said

ORIGIN = Origin(wire="messages", model="test-model")
RESULT = tool(ToolResult(call_id="toolu_1", name="f", content=(Text(text="ok"),)))
CALL = ToolCall(id="toolu_1", name="f", arguments="{}")


def signed(text: str, signature: str) -> Reasoning:
    return Reasoning(text=text, opaque={"messages": {"signature": signature}})


def redacted(data: str) -> Reasoning:
    return Reasoning(redacted=True, opaque={"messages": {"data": data}})


def sent(wire: str, turn: Message, dialect: Dialect = BASE, **fields: Any) -> dict[str, Any]:
    """The body of the request after a turn and the result of its call."""
    request = Request(model="test-model", messages=(user("x"), turn, RESULT, *fields.pop("after", ())), **fields)
    return json.loads(find(wire).encode_request(request, dialect, Exchange(seed="hazard")).http.body)


def turn(*blocks: Content, origin: Origin | None = ORIGIN) -> Message:
    return Message(role="assistant", content=blocks, origin=origin)


# the blocks of a turn → what the messages wire must say of them, byte for byte
TURNS: dict[str, tuple[tuple[Content, ...], list[dict[str, Any]]]] = {
    "one": ((signed("plan", "SIGabc="),), [{"type": "thinking", "thinking": "plan", "signature": "SIGabc="}]),
    "two and a redacted one": (
        (signed(" a\n", "S1"), signed("b", "S2"), redacted("ENC==")),
        [
            {"type": "thinking", "thinking": " a\n", "signature": "S1"},
            {"type": "thinking", "thinking": "b", "signature": "S2"},
            {"type": "redacted_thinking", "data": "ENC=="},
        ],
    ),
    "redacted first": (
        (redacted("ENC=="), signed("b", "S2")),
        [
            {"type": "redacted_thinking", "data": "ENC=="},
            {"type": "thinking", "thinking": "b", "signature": "S2"},
        ],
    ),
    "words omitted by the server": ((signed("", "S"),), [{"type": "thinking", "thinking": "", "signature": "S"}]),
    "white space alone": ((signed(" \n", "S"),), [{"type": "thinking", "thinking": " \n", "signature": "S"}]),
    "any script": (
        (signed("读取 🙂 مرحبا \u2028 <think>", "S+/="),),
        [{"type": "thinking", "thinking": "读取 🙂 مرحبا \u2028 <think>", "signature": "S+/="}],
    ),
}


@pytest.mark.case("REA-001")
@pytest.mark.case("REA-002")
@pytest.mark.parametrize("origin", [ORIGIN, None], ids=["known", "unknown"])
@pytest.mark.parametrize("name", TURNS)
def test_thinking_stands_before_the_call_exactly_as_it_came(name: str, origin: Origin | None) -> None:
    blocks, wanted = TURNS[name]
    body = sent("messages", turn(*blocks, CALL, origin=origin))
    call = {"type": "tool_use", "id": "toolu_1", "name": "f", "input": {}}
    assert body["messages"][1] == {"role": "assistant", "content": [*wanted, call]}


@pytest.mark.case("REA-001")
@pytest.mark.case("REA-002")
@pytest.mark.parametrize("name", TURNS)
def test_thinking_between_calls_and_texts_keeps_its_place(name: str) -> None:
    blocks, wanted = TURNS[name]
    body = sent("messages", turn(Text(text="I look."), *blocks, CALL))
    assert body["messages"][1]["content"][1:-1] == wanted


def thinking_stream(thinking: list[str], signature: list[str]) -> bytes:
    """A messages stream whose first block thinks in these pieces, and is signed in these."""
    events = said("messages", Reasoning(text="?"), CALL, stop="tool_calls")
    deltas = [{"type": "thinking_delta", "thinking": text} for text in thinking]
    deltas += [{"type": "signature_delta", "signature": text} for text in signature]
    written = [event({"type": "content_block_delta", "index": 0, "delta": delta}) for delta in deltas]
    return b"".join([*events[:2], *written, *events[3:]])


@pytest.mark.case("REA-001")
@pytest.mark.parametrize("thinking", [["plan"], ["pl", "an"], [*"plan"], [" a\n", "b "], []], ids=str)
def test_a_streamed_signature_goes_back_with_its_thinking(thinking: list[str]) -> None:
    seen = read_however_cut("messages", thinking_stream(thinking, ["SIGabc="]))
    body = sent("messages", seen.reply.message)
    wanted = {"type": "thinking", "thinking": "".join(thinking), "signature": "SIGabc="}
    assert body["messages"][1]["content"][0] == wanted


@pytest.mark.case("REA-004")
@pytest.mark.parametrize("events", range(1, 5))
def test_thinking_cut_before_its_signature_is_never_sent_back(events: int) -> None:
    stream = said("messages", Reasoning(text="abc def"), Text(text="Hello"))[:events]
    seen = read("messages", stream)  # cancelled: what came is what the user kept
    assert "signature" not in json.dumps(sent("messages", seen.reply.message)["messages"])
    for message in sent("messages", seen.reply.message, after=(user("go on"),))["messages"]:
        kinds = [block["type"] for block in message["content"] if isinstance(block, dict)]
        assert "thinking" not in kinds


@pytest.mark.case("REA-004")
def test_the_words_said_before_the_cut_go_back_without_the_thinking() -> None:
    events = said("messages", Reasoning(text="abc"), Text(text="Hello"))
    kept = read("messages", events[:-3]).reply
    assert [type(block) for block in kept.message.content] == [Reasoning, Text]
    request = Request(model="test-model", messages=(user("x"), kept.message, user("go on")))
    outgoing = find("messages").encode_request(request, BASE, Exchange())
    assert json.loads(outgoing.http.body)["messages"][1]["content"] in ("Hello", [{"type": "text", "text": "Hello"}])
    assert [(note.path, note.loss) for note in outgoing.notes if "signed" in note.reason] == [
        (("messages", 1, "content", 0), True)
    ]


@pytest.mark.case("REA-004")
def test_an_agent_keeps_no_turn_that_was_cut() -> None:
    seen = read("messages", said("messages", Reasoning(text="abc"), Text(text="Hello"))[:4])
    machine = run.Run(Request(messages=(user("x"),)))
    machine.give(seen.reply)
    assert (machine.history, machine.incomplete) == ([user("x")], seen.reply)


def hidden_stream(data: Any) -> bytes:
    events = said("messages", Reasoning(text="?"), CALL, stop="tool_calls")
    block = {"type": "redacted_thinking", "data": data}
    start = event({"type": "content_block_start", "index": 0, "content_block": block})
    return b"".join([events[0], start, *events[3:]])


@pytest.mark.case("REA-005")
@pytest.mark.parametrize("data", ["ENC1==", "", "x" * 5000], ids=["short", "empty", "long"])
def test_redacted_thinking_comes_whole_at_its_start_and_goes_back_unseen(data: str) -> None:
    seen = (
        read_however_cut("messages", hidden_stream(data))
        if len(data) < 100
        else read("messages", [hidden_stream(data)])
    )
    hidden, call = seen.reply.message.content
    assert hidden == Reasoning(redacted=True, opaque={"messages": {"data": data}})
    assert call == CALL
    assert (seen.reply.text, seen.thoughts) == ("", "")
    if data:
        body = sent("messages", seen.reply.message)
        assert body["messages"][1]["content"][0] == {"type": "redacted_thinking", "data": data}


@pytest.mark.case("REA-005")
def test_a_whole_reply_keeps_redacted_thinking_too() -> None:
    content = [
        {"type": "redacted_thinking", "data": "ENC1=="},
        {"type": "tool_use", "id": "toolu_1", "name": "f", "input": {}},
    ]
    body = {
        "type": "message",
        "role": "assistant",
        "model": "test-model",
        "content": content,
        "stop_reason": "tool_use",
    }
    reply = find("messages").decode_reply(json.dumps(body).encode(), BASE, Exchange()).value
    assert reply.message.content == (redacted("ENC1=="), CALL)
    assert sent("messages", reply.message)["messages"][1]["content"] == content


@pytest.mark.case("REA-005")
@pytest.mark.parametrize("wire", ["chat", "responses"])
def test_on_another_wire_its_loss_is_told(wire: str) -> None:
    request = Request(model="m", messages=(user("x"), turn(redacted("ENC=="), CALL), RESULT))
    outgoing = find(wire).encode_request(request, BASE, Exchange())
    assert b"ENC==" not in outgoing.http.body
    lost = [note.path[:4] for note in outgoing.notes if note.loss and note.action == "dropped"]
    assert set(lost) == {("messages", 1, "content", 0)}


# --- servers that keep nothing


def item(**more: Any) -> Reasoning:
    return Reasoning(summary=(), opaque={"responses": {"id": "rs_1", **more}})


FC = ToolCall(id="toolu_1", name="f", arguments="{}", opaque={"responses": {"id": "fc_1", "status": "completed"}})
MINE = Origin(wire="responses", model="test-model")
BARE = {"type": "function_call", "call_id": "toolu_1", "name": "f", "arguments": "{}", "status": "completed"}


@pytest.mark.case("REA-011")
@pytest.mark.parametrize("origin", [MINE, None], ids=["known", "unknown"])
@pytest.mark.parametrize("summary", [(), ("plan",)], ids=["no-summary", "summary"])
def test_reasoning_that_is_an_id_alone_is_not_sent_where_nothing_is_stored(
    origin: Origin | None, summary: tuple[str, ...]
) -> None:
    lost = Reasoning(summary=summary, opaque={"responses": {"id": "rs_1"}})
    body = sent("responses", turn(lost, FC, origin=origin), store=False)
    assert (body["store"], body["include"]) == (False, ["reasoning.encrypted_content"])
    assert body["input"][1:] == [BARE, {"type": "function_call_output", "call_id": "toolu_1", "output": "ok"}]
    request = Request(model="m", messages=(user("x"), turn(lost, FC, origin=origin), RESULT), store=False)
    notes = find("responses").encode_request(request, BASE, Exchange()).notes
    assert [(note.path, note.action, note.loss) for note in notes if note.path[:2] == ("messages", 1)] == [
        (("messages", 1, "content", 0), "dropped", True),
        (("messages", 1, "content", 1), "dropped", False),
    ]


@pytest.mark.case("REA-011")
@pytest.mark.parametrize("store", [False, None, True])
def test_reasoning_with_its_state_goes_back_whole_with_the_ids_it_is_paired_by(store: bool | None) -> None:
    body = sent("responses", turn(item(encrypted_content="gAAA"), FC, origin=MINE), store=store)
    assert body["input"][1:3] == [
        {"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "gAAA"},
        {**BARE, "id": "fc_1"},
    ]


@pytest.mark.case("REA-011")
@pytest.mark.parametrize("store", [None, True])
def test_where_the_server_stores_an_id_is_enough(store: bool | None) -> None:
    body = sent("responses", turn(item(), FC, origin=MINE), store=store)
    assert body["input"][1:3] == [{"type": "reasoning", "id": "rs_1", "summary": []}, {**BARE, "id": "fc_1"}]
    assert "include" not in body


@pytest.mark.case("REA-011")
@pytest.mark.parametrize(
    ("fields", "asks"),
    [
        ({"store": False, "effort": "high"}, True),
        ({"store": False}, False),  # models that do not think refuse to be asked
        ({"effort": "high"}, False),
        ({"store": True, "effort": "high"}, False),
    ],
    ids=str,
)
def test_the_state_is_asked_for_where_it_will_be_needed(fields: dict[str, Any], asks: bool) -> None:
    request = Request(model="m", messages=(user("x"),), **fields)
    body = json.loads(find("responses").encode_request(request, BASE, Exchange()).http.body)
    assert body.get("include") == (["reasoning.encrypted_content"] if asks else None)


# --- chat: keys that carry reasoning

THOUGHT = Reasoning(text="need weather", opaque={"chat": {"~": {"key": ["reasoning_content"]}}})


def chat_origin(provider: str | None) -> Origin:
    return Origin(wire="chat", provider=provider, model="test-model")


@pytest.mark.case("REA-012")
@pytest.mark.parametrize("thought", [THOUGHT, Reasoning(text="need weather")], ids=["keyed", "plain"])
@pytest.mark.parametrize("name", ["deepseek", "moonshot"])
def test_servers_that_want_reasoning_beside_calls_get_it(name: str, thought: Reasoning) -> None:
    body = sent("chat", turn(thought, CALL, origin=chat_origin(name)), find_dialect(name, "chat"))
    message = body["messages"][1]
    assert message["reasoning_content"] == "need weather"
    assert [call["id"] for call in message["tool_calls"]] == ["toolu_1"]


@pytest.mark.case("REA-012")
@pytest.mark.parametrize("name", ["deepseek", "moonshot"])
def test_such_servers_get_the_key_even_when_another_model_made_the_call(name: str) -> None:
    row = find_dialect(name, "chat")
    body = sent("chat", turn(signed("plan", "S"), CALL), row)
    assert body["messages"][1]["reasoning_content"] == row.reasoning_filler


@pytest.mark.req("C-22")
@pytest.mark.case("REA-012")
@pytest.mark.parametrize("name", ["openai", "groq", "azure", "together", "xai", "cerebras"])
def test_servers_that_know_no_such_key_get_none(name: str) -> None:
    thought = Reasoning(text="need weather")
    body = sent("chat", turn(thought, CALL, origin=chat_origin(name)), find_dialect(name, "chat"))
    assert set(body["messages"][1]) <= {"role", "content", "tool_calls"}
    foreign = sent("chat", turn(THOUGHT, CALL, origin=chat_origin("deepseek")), find_dialect(name, "chat"))
    exchange = Exchange(provider=name)
    request = Request(model="m", messages=(user("x"), turn(THOUGHT, CALL, origin=chat_origin("deepseek")), RESULT))
    told = json.loads(find("chat").encode_request(request, find_dialect(name, "chat"), exchange).http.body)
    assert set(told["messages"][1]) <= {"role", "content", "tool_calls"}
    assert foreign["messages"][1]["tool_calls"] == told["messages"][1]["tool_calls"]


DETAIL = {"type": "reasoning.text", "text": "A", "format": "unknown", "index": 0}
SPELLINGS: dict[str, list[dict[str, Any]]] = {
    "reasoning": [{"reasoning": "A"}],
    "reasoning_content": [{"reasoning_content": "A"}],
    "reasoning_text": [{"reasoning_text": "A"}],
    "details": [{"reasoning_details": [DETAIL]}],
    "reasoning and details": [{"reasoning": "A", "reasoning_details": [DETAIL]}],
    "two keys": [{"reasoning": "A", "reasoning_content": "A"}],
    "all": [{"reasoning": "A", "reasoning_content": "A", "reasoning_text": "A", "reasoning_details": [DETAIL]}],
    "null beside": [{"reasoning": None, "reasoning_content": "A"}],
    "empty beside": [{"reasoning_content": "", "reasoning": "A"}],
    "details after": [{"reasoning": "A"}, {"reasoning_details": [DETAIL]}],
    "details in pieces": [
        {"reasoning": "", "reasoning_details": [{**DETAIL, "text": ""}]},
        {"reasoning": "A", "reasoning_details": [{"type": "reasoning.text", "text": "A", "index": 0}]},
    ],
    "signed": [{"reasoning": "A", "reasoning_details": [{**DETAIL, "signature": "S"}]}],
}


@pytest.mark.case("REA-014")
@pytest.mark.parametrize("spelling", SPELLINGS)
def test_reasoning_is_read_once_under_whatever_name_and_its_details_go_back_verbatim(spelling: str) -> None:
    deltas = SPELLINGS[spelling]
    call = {"tool_calls": [piece(index=0, id="toolu_1", name="f", arguments="{}")]}
    stream = b"".join(chunk(delta) for delta in (*deltas, {"content": "x"}, call)) + chunk({}, "tool_calls") + DONE
    seen = read_however_cut("chat", stream)
    assert (seen.thoughts, seen.reply.text) == ("A", "x")
    details = [entry for delta in deltas for entry in delta.get("reasoning_details", [])]
    body = sent("chat", seen.reply.message, find_dialect("openrouter", "chat"))
    said_back = body["messages"][1].get("reasoning_details")
    if len(details) == 1:
        assert said_back == details
    elif details:  # pieces of one entry go back as the one entry
        assert said_back == [DETAIL]
    else:
        assert said_back is None


@pytest.mark.case("REA-014")
@pytest.mark.parametrize("spelling", [name for name in SPELLINGS if len(SPELLINGS[name]) == 1])
def test_whole_replies_are_read_alike(spelling: str) -> None:
    message = {"role": "assistant", "content": "x", **SPELLINGS[spelling][0]}
    body = {"choices": [{"index": 0, "message": message, "finish_reason": "stop"}]}
    reply = find("chat").decode_reply(json.dumps(body).encode(), BASE, Exchange()).value
    blocks = [block for block in reply.message.content if isinstance(block, Reasoning)]
    assert ([block.text for block in blocks], reply.text) == (["A"], "x")
    again = json.loads(find("chat").encode_reply(reply, BASE, Exchange()).body)
    assert again["choices"][0]["message"] == message


@pytest.mark.case("REA-001")
def test_the_second_request_of_a_tool_run_begins_its_turn_with_thinking() -> None:
    machine = run.Run(Request(model="test-model", messages=(user("x"),), tools=(Tool(name="f"),)))
    machine.give(read("messages", [thinking_stream(["plan"], ["SIG"])]).reply)
    step = machine.step()
    assert isinstance(step, run.NeedTools)
    machine.give(run.Answer(position=0, output=ToolOutput(content=(Text(text="ok"),))))
    again = machine.step()
    assert isinstance(again, run.NeedModel)
    body = json.loads(find("messages").encode_request(again.request, BASE, Exchange()).http.body)
    assert [block["type"] for block in body["messages"][1]["content"]] == ["thinking", "tool_use"]


def test_thoughts_between_calls_gain_no_line_with_each_hop() -> None:
    """A chat server's one field holds them all; a gateway reads it in pieces between calls, and writes it again."""
    call = {"tool_calls": [piece(index=0, id="toolu_1", name="f", arguments="{}")]}
    whole = chat({"reasoning_content": "plan"}, call, {"reasoning_content": "\nthen"}, finish="tool_calls")
    keeps = msgspec.structs.replace(BASE, reasoning_out="reasoning_content", replay="always")
    for _ in range(3):
        seen = read("chat", [whole])
        thoughts = [block.text or "" for block in seen.reply.message.content if isinstance(block, Reasoning)]
        assert "".join(thoughts) == "plan\nthen"
        body = sent("chat", turn(*seen.reply.message.content, origin=None), keeps)
        assert body["messages"][1]["reasoning_content"] == "plan\nthen"
        encoder = find("chat").stream_encoder(BASE, Exchange(stream=True, seed="hop"))
        whole = b"".join(encoder.encode(each) for each in seen.events) + encoder.close()
