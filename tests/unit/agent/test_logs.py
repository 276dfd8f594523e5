"""Guards the reading of other agents' session logs (S4-11): what was said comes whole, what is not taken over is told."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec
import pytest

from dragoman.agent import Session
from dragoman.agent.entries import Entry, Said
from dragoman.errors import RemoteError, UsageError
from dragoman.history import check
from dragoman.logs import read, write
from dragoman.types import Reasoning, Request, Text, ToolCall, ToolResult, Usage, user
from dragoman.wire import WIRES
from laws.junk import places, put

DATA = Path(__file__).resolve().parents[2] / "data" / "logs"
each = pytest.mark.parametrize("name", ["claude", "codex"])


def session_of(data: bytes, tmp_path: Path) -> Session:
    with Session.create(tmp_path / "s.jsonl") as session:
        write(read(data), session)
    return Session.open(tmp_path / "s.jsonl")


@each
def test_what_was_said_comes_whole_and_can_be_sent_anywhere(name: str, tmp_path: Path) -> None:
    session = session_of((DATA / f"{name}.jsonl").read_bytes(), tmp_path)
    asked = user("Which port is in notes.txt?")
    history = session.tale.history
    at = next(at for at, message in enumerate(history) if message.text == asked.text)
    turn, results, answer = history[at + 1 :]
    kinds = [type(block) for block in turn.content]
    assert kinds == [Reasoning, Text, ToolCall]
    call = turn.content[2]
    assert isinstance(call, ToolCall)
    assert "cat notes.txt" in call.arguments
    (result,) = results.content
    assert isinstance(result, ToolResult)
    assert result.call_id == call.id
    assert isinstance(result.content[0], Text)
    assert "The port is 8080." in result.content[0].text
    assert answer.text == "The port is 8080, 端口 8080."
    assert [entry.usage.input for entry in session.tale.spent if entry.usage is not None] == [20, 20]
    for wire in WIRES:
        request = Request(messages=(*history, user("And now?")))
        assert [found for found in check(request, wire) if found.severity == "error"] == []


def test_instructions_of_a_rollout_are_the_prompt_and_its_developer_is_told(tmp_path: Path) -> None:
    session = session_of((DATA / "codex.jsonl").read_bytes(), tmp_path)
    assert session.tale.system == "(cut)"
    assert [note.loss for note in session.tale.notes if "developer" in note.reason] == [False]
    assert session.tale.spent[0].usage == Usage(input=20, output=10, cache_read=0, reasoning=0)


@each
def test_a_log_that_ends_in_mid_line_is_read_up_to_there(name: str, tmp_path: Path) -> None:
    data = (DATA / f"{name}.jsonl").read_bytes()
    lines = data.splitlines(keepends=True)
    for count in range(4, len(lines)):
        log = read(b"".join(lines[:count]) + lines[count][:30])
        assert [note.reason for note in log.notes if "half" in note.reason] == ["the last line was half written"]
        path = tmp_path / f"{count}.jsonl"
        with Session.create(path) as session:
            write(log, session)
        request = Request(messages=(*session.tale.history, user("And now?")))
        assert [found for wire in WIRES for found in check(request, wire) if found.severity == "error"] == []


def line(kind: str, uuid: str, parent: str | None, message: dict[str, Any], **more: Any) -> bytes:
    said = {"type": kind, "uuid": uuid, "parentUuid": parent, "sessionId": "s", "message": message, **more}
    return msgspec.json.encode(said) + b"\n"


def answered(text: str, id: str) -> dict[str, Any]:
    return {"id": id, "role": "assistant", "model": "m", "content": [{"type": "text", "text": text}]}


def test_what_was_taken_back_and_what_others_did_is_told_and_left_out(tmp_path: Path) -> None:
    data = b"".join(
        [
            line("user", "1", None, {"role": "user", "content": "a"}),
            line("assistant", "2", "1", answered("A", "m1")),
            line("user", "3", "2", {"role": "user", "content": "b"}),
            line("assistant", "4", "3", answered("side", "m2"), isSidechain=True),
            line("assistant", "5", "3", answered("API Error", "m3"), isApiErrorMessage=True),
            line("assistant", "6", "3", answered("B", "m4")),
            line("user", "7", "2", {"role": "user", "content": "c"}),
        ]
    )
    session = session_of(data, tmp_path)
    assert [message.text for message in session.tale.history] == ["a", "A", "c"]
    assert len(session.tale.notes) == 3


def test_a_summary_stands_for_what_it_summed_up_and_nothing_is_lost(tmp_path: Path) -> None:
    data = b"".join(
        [
            line("user", "1", None, {"role": "user", "content": "a"}),
            line("assistant", "2", "1", answered("A", "m1")),
            line("user", "3", None, {"role": "user", "content": "So far: a."}, isCompactSummary=True),
            line("user", "4", "3", {"role": "user", "content": "b"}),
        ]
    )
    session = session_of(data, tmp_path)
    assert [message.text for message in session.tale.history] == ["a", "A", "b"]
    assert (session.tale.cut.upto, session.tale.cut.summary) == (2, "So far: a.")


@each
def test_a_line_gone_wrong_in_one_place_is_read_or_refused_by_name(name: str) -> None:
    lines = (DATA / f"{name}.jsonl").read_bytes().splitlines()
    saved = msgspec.json.Decoder(tuple[Entry, ...])
    taken = refused = 0
    for at, line in enumerate(lines):
        said = msgspec.json.decode(line)
        for path in places(said):
            if not 0 < len(path) < 4:
                continue
            for odd in (5, [None]):
                wrong = msgspec.json.encode(put(said, path, odd))
                try:
                    log = read(b"\n".join([*lines[:at], wrong, *lines[at + 1 :]]))
                except (RemoteError, UsageError):
                    refused += 1
                    continue
                assert saved.decode(msgspec.json.encode(log.entries)) == log.entries
                taken += 1
    assert min(taken, refused) > 0


def test_a_line_without_its_role_is_of_the_one_whose_kind_it_is() -> None:
    lines = [
        {"type": "user", "sessionId": "s", "uuid": "1", "message": {"content": "hi"}},
        {"type": "assistant", "sessionId": "s", "uuid": "2", "message": {"content": [{"type": "text", "text": "ho"}]}},
    ]
    log = read(b"\n".join(map(msgspec.json.encode, lines)))
    assert [entry.message.text for entry in log.entries if isinstance(entry, Said)] == ["hi", "ho"]


def test_what_is_no_log_is_said() -> None:
    with pytest.raises(UsageError, match="no session log"):
        read(b'{"a":1}\n')
    with pytest.raises(RemoteError, match="line 1"):
        read(b'{"a":\n{}\n')
