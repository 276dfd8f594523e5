"""Guards real clients: each request that one of them was seen to send is read, comes out again as it was, and is a valid
request of the other two wires, with nothing lost untold and no tool left out."""

from __future__ import annotations

import json
from typing import Any

import pytest

from dragoman import translate
from dragoman.dialect.model import BASE
from dragoman.translate import Options
from dragoman.types import Request, Tool, ToolsChange
from dragoman.wire import find
from dragoman.wire.base import Exchange
from matrix import captures, cross, judge, recordings, valid
from matrix.captures import Capture
from matrix.pairs import PAIRS, WRITTEN

pytestmark = pytest.mark.skipif(not captures.present(), reason="the captures are not beside this checkout")


def decoded(capture: Capture) -> Any:
    return find(capture.wire).decode_request(capture.http, BASE, Exchange())


@pytest.mark.parametrize("wire", recordings.WIRES)
def test_each_request_of_a_real_client_comes_out_as_it_went_in(wire: str) -> None:
    wrong: dict[str, list[str]] = {}
    for capture in captures.captures(wire):
        incoming = decoded(capture)
        out = find(wire).encode_request(incoming.request, BASE, incoming.exchange)
        if told := judge.paths(capture.body, json.loads(out.http.body)):
            wrong[capture.name] = told
        assert out.notes == (), capture.name
    assert wrong == {}
    assert len(captures.captures(wire)) > 60


@pytest.mark.parametrize(("source", "target"), PAIRS)
def test_on_another_wire_it_is_valid_and_what_is_lost_is_told(source: str, target: str) -> None:
    wrong: dict[str, list[str]] = {}
    for capture in captures.captures(source):
        crossing = cross.cross(capture.http, source, target)
        if told := [*cross.faults(crossing), *errors(capture, target)]:
            wrong[capture.name] = told
    assert wrong == {}


def errors(capture: Capture, target: str) -> list[str]:
    """What the vendor's types say against the translated body."""
    options = Options(provider=Exchange(model="named-by-the-address"))
    body = json.loads(translate.request(capture.http, find(capture.wire), find(target), options).http.body)
    for row in valid.ACCEPTED:
        if row.wire == target and row.name in WRITTEN:
            row.mend(body)
    return valid.errors(target, body)


@pytest.mark.parametrize(("source", "target"), PAIRS)
def test_every_tool_that_the_client_runs_reaches_the_model(source: str, target: str) -> None:
    """Those that appear in mid-conversation too: the model would else be sent calls of tools that it never saw."""
    for capture in captures.captures(source):
        wanted = offered(decoded(capture).request)
        there = translate.request(capture.http, find(source), find(target))
        read = find(target).decode_request(there.http, BASE, Exchange()).request
        assert wanted <= offered(read), capture.name


def offered(request: Request) -> set[str]:
    """The names of the tools that a client runs, whenever they were offered."""
    added = [
        tool
        for message in request.messages
        for block in message.content
        if isinstance(block, ToolsChange)
        for tool in block.add or ()
    ]
    return {tool.name for tool in (*(request.tools or ()), *added) if isinstance(tool, Tool)}
