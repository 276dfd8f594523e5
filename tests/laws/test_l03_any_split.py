"""Law L3: wherever the network cuts a stream, and whatever ends its lines, the events are the same."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from laws.bodies import LANDED, of
from laws.both_ways import decode_stream, encode_stream
from says import SAYS
from strategies import pieces, replies

STREAMS = [(wire, name) for wire in LANDED for name in of(wire).STREAMS]
each_stream = pytest.mark.parametrize(("wire", "name"), STREAMS)


@pytest.mark.parametrize("wire", LANDED)
@given(data=st.data())
def test_a_stream_that_we_wrote(wire: str, data: st.DataObject) -> None:
    whole, _ = encode_stream(wire, data.draw(replies(SAYS[wire])))
    assert decode_stream(wire, data.draw(pieces(whole))) == decode_stream(wire, [whole])


@each_stream
@given(data=st.data())
def test_a_stream_by_hand(wire: str, name: str, data: st.DataObject) -> None:
    whole = of(wire).STREAMS[name]
    assert decode_stream(wire, data.draw(pieces(whole))) == decode_stream(wire, [whole])


@pytest.mark.req("I-01")
@each_stream
@pytest.mark.parametrize("end", [b"\n", b"\r\n", b"\r"], ids=["LF", "CRLF", "CR"])
def test_one_byte_at_a_time_with_any_line_end(wire: str, name: str, end: bytes) -> None:
    plain = of(wire).STREAMS[name].replace(b"\r\n", b"\n")
    framed = plain.replace(b"\n", end)
    assert decode_stream(wire, [framed[at : at + 1] for at in range(len(framed))]) == decode_stream(wire, [plain])
