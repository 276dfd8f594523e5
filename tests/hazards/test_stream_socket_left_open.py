"""Guards against services that say the end and never hang up: the reply is there at once, the connection let go."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import pytest

from awaited import TRANSPORTS, made
from dragoman.catalog.target import Target
from dragoman.client import Model
from dragoman.dialect.model import BASE
from dragoman.transport.base import Limits
from dragoman.types import Finish, StreamEvent, Text
from hazards.cases import WIRES, said
from origin import HOLD, Answer, Origin

SSE = {"content-type": "text/event-stream"}
LONG = Limits(idle=60)  # a reader that waited for the end of the bytes would run into the time limit of the test
LEFT = 20.0


def spec(origin: Origin, wire: str) -> Target:
    """The same name for all, so that what they say can be compared."""
    return Target(provider="p", label="P", wire=wire, model="m", base_url=f"{origin.url}/v1", dialect=BASE)


def told(wire: str, body: list[bytes], limits: Limits) -> tuple[list[StreamEvent], bool]:
    """The events that sync and async callers get alike, and whether the service saw them go."""

    def read(transport: str) -> tuple[list[StreamEvent], bool]:
        answer = Answer(headers=SSE, body=[*body, HOLD])
        with Origin(answer) as origin, made(spec(origin, wire), env={}, limits=limits, transport=transport) as model:
            return list(model.stream("hi")), origin.left.wait(LEFT)

    with ThreadPoolExecutor() as pool:  # each waits whether the service hangs up after all
        first, *others = pool.map(read, TRANSPORTS)
    assert others == [first] * len(others)
    return first


@pytest.mark.case("STR-029")
@pytest.mark.timeout(30)
@pytest.mark.parametrize("size", [1 << 20, 100], ids=["one-read", "many-reads"])
@pytest.mark.parametrize("wire", WIRES)
def test_the_end_that_was_said_is_the_end(wire: str, size: int) -> None:
    stream = b"".join(said(wire, Text(text="ok")))
    events, left = told(wire, [stream[at : at + size] for at in range(0, len(stream), size)], LONG)
    last = events[-1]
    assert isinstance(last, Finish) and last.reply is not None
    assert (last.reply.text, last.stop.reason, left) == ("ok", "end", True)


@pytest.mark.case("STR-029")
@pytest.mark.timeout(30)
@pytest.mark.parametrize("wire", WIRES)
def test_a_whole_answer_is_had_without_a_stream_too(wire: str) -> None:
    answer = Answer(headers=SSE, body=[*said(wire, Text(text="ok")), HOLD])
    with Origin(answer) as origin, Model(spec(origin, wire), env={}, limits=LONG) as model:
        assert model.chat("hi").text == "ok"
        assert origin.left.wait(LEFT)


@pytest.mark.case("STR-028")
@pytest.mark.case("STR-029")
def test_where_the_last_marker_never_comes_silence_after_a_finish_reason_is_the_end() -> None:
    body = said("chat", Text(text="ok"))[:-1]
    events, left = told("chat", body, Limits(idle=0.05))
    last = events[-1]
    assert isinstance(last, Finish) and last.reply is not None
    assert (last.reply.text, last.stop.reason, left) == ("ok", "end", True)
