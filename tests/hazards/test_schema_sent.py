"""Guards requests against being refused for a schema (SCH-005, SCH-006), and callers against a form that was never theirs:
what is sent has the server's form, what comes back has the caller's, whole and streamed, on every wire."""

from __future__ import annotations

import json
from itertools import permutations, product
from typing import Any

import jsonschema_rs
import pytest
from msgspec.structs import replace

from dragoman import translate
from dragoman.convert import Job, convert
from dragoman.dialect.model import BASE, Dialect, override
from dragoman.translate import Options, StreamTranslator
from dragoman.types import Message, Note, Output, Reply, Request, Stop, Text, Tool, ToolCall, ToolsChange, explode, user
from dragoman.types.collect import Collector
from dragoman.types.events import BlockStart, Delta, Failure
from dragoman.wire import WIRES, find
from dragoman.wire.base import Exchange, Http, Outgoing
from hazards.cases import cuts

NOTHING = {"type": "object", "properties": {}}
PLAIN: dict[str, Any] = {"type": "object", "properties": {"q": {"type": "string", "minLength": 1}}, "required": ["q"]}
UNION: dict[str, Any] = {
    "anyOf": [
        {"type": "object", "properties": {"a": {"type": "string"}}, "required": ["a"]},
        {"type": "object", "properties": {"b": {"type": "integer"}}, "required": ["b"]},
    ]
}
FLAT: dict[str, Any] = {
    "type": "object",
    "properties": {"a": {"type": "string"}, "b": {"type": "integer"}},
    "description": '(give the properties of at least one of: ["a"] | ["b"])',
}
LOOSE: dict[str, Any] = {
    "type": "object",
    "properties": {
        "query": {"type": "string"},
        "limit": {"type": "integer"},
        "env": {"type": "object", "additionalProperties": {"type": "string"}},
    },
    "required": ["query"],
}
PAIRS = list(permutations(WIRES, 2))
each_wire = pytest.mark.parametrize("wire", WIRES)


def sent(wire: str, request: Request, dialect: Dialect = BASE, said_on: str | None = None) -> Outgoing:
    return find(wire).encode_request(request, dialect, Exchange(wire=said_on))


def ask(*tools: Tool, **fields: Any) -> Request:
    return Request(model="m", messages=(user("x"),), tools=tools or None, **fields)


def body_of(wire: str, *schemas: Any, **more: Any) -> dict[str, Any]:
    """A client's body that offers one tool for each schema; `...` stands for none."""
    key = "input_schema" if wire == "messages" else "parameters"
    said = [({} if schema is ... else {key: schema}) | more for schema in schemas]
    tools = [{"name": f"t{at}", **entry} for at, entry in enumerate(said)]
    turns = [{"role": "user", "content": "x"}]
    match wire:
        case "chat":
            tools = [{"type": "function", "function": tool} for tool in tools]
            return {"model": "m", "messages": turns, "tools": tools}
        case "responses":
            return {"model": "m", "input": turns, "tools": [{"type": "function", **tool} for tool in tools]}
        case _:
            return {"model": "m", "max_tokens": 9, "messages": turns, "tools": tools}


def schemas_in(body: bytes) -> list[Any]:
    """The schemas of a written body's tools, in their order."""
    tools = [tool.get("function", tool) for tool in json.loads(body)["tools"]]
    return [tool.get("input_schema", tool.get("parameters")) for tool in tools]


def outline(notes: tuple[Note, ...]) -> list[tuple[Any, str, bool]]:
    return [(note.path, note.action, note.loss) for note in notes]


# --- SCH-005: tools that take nothing


@pytest.mark.case("SCH-005")
@pytest.mark.parametrize(("source", "target"), PAIRS)
def test_a_tool_that_takes_nothing_is_an_object_without_properties(source: str, target: str) -> None:
    said = json.dumps(body_of(source, ..., {}, None)).encode()
    done = convert(Job(op="request", source=source, target=target, body=said))
    assert schemas_in(done.body) == [NOTHING, NOTHING, NOTHING]
    assert [note for note in done.notes if note.loss] == []


@pytest.mark.case("SCH-005")
@each_wire
def test_a_tool_made_here_without_parameters_says_so(wire: str) -> None:
    assert schemas_in(sent(wire, ask(Tool(name="now"))).http.body) == [NOTHING]
    strict = schemas_in(sent(wire, ask(Tool(name="now", strict=True))).http.body)
    assert strict == [{**NOTHING, "additionalProperties": False}]


# --- SCH-006: roots that are no object


@pytest.mark.case("SCH-006")
@pytest.mark.parametrize(("source", "target"), PAIRS)
@pytest.mark.parametrize("union", ["anyOf", "oneOf"])
def test_a_union_at_the_root_is_one_object_with_its_constraint_in_words(source: str, target: str, union: str) -> None:
    said = json.dumps(body_of(source, {union: UNION["anyOf"]})).encode()
    done = convert(Job(op="request", source=source, target=target, body=said))
    words = {"anyOf": "at least", "oneOf": "exactly"}[union]
    assert schemas_in(done.body) == [{**FLAT, "description": FLAT["description"].replace("at least", words)}]
    assert [(note.path, note.loss) for note in done.notes if note.path[:1] == ("tools",)] == [
        (("tools", 0, "parameters", union), True)
    ]


