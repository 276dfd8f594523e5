"""Guards the model's service, and the bill, against clients who went away: whatever stage the answer has reached, its
connection is closed at once, what was used is counted, and no place stays taken."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from threading import Event

import pytest

from dragoman.client import Exchanged
from dragoman.errors import Cancelled
from dragoman.gateway.serving import Bounds
from dragoman.testing import FakeProvider
from dragoman.types import Reply
from dragoman.types.content import Text
from dragoman.types.events import BlockStart, Delta, Start, StreamEvent
from dragoman.types.request import Request
from gate import PATHS, Gate, body_of
from hazards.cases import chat
from origin import Answer, Origin

WIRES = ("chat", "messages", "responses")
SOON = 2.0
PHASES = {
    "before the head": ("silence", True),
    "before the first word": ("silence-at-start", True),
    "in mid-stream": ("silence-in-stream", True),
    "while a whole reply is made": ("silence", False),
}


def until(true: Callable[[], bool]) -> bool:
    """Whether it becomes so in time."""
    end = time.monotonic() + SOON
    while not true() and time.monotonic() < end:
        Event().wait(0.005)
    return true()


@pytest.mark.case("GWY-023")
@pytest.mark.parametrize("phase", PHASES)
@pytest.mark.parametrize("wire", WIRES)
def test_the_service_is_let_go_when_the_client_leaves(wire: str, phase: str) -> None:
    quirk, stream = PHASES[phase]
    told: list[Exchanged] = []
    with FakeProvider("messages", quirks=[quirk]) as fake, Gate(fake.spec, observers=[told.append]) as gate:
        line = gate.knock(PATHS[wire], body_of(wire, stream=stream))
        if phase == "in mid-stream":
            heard = b""
            while b'"He"' not in heard:
                heard += line.recv(65536)
        assert until(lambda: len(fake.seen) == 1)
        line.close()
        assert fake.left.wait(SOON)
        assert until(lambda: len(told) == 1 and gate.app.active == 0)
    assert [type(each.error) for each in told] == [Cancelled]
    assert len(fake.seen) == 1  # nothing was tried for someone who is gone
    kept = told[0].reply  # what had come until then, and its usage as far as it was told
    assert (kept is not None and kept.usage is not None and kept.message.text == "He") == (phase == "in mid-stream")


@pytest.mark.case("GWY-024")
def test_whoever_left_takes_no_place_and_too_many_are_told_to_come_back() -> None:
    with FakeProvider(quirks=["silence:2"]) as fake, Gate(fake.spec, bounds=Bounds(active=2)) as gate:
        lines = [gate.knock(PATHS["chat"], body_of("chat", stream=True)) for _ in range(2)]
        assert until(lambda: len(fake.seen) == 2)
        full = gate.say("messages")
        assert (full.status, full.headers["retry-after"], full.json["error"]["type"]) == (503, "1", "overloaded_error")
        for line in lines:
            line.close()
        assert until(lambda: gate.app.active == 0)
        assert [gate.say("chat").status for _ in range(3)] == [200, 200, 200]


LETTERS = 50_000


class Endless:
    """A model in this process that talks until it is stopped."""

    def __init__(self) -> None:
        self.said = 0
        self.stopped = Event()

    def stream(self, request: Request) -> Iterator[StreamEvent]:
        try:
            yield Start()
            yield BlockStart(index=0, block=Text(text=""))
            while True:
                self.said += 1
                yield Delta(index=0, text="word " * 10_000)
        finally:
            self.stopped.set()


MOST = 32 * 1024 * 1024  # bytes: the buffers of the sockets on the way, and little more


def stalls(gate: Gate, count: Callable[[], int]) -> int:
    """The count at which it stays though the server goes on answering others."""
    said = -1
    while said != count() <= MOST:
        said = count()
        for _ in range(25):
            gate.ask("/health")
    return count()


@pytest.mark.case("GWY-023")
@pytest.mark.parametrize("wire", WIRES)
def test_a_slow_reader_holds_the_model_back_and_one_who_leaves_stops_it(wire: str) -> None:
    model = Endless()
    with Gate(model) as gate:
        line = gate.knock(PATHS[wire], body_of(wire, stream=True))
        assert line.recv(100)
        said = stalls(gate, lambda: model.said * LETTERS)
        assert LETTERS < said < MOST
        line.close()
        assert model.stopped.wait(SOON)


class Lingering(Endless):
    """One that takes long to stop, as a large model does in the middle of a prompt."""

    def __init__(self) -> None:
        super().__init__()
        self.stopping, self.may_stop = Event(), Event()

    def stream(self, request: Request) -> Iterator[StreamEvent]:
        try:
            yield from super().stream(request)
        finally:
            self.stopping.set()
            self.may_stop.wait(10 * SOON)


@pytest.mark.case("GWY-023")
@pytest.mark.parametrize("stream", [True, False])
@pytest.mark.parametrize("wire", WIRES)
def test_a_model_that_takes_long_to_stop_keeps_nobody_else_waiting(wire: str, stream: bool) -> None:
    model = Lingering()
    with Gate(model) as gate:
        line = gate.knock(PATHS[wire], body_of(wire, stream=stream))
        assert until(lambda: model.said > 1)
        line.close()
        assert model.stopping.wait(SOON)
        try:
            begun = time.monotonic()
            assert gate.ask("/health").status == 200
            assert time.monotonic() - begun < SOON
        finally:
            model.may_stop.set()
        assert until(lambda: gate.app.active == 0)


class Flood(list[bytes]):
    """An answer without an end; `sent` are the bytes of it that somebody took."""

    def __init__(self) -> None:
        super().__init__()
        self.sent = 0

    def __iter__(self) -> Iterator[bytes]:
        event = chat({"content": "word " * 2000}).partition(b"\n\n")[0] + b"\n\n"
        while True:
            yield event
            self.sent += len(event)


@pytest.mark.case("GWY-023")
@pytest.mark.parametrize("passthrough", [True, False])
@pytest.mark.parametrize("wire", WIRES)
def test_a_slow_reader_holds_the_service_back(wire: str, passthrough: bool) -> None:
    flood = Flood()
    answer = Answer(200, {"content-type": "text/event-stream"}, flood)
    with Origin(answer) as origin, Gate(f"{origin.url}/v1#chat:m", passthrough=passthrough) as gate:
        line = gate.knock(PATHS[wire], body_of(wire, stream=True))
        assert line.recv(100)
        said = stalls(gate, lambda: flood.sent)
        assert LETTERS < said < MOST
        line.close()
        assert until(lambda: gate.app.active == 0)


def test_the_reply_type_is_what_observers_see() -> None:
    told: list[Exchanged] = []
    with FakeProvider() as fake, Gate(fake.spec, observers=[told.append]) as gate:
        gate.say("messages", stream=True)
    (seen,) = told
    assert (seen.error, isinstance(seen.reply, Reply)) == (None, True)
    assert seen.reply is not None
    assert seen.reply.usage is not None
    assert (seen.reply.usage.input, seen.reply.message.text) == (20, "Hello.")
