"""Guards the command `dragoman serve`: its first line, its end, what it tells of faults, and what it does not begin with."""

from __future__ import annotations

import json
import signal
import socket
import sqlite3
import subprocess
import urllib.request
from contextlib import closing
from datetime import datetime
from http.client import IncompleteRead
from pathlib import Path
from urllib.error import HTTPError
from urllib.parse import urlsplit

import pytest

from dragoman.cli.main import run
from dragoman.money.ledger import Ledger
from dragoman.testing import FakeProvider
from gate import refuses
from hazards.cases import data
from origin import HOLD, Answer, Origin
from unit.cli_run.command import command, environment

SOON = 20.0
BODY = json.dumps({"model": "m", "stream": True, "messages": [{"role": "user", "content": "x"}]}).encode()


def test_it_says_where_answers_and_ends_with_what_is_open(tmp_path: Path) -> None:
    with FakeProvider(script=["hello"]) as fake:
        asked = command(["serve", "--model", fake.spec, "--port", "0", "--json"])
        env = environment(tmp_path, {"DRAGOMAN_LEDGER": str(tmp_path / "ledger.db")})
        with subprocess.Popen(asked, env=env, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
            assert process.stdout is not None
            said = json.loads(process.stdout.readline())
            assert (said["key"], said["pid"], [*said["models"]]) == (False, process.pid, ["fake"])
            body = json.dumps({"model": "m", "messages": [{"role": "user", "content": "x"}]}).encode()
            with urllib.request.urlopen(f"{said['url']}/v1/chat/completions", body) as answer:
                assert json.load(answer)["choices"][0]["message"]["content"] == "hello"
            process.send_signal(signal.SIGTERM)
            out, told = process.communicate(timeout=SOON)
    assert (process.returncode, out, told) == (0, b"", b"")
    assert outcomes(tmp_path) == ["end"]


def outcomes(home: Path) -> list[str]:
    """How the calls in the ledger ended."""
    with Ledger(home / "ledger.db", create=False) as ledger:
        return [entry.outcome for entry in ledger.entries()]


def test_an_interrupt_lets_what_is_open_come_to_its_end_and_a_second_one_ends_it_at_once(tmp_path: Path) -> None:
    held = Answer(200, {"content-type": "text/event-stream"}, [data({"choices": [{"delta": {"content": "so"}}]}), HOLD])
    with Origin(held) as origin:
        asked = command(
            ["serve", "--model", f"{origin.url}/v1#chat:m", "--port", "0", "--json", "--drain", f"{3 * SOON}"]
        )
        env = environment(tmp_path, {"DRAGOMAN_LEDGER": str(tmp_path / "ledger.db")})
        with subprocess.Popen(asked, env=env, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
            assert process.stdout is not None
            url = json.loads(process.stdout.readline())["url"]
            try:
                with urllib.request.urlopen(f"{url}/v1/chat/completions", BODY, timeout=SOON) as answer:
                    assert b"so" in answer.readline()
                    process.send_signal(signal.SIGINT)
                    assert refuses(
                        urlsplit(url).port or 0, SOON
                    )  # it was heard: the next is another to the system, too
                    assert (process.poll(), origin.left.is_set()) == (None, False)  # it waits
                    process.send_signal(signal.SIGINT)
                    _, told = process.communicate(timeout=SOON)
                    with pytest.raises((IncompleteRead, ConnectionError)):
                        answer.read()
            finally:
                process.kill()  # or a signal that was not heard would wait for the drain's end
            assert origin.left.wait(5)
    assert (process.returncode, told) == (130, b"\ndragoman: interrupted\n")
    assert outcomes(tmp_path) == ["cancelled"]


def test_faults_are_lines_for_the_operator_and_standard_output_stays_clean(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    asked = command(["serve", "--model", f"http://127.0.0.1:{port}/v1#chat:m", "--port", "0", "--json"])
    env = environment(tmp_path, {"DRAGOMAN_LEDGER": str(tmp_path / "ledger.db")})
    with subprocess.Popen(asked, env=env, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout is not None
        url = json.loads(process.stdout.readline())["url"]
        with closing(sqlite3.connect(tmp_path / "ledger.db")) as ledger:
            ledger.execute("DROP TABLE calls")
        for _ in range(3):
            with pytest.raises(HTTPError, match="502"):
                urllib.request.urlopen(f"{url}/v1/chat/completions", BODY)
        process.send_signal(signal.SIGTERM)
        out, told = process.communicate(timeout=SOON)
    first, more, last = (line.partition(" ")[2] for line in told.decode().splitlines())
    assert (process.returncode, out, more) == (0, b"", "2 more like those")
    assert f"cannot connect to http://127.0.0.1:{port}/v1/chat/completions" in first
    assert "no such table: calls" in last
    assert told[:20].decode() == datetime.fromisoformat(told[:20].decode()).strftime("%Y-%m-%dT%H:%M:%SZ")


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["--host", "0.0.0.0", "--model", "http://127.0.0.1:1/v1#chat:m"], "DRAGOMAN_SERVE_KEY"),
        (["--key-env", "NOT_THERE_AT_ALL", "--model", "http://127.0.0.1:1/v1#chat:m"], "NOT_THERE_AT_ALL"),
        (["--model", "a=http://127.0.0.1:1/v1#chat:m", "--model", "a=http://127.0.0.1:2/v1#chat:m"], "'a'"),
        (["--model", "nobody/knows"], "nobody"),
        (["--host", "203.0.113.1", "--key-env", "PATH", "--model", "http://127.0.0.1:1/v1#chat:m"], "cannot listen"),
        ([], "--model"),
    ],
)
def test_what_it_does_not_begin_with(arguments: list[str], told: str, capsys: pytest.CaptureFixture[str]) -> None:
    code = run(["serve", "--no-ledger", *arguments])
    out, err = capsys.readouterr()
    assert (code, out, told in err, err.count("\n")) == (2, "", True, 1)


@pytest.mark.parametrize("key", ["schlüssel-0001", "密钥-0001", "sk\t0001", "\u200bsk-0001"])
@pytest.mark.parametrize("name", ["DRAGOMAN_SERVE_KEY", "OUR_OWN"])
def test_a_key_that_no_client_can_show_is_refused_at_once(
    name: str, key: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv(name, key)
    code = run(["serve", "--no-ledger", "--key-env", name, "--model", "http://127.0.0.1:1/v1#chat:m"])
    out, err = capsys.readouterr()
    assert (code, out, err.count("\n"), f"{name}: no client can show this key" in err) == (2, "", 1, True)
    assert "0001" not in err
