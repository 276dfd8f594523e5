"""Guards answers that end in the very moment in which signs of life begin: in whatever order the two go on, a client gets a whole
refusal or a stream with its end, and never a head alone, two heads, or a word behind the end."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncGenerator, Iterator, Sequence
from itertools import product
from typing import Any, NamedTuple

import pytest

from dragoman.errors import TransportError
from dragoman.gateway.alarm import Alarm
from dragoman.gateway.answer import Answer
from dragoman.gateway.asking import Asked
from dragoman.gateway.behind import Behind
from dragoman.gateway.doors import DOORS
from dragoman.gateway.serving import Bounds, Message, Reply, Serving
from dragoman.gateway.tap import Tap
from dragoman.types.content import Text
from dragoman.types.events import BlockEnd, BlockStart, Delta, Failure, Finish, Start, StreamEvent
from dragoman.types.reply import Stop
from dragoman.wire import find
from dragoman.wire.base import Exchange
from gate import PATHS

WIRES = ("chat", "messages", "responses")
PATIENCE = 10.0
NEVER = 1e6
TURNS = 60  # of the event loop, after which all that can happen has happened


class Loop(asyncio.SelectorEventLoop):
    """An event loop whose clock stands still until somebody moves it."""

    now = 0.0

    def time(self) -> float:
        return self.now


class Giving(asyncio.Lock):
    """A lock that lets others go on before it is taken, as any lock may: what was seen before may be so no more."""

    async def acquire(self) -> Any:
        await asyncio.sleep(0)
        return await super().acquire()


class Line:
    """A client who takes each message when he is told to; what he did not take was not sent."""

    def __init__(self) -> None:
        self.taken: list[Message] = []
        self._waiting = deque[asyncio.Future[None]]()

    async def send(self, message: Message) -> None:
        room = asyncio.get_running_loop().create_future()
        self._waiting.append(room)
        await room
        self.taken.append(message)

    def take(self) -> None:
        if self._waiting and not (room := self._waiting.popleft()).done():
            room.set_result(None)

    async def receive(self) -> Message:
        return await asyncio.get_running_loop().create_future()


class Scripted:
    """A model and its answer: what comes before it says a word, and once it may go on its end."""

    target = None
    notes = ()
    reply = None

    def __init__(self, before: Sequence[StreamEvent], end: Sequence[StreamEvent] | Exception) -> None:
        self._before, self._end = before, end
        self.may_end = asyncio.Event()

    def forward(self, _: Any) -> Scripted:
        return self

    async def batches(self) -> AsyncGenerator[list[StreamEvent], None]:
        if self._before:
            yield [*self._before]
        await self.may_end.wait()
        if isinstance(self._end, Exception):
            raise self._end
        yield [*self._end]

    async def close(self) -> None:
        """Nothing is open."""


BEGUN = (Start(model="m"), BlockStart(index=0, block=Text(text="")))
SAID = (Delta(index=0, text="hello"), BlockEnd(index=0), Finish(stop=Stop(reason="end")))
BROKEN = TransportError("network", "the line")
ENDS: dict[str, tuple[Sequence[StreamEvent], Sequence[StreamEvent] | Exception]] = {
    "an error before all": ((), BROKEN),
    "an error": (BEGUN, BROKEN),
    "a failure": (BEGUN, [Failure(code="network", message="the line")]),
    "a fault of ours": (BEGUN, KeyError("x")),
    "a word": (BEGUN, SAID),
}


class Order(NamedTuple):
    """What comes first, the time of the first sign of life or the end of the answer; how many turns of the loop lie
    between them, and how many between what the client takes."""

    first: str
    between: int
    slow: int


ORDERS = [Order(*each) for each in product(("time", "end"), range(5), range(4))]


async def answered(wire: str, end: str, order: Order, alive: float, *, passes: bool) -> list[Message]:
    loop: Any = asyncio.get_running_loop()
    model: Any = Scripted(*ENDS[end])
    line, tap = Line(), Tap(find(wire)) if passes else None
    if tap is not None:
        tap.pieces, tap.cut = [], True
    answer = Answer(find(wire), Exchange(stream=True, seed="s"), None, tap)
    asked = Asked(model, Any, answer, True)  # type: ignore[arg-type]
    bounds = Bounds(patience=PATIENCE, alive=alive)
    serving = Serving(asked, DOORS[PATHS[wire]], Reply(line.send), bounds, Behind(Alarm(), None))
    running = asyncio.create_task(serving.run(line.receive))
    await turns(3)
    for at, each in enumerate(("time", "end") if order.first == "time" else ("end", "time")):
        await turns(order.between if at else 0)
        if each == "end":
            model.may_end.set()
        else:
            loop.now += PATIENCE
    for _ in range(TURNS):
        await turns(order.slow)
        line.take()
        await turns(1)
    assert running.done()
    assert isinstance(running.exception(), KeyError if end == "a fault of ours" else type(None))
    return line.taken


async def turns(count: int) -> None:
    for _ in range(count):
        await asyncio.sleep(0)


def outcomes(wire: str, end: str, alive: float, *, passes: bool) -> Iterator[tuple[str, bytes]]:
    """How the answer came out in each order: what it is, and its body."""
    for order in ORDERS:
        with asyncio.Runner(loop_factory=Loop) as runner:
            sent = runner.run(answered(wire, end, order, alive, passes=passes))
        kinds = [each["type"] for each in sent]
        assert kinds == ["http.response.start"] + ["http.response.body"] * (len(sent) - 1), order
        head, *rest = sent
        body = b"".join(each["body"] for each in rest)
        ends = [not each["more_body"] for each in rest]
        assert not any(ends[:-1]), order
        if head["status"] == 200:
            yield ("stream" if any(ends) else "cut"), body
        else:
            assert ends == [True], order
            assert (b"content-length", str(len(body)).encode()) in head["headers"]
            yield "refusal", body


@pytest.fixture(params=[asyncio.Lock, Giving])
def _lock(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(asyncio, "Lock", request.param)


@pytest.mark.usefixtures("_lock")
@pytest.mark.parametrize("alive", [NEVER, 0.0])
@pytest.mark.parametrize("end", [end for end in ENDS if end != "a word"])
@pytest.mark.parametrize("wire", WIRES)
def test_an_answer_that_fails_is_a_whole_refusal_or_a_stream_that_tells_it(wire: str, end: str, alive: float) -> None:
    came = [*outcomes(wire, end, alive, passes=False)]
    assert {kind for kind, _ in came} == {"refusal", "stream"}
    assert [body for _, body in came if b"error" not in body] == []


@pytest.mark.usefixtures("_lock")
@pytest.mark.parametrize("alive", [NEVER, 0.0])
@pytest.mark.parametrize("wire", WIRES)
def test_one_that_is_said_comes_whole(wire: str, alive: float) -> None:
    came = [*outcomes(wire, "a word", alive, passes=False)]
    assert {kind for kind, _ in came} == {"stream"}
    last = {"chat": b"[DONE]", "messages": b"message_stop", "responses": b"response.completed"}[wire]
    assert [body for _, body in came if b"hello" not in body or last not in body] == []


@pytest.mark.usefixtures("_lock")
@pytest.mark.parametrize("end", ["an error", "a failure"])
@pytest.mark.parametrize("wire", WIRES)
def test_where_bytes_pass_it_is_a_refusal_or_breaks_off_behind_its_head(wire: str, end: str) -> None:
    came = [*outcomes(wire, end, NEVER, passes=True)]
    assert {kind for kind, _ in came} == {"refusal", "cut"}
