"""Guards check and repair against long histories made to be slow: twice the messages cost twice the work, by counting."""

from __future__ import annotations

import sys
from types import FrameType
from typing import Any

import pytest

from dragoman.dialect.model import BASE, override
from dragoman.history import check, repair
from dragoman.types import Message, Request, Text, ToolCall, ToolResult, assistant, system, tool, user

STRICT = override(BASE, {"alternate_roles": True, "prefill": "marked"})


def lost(count: int) -> list[Message]:
    """Results of one id, answering nothing, between users."""
    return [
        message
        for _ in range(count)
        for message in (tool(ToolResult(call_id="c", content=(Text(text="x"),))), user("y"))
    ]


def doubled(count: int) -> list[Message]:
    """One turn of calls of one id, and results that name none."""
    bare = [ToolResult(call_id="", content=(Text(text="x"),)) for _ in range(count)]
    return [user("x"), assistant(*(ToolCall.of("c", "f", {}) for _ in range(count))), tool(*bare)]


def parted(count: int) -> list[Message]:
    """Users parted by instructions, and users that say nothing."""
    return [message for _ in range(count) for message in (user("x"), system("S"), user(" "))]


def count_of(request: Request, wire: str) -> int:
    """How many functions, ours and Python's, one check and one repair call."""
    calls = 0

    def counted(frame: FrameType, event: str, argument: Any) -> None:
        nonlocal calls
        calls += event in ("call", "c_call")

    before = sys.getprofile()
    sys.setprofile(counted)
    try:
        check(request, wire, STRICT)
        repair(request, wire, STRICT)
    finally:
        sys.setprofile(before)
    return calls


@pytest.mark.parametrize("wire", ["chat", "messages"])
@pytest.mark.parametrize("made", [lost, doubled, parted])
def test_twice_the_messages_are_twice_the_work(made: Any, wire: str) -> None:
    once, twice = (count_of(Request(messages=tuple(made(count))), wire) for count in (200, 400))
    assert twice < 2.2 * once


def test_three_thousand_messages_are_no_matter() -> None:
    for made in (lost, doubled, parted):
        request = Request(messages=tuple(made(3_000)))
        repaired = repair(request, "messages", STRICT).request
        assert not [finding for finding in check(repaired, "messages", STRICT) if finding.fixable]
