"""Law L5: collect(decoder(encoder(explode(reply)))) == reply, and collect(explode(reply)) is the reply itself."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dragoman.types import Origin, Reply, collect, explode
from laws.bodies import LANDED
from laws.both_ways import collected, decode_stream, encode_stream, losses
from meaning import differences, silent
from says import ANYTHING, SAYS
from strategies import replies

each_wire = pytest.mark.parametrize("wire", LANDED)


@given(replies(replace(ANYTHING, others=False), Origin(wire="chat", provider="somebody", model="some-model")))
def test_events_add_up_to_the_reply_they_came_from(reply: Reply) -> None:
    assert collect(explode(reply)) == reply


@each_wire
@given(data=st.data())
def test_a_reply_that_the_wire_can_say_comes_back_from_its_stream(wire: str, data: st.DataObject) -> None:
    reply = data.draw(replies(replace(SAYS[wire], others=False)))
    written, notes = encode_stream(wire, reply)
    assert differences(collected(decode_stream(wire, [written])), reply) == []
    assert losses(notes) == []


@each_wire
@given(data=st.data())
def test_whatever_of_any_reply_does_not_come_back_is_noted(wire: str, data: st.DataObject) -> None:
    reply = data.draw(replies(replace(ANYTHING, others=False)))
    written, notes = encode_stream(wire, reply)
    back = collected(decode_stream(wire, [written]))
    assert silent(reply, back, notes) == []
