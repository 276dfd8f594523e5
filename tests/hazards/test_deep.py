"""Guards against values nested as deep as a body may be, and deeper: in arguments, schemas, leftovers and answers, each public function gives its result or our named error, wherever in the stack it is called."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any, TypeVar

import pytest

from dragoman import translate, wire
from dragoman.caching import cached
from dragoman.cli.show import view_in, view_lines
from dragoman.dialect.model import BASE
from dragoman.doctor.elements import unmarked
from dragoman.errors import ApiError, DragomanError, LocalError, RemoteError
from dragoman.history import check, repair
from dragoman.history.weigh import weigh_request, weight
from dragoman.history.window import tokens
from dragoman.positions import positions
from dragoman.tools.arguments import CUT_SHORT, Misfit, Read, read_arguments
from dragoman.types import Invalid, Message, Origin, Request, Text, Tool, ToolCall, ToolResult, assistant, tool, user
from dragoman.types.save import Conversation
from dragoman.wire import WIRES, jsonio
from dragoman.wire.base import Exchange, Http
from hazards.test_stream_kinds import counted

T = TypeVar("T")
DEPTHS = (230, 400, 490)  # of what stands within a body of at most 512 levels
BEYOND = (520, 5000)
OBJECT: dict[str, Any] = {"type": "object", "properties": {}}


def far_down(does: Callable[[], T], frames: int = 150) -> T:
    """What `does` gives when it is called with a server's frames above it."""
    return does() if frames == 0 else far_down(does, frames - 1)


def objects(levels: int) -> str:
    return '{"a":' * levels + '"x"' + "}" * levels


def arrays(levels: int) -> str:
    return '{"a":' + "[" * (levels - 1) + '"x"' + "]" * (levels - 1) + "}"


def schemas(levels: int) -> str:
    return '{"type":"array","items":' * levels + '{"type":"string"}' + "}" * levels


