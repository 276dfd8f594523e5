"""Guards HTTP/2: spoken where the server speaks it, one call's cancel is no other's end, and the extra is named where it is missing."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Iterator
from pathlib import Path
from threading import Thread
from typing import Any

import pytest

from dragoman.client import AsyncModel, Model
from dragoman.errors import UsageError
from dragoman.testing import FakeProvider
from dragoman.transport.cancel import CancelToken
from dragoman.types import Delta
from h2_origin import Origin, certificate, serving

SOON = 10.0


@pytest.fixture(scope="module")
def pem(tmp_path_factory: pytest.TempPathFactory) -> Path:
    pytest.importorskip("h2")
    made = certificate(tmp_path_factory.mktemp("tls"))
    if made is None:
        pytest.skip("needs openssl to make a certificate")
    return made


@pytest.fixture
def origin(pem: Path) -> Iterator[Origin]:
    with serving(pem) as origin:
        yield origin


def env(origin: Origin) -> dict[str, str]:
    return {"DRAGOMAN_API_KEY": "any-key-will-do", **origin.env}


def texts(events: Any) -> list[str]:
    return [event.text for event in events if isinstance(event, Delta)]


def test_calls_and_streams_go_over_one_connection(origin: Origin) -> None:
    with Model(origin.spec, env=env(origin), transport="http2") as model:
        assert model.chat("你好").text == "你好"
        assert texts(model.stream("Hello")) == ["Hello"]
    assert origin.streams == [[1, 3]]


def test_a_task_that_is_cancelled_takes_its_connection_with_it_and_no_other(origin: Origin) -> None:
    async def go() -> list[str]:
        async with AsyncModel(origin.spec, env=env(origin), transport="http2") as model:
            await model.chat("first")
            held = model.stream("hold")
            assert isinstance(await anext(held), object)
            others = [asyncio.create_task(model.chat(f"n{number}")) for number in range(3)]
            waiting = asyncio.ensure_future(_rest(held))
            await asyncio.sleep(0)
            waiting.cancel()
            await asyncio.gather(waiting, return_exceptions=True)
            assert await asyncio.to_thread(origin.gone.wait, SOON)  # the server hears of it, and stops writing
            said = [(await each).text for each in others]
            return [*said, (await model.chat("last")).text]

    assert asyncio.run(go()) == ["n0", "n1", "n2", "last"]
    assert origin.streams[0] == [1, 3]
    assert sorted(map(len, origin.streams[1:])) == [1, 1, 2]


async def _rest(stream: Any) -> list[Any]:
    return [event async for event in stream]


def test_a_cancel_from_another_thread_ends_that_call_alone(origin: Origin) -> None:
    token = CancelToken()
    with Model(origin.spec, env=env(origin), transport="http2") as model:
        held, other = model.stream("hold", cancel=token), model.stream("hold")
        assert isinstance(next(held), object) and isinstance(next(other), object)
        out: list[Any] = []
        thread = Thread(target=lambda: out.append(list(held)), daemon=True)
        thread.start()
        token.cancel()
        thread.join(SOON)
        assert not thread.is_alive() and texts(out[0]) in ([], ["hold"])
        assert origin.gone.wait(SOON)
        assert model.chat("more").text == "more"
        other.close()
        assert model.chat("and more").text == "and more"
    assert [len(each) for each in origin.streams] == [1, 1, 2]


def test_a_server_without_it_is_spoken_to_as_ever() -> None:
    with FakeProvider("chat") as fake, Model(fake.spec, env={}, transport="http2") as model:
        assert [model.chat("a").text, model.chat("b").text] == ["a", "b"]
        assert fake.connections == 1


def test_the_extra_is_named_where_it_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "h2", None)
    for kind in (Model, AsyncModel):
        with pytest.raises(UsageError, match=r"pip install 'dragoman\[http2\]'") as caught:
            kind("ollama/m", env={}, transport="http2")
        assert caught.value.code == "missing_extra"
