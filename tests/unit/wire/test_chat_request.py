"""Guards chat requests: what is said under which key, what each exchange remembers, what a foreign body is told."""

from __future__ import annotations

import json
from typing import Any

import msgspec
import pytest

from dragoman.dialect.model import BASE, Dialect
from dragoman.errors import RemoteError
from dragoman.types import (
    Cache,
    HostedTool,
    Media,
    Origin,
    Output,
    Reasoning,
    Request,
    ServerState,
    Text,
    Tool,
    ToolCall,
    ToolChoice,
    ToolResult,
    ToolsChange,
    assistant,
    system,
    tool,
    user,
)
from dragoman.wire import find
from dragoman.wire.base import Exchange, Http, Peek
from golden.written import READ, body, history
from laws.both_ways import decode_request

CHAT = find("chat")
CALL = ToolCall.of("t1", "read", {"path": "a"})


def notes(request: Request, dialect: Dialect = BASE) -> list[tuple[Any, str, bool]]:
    return [(note.path, note.action, note.loss) for note in CHAT.encode_request(request, dialect, Exchange()).notes]


@pytest.mark.parametrize(
    ("message", "place"),
    [
        ({"role": "robot", "content": "x"}, r"messages\[0\]\.role: unknown role 'robot'"),
        ({"role": "user", "content": 7}, r"messages\[0\]\.content: expected text or an array of parts, got a number"),
        ({"role": "user", "content": ["x"]}, r"messages\[0\]\.content\[0\]: expected a content part"),
        ("x", r"messages\[0\]: expected a message"),
        (
            {"role": "assistant", "tool_calls": [{"function": {}}]},
            r"tool_calls\[0\]\.function\.name: expected the name",
        ),
    ],
)
def test_an_unreadable_message_names_its_place(message: Any, place: str) -> None:
    with pytest.raises(RemoteError, match=place):
        decode_request("chat", {"messages": [message]})


@pytest.mark.req("S3-01")
@pytest.mark.parametrize(
    ("key", "wire"), [("system", "messages"), ("input", "responses"), ("instructions", "responses")]
)
def test_a_body_of_another_wire_is_told_so(key: str, wire: str) -> None:
    with pytest.raises(RemoteError, match=f"^{key}: .*a body of the {wire} wire"):
        decode_request("chat", {"model": "m", "messages": [], key: "x"})


def test_the_exchange_remembers_what_the_answer_needs() -> None:
    said = {"model": "m", "messages": [], "stream": True, "stream_options": {"include_usage": True}}
    edge = Exchange(seed="s", now=7, provider="p")
    incoming = CHAT.decode_request(Http(body=json.dumps(said).encode()), BASE, edge)
    assert incoming.exchange == Exchange(
        wire="chat", stream=True, model="m", provider="p", include_usage=True, seed="s", now=7
    )
    offered = Request(messages=(user("x"),), tools=(READ,), stream=True)
    outgoing = CHAT.encode_request(offered, BASE, Exchange(include_usage=True))
    assert outgoing.exchange.offered == ("read",)
    assert json.loads(outgoing.http.body)["stream_options"] == {"include_usage": True}
    assert "stream_options" not in body("chat", offered)


def test_a_reply_is_a_plain_value_of_the_exchange() -> None:
    made = CHAT.encode_request(Request(messages=(user("x"),), tools=(READ,)), BASE, Exchange(seed="s")).exchange
    assert msgspec.convert(msgspec.to_builtins(made), Exchange) == made


def test_what_chat_cannot_say_of_a_request_is_told() -> None:
    request = Request(
        messages=(user(Text(text="x", cache=Cache())),),
        tools=(HostedTool(wire="messages", kind="web_search", payload={}), Tool(name="f", namespace="n")),
        budget=9,
        cache=Cache(),
        state=ServerState(previous_id="r"),
    )
    assert set(notes(request)) == {
        (("messages", 0, "content", 0, "cache"), "dropped", True),
        (("tools", 0), "dropped", True),
        (("tools", 1, "namespace"), "dropped", False),
        (("budget",), "dropped", True),
        (("cache",), "dropped", True),
        (("state",), "dropped", True),
    }


def test_tools_that_come_in_mid_conversation_are_offered_from_the_start() -> None:
    change = ToolsChange(add=(READ,))
    request = Request(messages=(user("x"), msgspec.structs.replace(system("s"), content=(change,))))
    written = body("chat", request)
    assert [entry["function"]["name"] for entry in written["tools"]] == ["read"]
    assert written["messages"] == [{"role": "user", "content": "x"}]
    assert notes(request) == [(("messages", 1, "content", 0), "moved", False)]


@pytest.mark.parametrize(
    ("origin", "dialect", "kept"),
    [
        (None, Dialect(reasoning_out="reasoning_content"), True),
        (Origin(wire="chat", model="m"), Dialect(reasoning_out="reasoning_content"), True),
        (Origin(wire="chat", model="other"), Dialect(reasoning_out="reasoning_content"), False),
        (Origin(wire="chat", model="other"), Dialect(reasoning_out="reasoning_content", replay="same_provider"), True),
        (Origin(wire="messages", model="m"), Dialect(reasoning_out="reasoning_content"), False),
        (None, Dialect(reasoning_out="reasoning_content", replay="never"), False),
        (None, Dialect(), False),
    ],
)
@pytest.mark.req("S0-22", "S0-23")
def test_thinking_goes_back_only_where_it_came_from(origin: Origin | None, dialect: Dialect, kept: bool) -> None:
    turn = msgspec.structs.replace(assistant(Reasoning(text="hm"), "a"), origin=origin)
    written = body("chat", Request(model="m", messages=(user("x"), turn)), dialect)["messages"][1]
    assert written == {"role": "assistant", "content": "a"} | ({"reasoning_content": "hm"} if kept else {})
    assert (notes(Request(model="m", messages=(user("x"), turn)), dialect) == []) is kept


