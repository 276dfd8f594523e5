"""Guards S1-56 to S1-66 and the cases TPL: what a template cannot be told is said in words it knows, and noted."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path
from typing import Any

import msgspec
import pytest

from dragoman.engine.capable import Capabilities, capabilities
from dragoman.engine.prompt import Prompt, prompt
from dragoman.engine.template import Template
from dragoman.types import Foreign, Media, Reasoning, Request, Text, Tool, ToolCall, ToolChoice, ToolResult
from dragoman.types.content import ToolsChange
from dragoman.types.message import Message, assistant, system, tool, user
from unit.engine.templates import NAMES, template

NOW = datetime(2026, 1, 2)
WEATHER = Tool(
    name="get_weather",
    description="获取某个城市当前的天气情况",
    parameters={
        "type": "object",
        "properties": {
            "city": {"type": "string", "description": "城市名称"},
            "unit": {"type": "string", "enum": ["celsius", "fahrenheit"], "description": "温度单位"},
        },
        "required": ["city"],
    },
)
CALLS = (
    ToolCall(id="c1", name="get_weather", arguments='{"city":"西安"}'),
    ToolCall(id="c2", name="get_weather", arguments='{"city":"北京"}'),
)
RESULTS = tool(
    ToolResult(call_id="c1", content=(Text(text="6 摄氏度"),)),
    ToolResult(call_id="c2", content=(Text(text="5 摄氏度"),)),
)
A4 = """<|im_start|>system
You are a helpful assistant

# Tools

You may call one or more functions to assist with the user query.

You are provided with function signatures within <tools></tools> XML tags:
<tools>
{"type": "function", "function": {"name": "get_weather", "description": "获取某个城市当前的天气情况", "parameters": {"type": "object", "properties": {"city": {"type": "string", "description": "城市名称"}, "unit": {"type": "string", "enum": ["celsius", "fahrenheit"], "description": "温度单位"}}, "required": ["city"]}}}
</tools>

