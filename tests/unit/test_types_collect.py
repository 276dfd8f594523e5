"""Guards the gathering of events: linear work, the final block wins, a stream without its end is no success."""

from __future__ import annotations

import sys
from typing import Any

import pytest

from dragoman.types import (
    BlockEnd,
    BlockStart,
    Collector,
    Delta,
    Failure,
    Finish,
    KeepAlive,
    Media,
    Message,
    Origin,
    Patch,
    Raw,
    Reasoning,
    Refusal,
    Reply,
    Start,
    Stop,
    Text,
    ToolCall,
    Usage,
    UsageUpdate,
    collect,
    explode,
)
from dragoman.types.collect import MESSAGE_BAG, merge_usage

END = Finish(stop=Stop(reason="end"))


def test_blocks_may_interleave_and_are_told_in_the_order_of_their_indexes() -> None:
    events = [
        Start(id="r", model="m", created=1, origin=Origin(wire="chat")),
        BlockStart(index=1, block=ToolCall(id="t", name="f", arguments="")),
        BlockStart(index=0, block=Text(text="a")),
        Delta(index=1, field="arguments", text='{"x"'),
        Delta(index=0, text="b"),
        KeepAlive(),
        Raw(wire="chat", name="?", payload={}),
        Delta(index=1, field="arguments", text=":1}"),
        BlockEnd(index=0),
        BlockEnd(index=1),
        END,
    ]
    content = (Text(text="ab"), ToolCall(id="t", name="f", arguments='{"x":1}'))
    message = Message(role="assistant", content=content, origin=Origin(wire="chat"))
    assert collect(events) == Reply(message=message, stop=Stop(reason="end"), id="r", model="m", created=1)


def test_summaries_are_gathered_by_their_parts() -> None:
    pieces = ((0, "a"), (1, "b"), (0, "c"), (3, "d"))
    events = [BlockStart(index=0, block=Reasoning(summary=()))]
    events += [Delta(index=0, field="summary", text=text, part=part) for part, text in pieces]  # type: ignore[misc]
    assert collect([*events, END]).message.content == (Reasoning(summary=("ac", "b", "", "d")),)


def test_a_final_block_wins_over_its_patches_and_keeps_its_pieces() -> None:
    final = Reasoning(text="said otherwise", opaque={"x": {"signature": "final"}})
    events = [
        BlockStart(index=0, block=Reasoning(text="")),
        Delta(index=0, text="as it came"),
        Patch(index=0, opaque={"x": {"signature": "patched"}}),
        BlockEnd(index=0, block=final),
        END,
    ]
    assert collect(events).message.content == (Reasoning(text="as it came", opaque={"x": {"signature": "final"}}),)


def test_patches_add_up() -> None:
    events = [
        BlockStart(index=0, block=Text(text="a", citations=({"n": 1},), opaque={"x": {"a": 1}})),
        Patch(index=0, citation={"n": 2}),
        Patch(index=0, opaque={"x": {"b": 2}, "y": {"c": 3}}),
        BlockEnd(index=0),
        END,
    ]
    wanted = Text(text="a", citations=({"n": 1}, {"n": 2}), opaque={"x": {"a": 1, "b": 2}, "y": {"c": 3}})
    assert collect(events).message.content == (wanted,)


def test_a_delta_without_a_start_is_text() -> None:
    assert collect([Delta(index=0, text="lost start"), END]).text == "lost start"


@pytest.mark.parametrize(
    ("events", "stop"),
    [
        ([], Stop(reason="cancelled")),
        ([Start()], Stop(reason="cancelled")),
        ([Failure(code="incomplete", message="cut")], Stop(reason="error", raw="incomplete", detail="cut")),
    ],
)
def test_no_end_no_success(events: list[Any], stop: Stop) -> None:
    assert collect(events).stop == stop


def test_usage_said_again_replaces_key_by_key() -> None:
    events = [
        Start(usage=Usage(input=5, output=1, opaque={"w": {"a": 1}})),
        UsageUpdate(usage=Usage(output=2, opaque={"w": {"b": 2}})),
        Finish(stop=Stop(reason="end"), usage=Usage(output=3, reasoning=1)),
    ]
    assert collect(events).usage == Usage(input=5, output=3, reasoning=1, opaque={"w": {"a": 1, "b": 2}})
    assert merge_usage(None, None) is None


def test_the_envelopes_leftovers_and_the_messages_are_told_apart() -> None:
    start = Start(opaque={"w": {"a": 1, MESSAGE_BAG: {"m": 1}}})
    finish = Finish(stop=Stop(reason="end"), opaque={"w": {"b": 2, MESSAGE_BAG: {"n": 2}}})
    reply = collect([start, finish])
    assert reply.opaque == {"w": {"a": 1, "b": 2}}
    assert reply.message.opaque == {"w": {"m": 1, "n": 2}}
    assert collect(explode(reply)) == reply


def test_the_reply_can_be_read_at_any_time() -> None:
    collector = Collector()
    seen: list[str] = []
    for event in (BlockStart(index=0, block=Text(text="")), Delta(index=0, text="a"), Delta(index=0, text="b"), END):
        collector.feed(event)
        seen.append(collector.reply.text)
    assert seen == ["", "a", "ab", "ab"]


def test_every_kind_of_block_comes_back_from_its_events() -> None:
    content = (
        Reasoning(text="t", summary=("a", ""), opaque={"w": {"signature": "s"}}),
        Reasoning(redacted=True),
        Text(text="", citations=({"c": 1},)),
        Refusal(text="no"),
        Media(kind="audio", data="UklG", transcript="hi"),
        ToolCall(id="t", name="f", arguments="{"),
    )
    reply = Reply(message=Message(role="assistant", content=content), stop=Stop(reason="tool_calls"))
    assert collect(explode(reply)) == reply


def calls(count: int) -> int:
    """How many functions, ours and the interpreter's, a stream of `count` pieces takes to gather and read once."""
    collector, made = Collector(), 0

    def count_call(frame: Any, event: str, argument: Any) -> None:
        nonlocal made
        made += event in ("call", "c_call")

    events = [BlockStart(index=0, block=ToolCall(id="t", name="f", arguments=""))]
    events += [Delta(index=0, field="arguments", text="abcd") for _ in range(count)]  # type: ignore[misc]
    sys.setprofile(count_call)
    try:
        for event in events:
            collector.feed(event)
        length = len(collector.reply.message.content[0].arguments)  # type: ignore[union-attr]
    finally:
        sys.setprofile(None)
    assert length == 4 * count
    return made


def test_the_work_grows_with_the_stream_and_no_faster() -> None:
    small, large = calls(500), calls(5000)
    assert large <= 10.5 * small


class Joined(str):
    """A piece that counts how often it is taken up."""

    taken = 0

    def __add__(self, other: str) -> str:
        Joined.taken += 1
        return str(self) + other

    __radd__ = __add__


def test_no_piece_is_added_to_another() -> None:
    collector = Collector()
    collector.feed(BlockStart(index=0, block=Text(text="")))
    for _ in range(100):
        collector.feed(Delta(index=0, text=Joined("x")))
    assert len(collector.reply.text) == 100
    assert Joined.taken == 0
