"""Guards record and replay: exact bytes and times of both sides without keys, and the same answers again, offline (I-11)."""

from __future__ import annotations

import asyncio
import stat
from pathlib import Path
from typing import Any

import msgspec
import pytest

from dragoman.agent import Agent
from dragoman.client import AsyncModel, Model
from dragoman.errors import ApiError, Cancelled, TransportError, UsageError
from dragoman.testing import FakeClock, FakeProvider
from dragoman.tools import tool
from dragoman.transport.base import Limits
from dragoman.transport.cancel import CancelToken
from dragoman.transport.record import Recorder
from dragoman.transport.recording import End, Piece, Recorded, dump, parse, read
from dragoman.transport.replay import AsyncReplay, Replay
from dragoman.transport.stdlib import StdlibTransport
from dragoman.types import Delta, Failure, Finish, Reply
from dragoman.wire.base import Http

WIRES = ("chat", "messages", "responses")
KEY = "sk-planted-0123456789abcdef"
LAST = {"chat": b"[DONE]\n\n", "messages": b'{"type":"message_stop"}\n\n', "responses": b"}}\n\n"}
each_wire = pytest.mark.parametrize("wire", WIRES)


def env(fake: FakeProvider) -> dict[str, str]:
    return {"OPENAI_API_KEY": KEY, "OPENAI_BASE_URL": f"{fake.url}/v1"}


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


@tool
def add(x: int, y: int) -> int:
    """Add two numbers."""
    return x + y


@pytest.mark.req("I-11")
@each_wire
@pytest.mark.parametrize("stream", [False, True])
def test_what_was_recorded_is_answered_again(wire: str, stream: bool, tmp_path: Path) -> None:
    def ask(model: Model) -> tuple[Any, ...]:
        if not stream:
            return (model.chat("你好, wörld 🎈"),)
        return tuple(model.stream("你好, wörld 🎈"))

    def timeless(seen: tuple[Any, ...]) -> Any:
        whole = [getattr(each, "reply", each) for each in seen]
        return [msgspec.structs.replace(each, timing=None) if isinstance(each, Reply) else each for each in whole]

    with FakeProvider(wire) as fake, Model(fake.spec, env={}, record=tmp_path / "new" / "folder") as model:
        live = ask(model)
    with Model(fake.spec, env={}, transport=Replay(str(tmp_path / "new" / "folder"))) as model:  # nobody listens there
        again = ask(model)
    assert timeless(again) == timeless(live)
    assert (again[-1].reply if stream else again[-1]).text == "你好, wörld 🎈"


@pytest.mark.req("I-11")
@each_wire
def test_both_sides_byte_for_byte_with_their_times(wire: str, tmp_path: Path) -> None:
    clock = FakeClock(now=5.0, date=1_700_000_000.0)
    folder = tmp_path / "record"
    with FakeProvider(wire, script=[{"text": "Hi."}]) as fake:
        transport = Recorder(StdlibTransport(), folder, clock=clock)
        with Model(fake.spec, env={}, transport=transport, clock=clock) as model:
            for event in model.stream("Hello"):
                if isinstance(event, Delta):
                    clock.advance(0.25)
    (kept,) = read(folder)
    assert kept.asked == fake.seen[0].body
    assert (kept.request.path, kept.wire) == (fake.url + fake.seen[0].path, wire)
    assert (kept.number, kept.date, kept.status, kept.began) == (1, 1_700_000_000.0, 200, 0.0)
    assert dict(kept.headers)["content-type"].startswith("text/event-stream")
    assert (kept.body.endswith(LAST[wire]), kept.end.how) == (True, "drained")
    assert [piece.at for piece in kept.pieces] == sorted(piece.at for piece in kept.pieces)
    assert kept.end.at == pytest.approx(0.25 * 3)
    file = folder / "000001.jsonl"
    assert (mode(folder), mode(file), sorted(folder.iterdir())) == (0o700, 0o600, [file])
    assert parse(dump(kept), file) == kept


