"""Guards reasoning state in streams: the client sees thinking live, and what it sends back is restored as of a whole reply."""

from __future__ import annotations

from dataclasses import replace
from itertools import permutations
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from carrying import KEY, carrier, echoed, hidden, only_ids, owed, restored
from dragoman.carriers import Carrier, CarryStream, MemoryStore, carry_reply
from dragoman.dialect.model import BASE
from dragoman.types import (
    BlockEnd,
    BlockStart,
    Collector,
    Delta,
    Finish,
    HostedCall,
    Message,
    Origin,
    Patch,
    Raw,
    Reasoning,
    Reply,
    Start,
    Stop,
    Text,
    ToolCall,
    collect,
    explode,
)
from dragoman.wire import WIRES, find
from dragoman.wire.base import Exchange, Notes
from laws.bodies import of
from laws.both_ways import decode_reply, decode_stream
from says import ANYTHING
from strategies import replies

PAIRS = list(permutations(WIRES, 2))
ORIGIN = Origin(wire="elsewhere", provider="p", model="m")


def through(events: Any, wire: str, by: Carrier) -> list[Any]:
    """Events as the encoder of a client of `wire` sees them."""
    carry = CarryStream(wire, by)
    return [told for event in events for told in carry.feed(event)]


def streamed(reply: Reply, wire: str, by: Carrier) -> Any:
    """The whole body that a client of `wire` makes of the stream it gets."""
    encoder = find(wire).stream_encoder(BASE, Exchange(seed="s", model="m", include_usage=True))
    written = b"".join(encoder.encode(event) for event in through(explode(reply), wire, by)) + encoder.close()
    collector = Collector()
    for event in decode_stream(wire, [written]):
        collector.feed(event)
    return collector.reply


@pytest.mark.parametrize("wire", WIRES)
@given(data=st.data())
def test_a_stream_carries_what_the_whole_reply_carries(wire: str, data: st.DataObject) -> None:
    reply = data.draw(replies(replace(ANYTHING, others=False), ORIGIN))
    one, other = (Carrier(key=KEY, store=MemoryStore()) for _ in range(2))
    whole = carry_reply(reply, wire, one, Notes())
    assert collect(through(explode(reply), wire, other)) == whole


@pytest.mark.parametrize(("provider", "client"), PAIRS)
def test_what_a_client_echoes_of_a_stream_comes_back_exactly(provider: str, client: str) -> None:
    reply, edge = decode_reply(provider, of(provider).REPLIES["rich"]).value, carrier()
    got = streamed(reply, client, edge)
    from json import loads

    body = loads(find(client).encode_reply(got, BASE, Exchange(seed="s")).body)
    for echo in (echoed, lambda wire, said: only_ids(echoed(wire, said)))[: 2 if client == "chat" else 1]:
        content, notes, _ = restored(client, echo(client, body), edge)
        assert hidden(content, client) == owed(reply, client)
        assert notes == []


@pytest.mark.parametrize("wire", WIRES)
def test_thinking_is_shown_while_it_comes(wire: str) -> None:
    carry = CarryStream(wire, carrier())
    carry.feed(Start(origin=ORIGIN))
    carry.feed(BlockStart(index=0, block=Reasoning(text="")))
    field = "summary" if wire == "responses" else "text"
    assert carry.feed(Delta(index=0, text="so")) == [Delta(index=0, field=field, text="so")]


def test_what_begins_inside_a_carried_block_waits_for_its_end() -> None:
    events = [
        Start(origin=ORIGIN),
        BlockStart(index=0, block=Reasoning(text="")),
        BlockStart(index=1, block=Text(text="")),
        Delta(index=1, text="An"),
        Delta(index=0, text="think"),
        Delta(index=1, text="swer"),
        Patch(index=0, opaque={"elsewhere": {"sig": "x"}}),
        BlockEnd(index=0),
        BlockEnd(index=1),
        Finish(stop=Stop(reason="end")),
    ]
    reply = collect(through(events, "messages", carrier()))
    assert [type(block) for block in reply.message.content] == [Reasoning, Text]
    assert reply.text == "Answer"
    assert getattr(reply.message.content[0], "text", None) == "think"


def test_a_cut_stream_gives_all_that_came() -> None:
    events = [
        Start(origin=ORIGIN),
        BlockStart(index=0, block=Reasoning(text="")),
        BlockStart(index=1, block=Text(text="a")),
        Finish(stop=Stop(reason="end")),
    ]
    assert [type(block) for block in collect(through(events, "responses", carrier())).message.content] == [
        Reasoning,
        Text,
    ]


def test_progress_of_a_carried_block_is_not_told() -> None:
    hosted = HostedCall(id="ws", name="web_search_call")
    events = [
        Start(origin=Origin(wire="responses")),
        BlockStart(index=0, block=hosted),
        Raw(wire="responses", name="response.web_search_call.searching", payload={}, index=0),
        BlockEnd(index=0, block=hosted),
        BlockStart(index=1, block=Text(text="")),
        Raw(wire="responses", name="response.other", payload={}, index=1),
        BlockEnd(index=1),
        Finish(stop=Stop(reason="end")),
    ]
    assert [event.index for event in through(events, "messages", carrier()) if isinstance(event, Raw)] == [1]


def test_what_travels_is_told_as_of_a_whole_reply() -> None:
    call = ToolCall(id="t", name="f", arguments="{}")
    message = Message(role="assistant", content=(Reasoning(text="a"), Reasoning(text="b"), call), origin=ORIGIN)
    reply, notes = Reply(message=message, stop=Stop(reason="tool_calls")), Notes()
    carry_reply(reply, "messages", carrier(), notes)
    carry = CarryStream("messages", carrier())
    for event in explode(reply):
        carry.feed(event)  # type: ignore[arg-type]
    assert carry.notes == notes.taken
    assert [note.path for note in notes.taken] == [("message", "content", 0), ("message", "content", 1)]


def test_a_stream_of_the_clients_own_wire_passes() -> None:
    reply = decode_reply("messages", of("messages").REPLIES["rich"]).value
    events = list(explode(reply))
    assert through(events, "messages", carrier()) == events
