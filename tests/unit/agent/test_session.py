"""Guards sessions (S4-11, I-12, I-08): a file of lines that survives its process, goes on, forks, and forgets nothing."""

from __future__ import annotations

import os
from pathlib import Path

import msgspec
import pytest

from dragoman.agent import Agent, Follow, Manner, Policy, Session
from dragoman.agent.calls import LOST
from dragoman.agent.entries import NOT_RUN, Began, Broke, Gave, Prompt, Queued, Said, Spent, Summed, Switched, Undone
from dragoman.errors import RemoteError, UsageError
from dragoman.history import Cut, check
from dragoman.history.window import WHOLE
from dragoman.tools import tool
from dragoman.transport.cancel import CancelToken
from dragoman.types import (
    Failure,
    Message,
    Note,
    Reasoning,
    Request,
    Start,
    Text,
    ToolCall,
    ToolResult,
    Usage,
    assistant,
    explode,
    system,
    user,
)
from dragoman.types import tool as tool_message
from dragoman.wire import WIRES
from hazards.storm_sessions import storm_of_sessions
from unit.agent.scripted import Script, call, calls, says


@tool
def look(n: int) -> str:
    """Look."""
    return f"看到 {n}"


def driven(session: Session, prompt: str, *turns: object, policy: Policy | None = None) -> None:
    """One run written into a session."""
    model = Script(*turns)  # type: ignore[arg-type]
    machine = Agent(model, [look], policy=policy or Policy()).start(prompt, history=session.tale.history)
    manner = Manner(checkpoint=Follow(session, machine))
    Agent(model, [look], policy=policy or Policy(), manner=manner).drive(machine)
    assert tuple(machine.history) == session.tale.history


def sound(session: Session) -> bool:
    asked = Request(messages=(*session.tale.history, user("go on")), tools=(look.definition,))
    return not [found for wire in WIRES for found in check(asked, wire) if found.severity == "error"]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "会话" / "one.jsonl"


@pytest.mark.req("S4-11")
@pytest.mark.req("C-26")
@pytest.mark.req("I-12")
@pytest.mark.req("S4-12")
def test_what_was_said_is_there_when_it_is_opened_again(path: Path) -> None:
    asked = calls(call("c1", "look", '{"n":1}'), call("c2", "look", '{"n":2}'), usage=Usage(input=10, output=5))
    with Session.create(path, system="说中文", model="local") as session:
        driven(session, "Go.", asked, says("完 🚀"))
    with Session.open(path) as again:
        driven(again, "And?", says("Nothing."))
    assert [type(entry) for entry in Session.open(path)] == [
        Prompt,
        Switched,
        Said,
        Said,
        Spent,
        Began,
        Began,
        Gave,
        Gave,
        Said,
        Spent,
        Said,
        Said,
        Spent,
    ]
    tale = Session.open(path).tale
    assert tale.history == again.tale.history
    assert tale.history[:4] == (
        user("Go."),
        asked.message,
        tool_message(
            ToolResult(call_id="c1", name="look", content=(Text(text="看到 1"),)),
            ToolResult(call_id="c2", name="look", content=(Text(text="看到 2"),)),
        ),
        says("完 🚀").message,
    )
    assert (tale.system, tale.model, tale.notes) == ("说中文", "local", [])
    assert tale.spent[0] == Spent(stop="tool_calls", usage=Usage(input=10, output=5))
    assert "看到 1".encode() in path.read_bytes()
    assert path.stat().st_mode & 0o777 == 0o600
    assert again.request(Request(model="m")) == Request(model="m", messages=(system("说中文"), *tale.history))


@pytest.mark.req("I-08")
@pytest.mark.req("S0-48")
def test_after_a_crash_each_open_call_has_a_result_that_says_whether_it_may_have_run(path: Path) -> None:
    message = assistant(*(ToolCall(id=id, name="look", arguments="{}") for id in ("a", "b", "c")))
    given = ToolResult(call_id="b", name="look", content=(Text(text="seen"),))
    with Session.create(path) as session:
        session.append(Said(message=user("Go.")), Said(message=message), Began(call_id="a"), Gave(result=given))
        session.append(Queued(message=user("Quick!")))
    with Session.open(path) as again:
        assert sound(again)
        again.settle()
        assert sound(again)
    results = [block for block in again.tale.history[2].content if isinstance(block, ToolResult)]
    assert [result.content for result in results] == [
        (Text(text=LOST),),
        given.content,
        (Text(text=NOT_RUN),),
    ]
    assert again.tale.history[3:] == (user("Quick!"),)
    assert Session.open(path).tale.history == again.tale.history