def test_each_try_is_an_exchange_and_is_replayed_as_one(tmp_path: Path) -> None:
    with (
        FakeProvider("chat", quirks=["error-503:2"]) as fake,
        Model(fake.spec, env={}, record=tmp_path, clock=FakeClock()) as model,
    ):
        assert model.outcome("Hello").requests == 3
    assert [(each.number, each.status, each.end.how) for each in read(tmp_path)] == [
        (1, 503, "done"),
        (2, 503, "done"),
        (3, 200, "done"),
    ]
    clock = FakeClock()
    with Model(fake.spec, env={}, transport=Replay(tmp_path), clock=clock) as model:
        outcome = model.outcome("Hello")
        assert (outcome.requests, outcome.reply.text, len(clock.waits)) == (3, "Hello", 2)
        with pytest.raises(UsageError, match="it was recorded 3 times and asked once more"):
            model.chat("Hello")
    with Model(fake.spec, env={}, transport=Replay(tmp_path, again=True), clock=clock) as model:
        assert [model.chat("Hello").text for _ in range(3)] == ["Hello"] * 3


@pytest.mark.parametrize("quirk", ["no-answer", "cut-in-stream", "silence", "silence-in-stream"])
def test_faults_are_replayed(quirk: str, tmp_path: Path) -> None:
    def ask(**how: Any) -> tuple[str, str, str]:
        with Model(fake.spec, env={}, retry=0, limits=Limits(idle=0.1), **how) as model:
            try:
                last = [*model.stream("Hello there")][-1]
            except TransportError as error:
                return "error", error.code, error.message
            assert isinstance(last, Failure)
            return "failure", last.code, last.message

    with FakeProvider("chat", quirks=[quirk]) as fake:
        live = ask(record=tmp_path)
    (kept,) = read(tmp_path)
    assert (kept.end.how, kept.began is None) == ("failed", quirk in ("no-answer", "silence"))
    assert ask(transport=Replay(tmp_path)) == live


def test_a_caller_who_leaves_leaves_a_whole_file(tmp_path: Path) -> None:
    token = CancelToken()
    with FakeProvider("chat", quirks=["silence-in-stream"]) as fake, Model(fake.spec, env={}, record=tmp_path) as model:
        for event in model.stream("Hello there", cancel=token):
            if isinstance(event, Delta):
                token.cancel()
        with model.stream("Hello there") as stream:
            next(stream)
    assert [(each.end.how, each.status) for each in read(tmp_path)] == [("left", 200)] * 2
    with Model(fake.spec, env={}, transport=Replay(tmp_path)) as model:
        stream = model.stream("Hello there")
        assert isinstance(next(stream), object)
        with pytest.raises(UsageError, match="exchange 000001 goes no further"):
            list(stream)


@each_wire
def test_async_is_the_same(wire: str, tmp_path: Path) -> None:
    async def ask(**how: Any) -> list[Any]:
        async with AsyncModel(fake.spec, env={}, retry=0, **how) as model:
            texts = [event.text async for event in model.stream("Hello there") if isinstance(event, Delta)]
            whole = await model.chat("Bye now")
            with pytest.raises(ApiError):
                await model.chat("More")
            return [*texts, whole.text]

    with FakeProvider(wire, script=["Hello there", "Bye now", {"quirks": ["error-503"]}]) as fake:
        live = asyncio.run(ask(record=tmp_path))
    assert [(each.status, each.end.how) for each in read(tmp_path)] == [(200, "drained"), (200, "done"), (503, "done")]
    assert asyncio.run(ask(transport=AsyncReplay(tmp_path))) == live
    with Model(fake.spec, env={}, transport=Replay(tmp_path)) as model:
        assert model.chat("Bye now").text == live[-1]