def choices(levels: int) -> str:
    return '{"anyOf":[' * (levels // 2) + '{"type":"string"}' + "]}" * (levels // 2)


# --- bodies


def chat(args: str, left: str, schema: str, top: str) -> str:
    call = f'{{"id":"c","type":"function","function":{{"name":"f","arguments":{json.dumps(args)}}},"z":{left}}}'
    told = '{"role":"tool","tool_call_id":"c","content":"r"}'
    said = f'[{{"role":"user","content":"hi"}},{{"role":"assistant","content":null,"tool_calls":[{call}]}},{told}]'
    tools = f'[{{"type":"function","function":{{"name":"f","parameters":{schema}}}}}]'
    return f'{{"model":"m","messages":{said},"tools":{tools},"z":{top}}}'


def messages(args: str, left: str, schema: str, top: str) -> str:
    call = f'{{"type":"tool_use","id":"c","name":"f","input":{args},"z":{left}}}'
    told = '{"role":"user","content":[{"type":"tool_result","tool_use_id":"c","content":"r"}]}'
    said = f'[{{"role":"user","content":"hi"}},{{"role":"assistant","content":[{call}]}},{told}]'
    tools = f'[{{"name":"f","input_schema":{schema}}}]'
    return f'{{"model":"m","max_tokens":9,"messages":{said},"tools":{tools},"z":{top}}}'


def responses(args: str, left: str, schema: str, top: str) -> str:
    call = f'{{"type":"function_call","call_id":"c","name":"f","arguments":{json.dumps(args)},"z":{left}}}'
    told = '{"type":"function_call_output","call_id":"c","output":"r"}'
    tools = f'[{{"type":"function","name":"f","parameters":{schema}}}]'
    return f'{{"model":"m","input":[{{"role":"user","content":"hi"}},{call},{told}],"tools":{tools},"z":{top}}}'


BODIES = {"chat": chat, "messages": messages, "responses": responses}
PLACES: dict[str, Callable[[int], tuple[str, str, str, str]]] = {
    "arguments of objects": lambda n: (objects(n), "1", json.dumps(OBJECT), "1"),
    "arguments of arrays": lambda n: (arrays(n), "1", json.dumps(OBJECT), "1"),
    "a leftover of a call": lambda n: ("{}", objects(n), json.dumps(OBJECT), "1"),
    "a leftover of the body": lambda n: ("{}", "1", json.dumps(OBJECT), objects(n)),
    "a schema of arrays": lambda n: ("{}", "1", schemas(n), "1"),
    "a schema of choices": lambda n: ("{}", "1", choices(n), "1"),
    "a schema that is none": lambda n: ("{}", "1", objects(n), "1"),
}


def sent(name: str, place: str, levels: int) -> Http:
    return Http(path="", body=BODIES[name](*PLACES[place](levels)).encode())


def outcome(does: Callable[[], Any]) -> str:
    """What came of it: done, or the code of our error; anything else is raised."""
    try:
        far_down(does)
    except DragomanError as error:
        return error.code
    return "done"


@pytest.mark.parametrize("levels", DEPTHS)
@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("name", WIRES)
def test_a_deep_body_is_read_judged_mended_weighed_and_written_or_refused_by_name(
    name: str, place: str, levels: int
) -> None:
    http = sent(name, place, levels)
    there = {outcome(lambda to=to: translate.request(http, wire.find(name), wire.find(to))) for to in wire.LIBRARY}
    assert there <= {"done", "too_deep"}
    request = wire.find(name).decode_request(http, BASE, Exchange()).request
    for to in wire.LIBRARY:
        assert far_down(lambda to=to: repair(request, to, BASE)).request.messages
        assert [one.rule for one in far_down(lambda to=to: check(request, to, BASE)) if one.severity == "error"] == []
    assert far_down(lambda: weigh_request(request)) > 0
    assert far_down(lambda: cached(request, "messages", BASE)).model == "m"
    assert outcome(lambda: positions(request, WIRES)) in ("done", "too_deep")


@pytest.mark.parametrize("levels", BEYOND)
@pytest.mark.parametrize("place", ["a leftover of the body", "a schema of arrays"])
@pytest.mark.parametrize("name", WIRES)
def test_a_deeper_one_is_refused_as_such(name: str, place: str, levels: int) -> None:
    http = sent(name, place, levels)
    with pytest.raises(RemoteError) as caught:
        far_down(lambda: wire.find(name).decode_request(http, BASE, Exchange()))
    assert caught.value.code == "too_deep"


# --- requests that no body held


def made(levels: int, leaf: Any = "x") -> dict[str, Any]:
    value: dict[str, Any] = {"a": leaf}
    for _ in range(levels - 1):
        value = {"a": value}
    return value


def asked(levels: int, leaf: str, name: str) -> Request:
    call = ToolCall(id="c", name=name, arguments="{}", opaque={"chat": {"z": made(levels, leaf)}})
    told = tool(ToolResult(call_id="c", content=(Text(text="r"),)))
    tools = (Tool(name="f", parameters=OBJECT, opaque={"chat": {"z": made(levels)}}),)
    return Request(model="m", messages=(user("hi"), assistant(call), told), tools=tools)


def leaf(value: Any) -> Any:
    while isinstance(value, dict):
        value = value["a"]
    return value


@pytest.mark.parametrize("levels", [*DEPTHS, *BEYOND])
def test_broken_text_is_mended_however_deep_it_stands(levels: int) -> None:
    mended = far_down(lambda: repair(asked(levels, "x\ud800", "f\ud800"), "chat", BASE))
    call: Any = mended.request.messages[1].content[0]
    assert (call.name, leaf(call.opaque["chat"]["z"])) == ("f\ufffd", "x\ufffd")
    assert [(note.path, note.reason) for note in mended.notes] == [
        (("messages", 1, "content", 0), "lone surrogates became U+FFFD")
    ]


@pytest.mark.parametrize("levels", [*DEPTHS, *BEYOND])
def test_what_is_weighed_may_be_of_any_depth(levels: int) -> None:
    request = asked(levels, "x", "f")
    assert far_down(lambda: weight(made(levels))) == levels + 0.25
    assert far_down(lambda: weigh_request(request)) >= levels
    assert far_down(lambda: tokens(request)) >= levels


@pytest.mark.parametrize("levels", [2000, 5000])
@pytest.mark.parametrize("name", WIRES)
def test_what_is_too_deep_to_be_written_is_our_error(name: str, levels: int) -> None:
    deep = Request(model="m", messages=(user("hi"),), tools=(Tool(name="f", parameters=made(levels)),))
    with pytest.raises(LocalError) as caught:
        far_down(lambda: wire.find(name).encode_request(deep, BASE, Exchange()))
    assert caught.value.code in ("too_deep", "bad_json")


# --- answers


@pytest.mark.parametrize("levels", [*DEPTHS, *BEYOND])
@pytest.mark.parametrize("key", ["error", "message", "errors", "detail"])
@pytest.mark.parametrize("name", WIRES)
def test_a_deep_refusal_is_a_refusal(name: str, key: str, levels: int) -> None:
    body = (f'{{"{key}":' * levels + '"no"' + "}" * levels).encode()
    error = far_down(lambda: wire.find(name).decode_error(400, {}, body, BASE))
    assert (type(error), error.code) == (ApiError, "invalid_request")


# --- arguments against their schema

TREE: dict[str, Any] = {"type": "object", "properties": {"a": {"anyOf": [{"$ref": "#"}, {"type": "string"}]}}}
LOOPS: dict[str, dict[str, Any]] = {
    "any of itself": {"anyOf": [{"$ref": "#"}] * 30},
    "all of itself": {"allOf": [{"$ref": "#"}] * 30},
    "one of itself, for what is in it": {"additionalProperties": {"oneOf": [{"allOf": [{"$ref": "#"}] * 9}] * 9}},
    "a reference to itself": {"$ref": "#"},
}


def call(arguments: str) -> ToolCall:
    return ToolCall(id="c", name="f", arguments=arguments)


@pytest.mark.parametrize("levels", [*DEPTHS, 511])
def test_arguments_deeper_than_is_looked_into_do_not_fit_and_say_so(levels: int) -> None:
    found = far_down(lambda: read_arguments(call(objects(levels)), TREE))
    assert isinstance(found, Misfit)
    assert "nested deeper than 48 levels" in found.faults


def test_arguments_as_deep_as_people_write_them_fit() -> None:
    found = far_down(lambda: read_arguments(call(objects(48)), TREE))
    assert isinstance(found, Read)


@pytest.mark.parametrize("loop", LOOPS)
@pytest.mark.parametrize("said", ['{"a":"1"}', objects(500)])
def test_a_schema_that_leads_to_itself_ends_in_little_work(loop: str, said: str) -> None:
    found = far_down(lambda: read_arguments(call(said), LOOPS[loop]))
    assert isinstance(found, Read | Misfit)


DID = "`a[{}]` was a string and is read as the dict it spells"


def test_many_strings_that_may_spell_such_a_thing_share_that_work() -> None:
    inner = {"type": "object", "properties": {"b": {"$ref": "#/$defs/x"}}}
    loop = {"x": {"anyOf": [{"$ref": "#/$defs/x"}] * 30}}
    schema = {"type": "object", "properties": {"a": {"type": "array", "items": inner}}, "$defs": loop}

    def read(count: int) -> Read | Misfit | Invalid:
        return read_arguments(call(json.dumps({"a": ['{"b":1}'] * count})), schema)

    assert read(3) == Read({"a": [{"b": 1}] * 3}, did=(DID.format(0), DID.format(1), DID.format(2), CUT_SHORT))
    one, many = (counted(lambda n=n: read(n)) for n in (1, 5))
    assert many < 2 * one


@pytest.mark.parametrize("levels", [*DEPTHS, *BEYOND])
@pytest.mark.parametrize("word", ["allOf", "anyOf", "items", "properties"])
def test_a_deep_schema_is_followed_as_far_as_it_goes(word: str, levels: int) -> None:
    schema: dict[str, Any] = {"type": "string"}
    for _ in range(levels):
        inner: Any = {"a": schema} if word == "properties" else schema if word == "items" else [schema]
        schema = {word: inner}
    for said in ('{"a":1}', objects(500)):
        assert isinstance(far_down(lambda said=said: read_arguments(call(said), schema)), Read | Misfit)


# --- what is shown


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("name", WIRES)
def test_a_deep_conversation_is_shown(name: str, place: str) -> None:
    request = wire.find(name).decode_request(sent(name, place, 490), BASE, Exchange()).request
    said = Conversation(request=request)
    assert outcome(lambda: [view_lines(view_in(said, to), full=False) for to in WIRES]) in ("done", "too_deep")


@pytest.mark.parametrize("levels", [*DEPTHS, *BEYOND])
def test_cache_markers_are_left_out_however_deep(levels: int) -> None:
    marked = made(levels, {"cache_control": {"type": "ephemeral"}, "a": "x"})
    assert jsonio.encode(leaf(far_down(lambda: unmarked(marked)))) == b'"x"'


def test_what_a_tool_takes_is_no_marker() -> None:
    said = {"input": {"cache_control": 1}, "content": [{"cache_control": 1, "text": "x"}]}
    assert unmarked(said) == {"input": {"cache_control": 1}, "content": [{"text": "x"}]}


def test_a_message_without_a_place_in_the_middle_is_still_weighed() -> None:
    said = Message(role="assistant", content=(Text(text="abcd"),))
    whence = Message(role="assistant", content=said.content, origin=Origin(wire="chat"))
    assert weight(whence) > weight(said) > 1
