"""Guards the provider that misbehaves on purpose: its scripts, each quirk, its log without keys, its command."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from urllib.error import HTTPError
from urllib.request import Request, urlopen

import pytest

from dragoman import types as chat
from dragoman.client import Model
from dragoman.errors import ApiDetail, ApiError, UsageError
from dragoman.testing import QUIRKS, FakeProvider, Received
from dragoman.transport.base import Limits
from dragoman.types import Delta, Failure, Finish, KeepAlive, Usage

WIRES = ("chat", "messages", "responses")
DRAGOMAN = [sys.executable, "-c", "import sys; from dragoman.cli import main; sys.exit(main())"]
DOCS = Path(__file__).resolve().parents[2] / "docs" / "fake.md"
each_wire = pytest.mark.parametrize("wire", WIRES)


def asked(fake: FakeProvider, **limits: float) -> Model:
    return Model(fake.spec, env={}, retry=0, limits=Limits(**limits))


@each_wire
def test_it_says_back_what_it_was_told_whole_or_in_pieces(wire: str) -> None:
    with FakeProvider(wire) as fake, asked(fake) as model:
        assert model.chat("你好, wörld").text == "你好, wörld"
        events = list(model.stream("你好, wörld"))
        assert [event.text for event in events if isinstance(event, Delta)] == ["你好,", " wö", "rld"]
        assert isinstance(events[-1], Finish)


@each_wire
def test_a_script_may_be_a_function_of_the_request(wire: str) -> None:
    def loud(request: chat.Request) -> chat.Reply:
        said = chat.Text(text=request.messages[-1].text.upper())
        return chat.Reply(message=chat.assistant(said), stop=chat.Stop(reason="end"), model="fake")

    with FakeProvider(wire, script=loud) as fake, asked(fake) as model:
        assert [model.chat(text).text for text in ("hello", "你好 there")] == ["HELLO", "你好 THERE"]


@each_wire
def test_a_script_that_is_a_function_may_refuse_a_request(wire: str) -> None:
    def strict(_: chat.Request) -> chat.Reply:
        raise ApiError("rate_limit", "not now", ApiDetail(status=429, retry_after=7))

    with FakeProvider(wire, script=strict) as fake, asked(fake) as model, pytest.raises(ApiError) as refused:
        model.chat("x")
    detail = refused.value.detail
    assert (refused.value.code, detail.status, detail.retry_after) == ("rate_limit", 429, 7)


@pytest.mark.parametrize("wire", ["messages", "responses"])
def test_it_says_how_long_a_request_would_be(wire: str) -> None:
    with FakeProvider(wire) as fake, asked(fake) as model:
        short, long = (model.count("word " * times).tokens for times in (10, 100))
    assert 0 < short < long


@each_wire
def test_a_script_is_said_line_by_line_the_last_one_ever_after(wire: str) -> None:
    script = [
        {"calls": [{"name": "ls", "arguments": {"path": "/"}}, {"name": "pwd"}], "text": "Let me see."},
        {"quirks": ["error-503"]},
        "Done.",
    ]
    with FakeProvider(wire, script=script) as fake, asked(fake) as model:
        first = model.chat("go")
        assert (first.text, first.stop.reason) == ("Let me see.", "tool_calls")
        assert [(call.name, call.arguments) for call in first.calls] == [("ls", '{"path":"/"}'), ("pwd", "{}")]
        with pytest.raises(Exception, match="503"):
            model.chat("go")
        assert [model.chat("go").text for _ in range(2)] == ["Done.", "Done."]
    assert [(seen.status, seen.quirks) for seen in fake.seen][1:3] == [(503, ("error-503",)), (200, ())]


@each_wire
def test_usage_is_said_once_twice_or_never(wire: str) -> None:
    def usage(*quirks: str) -> Usage | None:
        with FakeProvider(wire, quirks=quirks, script=[{"text": "Hi.", "usage": {"input": 7, "output": 3}}]) as fake:
            finish = [*asked(fake).stream("x")][-1]
        assert isinstance(finish, Finish) and finish.reply is not None
        return finish.reply.usage

    once = usage()
    assert once is not None and (once.input, once.output) == (7, 3)
    if wire in QUIRKS["usage-twice"].wires:
        twice = usage("usage-twice")
        assert twice is not None and (twice.input, twice.output) == (7, 3)
    never = usage("usage-never")
    assert never is None or not (never.input and never.output == 3)


@each_wire
@pytest.mark.parametrize("quirk", ["trickle", "keep-alives", "wrong-content-type", "slow", "silence-at-end"])
def test_what_is_odd_but_whole_is_read(wire: str, quirk: str) -> None:
    with FakeProvider(wire, quirks=[quirk], pause=lambda _seconds: None) as fake, asked(fake) as model:
        events = list(model.stream("Hello there"))
    finish = events[-1]
    assert isinstance(finish, Finish) and finish.reply is not None and finish.reply.text == "Hello there"
    assert (quirk == "keep-alives") == any(isinstance(event, KeepAlive) for event in events)


@each_wire
@pytest.mark.parametrize(
    ("quirk", "codes"),
    [
        ("cut-in-stream", {"network"}),
        ("no-end", {"incomplete"}),
        ("garbage", {"bad_json"}),
        ("error-in-stream", {"overloaded", "server_error"}),
        ("silence-in-stream", {"timeout"}),
    ],
)
def test_what_breaks_is_a_failure(wire: str, quirk: str, codes: set[str]) -> None:
    if (wire, quirk) == ("chat", "no-end"):
        codes = {"incomplete"}
    with FakeProvider(wire, quirks=[quirk]) as fake, asked(fake, idle=0.2) as model:
        last = [*model.stream("Hello there")][-1]
    if isinstance(last, Finish):  # a finish reason came before the marker that is missing: that is an end
        assert (wire, quirk) == ("chat", "no-end")
    else:
        assert isinstance(last, Failure) and last.code in codes


def test_the_log_has_everything_but_the_key() -> None:
    kept: list[Received] = []
    with FakeProvider("chat", log=kept.append) as fake:
        env = {"OPENAI_API_KEY": "sk-planted-key", "OPENAI_BASE_URL": f"{fake.url}/v1?key=sk-other"}
        with Model("openai/m", env=env, retry=0) as model:
            model.chat("my key is sk-planted-key")
    assert kept == fake.seen
    (seen,) = kept
    assert (seen.number, seen.method, seen.status) == (1, "POST", 200)
    assert seen.headers["authorization"] == "***"
    assert seen.body["messages"] == [{"role": "user", "content": "my key is ***"}]
    assert "sk-" not in repr(seen)


def test_a_body_that_is_no_request_is_refused_in_the_wires_form() -> None:
    with FakeProvider("messages") as fake:
        with pytest.raises(HTTPError) as caught:
            urlopen(Request(f"{fake.url}/v1/messages", data=b"{nonsense"), timeout=10)
        said = json.loads(caught.value.read())
        caught.value.close()
        with urlopen(f"{fake.url}/v1/models", timeout=10) as answer:
            assert json.loads(answer.read())["data"][0]["id"] == "fake"
    assert (caught.value.code, said["error"]["type"]) == (400, "invalid_request_error")


def test_it_listens_on_loopback_alone() -> None:
    with FakeProvider() as fake:
        assert fake._server.server_address[0] == "127.0.0.1"


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"quirks": ["cut-in-strem"]}, "unknown quirk 'cut-in-strem': did you mean cut-in-stream"),
        ({"quirks": ["error-503:x"]}, "after the colon stands for how many requests, as in error-503:2"),
        ({"wire": "responses", "quirks": ["usage-twice"]}, "is for the wire chat, messages, not for responses"),
        ({"wire": "ollama", "quirks": ["cut-in-stream"]}, "is for the wire chat, messages, responses, not for ollama"),
        ({"wire": "smtp"}, "unknown wire 'smtp'"),
        ({"script": [{"txt": "x"}]}, "script line 1: unknown key 'txt'"),
        ({"script": ["x", 5]}, "script line 2 is int"),
        ({"script": [{"text": "x", "quirks": ["nope"]}]}, "unknown quirk 'nope'"),
    ],
)
def test_what_cannot_be_is_said(options: dict[str, object], said: str) -> None:
    with pytest.raises(UsageError, match=said):
        FakeProvider(**options)  # type: ignore[arg-type]


def test_the_page_shows_every_quirk() -> None:
    page = DOCS.read_text(encoding="utf-8")
    assert [name for name in QUIRKS if f"| `{name}` | {QUIRKS[name].help}" not in page] == []


def test_the_command(tmp_path: Path) -> None:
    script, log = tmp_path / "script.jsonl", tmp_path / "log.jsonl"
    script.write_text('{"text": "Hi."}\n', encoding="utf-8")
    command = [*DRAGOMAN, "fake", "--wire", "messages", "--quirk", "error-503:1"]
    command += ["--script", str(script), "--log", str(log)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as running:
        assert running.stdout is not None
        spec = running.stdout.readline().strip()
        try:
            with Model(spec, env={"DRAGOMAN_API_KEY": "sk-planted"}, retry=0) as model:
                with pytest.raises(Exception, match="503"):
                    model.chat("hi")
                assert model.chat("hi").text == "Hi."
        finally:
            running.terminate()
    lines = [json.loads(line) for line in log.read_text(encoding="utf-8").splitlines()]
    assert [(line["status"], line["quirks"]) for line in lines] == [(503, ["error-503"]), (200, [])]
    assert "sk-planted" not in log.read_text(encoding="utf-8")


def test_the_command_lists_and_refuses() -> None:
    base = [*DRAGOMAN, "fake"]
    listed = subprocess.run([*base, "--list"], capture_output=True, text=True, check=True)
    assert [line.split()[0] for line in listed.stdout.splitlines()] == list(QUIRKS)
    wrong = subprocess.run([*base, "--quirk", "zzz"], capture_output=True, text=True, check=False)
    assert (wrong.returncode, wrong.stderr) == (
        2,
        "dragoman: unknown quirk 'zzz': `dragoman fake --list` shows them all\n",
    )
