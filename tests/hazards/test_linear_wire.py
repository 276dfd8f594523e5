"""Guards that what a service or a client writes without end takes linear work and limited memory: blanks before a stream, objects after
objects, a thought in many parts, results after results; and that a number which is no place is no error of the interpreter's."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any, SupportsIndex

import pytest

from dragoman.dialect.model import BASE
from dragoman.dialect.schema import SUBSETS
from dragoman.errors import RemoteError
from dragoman.types import Failure, Raw, Reasoning, ToolResult
from dragoman.wire import find, jsonio
from dragoman.wire.base import Exchange, Http, Notes
from dragoman.wire.extent import objects
from dragoman.wire.responses.reasoning import decode_reasoning, encode_reasoning
from dragoman.wire.schema import compile
from hazards.cases import chat
from work import lines


class Cut(str):
    """A text that counts what is copied of it."""

    copied = 0

    def __getitem__(self, key: SupportsIndex | slice) -> Cut:
        part = Cut(super().__getitem__(key))
        Cut.copied += len(part)
        return part

    def lstrip(self, chars: str | None = None) -> Cut:
        return Cut(super().lstrip(chars))


def copied(does: Callable[[], Any]) -> int:
    Cut.copied = 0
    does()
    return Cut.copied


@pytest.mark.parametrize("wire", ("chat", "completions", "messages", "responses"))
def test_blanks_before_a_stream_have_a_limit(wire: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(jsonio, "MAX_BYTES", 100)
    decoder = find(wire).stream_decoder(BASE, Exchange())
    told = [decoder.feed(b" \r\n" * 20) for _ in range(3)]
    (failure,) = told[1]
    assert isinstance(failure, Failure) and failure.code == "too_large"
    assert (told[0], told[2], decoder.close()) == ([], [], [])


def test_objects_after_objects_are_not_copied_for_each() -> None:
    text = Cut('{"a":"}"} []' * 200)
    assert copied(lambda: objects(text)) < 2 * len(text)
    assert objects("{} []\n{}") == ["{}", "[]", "{}"]


def test_a_thought_in_many_parts_is_not_copied_for_each() -> None:
    parts = [{"type": "reasoning_text", "text": "x" * (at % 7)} for at in range(200)]
    read = decode_reasoning({"type": "reasoning", "content": parts})
    text = Cut(read.text)
    block = Reasoning(text=text, opaque=read.opaque)
    assert copied(lambda: encode_reasoning(block, BASE, Notes(), (), shown=False)) == len(text)
    assert encode_reasoning(read, BASE, Notes(), (), shown=False) == {"type": "reasoning", "content": parts}


@pytest.mark.parametrize("role", ["tool", "function"])
def test_results_after_results_are_read_in_linear_work(role: str) -> None:
    def read(count: int) -> Any:
        results = [{"role": role, "tool_call_id": f"c{at}", "name": f"f{at}", "content": "r"} for at in range(count)]
        http = Http(body=json.dumps({"model": "m", "messages": results}).encode())
        return find("chat").decode_request(http, BASE, Exchange()).request

    few, many = (lines(lambda n=n: read(n)) for n in (50, 400))
    assert many < 9 * few


def test_a_result_is_of_the_kind_of_the_latest_call_that_it_answers() -> None:
    def asked(kind: str) -> dict[str, Any]:
        said = {"name": "f", "input": "x"} if kind == "custom" else {"name": "f", "arguments": "{}"}
        return {"role": "assistant", "content": "", "tool_calls": [{"id": "c", "type": kind, kind: said}]}

    told = {"role": "tool", "tool_call_id": "c", "content": "r"}
    legacy = [
        {"role": "assistant", "function_call": {"name": "f", "arguments": "{}"}},
        {"role": "function", "name": "f", "content": "r"},
    ]
    turns = [
        asked("custom"),
        told,
        told,
        asked("function"),
        told,
        {"role": "user", "content": "hi"},
        told,
        *legacy,
        legacy[1],
    ]
    body = json.dumps({"model": "m", "messages": turns}).encode()
    request = find("chat").decode_request(Http(body=body), BASE, Exchange()).request
    results = [block for message in request.messages for block in message.content if isinstance(block, ToolResult)]
    assert [(block.call_id, block.kind) for block in results] == [
        *[("c", "custom")] * 2,
        *[("c", "function")] * 2,
        *[("call_7", "function")] * 2,
    ]


@pytest.mark.parametrize("subset", SUBSETS)
def test_a_reference_to_a_place_beyond_all_numbers_leads_nowhere(subset: str) -> None:
    def changes(step: str) -> Any:
        compiled = compile(
            {"type": "object", "properties": {"a": {"$ref": f"#/allOf/{step}"}}, "allOf": [{}]}, SUBSETS[subset]
        )
        return [change.path for change in compiled.changes]

    assert changes("1" * 5000) == changes("7")


@pytest.mark.parametrize("index", ["1", 1.0, {}, [1], True])
def test_a_choice_whose_number_is_none_has_none(index: Any) -> None:
    decoder = find("chat").stream_decoder(BASE, Exchange())
    piece = {"index": index, "delta": {"content": "a"}}
    stream = chat({"content": "x"}).replace(b'"choices": [', b'"choices": [' + json.dumps(piece).encode() + b", ", 1)
    raws = [event for event in decoder.feed(stream) if isinstance(event, Raw)]
    assert [(raw.index, raw.payload) for raw in raws] == [(None, piece)]


@pytest.mark.parametrize("wire", ["chat", "messages", "responses"])
@pytest.mark.parametrize("role", ["x" * 100_000, ["x"] * 100_000])
def test_a_refusal_is_no_longer_than_people_read(wire: str, role: Any) -> None:
    said = [{"role": role, "content": "hi"}]
    body = json.dumps({"input": said} if wire == "responses" else {"max_tokens": 9, "messages": said}).encode()
    with pytest.raises(RemoteError, match="unknown role") as caught:
        find(wire).decode_request(Http(body=body), BASE, Exchange())
    assert len(str(caught.value)) < 600