def test_a_half_written_line_is_dropped_with_a_note_and_cut_off_by_the_next_entry(path: Path) -> None:
    with Session.create(path) as session:
        session.append(Said(message=user("a")))
    whole = path.read_bytes()
    path.write_bytes(whole + b'{"entry":"message","mess')
    again = Session.open(path)
    assert [(note.action, note.loss, note.reason) for note in again.notes] == [
        ("dropped", True, "line 3 of the session was half written (24 bytes)")
    ]
    assert path.read_bytes() != whole
    again.append(Said(message=assistant("b")))
    assert path.read_bytes().startswith(whole)
    assert Session.open(path).tale.history == (user("a"), assistant("b"))
    assert Session.open(path).notes == ()
    again.close()


@pytest.mark.parametrize(
    ("content", "kind", "said"),
    [
        (b"", UsageError, "is no session"),
        (b'{"a":1}\n', UsageError, "is no session"),
        (b'{"format":"other","version":1,"id":"x","created":"y"}\n', UsageError, "its format is 'other'"),
        (b'{"format":"dragoman.session","version":9,"id":"x","created":"y"}\n', UsageError, "upgrade it"),
        (b'{"format":"dragoman.session","version":1,"id":"x","created":"y"}\n{"entry":\n', RemoteError, ":2: "),
        (b'{"format":"dragoman.session","version":1,"id":"x","created":"y"}\n{"entry":"new"}\n', RemoteError, ":2: "),
        (b'{"format":"dragoman.session","version":1,"id":"x","created":"y"}\n\xff\n', RemoteError, ":2: "),
        *(
            (
                b'{"format":"dragoman.session","version":1,"id":"x","created":"y"}\n'
                + b"[" * deep
                + b"]" * deep
                + b"\n",
                RemoteError,
                ":2: more than 640 levels",
            )
            for deep in (700, 5000)
        ),
    ],
)
def test_what_is_no_session_is_said_with_its_place(
    tmp_path: Path, content: bytes, kind: type[Exception], said: str
) -> None:
    file = tmp_path / "x.jsonl"
    file.write_bytes(content)
    with pytest.raises(kind, match=said):
        Session.open(file)
    with pytest.raises(UsageError, match="already"):
        Session.create(file)
    with pytest.raises(UsageError, match="No such file"):
        Session.open(tmp_path / "none")


def test_one_process_writes_at_a_time_and_nobody_cuts_off_what_another_wrote(path: Path) -> None:
    first = Session.create(path)
    second = Session.open(path)
    first.append(Said(message=user("a")))
    with pytest.raises(UsageError, match="another process"):
        second.append(Said(message=user("b")))
    first.close()
    with pytest.raises(UsageError, match="written to meanwhile"):
        second.append(Said(message=user("b")))
    assert Session.open(path).tale.history == (user("a"),)
    os.truncate(path, 10)
    with pytest.raises(UsageError, match="written to meanwhile"):
        first.append(Said(message=user("c")))


@pytest.mark.case("CAN-001")
def test_a_cancel_leaves_a_whole_session_and_the_results_that_came(path: Path) -> None:
    """One call is done, one waits when the user interrupts; then the conversation goes on."""
    token = CancelToken()

    @tool
    def stop(n: int) -> str:
        """Stop."""
        token.cancel()
        return "stopped"

    model = Script(calls(call("t2", "stop", '{"n":1}'), call("t1", "write", '{"n":1}')), says("Fine."))

    @tool(access="write")
    def write(n: int) -> str:
        """Write."""
        return "written"

    with Session.create(path) as session:
        policy = Policy.of(allow=["write"])
        machine = Agent(model, [stop, write], policy=policy).start("Go.")
        manner = Manner(checkpoint=Follow(session, machine))
        Agent(model, [stop, write], policy=policy, manner=manner).drive(machine, cancel=token)
    again = Session.open(path)
    results = [block for block in again.tale.history[2].content if isinstance(block, ToolResult)]
    assert [(result.call_id, result.is_error, result.content) for result in results] == [
        ("t2", None, (Text(text="stopped"),)),
        ("t1", True, (Text(text="cancelled by user: no result"),)),
    ]
    assert sound(again)


