"""Guards S4-35: what a call may do is decided by rules on its checked arguments, and no text can lift them."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from dragoman.agent import Gate, Judgement, Policy, Rule
from dragoman.agent.permission import refusal
from dragoman.errors import UsageError
from dragoman.tools import FunctionTool, Traits, tool
from dragoman.types import ToolCall


def tools(root: Path) -> list[FunctionTool]:
    @tool(access="write", traits=Traits(paths=("path",), root=str(root)))
    def edit(path: str) -> str:
        """Edit."""
        return path

    @tool(access="execute", traits=Traits(command="command"))
    def shell(command: str) -> str:
        """Run."""
        return command

    @tool(access="network", traits=Traits(subject="url"))
    def fetch(url: str) -> str:
        """Fetch."""
        return url

    @tool(traits=Traits(paths=("path", "others"), root=str(root)))
    def look(path: str, others: list[str] | None = None) -> str:
        """Look."""
        return path

    @tool(access="send")
    def mail(text: str) -> str:
        """Mail."""
        return text

    return [edit, shell, fetch, look, mail]


def judged(root: Path, name: str, arguments: dict[str, Any], **rules: Any) -> Judgement:
    return Gate(Policy.of(**rules), tools(root))(ToolCall(id="t", name=name, arguments=""), arguments)


@pytest.mark.req("S4-35")
def test_reading_is_allowed_and_everything_else_is_asked_about(tmp_path: Path) -> None:
    verdicts = {
        name: judged(tmp_path, name, arguments)
        for name, arguments in {
            "look": {"path": "a"},
            "edit": {"path": "src/a.py"},
            "shell": {"command": "git status"},
            "fetch": {"url": "https://a.example/x"},
            "mail": {"text": "hi"},
        }.items()
    }
    assert verdicts == {
        "look": Judgement(verdict="allow", why="`look` reads", grant="look:a"),
        "edit": Judgement(verdict="ask", why="`edit` changes files", grant="edit:src/a.py"),
        "shell": Judgement(verdict="ask", why="`shell` runs programs", grant="shell:git status"),
        "fetch": Judgement(verdict="ask", why="`fetch` fetches from elsewhere", grant="fetch:https://a.example/x"),
        "mail": Judgement(verdict="ask", why="`mail` sends or changes something elsewhere", grant="mail"),
    }


@pytest.mark.parametrize(
    ("name", "arguments", "rules", "verdict"),
    [
        ("shell", {"command": "git status"}, {"allow": ["shell:git*"]}, "allow"),
        ("shell", {"command": "git  'status'"}, {"allow": ["shell:git status"]}, "allow"),
        ("shell", {"command": "git status; rm -rf x"}, {"allow": ["shell:git*"]}, "ask"),
        ("shell", {"command": "git status\nrm -rf x"}, {"allow": ["shell:git*"]}, "ask"),
        ("shell", {"command": "git log $(rm x)"}, {"allow": ["shell:*"]}, "ask"),
        ("shell", {"command": "rm -rf x"}, {"allow": ["shell:git*"]}, "ask"),
        ("shell", {"command": "git status; rm -rf x"}, {"allow": ["shell"]}, "allow"),
        ("shell", {"command": "rm -rf x"}, {"allow": ["shell"], "deny": ["shell:rm*"]}, "deny"),
        ("shell", {"command": "ls; rm -rf x"}, {"allow": ["shell"], "deny": ["shell:rm*"]}, "deny"),
        ("shell", {"command": "ls"}, {"allow": ["shell"], "deny": ["shell:rm*"]}, "allow"),
        ("shell", {"command": "git push"}, {"allow": ["shell:git*"], "ask": ["shell:git push*"]}, "ask"),
        ("edit", {"path": "src/a/b.py"}, {"allow": ["edit:src/*"]}, "allow"),
        ("edit", {"path": "./src/../src/a.py"}, {"allow": ["edit:src/*"]}, "allow"),
        ("edit", {"path": "src/../setup.py"}, {"allow": ["edit:src/*"]}, "ask"),
        ("edit", {"path": ".git/hooks/pre-commit"}, {"allow": ["edit"]}, "ask"),
        ("edit", {"path": "sub/.git/config"}, {"allow": ["edit:*"]}, "ask"),
        ("edit", {"path": ".git/config"}, {"allow": ["edit:.git/config"]}, "allow"),
        ("edit", {"path": ".gitignore"}, {"allow": ["edit"]}, "allow"),
        ("edit", {"path": "../x"}, {"allow": ["edit"]}, "deny"),
        ("edit", {"path": "/etc/passwd"}, {"allow": ["edit:*"]}, "deny"),
        ("edit", {"path": "a\0b"}, {"allow": ["edit"]}, "deny"),
        ("look", {"path": "a", "others": ["b", "../c"]}, {}, "deny"),
        ("look", {"path": "a", "others": ["b"]}, {"deny": ["look:b"]}, "deny"),
        ("look", {"path": ".env"}, {"deny": ["look:.env*"]}, "deny"),
        ("look", {"path": "x/../.env"}, {"deny": ["look:.env*"]}, "deny"),
        ("fetch", {"url": "https://docs.example/a"}, {"allow": ["fetch:https://docs.example/*"]}, "allow"),
        ("fetch", {"url": "https://evil.example/a"}, {"allow": ["fetch:https://docs.example/*"]}, "ask"),
        ("unknown", {}, {}, "deny"),
    ],
)
def test_each_rule_covers_what_it_says_and_no_more(
    tmp_path: Path, name: str, arguments: dict[str, Any], rules: dict[str, list[str]], verdict: str
) -> None:
    assert judged(tmp_path, name, arguments, **rules).verdict == verdict


def test_a_link_leads_out_of_no_root(tmp_path: Path) -> None:
    root = tmp_path / "root"
    (root / "in").mkdir(parents=True)
    (tmp_path / "out").mkdir()
    os.symlink(tmp_path / "out", root / "door")
    os.symlink("in", root / "inner")
    os.symlink("loop", root / "loop")
    allowed = {"allow": ["edit"]}
    assert judged(root, "edit", {"path": "door/new.txt"}, **allowed).verdict == "deny"
    assert judged(root, "edit", {"path": "door"}, **allowed).verdict == "deny"
    assert judged(root, "edit", {"path": "inner/new.txt"}, **allowed).verdict == "allow"
    assert judged(root, "edit", {"path": "inner/new.txt"}, allow=["edit:in/*"]).verdict == "allow"


@pytest.mark.parametrize(
    ("rule", "why"),
    [
        ("*", "name one tool"),
        ("*:*", "name one tool"),
        ("", "name one tool"),
        ("shell:", "after the colon comes a pattern"),
        ("shel", "there is no tool `shel`; did you mean `shell`?"),
        ("mail:x*", "`mail` has nothing that a pattern could match"),
    ],
)
def test_there_is_no_yes_to_everything_and_no_rule_about_nothing(tmp_path: Path, rule: str, why: str) -> None:
    with pytest.raises(UsageError, match=why.replace("?", r"\?")):
        Gate(Policy.of(allow=[rule]), tools(tmp_path))


def test_classes_can_be_opened_and_closed_in_a_program(tmp_path: Path) -> None:
    gate = Gate(Policy(classes={"write": "allow", "read": "deny"}), tools(tmp_path))
    call = ToolCall(id="t", name="edit", arguments="")
    assert gate(call, {"path": "a"}).verdict == "allow"
    assert gate(call, {"path": "../a"}).verdict == "deny"
    assert gate(ToolCall(id="t", name="look", arguments=""), {"path": "a"}).verdict == "deny"


def test_one_more_rule_holds_from_then_on(tmp_path: Path) -> None:
    gate = Gate(Policy(), tools(tmp_path))
    call = ToolCall(id="t", name="shell", arguments="")
    assert gate(call, {"command": "make"}).verdict == "ask"
    gate.allow("shell:make")
    assert gate(call, {"command": "make"}).verdict == "allow"
    assert gate(call, {"command": "make install"}).verdict == "ask"
    assert gate.policy.allow == (Rule("shell", "make"),)


def test_what_was_refused_says_how_it_could_be_allowed(tmp_path: Path) -> None:
    call = ToolCall(id="t", name="shell", arguments="")
    gate = Gate(Policy.of(deny=["shell:rm*"]), tools(tmp_path))
    told = [refusal(call, gate(call, {"command": command})) for command in ("pytest 'a b'", "rm x")]
    assert told == [
        "not permitted, `shell` was not executed: `shell` runs programs, and nobody is here to be asked. Whoever runs "
        "this can allow it with --allow 'shell:pytest a b'.",
        "not permitted, `shell` was not executed: the rule `shell:rm*` says so.",
    ]
    chained = refusal(call, Gate(Policy(), tools(tmp_path))(call, {"command": "a; b"}))
    assert chained.endswith(
        "and this is no simple command, and nobody is here to be asked. Whoever runs this can allow it with --allow shell."
    )
    said = refusal(call, gate(call, {"command": "ls"}), asked="use `list` instead")
    assert said == "not permitted, `shell` was not executed: use `list` instead."
