"""Guards mistakes in what is passed to a model: each is one UsageError on one line that names the argument, and nothing that may be a key is in it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, cast

import pytest

from dragoman import Agent, AsyncModel, Model, Structured, tool
from dragoman.agent.session import Session
from dragoman.catalog.target import Target
from dragoman.errors import UsageError
from dragoman.money.ledger import Ledger
from dragoman.secret import Secret
from dragoman.transport.base import Limits
from dragoman.types import Message, Request, Text, Tool, ToolCall, ToolResult, user

SPEC = "http://127.0.0.1:1/v1#chat:m"
ENV = {"OPENAI_API_KEY": "k"}
AS_TEXT = "names of variables and their texts, as os.environ has"


def mistake(does: Callable[[], Any]) -> str:
    """The one line that a mistake is told in."""
    with pytest.raises(UsageError) as caught:
        does()
    assert caught.value.__cause__ is None
    assert "\n" not in caught.value.message
    return caught.value.message


MADE: dict[str, tuple[dict[str, Any], str]] = {
    "a dialect that is none": ({"dialect": 5}, "dialect is 5: pass a Dialect, or facts by their names"),
    "a dialect by numbers": ({"dialect": {1: 2}}, "dialect is a dict: pass a Dialect, or facts by their names"),
    "a dialect in a list": ({"dialect": [1]}, "dialect is a list: pass a Dialect, or facts by their names"),
    "a record that is none": ({"record": 5}, "record: no folder can be made of 5: "),
    "a record in bytes": ({"record": b"x"}, "record: no folder can be made of b'x': "),
    "a record of nothing": ({"record": ""}, "record is empty: name a folder, or leave it out"),
    "a record no name allows": ({"record": "a\0b"}, "record: no folder can be made of 'a\\x00b': "),
    "limits that are a number": ({"limits": 5}, "limits is 5: pass Limits(…)"),
    "limits that are facts": ({"limits": {"idle": 3}}, "limits is a dict: pass Limits(…)"),
    "no limits": ({"limits": None}, "limits is None: pass Limits(…)"),
    "strict in words": ({"strict": "yes"}, "strict is 'yes': pass False or True"),
    "repair as a number": ({"repair": 1}, "repair is 1: pass False or True"),
    "vision in words": ({"vision": "yes"}, "vision is 'yes': pass False or True, or None to look it up"),
    "an unknown cache": ({"cache": []}, "cache is []: one of auto, off"),
    "no retry": ({"retry": None}, "unknown retry policy None: one of default, ink, plain, or a RetryPolicy"),
    "adapt as a number": ({"adapt": 0}, "adapt is 0: pass False or True"),
    "a restart in words": ({"restart_on_drop": "no"}, "restart_on_drop is 'no': pass False or True, or a function"),
    "a clock that is none": ({"clock": 5}, "clock is 5: pass a Clock"),
    "a seed for a source of chance": ({"rng": 5}, "rng is 5: pass a random.Random"),
    "an observer alone": ({"observers": print}, "observers is a builtin_function_or_method: pass a list of functions"),
    "no observers": ({"observers": None}, "observers is None: pass a list of functions"),
    "observers that are none": ({"observers": [5]}, "observers is a list: pass a list of functions"),
    "a transport that is none": (
        {"transport": 5},
        "transport is 5: one of httpx2, http2, aiohttp, stdlib, or what has",
    ),
    "an env that is none": ({"env": 5}, f"env is 5: pass {AS_TEXT}"),
    "an env of a number": ({"env": {"SECRET": 5}}, f"env['SECRET'] is no text: pass {AS_TEXT}"),
    "an env of bytes": ({"env": {b"A": "x"}}, f"env[b'A'] is no text: pass {AS_TEXT}"),
}


@pytest.mark.parametrize("kind", [Model, AsyncModel])
@pytest.mark.parametrize("what", MADE)
def test_a_model_is_not_made_of_what_is_wrong(what: str, kind: Any) -> None:
    said, told = MADE[what]
    assert mistake(lambda: kind(SPEC, **{"env": ENV, **said})).startswith(told)


@pytest.mark.parametrize("kind", [Model, AsyncModel])
def test_a_record_that_cannot_be_is_told_with_the_reason(kind: Any, tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.write_text("x")
    told = f"record: no folder can be made of {str(file / 'below')!r}: Not a directory"
    assert mistake(lambda: kind(SPEC, env=ENV, record=str(file / "below"))) == told


@pytest.mark.parametrize("spec", [None, 5, b"openai/gpt-5", [], object()])
def test_what_names_no_model_is_none(spec: Any) -> None:
    assert "a model is a name, a Target, or what has `stream`" in mistake(lambda: Model(spec, env=ENV))


WHERE: dict[str, tuple[dict[str, Any], str]] = {
    "no address": ({"base_url": None}, "Target.base_url is None: pass a text"),
    "an address without its beginning": (
        {"base_url": "me:hunter2@host/v1"},
        "Target.base_url: pass an address that begins with http:// or https://",
    ),
    "a key in the open": ({"key": "sk-hunter2"}, "Target.key: pass a Secret, or None for no key"),
    "a wire by number": ({"wire": 5}, "Target.wire is 5: pass a text"),
    "an unknown wire": ({"wire": "nope"}, "unknown wire 'nope': one of "),
    "no model": ({"model": None}, "Target.model is None: pass a text"),
    "headers by name": ({"headers": {"a": "b"}}, "Target.headers: pass pairs of texts, (name, value)"),
    "a header of a number": ({"headers": (("a", 5),)}, "Target.headers: pass pairs of texts, (name, value)"),
    "no dialect": ({"dialect": None}, "Target.dialect is None: pass a Dialect"),
}


@pytest.mark.parametrize("what", WHERE)
def test_a_target_that_leads_nowhere_is_told(what: str) -> None:
    said, told = WHERE[what]
    whole: dict[str, Any] = {"provider": "p", "label": "P", "wire": "chat", "model": "m"}
    whole |= {"base_url": "http://127.0.0.1:1/v1", "key": Secret("k"), **said}
    found = mistake(lambda: Model(Target(**whole), env=ENV))
    assert found.startswith(told)
    assert "hunter2" not in found


CALL = Message(role="assistant", content=(ToolCall(id="c", name="f", arguments="{}"),))
ODD: Any = [5, "x", b"x", None, {}]
BUILT: dict[str, tuple[Any, str]] = {
    "a message of a string": (Message(role="user", content=ODD[1]), "messages[0].content: expected `array`, got `str`"),
    "a message of nothing": (Message(role="user", content=ODD[3]), "messages[0].content: expected `array`, got `null`"),
    "a block that is none": (
        Message(role="user", content=(Text(text="a"), ODD[0])),
        "messages[0].content[1]: expected `object`, got `int`",
    ),
    "a text of a number": (
        [user("hi"), Message(role="user", content=(Text(text=ODD[0]),))],
        "messages[1].content[0].text: expected `str`, got `int`",
    ),
    "arguments of an object": (
        [user("hi"), Message(role="assistant", content=(ToolCall(id="c", name="f", arguments=ODD[4]),))],
        "messages[1].content[0].arguments: expected `str`, got `object`",
    ),
    "a result of a string": (
        [user("hi"), CALL, Message(role="tool", content=(ToolResult(call_id="c", content=ODD[1]),))],
        "messages[2].content[0].content: expected `array`, got `str`",
    ),
    "a request of nothing": (Request(messages=ODD[3]), "messages: expected `array`, got `null`"),
    "tools of a number": (Request(messages=(user("hi"),), tools=ODD[0]), "tools: expected `array | null`, got `int`"),
    "no message": (None, "messages is NoneType: pass a string, a Message, a list of Messages or a Request"),
    "a message of another library": (
        [{"role": "user", "content": "hi"}],
        "messages[0] is dict: pass a string, a Message, a list of Messages or a Request",
    ),
}


@pytest.mark.parametrize("spec", [SPEC, "anthropic/claude-sonnet-5", "openai/gpt-5#responses"])
@pytest.mark.parametrize("what", BUILT)
def test_a_conversation_built_of_the_wrong_types_is_told_by_its_place(what: str, spec: str) -> None:
    said, told = BUILT[what]
    with Model(spec, env={**ENV, "ANTHROPIC_API_KEY": "k"}) as model:
        assert mistake(lambda: model.plan(said)) == told
        assert mistake(lambda: model.chat(said)) == told


OPTIONS: dict[str, tuple[Any, str]] = {
    "temperature": ("hot", "temperature is 'hot': expected `int | float | null`, got `str`"),
    "top_p": (True, "top_p is True: expected `int | float | null`, got `bool`"),
    "max_output": (1.5, "max_output is 1.5: expected `int | null`, got `float`"),
    "tools": (5, "tools is int: pass a list of Tools"),
    "tool_choice": (5, "tool_choice is 5: pass a ToolChoice, one of auto, none, required, or a tool's name"),
    "stop": ([5], "stop is [5]: pass a string or several"),
    "metadata": ({"a": 5}, "metadata is a dict: expected `str`, got `int`"),
    "opaque": ({"chat": 5}, "opaque is a dict: expected `object`, got `int`"),
    "output": (5, "output: no JSON Schema for 5: "),
    "effort": (5, "effort is 5: expected `str | null`, got `int`"),
    "budget": ("much", "budget is 'much': expected `int | null`, got `str`"),
    "system": (5, "system is 5: expected `str`, got `int`"),
    "store": ("no", "store is 'no': expected `bool | null`, got `str`"),
    "seed": ("x", "seed is 'x': expected `int | null`, got `str`"),
    "n": ("2", "n is '2': expected `int | null`, got `str`"),
    "cache": (5, "cache is 5: expected `object | null`, got `int`"),
    "user": (5, "user is 5: expected `str | null`, got `int`"),
}


@pytest.mark.parametrize("name", OPTIONS)
def test_an_option_of_another_type_is_told_by_its_name(name: str) -> None:
    value, told = OPTIONS[name]
    with Model(SPEC, env=ENV) as model:
        assert mistake(lambda: model.plan("hi", **{name: value})).startswith(told)


@pytest.mark.parametrize(
    ("said", "told"),
    [
        ({"idle": "x"}, "Limits(idle='x'): pass a number, or None for no limit"),
        ({"total": float("nan")}, "Limits(total=nan): pass a number, or None for no limit"),
        ({"request": True}, "Limits(request=True): pass a number, or None for no limit"),
        ({"idle": -1}, "Limits(idle=-1): seconds, or bytes of body, of more than nothing"),
    ],
)
def test_a_limit_that_cannot_be_is_told(said: dict[str, Any], told: str) -> None:
    assert mistake(lambda: Limits(**said)) == told


def test_what_is_right_goes_as_it_was_said() -> None:
    tools = (Tool(name="f"),)
    with Model(SPEC, env=ENV) as model:
        sent = model.plan(Request(messages=(user("hi"),)), temperature=1, tools=tools, metadata={"a": "b"}).json
    assert (sent["temperature"], sent["metadata"]) == (1, {"a": "b"})


# --- what else is made by callers


def look(path: str) -> str:
    """Look at a file."""
    return path


AGENTS: dict[str, tuple[Callable[[Model], Any], str]] = {
    "a model by name": (
        lambda _: Agent(cast(Any, "openai/gpt-5")),
        "an agent's model is str: pass Model('openai/gpt-5')",
    ),
    "a model's class": (
        lambda _: Agent(cast(Any, Model)),
        "an agent's model is type: pass a Model, or what has `stream`",
    ),
    "a function": (lambda m: Agent(m, [cast(Any, look)]), "an agent's tools[0] is function: make it a tool: tool(…)"),
    "a definition": (
        lambda m: Agent(m, [tool(look), cast(Any, Tool(name="x"))]),
        "an agent's tools[1] is Tool: pass what `dragoman.tool` makes of a function",
    ),
    "a tool alone": (
        lambda m: Agent(m, cast(Any, tool(look))),
        "an agent's tools are FunctionTool: pass a list of tools",
    ),
    "no tools": (lambda m: Agent(m, cast(Any, None)), "an agent's tools are NoneType: pass a list of tools"),
    "limits by number": (lambda m: Agent(m, limits=cast(Any, 5)), "an agent's limits are int: pass Limits(…)"),
    "no step at all": (lambda m: Agent(m, max_steps=0), "an agent's max_steps is 0: pass a number, 1 or more"),
    "steps in words": (
        lambda m: Agent(m, max_steps=cast(Any, "9")),
        "an agent's max_steps is '9': pass a number, 1 or more",
    ),
    "a system of a number": (lambda m: Agent(m, system=cast(Any, 5)), "an agent's system is int: pass a text"),
    "a final of a number": (
        lambda m: Agent(m, final=cast(Any, 5)),
        "an agent's final is int: pass what `dragoman.tool`",
    ),
    "a tool's name": (lambda _: tool(name=cast(Any, 5))(look), "a tool's name is int: pass a text"),
    "a tool's traits": (lambda _: tool(traits=cast(Any, 5))(look), "a tool's traits are int: pass Traits(…)"),
    "a ladder": (
        lambda m: m.plan("hi", output=Structured(of=int, ladder=cast(Any, 5))),
        "output: ladder is some of native, tool, json, prompt, moves is not negative",
    ),
    "data": (lambda m: m.complete("Sum up.", cast(Any, 5)), "data is int: pass a text"),
    "a prompt": (lambda m: m.complete(cast(Any, 5)), "prompt is int: pass a text"),
}


@pytest.mark.parametrize("what", AGENTS)
def test_agents_tools_and_completions_tell_what_was_wrong_with_them(what: str) -> None:
    does, told = AGENTS[what]
    with Model(SPEC, env=ENV) as model:
        assert mistake(lambda: does(model)).startswith(told)


FILES: dict[str, Callable[[Any], Any]] = {"ledger": Ledger, "session": Session.create, "session again": Session.open}


@pytest.mark.parametrize("path", [5, None, b"x", "a\0b"])
@pytest.mark.parametrize("kind", FILES)
def test_a_path_that_is_none_is_told(kind: str, path: Any) -> None:
    told = f"a {kind.split()[0]}'s path is {path!r}: pass the name of a file"
    assert mistake(lambda: FILES[kind](path)) == told


@pytest.mark.parametrize("kind", FILES)
def test_a_file_that_cannot_be_is_told_with_the_reason(kind: str, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    found = mistake(lambda: FILES[kind](tmp_path / "file" / "below"))
    assert found.endswith(("Not a directory", "File exists"))
