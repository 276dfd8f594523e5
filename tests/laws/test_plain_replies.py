"""Guards the short way of plain chat replies: what is read and written at once equals what the long way gives, fault by fault."""

from __future__ import annotations

import json
from collections.abc import Generator
from contextlib import contextmanager
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dragoman.dialect.model import BASE, Dialect
from dragoman.errors import DragomanError
from dragoman.types import Message, Reply, Text
from dragoman.wire import WIRES, find
from dragoman.wire.base import Exchange
from dragoman.wire.chat import plain_reply
from laws.bodies import of
from laws.both_ways import body
from laws.junk import JUNK, each_gone_wrong, mutated, places
from laws.test_shapes import with_key, without
from matrix import recordings
from says import SAYS
from strategies import replies

WIRE = find("chat")
TAGS = Dialect(name="tags", source="a test", think_tags="open")
CALL = {"id": "1", "type": "function", "function": {"name": "f", "arguments": "{}"}}
SAID: dict[str, dict[str, Any]] = {
    "text": {
        "id": "x",
        "object": "chat.completion",
        "created": 1,
        "model": "m",
        "choices": [
            {
                "index": 0,
                "message": {"role": "assistant", "content": "看", "refusal": None, "annotations": []},
                "logprobs": None,
                "finish_reason": "stop",
            }
        ],
        "usage": {"prompt_tokens": 9, "completion_tokens": 3, "prompt_tokens_details": {"cached_tokens": 4}},
        "service_tier": "default",
    },
    "calls": {
        "choices": [
            {"message": {"role": "assistant", "content": None, "tool_calls": [CALL]}, "finish_reason": "tool_calls"},
            {"message": {"role": "assistant", "content": "A", "tool_calls": [CALL, CALL]}, "finish_reason": "stop"},
        ],
    },
}


@contextmanager
def long_way() -> Generator[None]:
    """No reply is plain."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(plain_reply, "read_choice", lambda *_: None)
        patch.setattr(plain_reply, "write_message", lambda *_: None)
        yield


def outcome(data: bytes, dialect: Dialect) -> Any:
    """What is read, and how every wire writes it; or the error."""
    try:
        decoded = WIRE.decode_reply(data, dialect, Exchange())
    except DragomanError as error:
        return type(error), str(error)
    return decoded, [find(wire).encode_reply(decoded.value, dialect, Exchange()) for wire in WIRES]


def compare(data: bytes) -> None:
    for dialect in (BASE, TAGS):
        short = outcome(data, dialect)
        with long_way():
            assert outcome(data, dialect) == short, data


@pytest.mark.parametrize("name", SAID)
def test_a_plain_reply_goes_the_short_way(name: str) -> None:
    compare(body(SAID[name]))
    for choice in SAID[name]["choices"]:
        read = plain_reply.read_choice(choice, BASE, None)  # type: ignore[arg-type]
        assert read is not None
        assert plain_reply.write_message(read[0].message, BASE) == choice["message"]


def test_an_empty_bag_of_this_wire_hides_none_of_another() -> None:
    opaque = {"chat": {}, "messages": {"x": 1}}
    assert plain_reply.write_message(Message(role="assistant", content=(Text(text="A"),), opaque=opaque), BASE) is None


@pytest.mark.parametrize("name", SAID)
def test_one_place_gone_wrong(name: str) -> None:
    for value in each_gone_wrong(SAID[name]):
        compare(body(value))
    for path in places(SAID[name]):
        compare(body(without(SAID[name], path)))
        for key, junk in zip(("role", "content", "name", "usage", "prefix", "~", "tool_calls"), JUNK, strict=False):
            compare(body(with_key(SAID[name], path, key, junk)))


@pytest.mark.parametrize("name", of("chat").REPLIES)
def test_replies_by_hand(name: str) -> None:
    compare(body(of("chat").REPLIES[name]))


@pytest.mark.parametrize("wire", WIRES)
@settings(max_examples=20)
@given(data=st.data())
def test_replies_of_any_kind(wire: str, data: st.DataObject) -> None:
    reply: Reply = data.draw(replies(SAYS[wire]))
    short = WIRE.encode_reply(reply, BASE, Exchange(seed="s", now=1))
    with long_way():
        assert WIRE.encode_reply(reply, BASE, Exchange(seed="s", now=1)) == short
    compare(short.body)
    compare(body(data.draw(mutated(json.loads(short.body)))))


@pytest.mark.corpus
@pytest.mark.skipif(not recordings.present(), reason="the recordings are not here")
def test_recorded_replies() -> None:
    hits = compared = 0
    for entry in recordings.judged("chat"):
        if recordings.is_stream(entry):
            continue
        data = recordings.body(entry)
        compare(data)
        compared += 1
        choices: Any = json.loads(data).get("choices") or [{}]
        hits += plain_reply.read_choice(choices[0], BASE, None) is not None  # type: ignore[arg-type]
    assert hits > compared / 3 > 100