def test_an_async_caller_who_is_cancelled_leaves_a_whole_file(tmp_path: Path) -> None:
    async def go(spec: str) -> None:
        async with AsyncModel(spec, env={}, record=tmp_path) as model:
            stream = model.stream("Hello there")
            await anext(stream)
            task = asyncio.create_task(anext(stream))  # type: ignore[arg-type]
            await asyncio.sleep(0)
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                while True:
                    await task
                    task = asyncio.create_task(anext(stream))  # type: ignore[arg-type]
                    await asyncio.sleep(0)
                    task.cancel()

    with FakeProvider("chat", quirks=["silence-in-stream"]) as fake:
        asyncio.run(go(fake.spec))
    assert [each.end.how for each in read(tmp_path)] == ["left"]


@each_wire
def test_an_agent_runs_again_offline(wire: str, tmp_path: Path) -> None:
    script = [{"calls": [{"name": "add", "arguments": {"x": 2, "y": 3}}]}, "It is 5."]
    with FakeProvider(wire, script=script) as fake, Model(fake.spec, env={}, record=tmp_path) as model:
        live = Agent(model, [add]).run("2 + 3?")
    with Model(fake.spec, env={}, transport=Replay(tmp_path)) as model:
        again = Agent(model, [add]).run("2 + 3?")
        with pytest.raises(UsageError, match=r"the nearest is 00000[12], where .* differs") as caught:
            Agent(model, [add]).run("2 + 4?")
    assert (again.text, again.history) == (live.text, live.history)
    assert '"2 + 3?"' in caught.value.message and '"2 + 4?"' in caught.value.message


@pytest.mark.req("I-11")
def test_no_key_is_kept_wherever_it_stands(tmp_path: Path) -> None:
    with FakeProvider("chat", script=[f"your key is {KEY}", {"quirks": ["auth"]}, "Fine."]) as fake:
        with Model("openai/m", env=env(fake), record=tmp_path, retry=0) as model:
            assert KEY in model.chat(f"my key is {KEY}").text  # contents are the user's own
            with pytest.raises(ApiError):
                model.chat("x")
        at = f"{fake.url}/v1?api-key=planted%2Bquery-key&version=1#chat:m"
        with Model(at, env={}, record=tmp_path) as model:
            model.chat("planted+query-key")
    kept = b"".join(path.read_bytes() for path in tmp_path.iterdir())
    for planted in (KEY, "planted%2Bquery-key", "planted+query-key"):
        assert planted.encode() not in kept
    assert [name for name, _ in read(tmp_path)[0].request.headers] == ["content-type", "accept"]
    assert read(tmp_path)[2].request.path.endswith("/v1/chat/completions?api-key=***&version=1")
    with Model("openai/m", env={"OPENAI_API_KEY": "sk-another-0123456789abcdef"}, transport=Replay(tmp_path)) as model:
        assert model.chat("my key is sk-another-0123456789abcdef").text == "your key is ***"


def test_a_key_that_comes_in_two_pieces_is_taken_out_of_both(tmp_path: Path) -> None:
    with (
        FakeProvider("chat", quirks=["trickle"], script=[f"key {KEY} end"]) as fake,
        Model("openai/m", env=env(fake), record=tmp_path) as model,
    ):
        model.chat("x")
    (kept,) = read(tmp_path)
    assert len(kept.pieces) > 20 and b"key *** end" in kept.body


# Derived: made by hand from the three figures of S3-37 alone, for a turn with thinking on.
TIMES = {"first frame": 0.1259, "text": 6.631, "call": 6.798}


