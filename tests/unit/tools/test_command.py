"""Guards what counts as a simple command: nothing that a shell acts upon may hide behind a pattern that allows."""

from __future__ import annotations

import subprocess

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dragoman.tools.command import simple_words


@pytest.mark.parametrize(
    ("command", "words"),
    [
        ("git status", ("git", "status")),
        ("  git\t commit -m  'two words; $not this' ", ("git", "commit", "-m", "two words; $not this")),
        ('git log --grep="a;b|c" ""', ("git", "log", "--grep=a;b|c", "")),
        ("./run.sh -x", ("./run.sh", "-x")),
        ("printf 'a\nb'", ("printf", "a\nb")),
        ("echo 你好 '🚀'", ("echo", "你好", "🚀")),
        ("git commit --date=1'2'\"3\"", ("git", "commit", "--date=123")),
    ],
)
def test_words_are_what_a_shell_would_make_of_them(command: str, words: tuple[str, ...]) -> None:
    assert simple_words(command) == words


@pytest.mark.parametrize(
    "command",
    [
        *("git status; rm -rf /", "git status;rm x", "git status && rm x", "git status || rm x", "git status | sh"),
        *(
            "git status & rm x",
            "git status\nrm x",
            "git status\rrm x",
            "git log > /etc/passwd",
            "git log >> x",
            "sh < x",
        ),
        *(
            "git log $(rm x)",
            "git log `rm x`",
            'git log "$(rm x)"',
            'git log "`rm x`"',
            "git log $HOME",
            'git log "$HOME"',
        ),
        *("git log \\; rm", 'git log "\\$(rm)"', "git log *", "git log ?", "git log [a]", "git log {a,b}", "git log ~"),
        *(
            "(git status)",
            "{ git status; }",
            "git status # rm",
            "!! ",
            "git log <(rm x)",
            "git log 'open",
            'git log "open',
        ),
        *(
            "GIT_SSH=x git fetch",
            "a=1",
            "",
            "  ",
            "'' x",
            "'git status' x",
            "git\u00a0status",
            "git\u2028rm",
            "git \0 x",
            "git \x1b x",
        ),
    ],
)
def test_what_a_shell_acts_upon_is_not_simple(command: str) -> None:
    assert simple_words(command) is None


@given(
    st.lists(
        st.sampled_from(["git", "-x", "a b", ";", "&&", "$(echo hi)", "'", '"', "\\", " ", "\n", "`", "好", "*"]),
        max_size=6,
    )
)
def test_a_shell_agrees_about_every_simple_command(parts: list[str]) -> None:
    command = "printf '%s\\0' " + "".join(parts)
    words = simple_words(command)
    if words is not None and "%s\\0" in words[1]:
        shown = subprocess.run(["/bin/sh", "-c", command], capture_output=True, check=True).stdout.decode()
        assert tuple(shown.split("\0")[:-1]) == (words[2:] or ("",))