def test_a_reply_that_broke_off_is_kept_and_sent_to_nobody(path: Path) -> None:
    half = [*list(explode(says("Half an ans")))[:-1], Failure(code="network", message="gone")]
    with Session.create(path) as session:
        driven(session, "Go.", half)
    again = Session.open(path)
    assert again.tale.history == (user("Go."),)
    assert [reply.text for reply in again.tale.incomplete] == ["Half an ans"]
    assert [entry for entry in again if isinstance(entry, Broke)] == [Broke(reply=again.tale.incomplete[0])]
    assert isinstance(half[0], Start)


def test_an_undo_takes_back_a_round_of_the_conversation_and_of_the_file_nothing(path: Path) -> None:
    note = Note(path=("messages",), action="substituted", reason="compaction")
    with Session.create(path) as session:
        driven(session, "One.", says("1"))
        driven(session, "Two.", calls(call("c1", "look", '{"n":1}')), says("2"))
        session.append(Summed(cut=Cut(upto=2, summary="One."), note=note))
        size = path.stat().st_size
        assert session.undo() == 4
        assert path.stat().st_size > size
    again = Session.open(path)
    assert again.tale.history == (user("One."), assistant("1"))
    assert again.tale.cut == WHOLE
    assert [again.undo(), again.undo(), again.tale.history] == [2, 0, ()]
    again.close()


def test_a_fork_goes_its_own_way(path: Path, tmp_path: Path) -> None:
    with Session.create(path, system="S", model="local") as session:
        driven(session, "One.", says("1"))
        driven(session, "Two.", says("2"))
    whole = path.read_bytes()
    with session.fork(tmp_path / "two.jsonl", messages=2) as other:
        assert other.header.parent == session.header.id
        driven(other, "Three.", says("3"))
    assert path.read_bytes() == whole
    assert Session.open(tmp_path / "two.jsonl").tale.history == (
        user("One."),
        assistant("1"),
        user("Three."),
        assistant("3"),
    )


def test_a_session_is_exported_with_its_prompt_and_without_what_is_for_files_only(path: Path) -> None:
    with Session.create(path, system="S") as session:
        session.append(Said(message=user("a")), Said(message=assistant(Reasoning(text="hm"), "b")))
        session.append(Undone(messages=2), Switched(model="x"))
    found = session.export(look.definition)
    assert found.request == Request(
        messages=(system("S"), user("a"), assistant(Reasoning(text="hm"), "b")), tools=(look.definition,)
    )


def test_a_run_of_another_conversation_is_not_written(path: Path) -> None:
    with Session.create(path) as session:
        session.append(Said(message=user("a")))
        with pytest.raises(UsageError, match="another conversation"):
            Follow(session, Agent(Script(), []).start("b"))


def test_results_that_came_together_are_a_message_and_orphans_are_not_kept(path: Path) -> None:
    """What other programs wrote: a tool message of its own, and a turn that nobody answered."""
    results = tool_message(ToolResult(call_id="a", content=(Text(text="x"),)), ToolResult(call_id="b", content=()))
    with Session.create(path) as session:
        made = assistant(*(ToolCall(id=id, name="look", arguments="{}") for id in "ab"))
        session.append(Said(message=user("Go.")), Said(message=made), Said(message=results))
        session.append(Said(message=made), Said(message=user("Well?")))
        session.append(Gave(result=ToolResult(call_id="nobody", content=())))
    history = Session.open(path).tale.history
    assert history[:3] == (user("Go."), made, results)
    assert [message.role for message in history[3:]] == ["assistant", "tool", "user"]
    assert isinstance(history[4], Message)


def test_a_line_is_readable_by_anything_that_reads_json(path: Path) -> None:
    with Session.create(path) as session:
        session.append(Said(message=user("你好")))
    first, second = (msgspec.json.decode(line) for line in path.read_bytes().splitlines())
    assert (first["format"], first["version"]) == ("dragoman.session", 1)
    content = [{"type": "text", "text": "你好"}]
    assert second == {"entry": "message", "message": {"role": "user", "content": content}}


@pytest.mark.req("I-08")
def test_killed_and_torn_sessions_go_on(tmp_path: Path) -> None:
    """Ten children killed by SIGKILL, and files that end at any byte; `python tools/storm.py` does many more."""
    assert storm_of_sessions(7, 10, 2, tmp_path) == []
