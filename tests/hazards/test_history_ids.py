"""Guards call ids on their way to a server that wants another form: legal, different, the same in call and result."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest

from dragoman import translate
from dragoman.dialect.find import named
from dragoman.dialect.model import BASE, Dialect
from dragoman.translate import Options
from dragoman.wire import find
from dragoman.wire.base import Http

Body = dict[str, Any]
FOREIGN = ("functions.run:0", "functions_run_0", "call_x|fc_y", "调用-1", "toolu_01VpEm654HvfMoRcrE3Hgdc6")


def turn(*ids: str) -> list[Body]:
    calls = [{"id": id, "type": "function", "function": {"name": "run", "arguments": "{}"}} for id in ids]
    results = [{"role": "tool", "tool_call_id": id, "content": f"of {id}"} for id in ids]
    return [{"role": "user", "content": "x"}, {"role": "assistant", "content": None, "tool_calls": calls}, *results]


def sent(messages: list[Body], target: str, dialect: Dialect = BASE) -> list[Body]:
    body = json.dumps({"messages": messages}).encode()
    out = translate.request(Http(body=body), find("chat"), find(target), Options(target=dialect)).http.body
    return json.loads(out)["messages"]


def in_messages(messages: list[Body]) -> list[tuple[str, str]]:
    """Each call's id in the messages body and what its result says."""
    parts = [part for message in messages if isinstance(message["content"], list) for part in message["content"]]
    said = {part["tool_use_id"]: part["content"] for part in parts if part["type"] == "tool_result"}
    return [(part["id"], said[part["id"]]) for part in parts if part["type"] == "tool_use"]


@pytest.mark.case("REQ-007")
def test_ids_that_a_messages_server_refuses_are_replaced_alike_in_call_and_result() -> None:
    pairs = in_messages(sent(turn(*FOREIGN), "messages"))
    assert [said for _, said in pairs] == [f"of {id}" for id in FOREIGN]
    ids = [id for id, _ in pairs]
    assert len(set(ids)) == len(FOREIGN)
    assert all(re.fullmatch("[a-zA-Z0-9_-]+", id) for id in ids)
    assert ids[1] == "functions_run_0"
    assert ids[4] == FOREIGN[4]


@pytest.mark.case("REQ-007")
def test_a_longer_history_gives_the_earlier_calls_the_same_ids() -> None:
    first, more = turn(*FOREIGN[:3]), turn(*FOREIGN[3:])
    short, long = sent(first, "messages"), sent([*first, {"role": "assistant", "content": "ok"}, *more], "messages")
    assert long[: len(short)] == short


@pytest.mark.case("REQ-028")
def test_a_server_that_wants_nine_letters_and_digits_gets_them() -> None:
    fits = "a1B2c3D4e"
    out = sent(turn(*FOREIGN, fits), "chat", named("mistral", "chat"))
    ids = [call["id"] for call in out[1]["tool_calls"]]
    assert all(re.fullmatch("[a-zA-Z0-9]{9}", id) for id in ids)
    assert len(set(ids)) == len(ids)
    assert ids[-1] == fits
    assert [(message["tool_call_id"], message["content"]) for message in out[2:]] == [
        (id, f"of {said}") for id, said in zip(ids, (*FOREIGN, fits), strict=True)
    ]
