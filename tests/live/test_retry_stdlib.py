"""Guards the transport of the standard library: chosen where httpx2 cannot be imported, and equal to it (C-27)."""

from __future__ import annotations

import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from awaited import TRANSPORTS, made
from dragoman.client import AsyncModel, Model
from dragoman.errors import ApiError, DragomanError, TransportError, UsageError
from dragoman.testing import QUIRKS, FakeClock, FakeProvider
from dragoman.transport.base import Limits
from dragoman.transport.stdlib import StdlibTransport

WIRES = ("chat", "messages", "responses")
SILENT = ("silence", "silence-at-start", "silence-in-stream", "silence-at-end", "pings", "keep-alives")
WITHOUT = """
import sys
sys.modules["httpx2"] = None
from dragoman.client import Model
from dragoman.types import Finish
with Model(sys.argv[1], env={}) as model:
    print(type(model._transport).__name__)
    print(model.chat("Hello there").text)
    print(type([*model.stream("Hello there")][-1]).__name__, len(model.stream("x").attempts))
    from dragoman import Agent, tool
    @tool
    def add(x: int, y: int) -> int:
        "Add."
        return x + y
    print(Agent(Model(sys.argv[2], env={}), [add]).run("2 + 3?").text)
assert "httpcore2" not in sys.modules
"""


@pytest.mark.req("S3-47")
@pytest.mark.parametrize("wire", WIRES)
def test_without_httpx2_calls_streams_and_agents_work(wire: str) -> None:
    script = [{"calls": [{"name": "add", "arguments": {"x": 2, "y": 3}}]}, "It is 5."]
    with FakeProvider(wire) as echo, FakeProvider(wire, script=script) as fake:
        command = [sys.executable, "-c", WITHOUT, echo.spec, fake.spec]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.stdout.split("\n"), done.stderr) == (
        ["StdlibTransport", "Hello there", "Finish 0", "It is 5.", ""],
        "",
    )


def outcome(transport: str, quirk: str, stream: bool) -> tuple[str, object, int]:
    """What a call through a transport comes to: its text or last event, its error code, its requests."""
    limits = Limits(idle=0.3, progress=0.3) if quirk in SILENT else Limits()
    fake = FakeProvider("chat", quirks=[quirk])
    with fake, made(fake.spec, env={}, transport=transport, limits=limits, retry=0) as model:
        try:
            if stream:
                last = [*model.stream("Hello 你好")][-1]
                return type(last).__name__, getattr(last, "code", None), len(fake.seen)
            return model.chat("Hello 你好").text, None, len(fake.seen)
        except DragomanError as error:
            return type(error).__name__, error.code, len(fake.seen)


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("quirk", [name for name in QUIRKS if name != "usage-twice"])
def test_all_transports_come_to_the_same(quirk: str, stream: bool) -> None:
    with ThreadPoolExecutor() as pool:  # each waits for the same silence
        told = dict(
            zip(TRANSPORTS, pool.map(lambda transport: outcome(transport, quirk, stream), TRANSPORTS), strict=True)
        )
    assert told == dict.fromkeys(TRANSPORTS, told["httpx2"])


def test_it_is_small() -> None:
    import dragoman.transport.stdlib as module

    assert module.__file__ is not None
    assert len(Path(module.__file__).read_text(encoding="utf-8").splitlines()) <= 150


def test_by_name_only_what_there_is() -> None:
    assert isinstance(Model("ollama/m", env={}, transport="stdlib")._transport, StdlibTransport)
    with pytest.raises(UsageError, match="unknown transport 'curl': one of httpx2, http2, aiohttp, stdlib"):
        Model("ollama/m", env={}, transport="curl")
    with pytest.raises(UsageError, match="the stdlib transport is for sync calls"):
        AsyncModel("ollama/m", env={}, transport="stdlib")


def test_retries_and_keys_are_the_same() -> None:
    with FakeProvider("chat", quirks=["error-503:1"]) as fake:
        env = {"OPENAI_API_KEY": "sk-secret", "OPENAI_BASE_URL": f"{fake.url}/v1"}
        clock = FakeClock()
        with Model("openai/m", env=env, transport="stdlib", clock=clock) as model:
            assert model.outcome("hi").requests == 2
    assert len(clock.waits) == 1
    assert "sk-secret" not in repr(fake.seen)


def test_nobody_there() -> None:
    with FakeProvider("chat") as fake:
        pass
    with pytest.raises(TransportError, match="cannot connect to") as caught:
        Model(fake.spec, env={}, transport="stdlib", retry=0).chat("hi")
    assert caught.value.code == "network" and not isinstance(caught.value, ApiError)
