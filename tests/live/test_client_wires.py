"""Guards that callers see one thing whatever the wire: the same events, the same reply, whole or streamed, sync or async."""

from __future__ import annotations

import asyncio
from typing import Any

import msgspec
import pytest

from dragoman.client import AsyncModel, Model
from dragoman.dialect.model import BASE
from dragoman.testing.clock import FakeClock
from dragoman.testing.fake import FakeProvider
from dragoman.testing.script import Line
from dragoman.types import (
    BlockEnd,
    BlockStart,
    Delta,
    Finish,
    Message,
    Reasoning,
    Reply,
    Stop,
    StreamEvent,
    Text,
    Timing,
    Tool,
    ToolCall,
    Usage,
)
from dragoman.wire import find
from dragoman.wire.base import Exchange

WIRES = ("chat", "responses", "messages")
LOOK = Tool(name="look", parameters={"type": "object", "properties": {"at": {"type": "string"}}})
USAGE = {"input": 929, "output": 60, "cache_read": 890}
SCRIPT: Line = {
    "thinking": "Where is it?",
    "text": "我来看看。",
    "calls": [{"name": "look", "arguments": {"at": "说明.md"}}, {"name": "look", "arguments": {"at": "b"}}],
    "usage": USAGE,
}


def said(reply: Reply) -> Reply:
    """What was said, without who said it, under which id, and what only one wire knows."""
    blocks: list[Any] = []
    for block in reply.message.content:
        match block:
            case Text():
                blocks.append(Text(text=block.text))
            case Reasoning():
                blocks.append(Reasoning(text=block.text or "".join(block.summary or ())))
            case ToolCall():
                blocks.append(ToolCall.of("", block.name, msgspec.json.decode(block.arguments)))
            case _:
                blocks.append(block)
    usage = reply.usage and Usage(input=reply.usage.input, output=reply.usage.output, cache_read=reply.usage.cache_read)
    message = Message(role=reply.message.role, content=tuple(blocks))
    return Reply(message=message, stop=Stop(reason=reply.stop.reason), usage=usage)


def shown(events: list[StreamEvent]) -> list[tuple[Any, ...]]:
    """The story that events tell, block by block: how each opens, what it says, that it closes. Chat says only at the end
    that a call is over, since it has no word for it: blocks may lie within one another."""
    story: list[tuple[Any, ...]] = []
    said_at: dict[int, int] = {}
    for event in events:
        match event:
            case BlockStart():
                story.append(("opens", event.index, type(event.block).__name__, getattr(event.block, "name", None)))
            case Delta() if event.index in said_at:
                at = said_at[event.index]
                story[at] = ("says", event.index, story[at][2] + event.text)
            case Delta():
                said_at[event.index] = len(story)
                story.append(("says", event.index, event.text))
            case BlockEnd():
                story.append(("closes", event.index))
            case Finish():
                story.append(("ends", event.stop.reason))
            case _:
                pass
    return sorted(story, key=lambda each: each[1] if len(each) > 2 or each[0] == "closes" else 99)


STORY = [
    ("opens", 0, "Reasoning", None),
    ("says", 0, "Where is it?"),
    ("closes", 0),
    ("opens", 1, "Text", None),
    ("says", 1, "我来看看。"),
    ("closes", 1),
    ("opens", 2, "ToolCall", "look"),
    ("says", 2, '{"at":"说明.md"}'),
    ("closes", 2),
    ("opens", 3, "ToolCall", "look"),
    ("says", 3, '{"at":"b"}'),
    ("closes", 3),
    ("ends", "tool_calls"),
]
REPLY = Reply(
    message=Message(
        role="assistant",
        content=(
            Reasoning(text="Where is it?"),
            Text(text="我来看看。"),
            ToolCall(id="", name="look", arguments='{"at":"说明.md"}'),
            ToolCall(id="", name="look", arguments='{"at":"b"}'),
        ),
    ),
    stop=Stop(reason="tool_calls"),
    usage=Usage(**USAGE),
)


@pytest.mark.req("S3-38", "S4-01")
@pytest.mark.parametrize("wire", WIRES)
def test_the_same_events_and_the_same_reply_on_every_wire(wire: str) -> None:
    async def awaited() -> tuple[list[StreamEvent], Reply]:
        made = AsyncModel(fake.spec, env={}, clock=FakeClock())
        async with made as model, model.stream("Look.", tools=[LOOK]) as stream:
            return [event async for event in stream], await model.chat("Look.", tools=[LOOK])

    with FakeProvider(wire, script=[SCRIPT]) as fake, Model(fake.spec, env={}, clock=FakeClock()) as model:
        events = list(model.stream("Look.", tools=[LOOK]))
        whole = model.chat("Look.", tools=[LOOK])
        later, other = asyncio.run(awaited())
    last = events[-1]
    assert isinstance(last, Finish)
    assert last.reply is not None
    assert shown(events) == shown(later) == STORY
    assert said(last.reply) == said(whole) == said(other) == REPLY
    assert last.reply.timing == whole.timing == Timing(first_event=0.0, first_text=0.0, first_call=0.0, total=0.0)


@pytest.mark.req("S3-51")
@pytest.mark.parametrize("wire", WIRES)
def test_how_a_wire_streams_and_caches_is_its_own_modules_affair(wire: str) -> None:
    codec = find(wire)
    for made in (codec.stream_decoder(BASE, Exchange()), codec.stream_encoder(BASE, Exchange())):
        assert type(made).__module__.startswith(f"dragoman.wire.{wire}.")
