"""Guards the shapes that most bodies have: what the parser reads at once equals what the long way gives, fault by fault."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from importlib.util import find_spec
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dragoman.errors import RemoteError
from dragoman.wire import WIRES
from dragoman.wire.jsonio import MAX_DEPTH
from laws.bodies import of
from laws.both_ways import body, decode_request, encode_request
from laws.junk import JUNK, at, each_gone_wrong, mutated, places, put
from matrix import recordings
from says import SAYS
from strategies import requests

SHAPED = [wire for wire in WIRES if find_spec(f"dragoman.wire.{wire}.shapes")]
SCHEMA = {"type": "object", "properties": {"path": {"type": "string"}}}
TALK: dict[str, dict[str, Any]] = {
    "chat": {
        "model": "m",
        "messages": [
            {"role": "system", "content": "Be brief."},
            {"role": "developer", "content": [{"type": "text", "text": ""}]},
            {
                "role": "user",
                "content": [{"type": "text", "text": "看"}, {"type": "image_url", "image_url": {"url": "data:,x"}}],
            },
            {
                "role": "assistant",
                "tool_calls": [{"id": "1", "type": "function", "function": {"name": "f", "arguments": ""}}],
            },
            {"role": "tool", "tool_call_id": "1", "content": "[]"},
            {
                "role": "assistant",
                "content": None,
                "tool_calls": [{"id": "2", "type": "function", "function": {"name": "f", "arguments": "{}"}}],
            },
            {"role": "tool", "tool_call_id": "2", "content": [{"type": "text", "text": "a"}]},
            {"role": "assistant", "content": "Done."},
            {"role": "user", "content": ""},
        ],
        "tools": [
            {
                "type": "function",
                "function": {"name": "f", "description": "reads", "parameters": SCHEMA, "strict": False},
            },
            {"type": "function", "function": {"name": "g"}},
        ],
        "max_tokens": 9,
        "stream": True,
    },
    "messages": {
        "model": "m",
        "max_tokens": 9,
        "system": "Be brief.",
        "messages": [
            {"role": "user", "content": [{"type": "text", "text": "看", "cache_control": {"type": "ephemeral"}}]},
            {
                "role": "assistant",
                "content": [
                    {"type": "text", "text": "Yes."},
                    {"type": "tool_use", "id": "1", "name": "f", "input": {"n": 1e4}},
                ],
            },
            {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "1", "content": "[]"}]},
            {"role": "assistant", "content": "Done."},
            {"role": "user", "content": "And now?"},
        ],
        "tools": [{"name": "f", "description": "reads", "input_schema": SCHEMA}],
        "stream": True,
    },
    "responses": {
        "model": "m",
        "instructions": "Be brief.",
        "input": [
            {"type": "message", "role": "developer", "content": "Be kind."},
            {"role": "user", "content": [{"type": "input_text", "text": "看"}]},
            {"role": "assistant", "content": "I do."},
            {"type": "function_call", "call_id": "1", "name": "f", "arguments": "{}"},
            {"type": "function_call_output", "call_id": "1", "output": ""},
            {"type": "message", "role": "assistant", "content": "Done."},
            {"role": "user", "content": ""},
        ],
        "tools": [{"type": "function", "name": "f", "description": "reads", "parameters": SCHEMA, "strict": False}],
        "store": False,
        "stream": True,
    },
}


@contextmanager
def long_way() -> Iterator[None]:
    """No body has the shape."""
    with pytest.MonkeyPatch.context() as patch:
        for wire in SHAPED:
            patch.setattr(import_module(f"dragoman.wire.{wire}.shapes"), "read", lambda _: None)
        yield


def outcome(wire: str, data: bytes) -> Any:
    """What is read, and how it is written again; or the error."""
    try:
        incoming = decode_request(wire, data)
    except RemoteError as error:
        return error.code, error.message, error.path
    return incoming, encode_request(wire, incoming.request, wire).http.body


def compare(wire: str, data: bytes) -> None:
    short = outcome(wire, data)
    with long_way():
        assert outcome(wire, data) == short, data


def is_shaped(wire: str, value: Any) -> bool:
    return import_module(f"dragoman.wire.{wire}.shapes").read(body(value)) is not None


@pytest.mark.parametrize("wire", SHAPED)
def test_a_common_body_goes_the_short_way(wire: str) -> None:
    assert is_shaped(wire, TALK[wire])
    compare(wire, body(TALK[wire]))


@pytest.mark.parametrize("wire", SHAPED)
def test_one_place_gone_wrong(wire: str) -> None:
    for value in each_gone_wrong(TALK[wire]):
        compare(wire, body(value))
    for path in places(TALK[wire]):
        compare(wire, body(without(TALK[wire], path)))
        for key, junk in zip(("content", "role", "type", "id", "name", "cache_control", "~"), JUNK, strict=False):
            compare(wire, body(with_key(TALK[wire], path, key, junk)))


def without(value: Any, path: tuple[Any, ...]) -> Any:
    """A body with one key of an object, or one item of an array, gone."""
    if not path:
        return None
    held = at(value, path[:-1])
    if isinstance(held, list):
        return put(value, path[:-1], [item for index, item in enumerate(held) if index != path[-1]])
    return put(value, path[:-1], {key: item for key, item in held.items() if key != path[-1]})


def with_key(value: Any, path: tuple[Any, ...], key: str, junk: Any) -> Any:
    """A body with one more key in an object."""
    try:
        return put(value, (*path, key), junk)
    except TypeError:  # no object
        return value


@pytest.mark.parametrize("wire", SHAPED)
@settings(max_examples=40)
@given(data=st.data())
def test_bodies_of_any_kind(wire: str, data: st.DataObject) -> None:
    written = json.loads(encode_request(wire, data.draw(requests(SAYS[wire]))).http.body)
    compare(wire, body(written))
    compare(wire, body(data.draw(mutated(written))))
    compare(wire, body(data.draw(mutated(TALK[wire]))))


@pytest.mark.parametrize(("wire", "name"), [(wire, name) for wire in SHAPED for name in of(wire).REQUESTS])
def test_bodies_by_hand(wire: str, name: str) -> None:
    compare(wire, body(of(wire).REQUESTS[name]))


@pytest.mark.parametrize("wire", SHAPED)
def test_keys_said_twice(wire: str) -> None:
    whole = body(TALK[wire]).decode()
    for said in ('"role": "user"', '"content": "Done."', '"stream": true', '"type": "text"', '"name": "f"'):
        for again in ('"role": "assistant"', '"content": []', '"stream": 1', '"type": "image"', '"name": null', said):
            compare(wire, whole.replace(said, f"{said}, {again}").encode())
            compare(wire, whole.replace(said, f"{again}, {said}").encode())


@pytest.mark.parametrize("wire", SHAPED)
@pytest.mark.parametrize("bulk", [0, 600])
def test_the_limit_of_depth_is_the_same(wire: str, bulk: int) -> None:
    """Deep things stand where the shape does not look: in schemas, and in what goes beside."""
    key = "input" if wire == "responses" else "messages"
    talk = put(TALK[wire], (key,), TALK[wire][key] * (1 + bulk // len(TALK[wire][key])))
    holders = [
        path for path in places(talk) if path[-1:] in (("path",), ("stream",), ("input",)) and "messages" not in path
    ]
    for path in holders:
        results = []
        for levels in (MAX_DEPTH - len(path), MAX_DEPTH - len(path) + 1):
            deep = put(talk, path, "DEEP")
            data = body(deep).replace(b'"DEEP"', b"[" * levels + b"]" * levels)
            compare(wire, data)
            results.append(outcome(wire, data)[0])
        assert results[1] == "too_deep" != results[0]


@pytest.mark.corpus
@pytest.mark.skipif(not recordings.present(), reason="the recordings are not here")
@pytest.mark.parametrize("wire", SHAPED)
def test_recorded_requests(wire: str) -> None:
    shaped = compared = 0
    for entry in recordings.entries(wire):
        try:
            data = recordings.request_body(entry)
        except (KeyError, FileNotFoundError):
            continue
        compare(wire, data)
        compared += 1
        shaped += import_module(f"dragoman.wire.{wire}.shapes").read(data) is not None
    assert shaped > compared / 2 > 50


@pytest.mark.parametrize("levels", [MAX_DEPTH - 6, MAX_DEPTH - 5, MAX_DEPTH])
def test_the_limit_of_depth_holds_for_the_input_of_a_call(levels: int) -> None:
    """An input stands within body, messages, turn, content and block, and is an object itself."""
    talk = put(TALK["messages"], ("messages", 1, "content", 1, "input", "n"), "DEEP")
    data = body(talk).replace(b'"DEEP"', b"[" * levels + b"]" * levels)
    compare("messages", data)
    assert (outcome("messages", data)[0] == "too_deep") is (levels > MAX_DEPTH - 6)


def test_a_block_of_an_unknown_kind_is_kept_as_it_was_spelled() -> None:
    """The order of its keys too, however the body is read."""
    for source in ({"data": "x", "type": "odd"}, {"media_type": "image/png", "type": "base64"}):
        talk = put(TALK["messages"], ("messages", 0, "content", 0), {"source": source, "type": "image"})
        data = body(talk)
        compare("messages", data)
        assert body({"source": source, "type": "image"}).replace(b" ", b"") in outcome("messages", data)[1]
