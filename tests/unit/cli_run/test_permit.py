"""Guards the question at the terminal (S4-35): yes is for one call, always for one rule, anything else is no, and nobody is nobody."""

from __future__ import annotations

import io
import os
import signal
from pathlib import Path

import pytest

from dragoman.agent import Gate, Policy, Question
from dragoman.cli.permit import Asker, interruptible, shown
from dragoman.tools.coding import coding_tools
from dragoman.transport.cancel import CancelToken
from dragoman.types import ToolCall


def question(gate: Gate, command: str) -> Question:
    call = ToolCall.of("t1", "shell", {"command": command})
    arguments = {"command": command}
    return Question(position=0, call=call, arguments=arguments, judgement=gate(call, arguments))


def asked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, said: str) -> tuple[Asker, object, Gate]:
    gate = Gate(Policy(), coding_tools(tmp_path))
    asker = Asker(gate, terminal=True)
    monkeypatch.setattr("sys.stdin", io.StringIO(said))
    return asker, asker(question(gate, "make test")), gate


@pytest.mark.parametrize(
    ("said", "answer"),
    [("y\n", True), ("YES\n", True), ("n\n", False), ("\n", False), ("", False), ("use pytest\n", "use pytest")],
)
def test_what_is_typed_decides(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], said: str, answer: object
) -> None:
    asker, given, gate = asked(tmp_path, monkeypatch, said)
    assert given == answer
    shown = capsys.readouterr().err
    assert '`shell` runs programs: shell {"command": "make test"}' in shown
    assert "(shell:make test)" in shown
    assert (gate.policy, asker.denied) == (Policy(), [])


def test_always_is_for_that_rule_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asker, given, gate = asked(tmp_path, monkeypatch, "a\n")
    assert given is True
    assert gate(ToolCall.of("t2", "shell", {}), {"command": "make test"}).verdict == "allow"
    assert gate(ToolCall.of("t2", "shell", {}), {"command": "make test; rm x"}).verdict == "ask"
    assert (
        asker(question(Gate(Policy(), coding_tools(tmp_path)), "make test")) is True
    )  # asked before the rule was there


def test_where_there_is_no_terminal_nobody_is_asked_and_the_rules_are_named(tmp_path: Path) -> None:
    gate = Gate(Policy(), coding_tools(tmp_path))
    asker = Asker(gate, terminal=False)
    assert [asker(question(gate, command)) for command in ("make", "make", "a; b")] == [None, None, None]
    assert asker.denied == ["shell:make", "shell"]


def test_ctrl_c_pulls_the_token_and_a_second_one_interrupts(tmp_path: Path) -> None:
    token, asker = CancelToken(), Asker(Gate(Policy(), coding_tools(tmp_path)), terminal=False)
    before = signal.getsignal(signal.SIGINT)
    with interruptible(token, asker):
        os.kill(os.getpid(), signal.SIGINT)
        assert token.cancelled
        with pytest.raises(KeyboardInterrupt):
            os.kill(os.getpid(), signal.SIGINT)
            signal.pause()
    assert signal.getsignal(signal.SIGINT) is before


def test_what_would_run_is_shown_whole_and_with_nothing_hidden() -> None:
    assert shown({"command": "ls \u202e\u200b; \x1b[2J 好"}) == '{"command": "ls \\u202e\\u200b; \\u001b[2J 好"}'
    assert shown({"command": "x" * 20_000}).endswith("… AND 10015 MORE CHARACTERS")
