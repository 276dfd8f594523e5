"""Guards repair as a whole (C-28): whatever comes, it mends all that can be mended, once, and leaves the rest alone."""

from __future__ import annotations

import msgspec
import pytest
from hypothesis import given, settings

from dragoman.dialect.model import BASE, Dialect
from dragoman.history import check, repair
from dragoman.types import Message, Request, ToolCall, ToolResult, user
from dragoman.wire import find, jsonio
from dragoman.wire.base import Exchange
from strategies import messages as sound_messages
from strategies import requests as sound_requests
from unit.history.broken import WIRES, ends, requests, without_surrogates

LISTS = {"chat": "messages", "messages": "messages", "responses": "input"}


@settings(max_examples=25)
@given(requests(), ends)
def test_what_is_repaired_has_nothing_left_to_repair(request: Request, end: tuple[str, Dialect]) -> None:
    repaired = repair(request, *end)
    assert [finding for finding in check(repaired.request, *end) if finding.fixable] == []


@settings(max_examples=25)
@given(requests(), ends)
def test_repairing_twice_changes_nothing_more(request: Request, end: tuple[str, Dialect]) -> None:
    once = repair(request, *end).request
    twice = repair(once, *end)
    assert twice.request is once
    assert twice.notes == ()


@settings(max_examples=25)
@given(requests(), ends)
def test_a_request_without_faults_is_the_very_same_and_every_change_is_noted(
    request: Request, end: tuple[str, Dialect]
) -> None:
    sound = not any(finding.fixable for finding in check(request, *end))
    repaired = repair(request, *end)
    assert (repaired.request is request) is sound
    assert (repaired.notes == ()) is sound


@settings(max_examples=25)
@given(sound_requests())
@pytest.mark.parametrize("wire", WIRES)
def test_a_conversation_in_order_keeps_its_messages(wire: str, request: Request) -> None:
    mended = {"empty-text", "empty-message", "empty-reasoning", "invalid-arguments", "trailing-whitespace"}
    shapes = {"choice-without-tools", "parallel-without-tools", "duplicate-tool", "tools-missing", "no-messages"}
    told = {finding.rule for finding in check(request, wire) if finding.fixable}
    assert told <= mended | shapes


@settings(max_examples=25)
@given(requests(), ends)
def test_the_request_that_was_given_is_not_touched(request: Request, end: tuple[str, Dialect]) -> None:
    given_first = without_surrogates(request)
    before = msgspec.json.encode(given_first)
    repair(given_first, *end)
    assert msgspec.json.encode(given_first) == before


@settings(max_examples=25)
@given(sound_messages(), requests())
@pytest.mark.parametrize("wire", WIRES)
def test_messages_before_the_first_repaired_place_stay_the_same_bytes(
    wire: str, prefix: tuple[Message, ...], rest: Request
) -> None:
    head = repair(Request(model="m", messages=(*_of_no_namespace(prefix), user("go on"))), wire).request
    tail = without_surrogates(rest)
    request = msgspec.structs.replace(
        tail, model="m", state=None, messages=(*head.messages, *_with_user_first(tail.messages))
    )
    repaired = repair(request, wire).request
    kept = len(head.messages)
    assert all(new is old for new, old in zip(repaired.messages, head.messages, strict=False))
    assert _elements(repaired, wire)[: _count(head, wire)] == _elements(head, wire)
    assert len(repaired.messages) >= kept


@settings(max_examples=25)
@given(requests(), ends)
def test_each_note_and_each_place_lies_in_the_request_that_was_given(
    request: Request, end: tuple[str, Dialect]
) -> None:
    repaired = repair(request, *end)
    for note in repaired.notes:
        if note.path[0] == "messages" and len(note.path) > 1:
            assert 0 <= int(note.path[1]) < len(request.messages)
    for at, message in enumerate(repaired.request.messages):
        for inner, block in enumerate(message.content):
            path = repaired.given(("messages", at, "content", inner))
            assert path == ("messages",) or 0 <= int(path[1]) < len(request.messages)
            old = request.messages[int(path[1])].content if len(path) > 3 else ()
            if isinstance(block, ToolCall) and len(path) > 3:
                assert isinstance(old[int(path[3])], ToolCall | ToolResult)


def _of_no_namespace(messages: tuple[Message, ...]) -> tuple[Message, ...]:
    """The name under which a tool of a namespace is called follows from the tools on offer, which stand before all."""
    return tuple(
        msgspec.structs.replace(
            message,
            content=tuple(
                msgspec.structs.replace(block, namespace=None) if isinstance(block, ToolCall) else block
                for block in message.content
            ),
        )
        for message in messages
    )


def _with_user_first(messages: tuple[Message, ...]) -> tuple[Message, ...]:
    return (user("and then"), *messages)


def _elements(request: Request, wire: str) -> list[object]:
    sent = find(wire).encode_request(request, BASE, Exchange())
    return jsonio.decode(sent.http.body)[0].get(LISTS[wire], [])


def _count(request: Request, wire: str) -> int:
    return len(_elements(request, wire))
