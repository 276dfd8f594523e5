"""Guards `dragoman replay`: lists what was recorded, shows one exchange, serves it again to any client, with its times (I-11)."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import anthropic
import openai
import pytest
from click.testing import CliRunner

from dragoman.cli.main import group as cli
from dragoman.client import Model
from dragoman.errors import ApiError, UsageError
from dragoman.testing import FakeProvider
from dragoman.testing.replayed import ReplayProvider
from dragoman.transport.recording import End, Piece, Recorded, read
from dragoman.types import Delta, Failure
from dragoman.wire.base import Http

WIRES = ("chat", "messages", "responses")
DRAGOMAN = [sys.executable, "-c", "import sys; from dragoman.cli import main; sys.exit(main())"]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A call that was refused once, then a stream."""
    fake = FakeProvider("messages", quirks=["error-503:1"], script=["", "Hello 你好"])
    with fake, Model(fake.spec, env={}, record=tmp_path, retry=0) as model:
        with pytest.raises(ApiError):
            model.chat("Hi.")
        assert len([*model.stream("Hi 你好.")]) > 3
    return tmp_path


def replay(*arguments: Any) -> str:
    result = CliRunner().invoke(cli, ["replay", *map(str, arguments)], standalone_mode=False)
    if result.exception:
        raise result.exception
    return result.stdout


def test_it_lists_what_was_recorded(folder: Path) -> None:
    head, first, second = replay(folder).rstrip("\n").split("\n")
    assert " ".join(head.split()) == "date (UTC) request model sent status received pieces first total end"
    assert first.split()[0] == "000001" and " POST /v1/messages  fake " in first and first.endswith(" done")
    assert " 503 " in first and " 200 " in second and second.endswith(" drained")
    rows = json.loads(replay(folder, "--json"))
    assert [(row["number"], row["status"], row["wire"], row["model"], row["end"]) for row in rows] == [
        (1, 503, "messages", "fake", "done"),
        (2, 200, "messages", "fake", "drained"),
    ]


def test_it_shows_one_exchange(folder: Path) -> None:
    shown = replay(folder, 2)
    assert '"content": "Hi 你好."' in shown or '"text": "Hi 你好."' in shown
    assert "event: message_stop" in shown and "== 200 after" in shown and " ms  event: message_start" in shown
    whole = json.loads(replay(folder, 1, "--json"))
    assert (whole["status"], whole["response"]["body"]["type"]) == (503, "error")
    assert whole["request"]["body"] == read(folder)[0].asked
    with pytest.raises(UsageError, match=r"has no exchange 7: `dragoman replay .*` lists them"):
        replay(folder, 7)


def test_it_serves_what_was_recorded(folder: Path) -> None:
    """The one test of the whole command, as a process."""
    command = [*DRAGOMAN, "replay", str(folder), "--serve"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        spec = process.stdout.readline().strip()
        with Model(spec, env={}, retry=0) as model:
            texts = [[event.text for event in model.stream("Hi 你好.") if isinstance(event, Delta)] for _ in range(2)]
            assert texts == [["Hel", "lo ", "你好"]] * 2
            with pytest.raises(ApiError, match=r"400.*the nearest is 00000\d, where messages\[0\]\.content.* differs"):
                model.chat("Ho.")
        process.terminate()


def test_a_run_is_recorded_where_it_is_asked_to(tmp_path: Path) -> None:
    with FakeProvider("chat", script=["Hello."]) as fake:
        said = ["run", "Hi.", "--model", fake.spec, "--tools", "none", "--json", "--record", str(tmp_path / "kept")]
        assert CliRunner().invoke(cli, said).exit_code == 0
    assert [(each.number, each.status) for each in read(tmp_path / "kept")] == [(1, 200)]


@pytest.mark.parametrize("wire", WIRES)
def test_official_clients_are_answered(wire: str, tmp_path: Path) -> None:
    with FakeProvider(wire) as fake, Model(f"{fake.url}/v1#{wire}:m", env={}, record=tmp_path) as model:
        model.chat("Hello there", max_output=9)
    with ReplayProvider(tmp_path) as served:
        base = served.spec.partition("#")[0]
        if wire == "messages":
            with anthropic.Anthropic(api_key="k", base_url=served.url, max_retries=0) as sdk:
                reply = sdk.messages.create(**read(tmp_path)[0].asked)
                said = reply.content[0].text  # type: ignore[union-attr]
        else:
            with openai.OpenAI(api_key="k", base_url=base, max_retries=0) as sdk:
                asked = read(tmp_path)[0].asked
                if wire == "chat":
                    said = sdk.chat.completions.create(**asked).choices[0].message.content
                else:
                    said = sdk.responses.create(**asked).output_text
    assert said == "Hello there"
    assert served.specs == (f"{served.url}/v1#{wire}:m",)


def test_times_and_faults_are_served() -> None:
    pieces = (
        Piece(at=0.1259, data=b'data: {"choices":[{"index":0,"delta":{"role":"assistant","content":"a"}}]}\n\n'),
        Piece(at=6.631, data=b": alive\n\n"),
    )
    body = b'{"model":"m","messages":[{"role":"user","content":"x"}],"stream":true,"stream_options":{"include_usage":true}}'
    kept = Recorded(
        number=1,
        date=0.0,
        request=Http(path="https://vendor.example/api/v1/chat/completions", body=body),
        end=End(at=7.0, how="failed", code="network", message="broke"),
        status=200,
        headers=(("content-type", "text/event-stream"),),
        began=0.1,
        pieces=pieces,
    )
    waits: list[float] = []
    with ReplayProvider([kept], timing=True, pause=waits.append) as served, Model(served.spec, env={}) as model:
        last = [*model.stream("x")][-1]
    assert isinstance(last, Failure) and last.code == "network"
    assert waits == pytest.approx([0.1259, 6.5051])
    assert served.spec == f"{served.url}/api/v1#chat:m"


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--serve", "1"], "leave the number out"),
        (["--timing"], "go with --serve"),
        ([], "holds no recording: a model makes one with record="),
    ],
)
def test_wrong_usage_is_told(arguments: list[str], said: str, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=said):
        replay(tmp_path, *arguments)
