"""Guards a call's arguments on their way back to a model: numbers keep their value, text its bytes, turn after turn."""

from __future__ import annotations

import json
from typing import Any

import msgspec
import pytest

from dragoman import translate
from dragoman.dialect.model import BASE
from dragoman.types import Request, Text, ToolCall, ToolResult, assistant, tool, user
from dragoman.wire import WIRES, find
from dragoman.wire.base import Exchange, Http

TEXTS = {
    "as met": '{"id": 9007199254740993, "price": 0.1, "ratio": 1.0, "big": 123456789012345678901234567890}',
    "negative zero": '{"z":-0.0,"n":-0}',
    "beyond a double": '{"x":1e400,"y":-1E+400,"tiny":5e-324}',
    "many digits": '{"pi":3.14159265358979323846264338327950288,"e":1E5,"f":1.10}',
    "nested": '{"a":[{"b":18446744073709551616},[1.0,1]],"c":{"d":-9223372036854775809}}',
}
SPELLED = {
    "spaces": '{"b":1,  "a":"ü"}',
    "order": '{"z":1,"a":{"y":2,"b":3}}',
    "escapes": '{"a":"\\u00fc\\/\\u4e2d","b":"\\ud83d\\ude00 👍 中"}',
    "lines": '{\n  "a": 1\n}',
    "doubled key": '{"a":1,"a":2}',
}


BODIES = {
    "chat": """{"messages":[{"role":"user","content":"x"},{"role":"assistant","content":null,"tool_calls":[{"id":"c1",
        "type":"function","function":{"name":"f","arguments":TEXT}}]},{"role":"tool","tool_call_id":"c1","content":"ok"},
        {"role":"user","content":"y"}]}""",
    "messages": """{"max_tokens":9,"messages":[{"role":"user","content":"x"},{"role":"assistant","content":[
        {"type":"tool_use","id":"c1","name":"f","input":VALUE}]},{"role":"user","content":[
        {"type":"tool_result","tool_use_id":"c1","content":"ok"},{"type":"text","text":"y"}]}]}""",
    "responses": """{"input":[{"role":"user","content":"x"},{"type":"function_call","call_id":"c1","name":"f",
        "arguments":TEXT},{"type":"function_call_output","call_id":"c1","output":"ok"},{"role":"user","content":"y"}]}""",
}


def body_of(wire: str, arguments: str) -> bytes:
    """A client's body with one call, its arguments in these very bytes, its answer and another question."""
    quoted = json.dumps(arguments, ensure_ascii=False)
    return BODIES[wire].replace("TEXT", quoted).replace("VALUE", arguments).encode()


def sent(source: str, target: str, arguments: str) -> tuple[str, bytes]:
    """The text of the arguments as a server of `target` gets them, and the whole body."""
    body = translate.request(Http(body=body_of(source, arguments)), find(source), find(target)).http.body
    return text_in(target, body), body


def text_in(wire: str, body: bytes) -> str:
    raw = msgspec.json.decode(body, type=dict[str, msgspec.Raw])
    turns = msgspec.json.decode(raw["input" if wire == "responses" else "messages"], type=list[dict[str, msgspec.Raw]])
    if wire == "responses":
        return next(json.loads(bytes(item["arguments"])) for item in turns if "arguments" in item)
    if wire == "chat":
        (call,) = next(json.loads(bytes(turn["tool_calls"])) for turn in turns if "tool_calls" in turn)
        return call["function"]["arguments"]
    parts = [turn["content"] for turn in turns if bytes(turn["content"])[:1] == b"["]
    blocks = [part for content in parts for part in msgspec.json.decode(content, type=list[dict[str, msgspec.Raw]])]
    return next(bytes(block["input"]).decode() for block in blocks if "input" in block)


@pytest.mark.case("REQ-026", "REQ-027")
@pytest.mark.parametrize("target", WIRES)
@pytest.mark.parametrize("source", WIRES)
@pytest.mark.parametrize("text", [*TEXTS.values(), *SPELLED.values()], ids=[*TEXTS, *SPELLED])
def test_the_text_of_the_arguments_is_sent_as_it_was_said(source: str, target: str, text: str) -> None:
    got, body = sent(source, target, text)
    escapes = "\\u" in text and source == "messages" != target  # an object becomes a text: unescaped (C-26)
    assert got == (json.dumps(json.loads(text), ensure_ascii=False, separators=(",", ":")) if escapes else text)
    assert sent(source, target, text)[1] == body


@pytest.mark.case("REQ-026")
@pytest.mark.parametrize("word", ["NaN", "Infinity", "-Infinity"])
def test_what_is_no_json_number_never_stands_in_a_body_and_is_told(word: str) -> None:
    text = f'{{"a":{word},"id":9007199254740993}}'
    done = translate.request(Http(body=body_of("chat", text)), find("chat"), find("messages"))
    assert json.loads(text_in("messages", done.http.body)) == {"a": None, "id": 9007199254740993}
    assert word.encode() not in done.http.body
    path = ("messages", 1, "content", 0, "arguments")
    assert [(note.action, note.loss) for note in done.notes if note.path == path] == [("substituted", True)]


@pytest.mark.case("REQ-026")
@pytest.mark.parametrize("word", ["NaN", "Infinity", "-Infinity"])
@pytest.mark.parametrize("target", ["chat", "responses"])
def test_words_that_are_no_numbers_stay_inside_the_text_that_the_model_wrote(word: str, target: str) -> None:
    text = f'{{"a":{word}}}'
    got, body = sent("responses" if target == "chat" else "chat", target, text)
    assert got == text
    json.loads(body, parse_constant=lambda constant: pytest.fail(f"{constant} in the body"))


@pytest.mark.case("REQ-026")
def test_a_tool_gets_the_numbers_that_were_said() -> None:
    parsed: Any = ToolCall(id="c1", name="f", arguments=TEXTS["as met"]).parsed()
    assert parsed.arguments == {
        "id": 9007199254740993,
        "price": 0.1,
        "ratio": 1.0,
        "big": 123456789012345678901234567890,
    }
    assert [type(value) for value in parsed.arguments.values()] == [int, float, float, int]


@pytest.mark.case("REQ-027")
@pytest.mark.parametrize("wire", WIRES)
@pytest.mark.parametrize("text", SPELLED.values(), ids=SPELLED)
def test_a_longer_history_begins_with_the_same_bytes(wire: str, text: str) -> None:
    """A prefix cache keys on bytes: what was sent in one turn is sent again in each later one."""
    call = assistant(ToolCall(id="c1", name="f", arguments=text))
    turns = (user("x"), call, tool(ToolResult(call_id="c1", content=(Text(text="ok"),))))
    short, long = (
        find(wire).encode_request(Request(messages=messages), BASE, Exchange()).http.body
        for messages in (turns, (*turns, assistant("done"), user("y")))
    )
    key = b'"input":[' if wire == "responses" else b'"messages":['
    until = short.index(b"]}", short.rindex(b'"ok"')) if wire == "messages" else short.rindex(b"]")
    assert key in short
    assert long[:until] == short[:until]
