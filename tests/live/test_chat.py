"""Guards `dragoman chat` and `dragoman session` (I-12, S4-11): talk, other models in mid-conversation, stop, undo, go on."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from dragoman.agent import Session
from dragoman.agent.entries import Said
from dragoman.cli import sessions
from dragoman.cli.chat import commanded
from dragoman.cli.main import run
from dragoman.cli.talk import Talk, TalkOptions
from dragoman.errors import UsageError
from dragoman.history import check
from dragoman.testing import FakeProvider
from dragoman.types import Request, assistant, user
from dragoman.types.save import loads
from dragoman.wire import WIRES
from scripts import script
from unit.cli_run.command import command, environment

ROOT = Path(__file__).resolve().parents[2]
CALLS = {"text": "I write.", "calls": [{"name": "write", "arguments": {"path": "a.txt", "content": "hi"}}]}


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def talking(folder: Path, spec: str, **options: Any) -> Iterator[Talk]:
    env = {"HOME": str(folder), "DRAGOMAN_HOME": str(folder / "home")}
    file = folder / "s.jsonl"
    with (
        sessions.chosen(file, env, again=False) as session,
        Talk(session, env, TalkOptions(ledger=False, **options)) as talk,
    ):
        talk.model(spec)
        yield talk


def sound(session: Session) -> bool:
    asked = Request(messages=(*session.tale.history, user("go on")))
    return not [found for wire in WIRES for found in check(asked, wire) if found.severity == "error"]


@pytest.mark.req("I-12")
@pytest.mark.req("S4-12")
def test_a_conversation_goes_on_with_another_model_and_another_day(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with (
        FakeProvider("chat", script=["Two.", "Four."]) as one,
        FakeProvider("messages", script=["四。", "六。"]) as two,
    ):
        for talk in talking(folder, one.spec):
            talk.system("Count.")
            assert (talk.turn("1+1?"), talk.turn("2+2?")) == (0, 0)
            commanded(talk, f"/model {two.spec}")
            assert talk.turn("再说一遍") == 0
        with Session.open(folder / "s.jsonl") as session:
            assert session.tale.model == two.spec
        for talk in talking(folder, two.spec):
            assert talk.turn("3+3?") == 0
            commanded(talk, "/cost")
    said = ["1+1?", "Two.", "2+2?", "Four.", "再说一遍", "四。", "3+3?", "六。"]
    assert [message.text for message in Session.open(folder / "s.jsonl").tale.history] == said
    asked = two.seen[1].body
    assert [part["text"] for message in asked["messages"] for part in blocks(message["content"])] == said[:7]
    assert asked["system"] == "Count." or asked["system"][0]["text"] == "Count."
    shown = capsys.readouterr()
    assert shown.out == "Two.\nFour.\n四。\n六。\n"
    assert "4 replies · 80 tokens in · 4 tokens out" in shown.err


def blocks(content: Any) -> list[dict[str, Any]]:
    return [{"text": content}] if isinstance(content, str) else content


@pytest.mark.req("S4-35")
def test_where_nobody_can_be_asked_a_tool_does_not_run_and_the_flag_is_named(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with FakeProvider(script=[CALLS, "Then not."]) as fake:
        for talk in talking(folder, fake.spec, tools="write"):
            assert talk.turn("Write a.txt.") == 4
        assert not (folder / "a.txt").exists()
        assert "--allow write:a.txt would allow it" in capsys.readouterr().err
    with FakeProvider(script=[CALLS, "Done."]) as fake:
        for talk in talking(folder, fake.spec, tools="write", allow=("write:a.txt",)):
            assert talk.turn("Again.") == 0
    assert (folder / "a.txt").read_text() == "hi"
    assert sound(Session.open(folder / "s.jsonl"))


def test_what_fails_is_a_line_and_the_conversation_goes_on(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    script = [{"quirks": ["bad-request"]}, {"quirks": ["cut-in-stream"], "text": "Half an answer, really"}, "Whole."]
    with FakeProvider("messages", script=script) as fake:
        for talk in talking(folder, fake.spec):
            assert (talk.turn("a"), talk.turn("b"), talk.turn("c")) == (1, 1, 0)
            commanded(talk, "/model nobody/x")
            commanded(talk, "/modle x")
            commanded(talk, "/help")
            commanded(talk, "/model")
            assert talk.turn("d") == 0
    session = Session.open(folder / "s.jsonl")
    assert [message.text for message in session.tale.history] == ["a", "b", "c", "Whole.", "d", "Whole."]
    assert "Half an answer, really".startswith(session.tale.incomplete[-1].text)
    assert sound(session)
    lines = capsys.readouterr().err.splitlines()
    assert "400" in next(line for line in lines if line.startswith("dragoman: failed: "))
    assert "there is no /modle: did you mean /model? (// begins a message with a slash)" in lines
    assert fake.spec in lines


def test_an_undo_says_that_it_is_of_the_conversation_only(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with FakeProvider(script=["A.", "B."]) as fake:
        for talk in talking(folder, fake.spec):
            talk.turn("a")
            talk.turn("b")
            commanded(talk, "/undo")
            commanded(talk, "/undo")
            commanded(talk, "/undo")
            talk.turn("c")
    assert Session.open(folder / "s.jsonl").tale.history[0] == user("c")
    assert fake.seen[2].body["messages"] == [{"role": "user", "content": "c"}]
    kept = "files and whatever tools did stay as they are"
    assert [line for line in capsys.readouterr().err.splitlines() if "take" in line] == [
        f"2 messages are taken back from the conversation; {kept}",
        f"2 messages are taken back from the conversation; {kept}",
        "there is nothing to take back",
    ]


@pytest.mark.req("I-09")
def test_a_conversation_that_is_too_long_is_summed_up_and_stays_so(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with FakeProvider(script=["A.", {"quirks": ["overflow"]}, "The user said a.", "B.", "C."]) as fake:
        for talk in talking(folder, fake.spec):
            assert (talk.turn("a"), talk.turn("b")) == (0, 0)
        for talk in talking(folder, fake.spec):
            assert talk.turn("c") == 0
    session = Session.open(folder / "s.jsonl")
    assert [message.text for message in session.tale.history] == ["a", "A.", "b", "B.", "c", "C."]
    assert session.tale.cut.summary == "The user said a."
    sent = fake.seen[4].body["messages"]
    assert [message["role"] for message in sent] == ["system", "user", "assistant", "user"]
    assert sent[0]["content"].endswith("The user said a.")
    assert "compaction: 2 messages are left out, a summary stands for them" in capsys.readouterr().err


def test_a_run_can_be_part_of_a_session(folder: Path) -> None:
    with FakeProvider(script=["A.", "B."]) as fake:
        env = environment(folder, {"DRAGOMAN_HOME": str(folder / "home"), "DRAGOMAN_MODEL": fake.spec})
        piped = subprocess.run(command(["chat"]), input="a\n", cwd=folder, env=env, capture_output=True, text=True)
        assert (piped.returncode, piped.stdout) == (0, "A.\n")
        again = ["run", "b", "--continue", "--tools", "none"]
        ran = subprocess.run(command(again), cwd=folder, env=env, capture_output=True, text=True)
        assert (ran.returncode, ran.stdout) == (0, "B.\n")
    (path,) = sessions.all_paths(env)
    assert Session.open(path).tale.history == (user("a"), *Session.open(path).tale.history[1:])
    assert [message.text for message in Session.open(path).tale.history] == ["a", "A.", "b", "B."]


def test_sessions_are_found_listed_forked_and_exported(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with Session.create(folder / "one.jsonl", system="S") as session:
        session.append(Said(message=user("a")), Said(message=assistant("b")), Said(message=user("c")))
    assert run(["session", "fork", "one.jsonl", "--to", "two.jsonl", "--messages", "2"]) == 0
    assert run(["session", "export", "two.jsonl", "two.json"]) == 0
    assert run(["session", "show", "two.jsonl"]) == 0
    assert capsys.readouterr().out.splitlines()[-3:] == ["system: S", "[0] user: a", "[1] assistant: b"]
    assert [message.text for message in loads((folder / "two.json").read_bytes()).request.messages] == ["S", "a", "b"]
    env = {"DRAGOMAN_HOME": str(folder / "home")}
    with pytest.raises(UsageError, match="--continue"):
        sessions.chosen(None, env, again=True)
    with sessions.chosen(None, env, again=False) as new:
        assert sessions.find(new.path.stem[:4], env) == new.path
    with pytest.raises(UsageError, match="there is no session"):
        sessions.find("zzz", env)


@pytest.mark.req("S4-38")
def test_the_page_shows_what_a_terminal_shows() -> None:
    """A real conversation on a terminal: streaming, a question before a file is written, another vendor, Ctrl-C, undo."""
    tool = script("chat_session")
    page = (ROOT / "docs" / "chat.md").read_text(encoding="utf-8")
    assert tool.written(page) == page