def test_what_follows_results_is_a_user_message() -> None:
    answered = ToolResult(call_id="t1", content=(Text(text="y"),))
    turn = msgspec.structs.replace(tool(answered), content=(answered, Text(text="Go on.")))
    assert history("chat", user("x"), assistant(CALL), turn)[2:] == [
        {"role": "tool", "tool_call_id": "t1", "content": "y"},
        {"role": "user", "content": [{"type": "text", "text": "Go on."}]},
    ]


@pytest.mark.req("C-04")
def test_a_dialect_may_want_empty_content_beside_calls() -> None:
    request = Request(messages=(user("x"), assistant(CALL)))
    assert body("chat", request)["messages"][1]["content"] is None
    assert body("chat", request, Dialect(empty_content="empty"))["messages"][1]["content"] == ""


@pytest.mark.parametrize(
    ("choice", "written"),
    [
        (ToolChoice(mode="required", names=("sh",)), {"type": "custom", "custom": {"name": "sh"}}),
        (
            ToolChoice(mode="auto", names=("read", "sh")),
            {
                "type": "allowed_tools",
                "allowed_tools": {
                    "mode": "auto",
                    "tools": [
                        {"type": "function", "function": {"name": "read"}},
                        {"type": "custom", "custom": {"name": "sh"}},
                    ],
                },
            },
        ),
    ],
)
def test_a_choice_names_tools_by_their_kind(choice: ToolChoice, written: Any) -> None:
    request = Request(messages=(user("x"),), tools=(READ, Tool(name="sh", kind="custom")), tool_choice=choice)
    assert body("chat", request)["tool_choice"] == written
    assert decode_request("chat", body("chat", request)).request.tool_choice is not None


def test_a_schema_gets_the_name_the_wire_wants() -> None:
    request = Request(messages=(user("x"),), output=Output(kind="schema", schema={"type": "object"}))
    form = {"type": "json_schema", "json_schema": {"name": "output", "schema": {"type": "object"}}}
    assert body("chat", request)["response_format"] == form
    assert notes(request) == [(("output", "name"), "synthesised", False)]


@pytest.mark.parametrize(
    ("media", "part"),
    [
        (
            Media(kind="image", url="https://e.org/a", detail="low"),
            {"image_url": {"url": "https://e.org/a", "detail": "low"}},
        ),
        (Media(kind="audio", media_type="audio/mpeg", data="QQ=="), {"input_audio": {"data": "QQ==", "format": "mp3"}}),
        (Media(kind="document", file_id="f"), {"file": {"file_id": "f"}}),
        (
            Media(kind="document", media_type="application/pdf", data="QQ==", name="a.pdf"),
            {"file": {"file_data": "data:application/pdf;base64,QQ==", "filename": "a.pdf"}},
        ),
        (Media(kind="document", text="plain"), {"text": "plain"}),
        (Media(kind="image", file_id="f"), None),
    ],
)
def test_media(media: Media, part: dict[str, Any] | None) -> None:
    (message,) = history("chat", user("x", media))
    written = message["content"] if isinstance(message["content"], list) else [message["content"]]
    wanted = [] if part is None else [{"type": next(iter(part)), **part}]
    assert written[1:] == wanted


def test_peek_reads_the_address_only() -> None:
    said = b'{"stream":true,"messages":[{"content":"drg1abc","role":"user"}],"model":"m"}'
    assert CHAT.peek(Http(body=said), BASE) == Peek(model="m", stream=True, carriers=True)
    assert CHAT.peek(Http(body=b"{}"), BASE) == Peek(model=None, stream=False)
    for junk in (b"", b"[]", b'{"model": 7}', b'{"model":'):
        with pytest.raises(RemoteError):
            CHAT.peek(Http(body=junk), BASE)


def test_readdressing_keeps_every_other_byte() -> None:
    said = b'{ "model": "old", "big": 123456789012345678901234567890, "t": 1.50, "messages" : [ { } ] }'
    done = CHAT.readdress(Http(path="p", body=said), "新", BASE)
    assert done.body == '{"model":"新","big":123456789012345678901234567890,"t":1.50,"messages":[ { } ]}'.encode()
    assert done.path == "p"


def test_a_tool_without_its_type_is_a_function_and_comes_out_without_it() -> None:
    said = {
        "model": "m",
        "messages": [],
        "tools": [{"function": {"name": "f"}, "cache_control": {"type": "ephemeral"}}],
    }
    incoming = CHAT.decode_request(Http(body=json.dumps(said).encode()), BASE, Exchange())
    (tool,) = incoming.request.tools or ()
    assert isinstance(tool, Tool) and (tool.name, tool.kind) == ("f", "function")
    assert json.loads(CHAT.encode_request(incoming.request, BASE, incoming.exchange).http.body) == said