@pytest.mark.case("SCH-006")
@each_wire
def test_arguments_are_held_to_the_schema_that_was_given(wire: str) -> None:
    """What the flat form lets through the original still refuses."""
    tool = Tool(name="u", parameters=UNION)
    out = sent(wire, ask(tool))
    assert schemas_in(out.http.body) == [FLAT]
    call = answered(wire, ToolCall(id="c1", name="u", arguments='{ "b": 1 }'), out).calls[0]
    assert call.arguments == '{ "b": 1 }'
    assert jsonschema_rs.is_valid(UNION, json.loads(call.arguments))
    assert not jsonschema_rs.is_valid(UNION, {})


@pytest.mark.case("SCH-006")
@each_wire
@pytest.mark.parametrize(
    ("root", "said", "meant"),
    [
        ({"type": "array", "items": {"type": "string"}}, {"value": ["a"]}, ["a"]),
        ({"type": "string"}, {"value": "a"}, "a"),
        ({"enum": ["a", 1]}, {"value": 1}, 1),
        ({"type": ["object", "array"]}, {"value": {}}, {}),
    ],
)
def test_any_other_root_is_wrapped_and_the_caller_gets_what_was_in_it(
    wire: str, root: dict[str, Any], said: Any, meant: Any
) -> None:
    out = sent(wire, ask(Tool(name="u", parameters=root)))
    (written,) = schemas_in(out.http.body)
    assert (written["type"], list(written["properties"])) == ("object", ["value"])
    call = answered(wire, ToolCall.of("c1", "u", said), out).calls[0]
    assert json.loads(call.arguments) == meant


@pytest.mark.case("SCH-006")
@each_wire
def test_a_root_that_allows_several_at_once_is_one_object(wire: str) -> None:
    out = sent(wire, ask(Tool(name="u", parameters={"allOf": UNION["anyOf"]})))
    assert schemas_in(out.http.body) == [
        {
            "type": "object",
            "properties": {"a": {"type": "string"}, "b": {"type": "integer"}},
            "required": ["a", "b"],
        }
    ]


# --- what is left alone


@each_wire
def test_a_schema_that_the_server_takes_is_sent_byte_for_byte(wire: str) -> None:
    out = sent(wire, ask(Tool(name="f", parameters=PLAIN)))
    assert json.dumps(PLAIN, separators=(",", ":")).encode() in out.http.body
    assert (out.exchange.reverse, out.notes if wire != "messages" else ()) == ({}, ())


@each_wire
@pytest.mark.parametrize("schema", [UNION, LOOSE, {}, {"type": "array"}])
@pytest.mark.parametrize("strict", [True, False])
def test_what_a_client_said_on_this_wire_is_his_own_affair(wire: str, schema: dict[str, Any], strict: bool) -> None:
    said = body_of(wire, schema, strict=strict)
    incoming = find(wire).decode_request(Http(body=json.dumps(said).encode()), BASE, Exchange())
    out = find(wire).encode_request(incoming.request, BASE, incoming.exchange)
    assert json.loads(out.http.body) == said
    assert (out.notes, out.exchange.as_said) == ((), True)


@each_wire
def test_but_a_server_with_rules_of_its_own_gets_them(wire: str) -> None:
    said = body_of(wire, {"type": "object", "properties": {}, "$schema": "x", "additionalProperties": False})
    incoming = find(wire).decode_request(Http(body=json.dumps(said).encode()), BASE, Exchange())
    rules = override(BASE, {"schema_subset": "mistral"})
    out = find(wire).encode_request(incoming.request, rules, incoming.exchange)
    assert schemas_in(out.http.body) == [NOTHING]
    assert [note.path for note in out.notes] == [
        ("tools", 0, "parameters", "$schema"),
        ("tools", 0, "parameters", "additionalProperties"),
    ]


# --- strict, and the way back

ENTRIES: dict[str, Any] = {
    "type": "array",
    "items": {
        "type": "object",
        "properties": {"key": {"type": "string"}, "value": {"type": "string"}},
        "required": ["key", "value"],
        "additionalProperties": False,
    },
}
AS_A_LIST = "(an object, given as a list of its keys and values)"
# The messages wire lets a property be left out; the others say null for it.
LEFT_OUT = {
    "query": {"type": "string"},
    "limit": {"type": "integer"},
    "env": {**ENTRIES, "description": AS_A_LIST},
}
NULL = {
    "query": {"type": "string"},
    "limit": {"type": ["integer", "null"]},
    "env": {"description": AS_A_LIST, "anyOf": [ENTRIES, {"type": "null"}]},
}
SAID = {"query": "北京 🙂", "limit": None, "env": [{"key": "A", "value": "1"}]}
MEANT = {"query": "北京 🙂", "env": {"A": "1"}}


def answer_of(*content: Any) -> Reply:
    reason: Any = "tool_calls" if any(isinstance(block, ToolCall) for block in content) else "end"
    return Reply(message=Message(role="assistant", content=content), stop=Stop(reason=reason))


