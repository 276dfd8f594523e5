"""Guards how signals end the server: none that comes early is lost, a terminal that closes takes no answer and no entry of the
ledger with it however often that is said, and whoever was told to live through it does."""

from __future__ import annotations

import json
import signal
import subprocess
import urllib.request
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from threading import Event
from typing import Any
from urllib.parse import urlsplit

import pytest

from dragoman import AsyncModel
from dragoman.gateway.app import App
from dragoman.gateway.run import ended_by_signals, listen, server
from dragoman.gateway.seats import Seats
from dragoman.money.ledger import Ledger
from gate import body_of, refuses
from hazards.cases import chat
from origin import Answer, Origin
from unit.cli_run.command import MAIN, command, environment

SOON = 20.0
SSE = {"content-type": "text/event-stream"}
BEGUN = chat({"content": "so"}).partition(b"\n\n")[0] + b"\n\n"
HUNG_UP = f"import signal; signal.signal(signal.SIGHUP, signal.SIG_DFL); {MAIN}"  # else as nohup has it


class Parts(list[bytes]):
    """The parts of a body, the last of which waits for an event."""

    def __init__(self, *parts: bytes) -> None:
        super().__init__(parts)
        self.go_on = Event()

    def __iter__(self) -> Any:
        *first, last = super().__iter__()
        yield from first
        assert self.go_on.wait(SOON)
        yield last


def test_a_terminal_that_closes_lets_what_is_open_come_to_its_end_and_the_ledger_knows_it(tmp_path: Path) -> None:
    parts = Parts(BEGUN, chat({"content": " far"}))
    with Origin(Answer(200, SSE, parts)) as origin:
        asked = command(["serve", "--model", f"{origin.url}/v1#chat:m", "--port", "0", "--json"], HUNG_UP)
        env = environment(tmp_path, {"DRAGOMAN_LEDGER": str(tmp_path / "ledger.db")})
        with subprocess.Popen(asked, env=env, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
            try:
                assert process.stdout is not None
                url = json.loads(process.stdout.readline())["url"]
                body = json.dumps(body_of("chat", stream=True)).encode()
                with urllib.request.urlopen(f"{url}/v1/chat/completions", body, timeout=SOON) as answer:
                    heard = answer.readline()
                    process.send_signal(signal.SIGHUP)
                    assert refuses(urlsplit(url).port or 0, SOON)
                    process.send_signal(signal.SIGHUP)
                    parts.go_on.set()
                    heard += answer.read()
                out, told = process.communicate(timeout=SOON)
            finally:
                process.kill()
    with Ledger(tmp_path / "ledger.db", create=False) as ledger:
        outcomes = [entry.outcome for entry in ledger.entries()]
    assert (process.returncode, out, told, outcomes) == (0, b"", b"", ["end"])
    assert (b" far" in heard, heard.endswith(b"data: [DONE]\n\n")) == (True, True)


@contextmanager
def handled(sig: int, handler: Any) -> Generator[None]:
    """What is to happen at a signal."""
    before = signal.signal(sig, handler)
    try:
        yield
    finally:
        signal.signal(sig, before)


def app() -> App:
    return App(Seats({"m": AsyncModel("http://127.0.0.1:9/v1#chat:m", env={})}, any_name=True))


@pytest.mark.parametrize("said", [[signal.SIGTERM], [signal.SIGHUP], [signal.SIGHUP, signal.SIGHUP]])
def test_a_signal_that_comes_before_it_listens_is_not_lost(said: list[int]) -> None:
    running = server(app())
    with handled(signal.SIGHUP, signal.SIG_DFL), ended_by_signals(running):
        for each in said:
            signal.raise_signal(each)
        assert (running.should_exit, running.force_exit, running.interrupted) == (True, False, False)
        running.run(sockets=[listen("127.0.0.1", 0)])


def test_a_terminal_that_closes_while_it_ends_is_no_second_signal_to_the_very_end() -> None:
    running = server(app())
    with handled(signal.SIGHUP, signal.SIG_DFL):
        with ended_by_signals(running):
            for each in (signal.SIGTERM, signal.SIGHUP, signal.SIGHUP):
                signal.raise_signal(each)
            assert (running.should_exit, running.force_exit) == (True, False)
        signal.raise_signal(signal.SIGHUP)  # which would end this process


def test_whoever_was_told_to_live_on_does() -> None:
    running = server(app())
    with handled(signal.SIGHUP, signal.SIG_IGN), ended_by_signals(running):
        signal.raise_signal(signal.SIGHUP)
        assert (running.should_exit, signal.getsignal(signal.SIGHUP)) == (False, signal.SIG_IGN)


def test_what_was_to_happen_at_a_signal_is_so_again_afterwards() -> None:
    ours: Any = lambda *_: None  # noqa: E731
    with handled(signal.SIGTERM, ours), handled(signal.SIGHUP, signal.SIG_DFL):
        with ended_by_signals(server(app())):
            pass
        assert [signal.getsignal(each) for each in (signal.SIGTERM, signal.SIGHUP)] == [ours, signal.SIG_DFL]
