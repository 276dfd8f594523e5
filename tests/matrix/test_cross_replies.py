"""Guards that a whole reply written for a client of another wire is of its vendor's own response type, says nothing that
this type does not know, and reads the same."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest
from anthropic.types.beta import BetaMessage
from openai.types.chat import ChatCompletion
from openai.types.responses import Response
from pydantic import BaseModel, ValidationError

from dragoman.dialect.model import BASE
from dragoman.wire import find
from dragoman.wire.base import Exchange
from matrix import judge, oracle, pairs, reader, recordings
from matrix.pairs import same

TYPES: dict[str, Any] = {"chat": ChatCompletion, "messages": BetaMessage, "responses": Response}
CLIENT = Exchange(model="m", seed="replies", now=1)
# Keys that the types lack: reasoning as most servers show it, what some say of the price, tokens by kind, and `store` and
# the penalties, which the vendor's own replies say.
BEYOND = {
    "chat": {"reasoning_content", "cost"},
    "messages": {"cost"},
    "responses": {"cost", "store", "frequency_penalty", "presence_penalty", "audio_tokens", "image_tokens"},
}
# Replies that contradict themselves.
UNSAYABLE = {
    "pydantic-ai-ce0934342dbf": "as many tokens written to the cache as read from it, together more than there were",
}


@pytest.mark.corpus
@pytest.mark.parametrize(("source", "target"), pairs.PAIRS)
def test_every_recorded_reply_is_valid_on_the_other_wire_and_reads_the_same(source: str, target: str) -> None:
    wrong: dict[str, list[str]] = {}
    count = 0
    for entry in judge.whole_replies(source):
        if entry["id"] in recordings.NOT_JUDGED or entry["id"] in recordings.NOT_A_REPLY:
            continue
        count += 1
        written = json.loads(find(target).encode_reply(reader.reply(entry), BASE, CLIENT).body)
        told = refusals(target, written) + same(oracle.read(entry), oracle.READERS[target][0](written))
        if told and entry["id"] not in UNSAYABLE:
            wrong[entry["id"]] = told
    assert wrong == {}
    assert count > 350


def refusals(wire: str, body: dict[str, Any]) -> list[str]:
    """What the response type of a wire's vendor says against a body: wrong or missing values, and unknown keys."""
    try:
        value = TYPES[wire].model_validate_json(json.dumps(body), strict=True)
    except ValidationError as error:
        return [f"{'.'.join(map(str, item['loc']))}: {item['msg']}" for item in error.errors()]
    return [f"unknown key {key}" for key in _unknown(value) if key.rpartition(".")[2] not in BEYOND[wire]]


def _unknown(value: Any, place: str = "") -> Iterator[str]:
    if isinstance(value, BaseModel):
        yield from (f"{place}.{key}" for key in value.model_extra or {})
        for key in type(value).model_fields:
            yield from _unknown(getattr(value, key), f"{place}.{key}")
    elif isinstance(value, list):
        for item in value:
            yield from _unknown(item, f"{place}[]")


GOOD: dict[str, Any] = {
    "id": "c",
    "object": "chat.completion",
    "created": 1,
    "model": "m",
    "choices": [{"index": 0, "message": {"role": "assistant", "content": "hi"}, "finish_reason": "stop"}],
}


def test_the_judge_is_strict() -> None:
    assert refusals("chat", {**GOOD, "choices": [{**GOOD["choices"][0], "logprobs": None}]}) == []
    assert refusals("chat", {**GOOD, "created": "1"}) != []
    assert refusals("chat", {**GOOD, "choices": [{"index": 0, "finish_reason": "stop"}]}) != []
    assert refusals("chat", {**GOOD, "mood": "glad"}) == ["unknown key .mood"]
    assert refusals("messages", {"id": "m", "type": "message", "role": "assistant", "content": []}) != []