def answered(wire: str, *content: Any) -> Any:
    """What the caller reads of an answer to `out`, the last of `content`: whole, and streamed however it is cut."""
    *blocks, out = content
    codec, reply = find(wire), answer_of(*blocks)
    whole = codec.decode_reply(codec.encode_reply(reply, BASE, Exchange(seed="s")).body, BASE, out.exchange)
    encoder = codec.stream_encoder(BASE, Exchange(stream=True, seed="s"))
    stream = b"".join(encoder.encode(event) for event in explode(reply)) + encoder.close()  # type: ignore[arg-type]
    for pieces in ([stream], [stream[at : at + 1] for at in range(len(stream))]):
        decoder, collector = codec.stream_decoder(BASE, replace(out.exchange, stream=True)), Collector()
        for event in [event for piece in pieces for event in decoder.feed(piece)] + decoder.close():
            collector.feed(event)
        assert [_plain(block) for block in collector.reply.message.content] == [
            _plain(block) for block in whole.value.message.content
        ]
        assert outline(tuple(decoder.notes)) == outline(whole.notes)
    return whole.value


def _plain(block: Any) -> Any:
    return replace(block, opaque=None)


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


# --- what a dialect says of strictness


@each_wire
def test_a_server_that_takes_strict_tools_only_gets_them(wire: str) -> None:
    forced = override(BASE, {"strict_tools": "force"})
    out = sent(wire, ask(Tool(name="find", parameters=LOOSE)), forced)
    (tool,) = json.loads(out.http.body)["tools"]
    assert tool.get("function", tool)["strict"] is True
    assert schemas_in(out.http.body) == schemas_in(
        sent(wire, ask(Tool(name="find", parameters=LOOSE, strict=True))).http.body
    )
    assert (("tools", 0, "strict"), "synthesised", False) in outline(out.notes)
    assert json.loads(answered(wire, ToolCall.of("c1", "find", SAID), out).calls[0].arguments)["env"] == {"A": "1"}


@each_wire
def test_a_server_without_strict_tools_gets_the_schema_as_it_is_and_that_is_told(wire: str) -> None:
    omitting = override(BASE, {"strict_tools": "omit"})
    out = sent(wire, ask(Tool(name="find", parameters=LOOSE, strict=True)), omitting)
    assert schemas_in(out.http.body) == [LOOSE]
    assert b'"strict"' not in out.http.body
    assert [note for note in outline(out.notes) if note[0][:1] == ("tools",)] == [
        (("tools", 0, "strict"), "dropped", True)
    ]
    quiet = sent(wire, ask(Tool(name="find", parameters=LOOSE, strict=False)), omitting)
    assert [note for note in quiet.notes if note.loss] == []


def test_a_strict_schema_that_no_rewriting_mends_is_sent_without_strict() -> None:
    tree = {"type": "object", "properties": {"next": {"$ref": "#"}}}
    out = sent("messages", ask(Tool(name="walk", parameters=tree, strict=True)))
    (tool,) = json.loads(out.http.body)["tools"]
    assert (tool["input_schema"], "strict" in tool) == (tree, False)
    assert (("tools", 0, "strict"), "dropped", True) in outline(out.notes)


@each_wire
def test_tools_that_appear_in_mid_conversation_have_the_same_form(wire: str) -> None:
    late = Message(role="system", content=(ToolsChange(add=(Tool(name="u", parameters=UNION),)),))
    out = sent(wire, Request(model="m", messages=(user("x"), late)))
    assert json.dumps(FLAT, separators=(",", ":")).encode() in out.http.body
    place = ("messages", 1, "content", 0, "add", 0, "parameters", "anyOf")
    assert place in [note.path for note in out.notes]


@each_wire
def test_a_subset_about_tools_leaves_the_answer_s_schema_alone(wire: str) -> None:
    closed = {"type": "object", "properties": {}, "additionalProperties": False}
    output = Output(kind="schema", name="n", schema=closed)
    out = sent(wire, ask(output=output), override(BASE, {"schema_subset": "mistral"}))
    assert json.dumps(closed, separators=(",", ":")).encode() in out.http.body


def test_servers_get_the_form_that_their_rows_name() -> None:
    from dragoman.dialect.find import named

    tool = Tool(
        name="f",
        parameters={
            "$schema": "https://json-schema.org/draft/2020-12/schema",
            "type": "object",
            "properties": {"p": {"$ref": "#/$defs/P", "description": "where"}},
            "$defs": {"P": {"type": "object", "properties": {"x": {"type": "integer"}}}},
        },
    )
    written = {
        name: schemas_in(sent("chat", ask(tool), named(name, "chat")).http.body)[0]
        for name in ("moonshot", "mistral", "dashscope")
    }
    point = {"type": "object", "properties": {"x": {"type": "integer"}}}
    assert "$schema" not in written["mistral"]
    assert written["dashscope"]["properties"] == {"p": {**point, "description": "where"}}
    assert written["moonshot"]["properties"]["p"] in (
        {"$ref": "#/$defs/P"},
        {"anyOf": [{"$ref": "#/$defs/P"}], "description": "where"},
    )
