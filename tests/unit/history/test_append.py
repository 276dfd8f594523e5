"""Guards the end of a stored conversation: appending a second message of one role joins or fills (S4-20, C-05)."""

from __future__ import annotations

import pytest

from dragoman.history import append
from dragoman.types import Message, Origin, Text, ToolResult, assistant, system, tool, user

pytestmark = pytest.mark.req("S4-20")


def test_a_second_message_of_one_role_joins_the_first() -> None:
    assert append((user("a"),), user("b")) == (user("a", "b"),)
    assert append((user("a"), assistant("c")), assistant("d")) == (user("a"), assistant("c", "d"))


def test_the_placeholder_stands_between_what_cannot_be_one_message() -> None:
    ann, ben = (Message(role="user", content=(Text(text="hi"),), name=name) for name in ("ann", "ben"))
    assert append((ann,), ben) == (ann, assistant("(nothing said)"), ben)
    one, other = (Message(role="assistant", content=(), origin=Origin(wire="chat", model=name)) for name in "ab")
    assert append((one,), other, placeholder="…") == (one, user("…"), other)


@pytest.mark.parametrize("message", [assistant("b"), tool(ToolResult(call_id="c", content=())), system("S")])
def test_another_role_is_appended_as_it_is(message: Message) -> None:
    assert append((user("a"),), message) == (user("a"), message)
    assert append((), message) == (message,)
    if message.role not in ("user", "assistant"):
        assert append((message,), message) == (message, message)