For each function call, return a json object with function name and arguments within <tool_call></tool_call> XML tags:
<tool_call>
{"name": <function-name>, "arguments": <args-json-object>}
</tool_call><|im_end|>
<|im_start|>user
查询西安的天气<|im_end|>
<|im_start|>assistant
"""
PLAIN = "{% for m in messages %}[{{ m.role }}]{{ m.content }}{% endfor %}"
ALTERNATING = """{% for m in messages %}{% if m.role == 'system' %}{{ raise_exception('System role not supported') }}{% endif
%}{% if (m.role == 'user') != (loop.index0 % 2 == 0) %}{{ raise_exception('Conversation roles must alternate') }}{% endif
%}[{{ m.role }}]{{ m.content }}{% endfor %}"""


def made(source: Template | str, *messages: Message, **said: Any) -> Prompt:
    known = Template(source) if isinstance(source, str) else source
    return prompt(known, capabilities(known), Request(messages=messages, **said), NOW)


def without_blank_lines(text: str) -> str:
    return "\n".join(line for line in text.splitlines() if line.strip())


@pytest.mark.req("S1-56", "S1-57", "S1-58", "S1-59", "S1-66")
def test_the_prompt_of_qwen_is_a_4_to_the_letter() -> None:
    asked = system("You are a helpful assistant"), user("查询西安的天气")
    assert made(template("qwen2.5"), *asked, tools=(WEATHER,)) == Prompt(
        text=A4,
        turns=(
            {"role": "system", "content": "You are a helpful assistant"},
            {"role": "user", "content": "查询西安的天气"},
        ),
    )


@pytest.mark.req("S1-56")
def test_listing_7_14_is_the_same_prompt(shared: Path) -> None:
    listing = (shared / "fixtures" / "s1-7.14-prompt.txt").read_text("utf-8").partition("//")[0]
    assert without_blank_lines(A4) == without_blank_lines(listing)


@pytest.mark.req("S1-63", "S1-64")
def test_a_run_of_results_is_one_turn_of_listing_7_15(shared: Path) -> None:
    listing = (shared / "fixtures" / "s1-7.15-prompt.txt").read_text("utf-8")
    text = made(template("qwen2.5"), user("天气"), assistant(*CALLS), RESULTS).text
    assert text.count("<|im_start|>user\n<tool_response>") == 1
    assert without_blank_lines(listing) in text


@pytest.mark.req("S1-58", "S1-63", "S1-64", "S1-65")
def test_calls_and_results_stand_in_order_with_nothing_said_twice() -> None:
    text = made(template("qwen2.5"), system("S"), user("天气"), assistant(*CALLS), RESULTS).text
    assert text == (
        "<|im_start|>system\nS<|im_end|>\n<|im_start|>user\n天气<|im_end|>\n<|im_start|>assistant\n"
        '<tool_call>\n{"name": "get_weather", "arguments": {"city": "西安"}}\n</tool_call>\n'
        '<tool_call>\n{"name": "get_weather", "arguments": {"city": "北京"}}\n</tool_call><|im_end|>\n'
        "<|im_start|>user\n<tool_response>\n6 摄氏度\n</tool_response>\n"
        "<tool_response>\n5 摄氏度\n</tool_response><|im_end|>\n<|im_start|>assistant\n"
    )


@pytest.mark.case("TPL-001")
@pytest.mark.parametrize(
    ("arguments", "shown"), [('{"city": "Paris"}', "<city>Paris</city>"), ("", ""), ("{broken", "")]
)
def test_arguments_reach_a_template_as_an_object(arguments: str, shown: str) -> None:
    source = (
        "{%- for m in messages %}{%- for c in m.tool_calls or [] %}{{ c.function.name }}"
        "{%- for k,v in c.function.arguments|items %}<{{k}}>{{v}}</{{k}}>{%- endfor %}{%- endfor %}{%- endfor %}"
    )
    call = ToolCall(id="1", name="lookup", arguments=arguments)
    said = made(source, assistant(call))
    assert said.text == f"lookup{shown}"
    assert [note.path for note in said.notes] == (
        [("messages", 0, "content", 0, "arguments")] if arguments == "{broken" else []
    )


@pytest.mark.case("TPL-004")
def test_a_template_that_only_alternates_gets_one_turn_of_all_that_the_user_says() -> None:
    said = made(ALTERNATING, system("S"), user("a"), user("b"))
    assert said.text == "[user]S\n\na\n\nb"
    assert [(note.path, note.action, note.loss) for note in said.notes] == [(("messages", 0), "moved", False)]


@pytest.mark.case("TPL-004")
def test_a_template_that_knows_more_gets_the_turns_as_they_are() -> None:
    said = made(PLAIN, system("S"), user("a"), user("b"))
    assert said == Prompt(
        text="[system]S[user]a[user]b",
        turns=(
            {"role": "system", "content": "S"},
            {"role": "user", "content": "a"},
            {"role": "user", "content": "b"},
        ),
    )


@pytest.mark.case("TPL-006")
def test_what_a_result_holds_beside_text_has_a_placeholder() -> None:
    reference = Foreign(wire="messages", kind="tool_reference", payload={"tool_name": "mcp__x__y"})
    image = Media(kind="image", data="AAAA", media_type="image/png")
    result = ToolResult(call_id="c1", content=(reference, image, Text(text="done")))
    said = made(template("qwen2.5"), user("go"), assistant(CALLS[0]), tool(result))
    assert "<tool_response>\n[tool_reference: mcp__x__y]\n[image]\ndone\n</tool_response>" in said.text
    assert [note.path for note in said.notes] == [
        ("messages", 2, "content", 0, "content", 0),
        ("messages", 2, "content", 0, "content", 1),
    ]


@pytest.mark.parametrize("name", NAMES)
def test_no_word_of_a_conversation_is_missing_from_any_public_prompt(name: str) -> None:
    said = made(
        template(name),
        system("Systemword"),
        user("Askword"),
        assistant("Midword", *CALLS),
        RESULTS,
        user("Thanksword"),
        tools=(WEATHER,),
    )
    missing = [
        word
        for word in ("Systemword", "Askword", "西安", "北京", "6 摄", "5 摄", "Thanksword")
        if word not in said.text
    ]
    assert missing == []


def test_ids_that_a_template_cannot_take_are_replaced_alike_in_call_and_result() -> None:
    said = made(template("mistral-nemo"), user("天气"), assistant(*CALLS), RESULTS)
    calls: Any = msgspec.to_builtins(said.turns)
    ids = [call["id"] for call in calls[1]["tool_calls"]]
    assert [turn["tool_call_id"] for turn in calls[2:]] == ids
    assert all(len(one) == 9 and one.isalnum() for one in ids) and len(set(ids)) == 2


def test_a_prefill_is_continued_and_not_closed() -> None:
    last = Message(role="assistant", content=(Text(text="It is "),), prefill=True)
    assert made(template("qwen2.5"), system(""), user("天气"), last).text.endswith("<|im_start|>assistant\nIt is ")


def test_switches_are_set_by_effort_and_by_the_callers_own_words() -> None:
    off = made(template("qwen3"), user("hi"), effort="none").text
    on = made(template("qwen3"), user("hi"), effort="high").text
    own = made(
        template("qwen3"), user("hi"), opaque={"chat": {"chat_template_kwargs": {"enable_thinking": False}}}
    ).text
    assert off.endswith("<think>\n\n</think>\n\n") and off == own
    assert on.endswith("<|im_start|>assistant\n")
    assert "Reasoning: low" in made(template("gpt-oss"), user("hi"), effort="low").text


def test_only_the_tools_that_may_be_called_are_shown() -> None:
    other = Tool(name="other")
    asked = user("hi")
    choose = {
        "all": made(template("qwen2.5"), asked, tools=(WEATHER, other)),
        "one": made(
            template("qwen2.5"),
            asked,
            tools=(WEATHER, other),
            tool_choice=ToolChoice(mode="required", names=("other",)),
        ),
        "none": made(template("qwen2.5"), asked, tools=(WEATHER, other), tool_choice=ToolChoice(mode="none")),
    }
    shown = {
        name: [one for one in ("get_weather", "other") if f'"name": "{one}"' in said.text]
        for name, said in choose.items()
    }
    assert shown == {"all": ["get_weather", "other"], "one": ["other"], "none": []}


def test_tools_that_come_in_mid_conversation_are_shown_at_the_head() -> None:
    change = ToolsChange(add=(Tool(name="late"),), remove=("get_weather",))
    said = made(
        template("qwen2.5"), user("hi"), Message(role="user", content=(change, Text(text="now"))), tools=(WEATHER,)
    )
    assert '"name": "late"' in said.text and "get_weather" not in said.text
    assert [(note.path, note.loss) for note in said.notes] == [(("messages", 1, "content", 0), False)]


def test_reasoning_is_given_where_the_template_wants_it() -> None:
    thinking = assistant(Reasoning(text="Thoughtword"), Text(text="ok"), CALLS[0])
    text = made(template("qwen3"), user("天气"), thinking, tool(RESULTS.content[0])).text  # pyright: ignore[reportArgumentType]
    assert "<think>\nThoughtword\n</think>" in text


def test_what_templates_know_is_found_by_asking_them() -> None:
    found = {
        name: capabilities(template(name))
        for name in ("qwen2.5", "mistral-nemo", "gpt-oss", "deepseek-r1-distill", "phi-3.5")
    }
    known = Capabilities(tools=True, calls=True, results=True, system=True, parallel=True)
    assert found == {
        "qwen2.5": msgspec.structs.replace(known, late_system=True),
        "mistral-nemo": msgspec.structs.replace(known, alternates=True, answered=True, ids="short"),
        "gpt-oss": msgspec.structs.replace(known, parallel=False, effort=True),
        "deepseek-r1-distill": msgspec.structs.replace(
            known, tools=False, late_system=True, arguments="text", empty="null"
        ),
        "phi-3.5": Capabilities(system=True, late_system=True),
    }
    assert capabilities(Template(ALTERNATING)) == Capabilities(alternates=True)
