"""Guards how the arguments of a call become a request: nothing lost, nothing guessed, mistakes named."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, cast

import pytest

from dragoman.client import AsyncModel, Model
from dragoman.client.options import Options, request
from dragoman.errors import UsageError
from dragoman.transport.base import Limits
from dragoman.types import HostedTool, Output, Request, Sampling, Text, Tool, ToolChoice, system, user

READ = Tool(name="read")
HOSTED = HostedTool(wire="responses", kind="web_search", payload={"type": "web_search"})


def refused(messages: Any, options: Any = None) -> str:
    with pytest.raises(UsageError) as caught:
        request(messages, options or {})
    return caught.value.message


@pytest.mark.parametrize(
    "given", ["你好", user("你好"), [user("你好")], (user("你好"),), Request(messages=(user("你好"),))]
)
def test_messages_in_any_form(given: Any) -> None:
    assert request(given, {}) == Request(messages=(user("你好"),))


def test_every_option_has_its_field() -> None:
    options: Options = {
        "system": "Be brief.",
        "tools": [READ, HOSTED],
        "tool_choice": "required",
        "parallel_tools": False,
        "max_output": 600,
        "temperature": 0,
        "seed": 7,
        "stop": "END",
        "effort": "low",
        "output": Output(kind="json"),
        "metadata": {"a": "b"},
    }
    assert request("hi", options) == Request(
        messages=(system("Be brief."), user("hi")),
        tools=(READ, HOSTED),
        tool_choice=ToolChoice(mode="required"),
        parallel_tools=False,
        max_output=600,
        sampling=Sampling(temperature=0, seed=7),
        stop=("END",),
        effort="low",
        output=Output(kind="json"),
        metadata={"a": "b"},
    )


def test_options_are_the_fields_of_a_request() -> None:
    fields = {*Request.__struct_fields__, *Sampling.__struct_fields__, "system"}
    assert set(Options.__optional_keys__) == fields - {"model", "messages", "sampling", "stream"}


def test_an_option_wins_over_the_request_and_leaves_it_as_it_was() -> None:
    given = Request(messages=(system("a"), user("hi")), sampling=Sampling(temperature=1, seed=7), stop=("x",))
    made = request(given, {"system": "b", "temperature": 0, "stop": ["y", "z"], "tools": []})
    assert made == Request(
        messages=(system("b"), user("hi")), sampling=Sampling(temperature=0, seed=7), stop=("y", "z")
    )
    assert given.system == "a"
    assert request(given, {"system": None}).messages == (user("hi"),)


@pytest.mark.req("S1-15")
def test_a_tool_is_chosen_by_name_and_must_be_offered() -> None:
    named = ToolChoice(mode="required", names=("read",))
    assert request("hi", {"tools": [READ], "tool_choice": "read"}).tool_choice == named
    assert request("hi", {"tools": [HOSTED], "tool_choice": "web_search"}).tool_choice is not None
    for choice in ("wriet", ToolChoice(mode="required", names=("wriet",))):
        said = refused("hi", {"tools": [READ, HOSTED], "tool_choice": choice})
        assert said == "tool_choice names 'wriet', which is not among the tools offered: read, web_search"
    assert refused("hi", {"tool_choice": "read"}).endswith("offered: none")


def test_mistakes_are_named() -> None:
    assert refused("hi", {"max_tokens": 1}) == "unknown option 'max_tokens': did you mean max_output?"
    assert refused("hi", {"temprature": 1}) == "unknown option 'temprature': did you mean temperature?"
    assert refused("hi", {"zzz": 1}).startswith("unknown option 'zzz'; known: ")
    form = "pass a string, a Message, a list of Messages or a Request"
    assert refused([user("a"), {"role": "user"}]) == f"messages[1] is dict: {form}"
    assert refused([Text(text="a")]) == f"messages[0] is Text: {form}; wrap it in user(…)"


@pytest.mark.parametrize(
    ("messages", "options", "said"),
    [
        (None, {}, "messages is NoneType: pass a string"),
        (5, {}, "messages is int: pass a string"),
        (b"hi", {}, "messages is bytes: pass a string"),
        ("hi", {"tools": [print]}, "tools[0] is builtin_function_or_method: pass Tools; the `definition` of what"),
        ("hi", {"tools": [READ, {"name": "x"}]}, "tools[1] is dict: pass Tools"),
        ("hi", {"stop": 5}, "stop is 5: pass a string or several"),
        ("hi", {"stop": ["a", 5]}, "stop is ['a', 5]: pass a string or several"),
        ("hi", {"temperature": float("nan")}, "temperature is nan, which no JSON can say"),
        ("hi", {"top_p": float("inf")}, "top_p is inf, which no JSON can say"),
    ],
)
def test_what_is_of_no_kind_that_is_taken_is_named(messages: Any, options: Any, said: str) -> None:
    assert refused(messages, options).startswith(said)


@pytest.mark.parametrize(
    "made",
    [
        lambda: Model(cast(Any, None), env={}),
        lambda: Model(cast(Any, 5), env={}),
        lambda: AsyncModel(cast(Any, None), env={}),
        lambda: Model("ollama/m", env={}, cache=cast(Any, "zork")),
        lambda: Model("ollama/m", env={}, retry=True),
        lambda: Model("ollama/m", env={}).complete("x", purpose=cast(Any, "zork")),
        lambda: Limits(idle=0),
        lambda: Limits(connect=-1),
        lambda: Limits(total=-1),
        lambda: Limits(first=float("nan")),
        lambda: Limits(body=cast(Any, None)),
    ],
)
def test_a_model_that_cannot_be_is_refused_when_it_is_made(made: Callable[[], object]) -> None:
    with pytest.raises(UsageError):
        made()
