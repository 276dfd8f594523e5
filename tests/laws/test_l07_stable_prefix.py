"""Law L7: encoding is deterministic and element by element: a longer history leaves every earlier element as it was."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dragoman.types import Request
from dragoman.wire import WIRES
from dragoman.wire.completions.prompt import BETWEEN, CUE
from laws.bodies import LANDED
from laws.both_ways import encode_reply, encode_request, encode_stream, fewer
from says import ANYTHING
from strategies import replies, requests

each_wire = pytest.mark.parametrize("wire", LANDED)
# Where a wire keeps its history; what a message holds counts as elements too, since neighbours may share a message.
PLACES = {"chat": "messages", "messages": "messages", "responses": "input", "ollama": "messages"}


def elements(wire: str, request: Request) -> list[Any]:
    """The history as a flat list in the order of the body."""
    out = encode_request(wire, request)
    body: Any = json.loads(out.http.body)
    if wire == "completions":  # one user's message is the prompt itself, a conversation its turns in plain words
        rendered = any(note.path == ("messages",) for note in out.notes)
        return list(body.get("prompt", "").removesuffix(f"{BETWEEN}{CUE}")) if rendered else []
    prompt = body.get("system") or body.get("instructions") or []
    flat: list[Any] = [{"type": "text", "text": prompt}] if isinstance(prompt, str) else list(prompt)
    history = body[PLACES[wire]]
    for item in [history] if isinstance(history, str) else history:
        content = item.get("content")
        if isinstance(content, list):
            flat += [{**item, "content": [part]} for part in content]
        else:
            flat.append(item)
    return flat


@each_wire
@fewer
@given(request=requests())
def test_the_same_value_gives_the_same_bytes(wire: str, request: Request) -> None:
    assert encode_request(wire, request) == encode_request(wire, request)
    copied = msgspec.convert(msgspec.to_builtins(request), Request)
    assert encode_request(wire, copied).http.body == encode_request(wire, request).http.body


@pytest.mark.parametrize("wire", WIRES)
@fewer
@given(data=st.data())
def test_the_same_reply_gives_the_same_bytes(wire: str, data: st.DataObject) -> None:
    reply = data.draw(replies())
    assert encode_reply(wire, reply) == encode_reply(wire, reply)
    assert encode_stream(wire, reply) == encode_stream(wire, reply)


@pytest.mark.req("S3-45")
@each_wire
@fewer
@given(request=requests(replace(ANYTHING, tools_change=())))  # new tools stand before the history on most wires
def test_a_longer_history_begins_with_the_shorter_one(wire: str, request: Request) -> None:
    shorter: list[Any] = []
    for count in range(1, len(request.messages) + 1):
        longer = elements(wire, msgspec.structs.replace(request, messages=request.messages[:count]))
        assert longer[: len(shorter)] == shorter
        shorter = longer