def thinking_turn() -> Recorded:
    def data(**delta: Any) -> bytes:
        chunk = {"id": "c", "choices": [{"index": 0, "delta": delta, "finish_reason": None}]}
        return b"data: " + msgspec.json.encode(chunk) + b"\n\n"

    call = {"index": 0, "id": "call_1", "type": "function", "function": {"name": "read", "arguments": "{}"}}
    end = b'data: {"id":"c","choices":[{"index":0,"delta":{},"finish_reason":"tool_calls"}]}\n\ndata: [DONE]\n\n'
    thoughts = [Piece(at=0.1259 + 0.25 * step, data=data(reasoning_content="hm ")) for step in range(1, 26)]
    pieces = (
        Piece(at=TIMES["first frame"], data=data(role="assistant", content=None)),
        *thoughts,
        Piece(at=TIMES["text"], data=data(content="I read it.")),
        Piece(at=TIMES["call"], data=data(tool_calls=[call]) + end),
    )
    request = Http(
        path="https://h/v1/chat/completions",
        body=b'{"model":"m","messages":[{"role":"user","content":"go"}],"stream":true,"stream_options":{"include_usage":true}}',
    )
    headers = (("content-type", "text/event-stream"),)
    return Recorded(
        number=1, date=0.0, request=request, end=End(at=6.798), status=200, headers=headers, began=0.12, pieces=pieces
    )


def milliseconds(reply: Any) -> list[float]:
    times = reply.timing
    return [round(at * 1000, 1) for at in (times.first_event, times.first_text, times.first_call, times.total)]


@pytest.mark.req("S3-37")
def test_replayed_times_give_the_figures() -> None:
    clock = FakeClock()
    replay = Replay([thinking_turn()], timing=True, clock=clock)
    with Model("http://127.0.0.1:1/v1#chat:m", env={}, transport=replay, clock=clock) as model:
        finish = [*model.stream("go")][-1]
    assert isinstance(finish, Finish)
    assert milliseconds(finish.reply) == [125.9, 6631.0, 6798.0, 6798.0]


@pytest.mark.req("S3-37")
def test_replayed_times_give_the_figures_async() -> None:
    async def go() -> Any:
        clock = FakeClock()
        replay = AsyncReplay([thinking_turn()], timing=True, clock=clock)
        async with AsyncModel("http://127.0.0.1:1/v1#chat:m", env={}, transport=replay, clock=clock) as model:
            return [event async for event in model.stream("go")][-1].reply

    assert milliseconds(asyncio.run(go())) == [125.9, 6631.0, 6798.0, 6798.0]


def test_a_replayed_silence_keeps_to_the_limits() -> None:
    clock = FakeClock()
    replay = Replay([thinking_turn()], timing=True, clock=clock)
    limits = Limits(idle=0.2)
    with Model("http://127.0.0.1:1/v1#chat:m", env={}, transport=replay, clock=clock, limits=limits, retry=0) as model:
        events = [*model.stream("go")]
    assert isinstance(events[-1], Failure) and events[-1].code == "timeout"
    assert clock.now() - 1000.0 == pytest.approx(0.1259 + 0.2)


def test_a_replayed_wait_can_be_cancelled() -> None:
    clock, token = FakeClock(held=True), CancelToken()
    replay = Replay([thinking_turn()], timing=True, clock=clock)
    token.cancel()
    with (
        Model("http://127.0.0.1:1/v1#chat:m", env={}, transport=replay, clock=clock) as model,
        pytest.raises(Cancelled),
    ):
        model.chat("go", cancel=token)


def test_two_processes_may_record_into_one_folder(tmp_path: Path) -> None:
    with (
        FakeProvider("chat") as fake,
        Model(fake.spec, env={}, record=tmp_path) as one,
        Model(fake.spec, env={}, record=tmp_path) as two,
    ):
        for text in ("a", "b"):
            one.chat(text)
            two.chat(text * 2)
    said = [each.asked["messages"][0]["content"] for each in read(tmp_path)]
    assert said == ["a", "aa", "b", "bb"]


def test_a_model_in_this_process_has_nothing_to_record(tmp_path: Path) -> None:
    class Says:
        def stream(self, request: object) -> Any:
            return iter(())

    with pytest.raises(UsageError, match="a model in this process sends nothing"):
        Model(Says(), record=tmp_path)
