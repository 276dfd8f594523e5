"""Guards explanations against services that say anything: they are read in bounded time and never raise (L6)."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dragoman.dialect.model import BASE, override
from dragoman.explain import Asked, causes, explain, lesson
from dragoman.explain.lessons import lessons
from dragoman.types import Request, user
from dragoman.wire import WIRES, find
from ingredients import json_values

ASKED = Request(messages=(user("hi"),), max_output=5)
BODY = {
    "model": "m",
    "max_tokens": 5,
    "temperature": 1,
    "reasoning_effort": "xhigh",
    "tool_choice": "required",
    "messages": [{"role": "developer", "content": "hi", "name": "a"}],
    "stream_options": {},
    "user": "me",
}

# Pieces of what the tables look for, put together at random.
WORDS = [
    *(word for row in causes() for word in row.pattern.replace("\\", "").split("|")),
    *(word for row in lessons() for word in (*row.keys, row.pattern)),
    *("'", '"', ": ", "messages[1]", "9" * 50),
]
said = st.lists(st.sampled_from(WORDS) | st.text(max_size=8), max_size=12).map("".join)


def told(error: Any, wire: str) -> None:
    body = json.dumps({"error": error}).encode("utf-8", "surrogatepass")
    read = find(wire).decode_error(400, {}, body, BASE)
    found = explain(read, Asked(request=ASKED, wire=wire))
    assert found is None or (str(found) and "\n" not in str(found))
    learned = lesson(read, json.dumps(BODY).encode(), wire, BASE)
    assert learned is None or override(BASE, learned.facts) != BASE


@pytest.mark.parametrize("wire", WIRES)
@given(said=said, param=st.none() | said)
def test_any_words(wire: str, said: str, param: str | None) -> None:
    told({"message": said, "param": param}, wire)


@given(value=json_values)
def test_any_body(value: Any) -> None:
    told(value, "chat")


@pytest.mark.parametrize(
    "said",
    [
        *("9" * 60_000, "effort " * 9_000, "context length is 5 tokens " * 3_000, "messages[1]" * 6_000),
        *("'" * 60_000, "max_tokens" * 6_000, "supported values " * 4_000, "unsupported parameter: " * 3_000),
        *(
            "prompt is too long " + "1" * 60_000,
            "messages[" + "1" * 60_000 + "]: text content blocks must be non-empty",
        ),
    ],
)
@pytest.mark.parametrize("wire", WIRES)
def test_many_words(wire: str, said: str) -> None:
    told({"message": said, "param": said}, wire)
