"""Guards against templates and schemas that mean harm: deep, endless, or unfolding without end, each is our named error, at once."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from functools import partial
from typing import Any

import pytest

from dragoman.engine.constrain import bounded, calls_schema, output_schema
from dragoman.engine.parsers import picked
from dragoman.engine.sandbox import DEEPEST
from dragoman.engine.speaker import Speaker
from dragoman.engine.template import Template
from dragoman.errors import ApiError
from dragoman.types import Message, Output, Reasoning, Request, Text, Tool, ToolCall, ToolChoice, ToolResult
from dragoman.types.message import assistant, user
from unit.engine.templates import template
from work import work

NOW = datetime(2026, 1, 2)
MUST = ToolChoice(mode="required")


def nested(levels: int, key: str = "a") -> dict[str, Any]:
    """A schema, or any other value, of so many levels."""
    value: dict[str, Any] = {"type": "string"}
    for _ in range(levels):
        value = {"type": "object", "properties": {key: value}}
    return value


DEEP = nested(50_000)
FAN = {"anyOf": [{"$ref": "#"}] * 30}  # thirty ways at each of six levels
HARM: dict[str, tuple[dict[str, Any], str]] = {
    "a deep tool": ({"tools": (Tool(name="ok"), Tool(name="f", parameters=DEEP))}, r"tools\[1\]: it is nested deeper"),
    "a tool a little too deep": ({"tools": (Tool(name="f", parameters=nested(DEEPEST)),)}, r"tools\[0\]: it is nested"),
    "a deep variable": (
        {"opaque": {"chat": {"chat_template_kwargs": {"x": DEEP}}}},
        r"chat_template_kwargs\.x: it is nested deeper",
    ),
    "a deep form": ({"output": Output(kind="schema", schema=DEEP)}, "the schema is deeper than 64 levels"),
    "a wide form": (
        {"output": Output(kind="schema", schema={"anyOf": [{"type": "null"}] * 20_000})},
        "a schema has more than 10000 parts",
    ),
    "references without end": (
        {"tools": (Tool(name="f", parameters=FAN),), "tool_choice": MUST},
        "a schema has more than 10000 parts",
    ),
}


@pytest.mark.parametrize("what", HARM)
def test_what_goes_too_deep_or_unfolds_too_far_is_a_named_refusal_with_its_place(what: str) -> None:
    said, words = HARM[what]
    known = template("qwen2.5")
    with pytest.raises(ApiError, match=words) as caught:
        Speaker(known, picked(known.source), "m").turn(Request(messages=(user("hi"),), **said), NOW)
    assert (caught.value.code, caught.value.status, caught.value.retryable) == ("invalid_request", 400, False)


def test_arguments_that_go_too_deep_are_told_by_their_message() -> None:
    known = template("qwen2.5")
    text = '{"a":' * 300 + "1" + "}" * 300
    call = assistant(ToolCall(id="c", name="f", arguments=text))
    with pytest.raises(ApiError, match=r"messages\[2\]: it is nested deeper"):
        Speaker(known, picked(known.source), "m").turn(Request(messages=(user("hi"), call)), NOW)


def test_a_deep_tool_that_must_be_called_is_held_to_what_a_grammar_is_made_of() -> None:
    schema = calls_schema((Tool(name="f", parameters=DEEP),))
    assert str(schema).count("'type': 'object'") < 10


def test_a_least_length_of_a_million_makes_no_grammar_of_a_million_rules() -> None:
    assert bounded({"type": "string", "minLength": 10**9}) == {"type": "string", "minLength": 1000, "maxLength": 1000}
    assert bounded({"type": "array", "items": {"const": 1}, "minItems": 10**9})["minItems"] == 1000


MANY, ODD = 1000, {"properties": {"a": {"type": "boolean"}}}
UNFOLDED: dict[str, Any] = {
    "an allOf of many": {"allOf": [{"properties": {f"p{n}": {}}} for n in range(MANY)]},
    "a long reference": {"$ref": "#/$defs/b" + "/" * 100_000},
    "a long constant": {"const": "x" * 100_000},
    "a long list of values": {"enum": ["x" * 100] * 1000},
    "a deep constant": {"const": DEEP},
    "many that must be": {"allOf": [{**ODD, "required": ["a"] * 10_000}, {**ODD, "required": ["b"] * 10_000}] * 9},
}


@pytest.mark.parametrize("name", UNFOLDED)
def test_what_is_unfolded_again_and_again_ends_at_a_limit_in_little_work(name: str) -> None:
    schema = {"anyOf": [{"$ref": "#/$defs/a"}] * MANY, "$defs": {"a": UNFOLDED[name], "b": {"type": "boolean"}}}
    with pytest.raises(ApiError, match=r"more than 10000 parts|goes too deep"):
        work(lambda: bounded(schema), most=20_000_000, deep=1)  # without a limit: thousands of millions


def grows(does: Callable[[int], Callable[[], Any]], few: int, many: int, deep: int = 0) -> None:
    """What is done for `many` is what is done for `few`, so many times over and hardly more."""
    does(few)()  # what is kept for all later calls is made now
    work(does(many), most=work(does(few), deep=deep) * many // few * 5 // 4, deep=deep)


@pytest.mark.parametrize("behind", [(), (user("and?"),)])
def test_looking_for_thoughts_in_a_long_prompt_is_linear_work(behind: tuple[Message, ...]) -> None:
    known = template("qwen3")
    speaker = Speaker(known, picked(known.source), "m")

    def asked(lines: int) -> Request:
        thought = Reasoning(text="\n".join(f"line {n} [<of>] many" for n in range(lines)))
        return Request(messages=(user("z" * 150 * lines), assistant(thought, Text(text="ok")), *behind))

    grows(lambda lines: partial(speaker.turn, asked(lines), NOW), 300, 3000)
    turn = speaker.turn(asked(3000), NOW)
    assert [note.path for note in turn.notes] == [("messages", 1, "content", 0)] * len(behind)
    assert ("line 2999" in turn.asked.prompt) == (not behind)


ALTERNATES = (
    "{% for m in messages %}{% if loop.index0 and m.role == messages[loop.index0 - 1].role %}"
    "{{ raise_exception('roles alternate') }}{% endif %}<{{ m.role }}>{{ m.content }}\n{% endfor %}"
)


@pytest.mark.parametrize("source", [ALTERNATES, ALTERNATES + "<tool_call>{{ messages[-1].tool_calls }}{{ tools }}"])
def test_many_turns_of_one_role_become_one_in_linear_work(source: str) -> None:
    speaker = Speaker(Template(source), picked(source), "m")
    assert speaker.can.alternates
    grows(lambda turns: partial(speaker.turn, Request(messages=(user("x" * 200),) * turns), NOW), 100, 1000, deep=1)
    turn = speaker.turn(Request(messages=(user("x" * 200),) * 1000), NOW)
    assert turn.asked.prompt.count("x") == 200_000


def test_each_of_equal_calls_is_told_at_its_own_place() -> None:
    """They were looked for by what they say, each one from the first on."""
    known = template("qwen2.5")
    call = ToolCall(id="c", name="f", arguments="{")
    result = Message(role="tool", content=(ToolResult(call_id="c", content=(Text(text="r"),)),))
    request = Request(messages=(user("hi"), assistant(call, call, call), result))
    notes = Speaker(known, picked(known.source), "m").turn(request, NOW).notes
    assert [note.path for note in notes] == [("messages", 1, "content", at, "arguments") for at in range(3)]


def test_a_name_that_is_none_is_nobodys() -> None:
    odd: dict[str, Any] = {**ODD, "required": [{}, ["a"], None, "a"]}
    assert bounded(odd) == bounded({"allOf": [odd, odd]}) == bounded({**ODD, "required": ["a"]})


def test_what_people_write_stays_far_below_that_limit() -> None:
    parts = [
        {"properties": {f"p{n}_{m}": {"type": "string"} for m in range(9)}, "required": [f"p{n}_1"]} for n in range(9)
    ]
    assert len(bounded({"allOf": parts})["properties"]) == 9
    assert bounded({"enum": [f"country {n}" for n in range(5000)]})["enum"][-1] == "country 4999"


def test_a_form_is_the_one_that_was_said_with_an_end_to_strings_and_lists() -> None:
    said = {
        "type": "object",
        "properties": {
            "name": {"type": ["string", "null"], "description": "d"},
            "code": {"type": "string", "pattern": "^a+$"},
            "tags": {"type": "array", "items": {"type": "string", "maxLength": 9}},
            "pair": {"type": "array", "prefixItems": [{"type": "string"}, {"type": "integer"}]},
        },
        "required": ["name"],
    }
    made = output_schema(Request(output=Output(kind="schema", schema=said)))
    assert made is not None and made.pop("x-guidance")
    assert made == {
        **said,
        "properties": {
            "name": {"type": ["string", "null"], "description": "d", "maxLength": 1000},
            "code": {"type": "string", "pattern": "^a+$"},
            "tags": {"type": "array", "items": {"type": "string", "maxLength": 9}, "maxItems": 64},
            "pair": {"type": "array", "prefixItems": [{"type": "string", "maxLength": 1000}, {"type": "integer"}]},
        },
    }
    assert output_schema(Request(output=Output(kind="text"))) is None is output_schema(Request())


@pytest.mark.parametrize(
    "source",
    [
        "{% macro m(n) %}{{ m(n + 1) }}{% endmacro %}{{ m(0) }}",
        "{% for a in range(99999) %}{% for b in range(99999) %}x{% endfor %}{% endfor %}",
        "{% set ns = namespace(x='a') %}{% for a in range(99) %}{% set ns.x = ns.x ~ ns.x %}{% endfor %}{{ ns.x }}",
        "{{ messages[0]['content'] * 999999999 }}",
        "{{ tools | tojson(indent=999999999) }}",
    ],
)
def test_a_template_without_end_is_refused_for_a_conversation_with_tools(source: str) -> None:
    known = Template(source)
    tools = ({"type": "function", "function": {"name": "f", "parameters": nested(20)}},)
    with pytest.raises(ApiError, match="chat template: ") as caught:
        known.render(({"role": "user", "content": "hi"},), tools, now=NOW, work=1_000_000)
    assert caught.value.code == "invalid_request" and not caught.value.retryable
