"""Guards `dragoman providers`, `models` and `check`: what they say is true, no key is shown, and faults have their exit
codes."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from dragoman.catalog.models import find, search
from dragoman.catalog.provider import providers
from dragoman.cli.main import run
from dragoman.testing.fake import FakeProvider
from origin import Answer, Origin
from unit.cli_run.command import dragoman

SECRET = "sk-very-secret-1"


class Said:
    """What a command said and how it ended."""

    def __init__(self, code: int, out: str, err: str) -> None:
        self.code, self.out, self.err = code, out, err

    @property
    def json(self) -> Any:
        return json.loads(self.out)


class Terminal:
    """Runs commands in this process, with an environment that is handed to them."""

    def __init__(self, patch: pytest.MonkeyPatch, capture: pytest.CaptureFixture[str]) -> None:
        self._patch, self._capture = patch, capture

    def __call__(self, *arguments: str, env: Mapping[str, str] | None = None) -> Said:
        with self._patch.context() as patch:
            for name in ("providers", "check"):
                patch.setattr(f"dragoman.cli.{name}.environment", lambda: env or {})
            code = run(arguments)
        said = self._capture.readouterr()
        assert SECRET not in said.out + said.err
        return Said(code, said.out, said.err)


@pytest.fixture
def terminal(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Terminal:
    return Terminal(monkeypatch, capsys)


def listing(*names: str) -> Answer:
    return Answer(body=json.dumps({"data": [{"id": name} for name in names]}).encode())


def test_all_providers_with_the_state_of_their_keys(terminal: Terminal) -> None:
    said = terminal("providers", env={"OPENAI_API_KEY": SECRET})
    rows = {line.split()[0]: line for line in said.out.splitlines()}
    assert set(rows) == {row.name for row in providers().values()}
    assert "OPENAI_API_KEY is set" in rows["openai"]
    assert "wants ANTHROPIC_API_KEY" in rows["anthropic"]
    assert "needs no key" in rows["ollama"]
    assert (said.code, said.err) == (0, "")


def test_providers_by_word_and_as_json(terminal: Terminal, tmp_path: Path) -> None:
    path = tmp_path / "d.toml"
    path.write_text('[providers.acme]\nlabel = "Acme"\nwires = ["chat"]\nbase_url = "https://a.example/v1"\n')
    env = {"DRAGOMAN_CONFIG": str(path), "DRAGOMAN_API_KEY": SECRET}
    assert terminal("providers", "ACME", "--json", env=env).json == [
        {
            "name": "acme",
            "label": "Acme",
            "aliases": [],
            "wires": ["chat"],
            "base_url": "https://a.example/v1",
            "base_env": [],
            "key_env": ["DRAGOMAN_API_KEY"],
            "source": "your dragoman.toml",
            "base_urls": {},
            "key": "set",
            "key_found_in": "DRAGOMAN_API_KEY",
        }
    ]
    (row,) = terminal("providers", "deepseek", "--json").json
    assert (row["key"], row["key_found_in"]) == ("missing", None)
    assert row["base_urls"] == {"messages": "https://api.deepseek.com/anthropic"}
    none = terminal("providers", "no-such")
    assert (none.code, none.out) == (0, "")
    assert none.err.startswith("no provider of ")


def test_models_by_words(terminal: Terminal) -> None:
    said = terminal("models", "--search", "anthropic/claude-sonnet-5")
    lines = [line.split() for line in said.out.splitlines()]
    assert lines[0] == ["context", "output", "reads", "$", "in", "$", "cached", "$", "out"]
    sonnet = next(line for line in lines if line[0] == "anthropic/claude-sonnet-5")
    assert sonnet[1:] == ["1,000,000", "128,000", "text,", "image,", "pdf", "2.00", "0.20", "10.00"]
    assert "genai-prices 0.2.3 (2026-11-09)" in said.err
    assert said.code == 0


def test_models_as_json_and_none(terminal: Terminal) -> None:
    said = terminal("models", "--search", "anthropic/claude-sonnet-5-5", "--json").json
    assert [(model["id"], model["prices"]["input"], model["prices"]["cache_read"]) for model in said] == [
        ("claude-sonnet-5-5", 2, 0.1)
    ]
    assert terminal("models", "--search", "no such model", "--json").json == []
    none = terminal("models", "--search", "no such model")
    assert (none.code, none.out) == (0, "")
    assert none.err.startswith("no model is known by no such model; a model that is not listed can be asked for")


def test_all_models(terminal: Terminal) -> None:
    assert len(terminal("models").out.splitlines()) == len(list(search())) + 1


@pytest.mark.parametrize("wire", ["chat", "messages", "responses"])
def test_a_model_that_can_be_reached(terminal: Terminal, wire: str) -> None:
    with FakeProvider(wire) as fake:
        said = terminal("check", fake.spec, "--json")
    assert said.code == 0
    assert said.json["ok"] is True
    assert said.json["key"] == "not needed"
    assert said.json["answer"] == {"state": "ok", "status": 200, "count": 1, "listed": True}
    assert [(seen.method, seen.path) for seen in fake.seen] == [("GET", "/v1/models")]


def test_all_that_is_said_of_a_model(terminal: Terminal) -> None:
    with Origin(listing("gpt-5.2", "gpt-5")) as origin:
        env = {"OPENAI_API_KEY": SECRET, "OPENAI_BASE_URL": f"{origin.url}/v1"}
        said = terminal("check", "openai/gpt-5.2", env=env)
        whole = terminal("check", "openai/gpt-5.2", "--json", env=env).json
        gone = terminal("check", "openai/gone", env=env)
    assert origin.seen[0].headers["authorization"] == f"Bearer {SECRET}"
    assert said.out.splitlines()[:5] == [
        "openai/gpt-5.2: can be asked",
        "  provider  OpenAI over the chat wire",
        f"  address   {origin.url}/v1",
        "  key       OPENAI_API_KEY is set",
        "  answer    200: it lists 2 models, this model is one of them",
    ]
    assert "  limits    400,000 tokens in all, 272,000 tokens to ask, 128,000 tokens to answer" in said.out
    assert "  prices    $1.75 in, $0.175 cached, $14.00 out a million tokens (genai-prices 0.2.3, " in said.out
    facts = find("openai", "gpt-5.2")
    assert facts is not None
    assert whole["facts"]["context"] == facts.context
    assert whole["deviations"]["max_tokens_key"] == "max_completion_tokens"
    assert "200: it lists 2 models, this model is none of them" in gone.out
    assert "nothing of its limits and prices; it can be asked all the same" in gone.out


@pytest.mark.req("S0-70")
def test_without_a_key_nothing_is_sent(terminal: Terminal) -> None:
    said = terminal("check", "openai/gpt-5.2")
    assert said.code == 2
    assert "openai/gpt-5.2: cannot be asked" in said.out
    assert "  key       missing: set OPENAI_API_KEY\n  answer    not asked without a key" in said.out
    whole = terminal("check", "anthropic/claude-sonnet-5", "--json")
    assert (whole.code, whole.json["key"], whole.json["answer"]) == (2, "missing", {"state": "not asked"})


@pytest.mark.parametrize(
    ("answer", "state", "code"),
    [
        (Answer(status=401, body=b'{"error":"wrong key sk-very-secret-1"}'), "key refused", 1),
        (Answer(status=500, body=b"broken"), "refused", 1),
        (Answer(status=302, headers={"location": "https://elsewhere.example"}, body=b""), "refused", 1),
        (Answer(status=404, body=b"nothing here"), "no list", 0),
        (Answer(body=b"<html>"), "no list", 0),
        (Answer(body=b'{"data": 5}'), "no list", 0),
        (Answer(body=b'{"models": [{"name": "m"}]}'), "ok", 0),
        (Answer(body=b'[{"id": "m"}, 7]'), "ok", 0),
    ],
)
def test_what_an_address_may_say(terminal: Terminal, answer: Answer, state: str, code: int) -> None:
    with Origin(answer) as origin:
        env = {"OPENAI_API_KEY": SECRET, "OPENAI_BASE_URL": f"{origin.url}/v1"}
        said = terminal("check", "openai/m", "--json", env=env)
    assert (said.json["answer"]["state"], said.code) == (state, code)
    assert said.json["ok"] is (code == 0)


def test_a_list_that_goes_on_says_nothing_of_who_is_not_in_it(terminal: Terminal) -> None:
    with Origin(Answer(body=b'{"data": [{"id": "m"}], "has_more": true}')) as origin:
        env = {"OPENAI_API_KEY": SECRET, "OPENAI_BASE_URL": f"{origin.url}/v1"}
        first, other = (terminal("check", f"openai/{name}", "--json", env=env).json for name in ("m", "n"))
        said = terminal("check", "openai/n", env=env).out
    assert first["answer"]["listed"] is True
    assert other["answer"] == {"state": "ok", "status": 200, "count": 1}
    assert "200: it lists 1 model, and more than these" in said


def test_an_address_that_is_none_is_named_once(terminal: Terminal) -> None:
    said = terminal("check", "http://[::1/v1#chat:m")
    assert (said.code, said.err) == (2, "dragoman: 'http://[::1/v1' is not an http or https address\n")


def test_an_address_that_does_not_answer(terminal: Terminal) -> None:
    with Origin(listing("m")) as origin:
        spec = f"{origin.url}/v1#chat:m"
    said = terminal("check", spec, "--json")
    assert (said.code, said.json["answer"]["state"]) == (1, "no answer")
    assert origin.url in said.json["answer"]["said"]


def test_what_cannot_be_checked_is_one_line_and_wrong_usage(terminal: Terminal) -> None:
    for name, why in [
        ("nobody/m", "unknown provider 'nobody'"),
        ("gpt-5", "unknown model 'gpt-5'"),
        ("openai/m#mistral-conversations", "known but not built"),
    ]:
        said = terminal("check", name)
        assert (said.code, said.out) == (2, "")
        assert why in said.err
        assert len(said.err.splitlines()) == 1


def test_a_process_with_a_file_that_config_names_and_a_default_model(tmp_path: Path) -> None:
    with FakeProvider("chat", script=[{"text": "from the file"}]) as fake:
        path = tmp_path / "mine.toml"
        path.write_text(
            f'model = "mine"\n[aliases]\nmine = "acme/m"\n[providers.acme]\nwires = ["chat"]\nbase_url = "{fake.url}/v1"\n'
        )
        done = dragoman("--config", str(path), "run", "--tools", "none", "hi", home=tmp_path)
    assert (done.returncode, done.stdout.strip()) == (0, "from the file")
    wrong = dragoman("--config", str(tmp_path / "gone.toml"), "providers", home=tmp_path)
    assert (wrong.returncode, wrong.stdout) == (2, "")
    assert wrong.stderr.startswith(f"dragoman: {tmp_path}/gone.toml: cannot be read: No such file")
