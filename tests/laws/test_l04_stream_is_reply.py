"""Law L4: what a stream adds up to is what the whole reply says."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from laws.bodies import LANDED, of
from laws.both_ways import collected, decode_reply, decode_stream, encode_reply, encode_stream
from meaning import differences, unspaced
from says import SAYS
from strategies import replies

PAIRS = [(wire, name) for wire in LANDED for name in of(wire).PAIRS]


@pytest.mark.parametrize(("wire", "name"), PAIRS)
def test_a_pair_by_hand(wire: str, name: str) -> None:
    whole, stream = of(wire).PAIRS[name]
    streamed = collected(decode_stream(wire, [stream]))
    assert differences(unspaced(streamed), unspaced(decode_reply(wire, whole).value)) == []


@pytest.mark.parametrize("wire", LANDED)
@given(data=st.data())
def test_a_pair_that_we_wrote(wire: str, data: st.DataObject) -> None:
    reply = data.draw(replies(replace(SAYS[wire], others=False)))
    stream, _ = encode_stream(wire, reply)
    whole = encode_reply(wire, reply).body
    streamed = collected(decode_stream(wire, [stream]))
    assert differences(unspaced(streamed), unspaced(decode_reply(wire, whole).value)) == []
