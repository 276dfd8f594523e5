"""Guards the role gate (S4-19, S4-20, C-05): what users say while a run goes on is merged until it is sent, never after."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import msgspec
import pytest

from dragoman.agent import NeedModel, Run
from dragoman.dialect.model import BASE, override
from dragoman.history import check, repair
from dragoman.history.append import enqueue
from dragoman.types import Message, Request, Text, assistant, user
from dragoman.wire import WIRES, find
from dragoman.wire.base import Exchange
from unit.agent.scripted import call, calls, says

STRICT = override(BASE, {"alternate_roles": True})


@pytest.mark.req("S4-20")
def test_what_was_never_sent_is_merged_and_what_was_sent_is_not_touched() -> None:
    tail = (user("a"),)
    assert enqueue(tail, [user("b"), user("c")], sent=0) == (user("a", "b", "c"),)
    assert enqueue(tail, [user("b"), user("c")], sent=1) == (user("a"), user("b", "c"))
    assert enqueue((*tail, assistant("x")), [user("b")], sent=0) == (user("a"), assistant("x"), user("b"))


def test_what_cannot_be_one_message_stays_two() -> None:
    ann, ben = (Message(role="user", content=(Text(text="hi"),), name=name) for name in ("ann", "ben"))
    assert enqueue((ann,), [ben], sent=0) == (ann, ben)


def asked(run: Run) -> Request:
    need = run.step()
    assert isinstance(need, NeedModel)
    return need.request


@pytest.mark.req("S4-20")
def test_a_run_merges_what_is_said_before_the_model_reads_it() -> None:
    run = Run(Request(messages=(user("Go."),)))
    run.say(user("And be quick."))
    assert asked(run).messages == (user("Go.", "And be quick."),)


@pytest.mark.req("S4-19")
def test_a_run_leaves_alone_what_the_model_has_read() -> None:
    """The first request broke off, its question was sent: the next one begins with the same bytes."""
    run = Run(Request(messages=(user("Go."),)))
    first = asked(run)
    run.say(user("One."))
    run.say(user("Two."))
    again = asked(Run.resume(msgspec.json.decode(msgspec.json.encode(run.state), type=type(run.state))))
    assert again.messages == (*first.messages, user("One.", "Two."))
    for wire in WIRES:
        assert [finding for finding in check(again, wire) if finding.severity == "error"] == []


@pytest.mark.req("C-05")
@pytest.mark.req("S4-19")
@pytest.mark.parametrize("wire", list(WIRES))
def test_only_a_server_that_demands_turns_gets_them_and_only_on_the_copy(wire: str) -> None:
    """C-05: neighbours of one role become one, what cannot has a placeholder that says something."""
    ann, ben = (Message(role="user", content=(Text(text=name),), name=name) for name in ("ann", "ben"))
    said = Request(model="m", messages=(user("a"), user("b"), assistant("c"), ann, ben))
    assert repair(said, wire).request is said
    copy = repair(said, wire, STRICT).request
    assert copy.messages[:2] == (user("a", "b"), assistant("c"))
    roles = [message.role for message in copy.messages]
    assert all(one != other for one, other in pairwise(roles))
    assert repair(copy, wire, STRICT).request is copy
    body: Any = msgspec.json.decode(find(wire).encode_request(copy, STRICT, Exchange(seed="s", now=1)).http.body)
    assert '""' not in msgspec.json.encode(body).decode()


def test_results_stand_between_a_call_and_what_was_said_meanwhile() -> None:
    run = Run(Request(messages=(user("Go."),)))
    asked(run)
    run.give(calls(call("c1", "nobody")))
    run.say(user("Quick!"))
    assert [message.role for message in asked(run).messages] == ["user", "assistant", "tool", "user"]
    run.give(says("Done."))
