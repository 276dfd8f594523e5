"""Guards that a request translated to another wire is one its vendor's own types know, and that the judge of it is strict."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest

from matrix import pairs, recordings, sdk, valid

USER = {"role": "user", "content": "hi"}


def chat(**more: Any) -> dict[str, Any]:
    return {"model": "m", "messages": [USER], **more}


@pytest.mark.parametrize(
    ("wire", "body"),
    [
        ("chat", chat()),
        ("messages", {"model": "m", "max_tokens": 9, "messages": [USER]}),
        ("responses", {"model": "m", "input": [USER]}),
        ("responses", {"prompt": {"id": "pmpt_1"}}),
    ],
)
def test_the_judge_takes_what_is_right(wire: str, body: dict[str, Any]) -> None:
    assert valid.errors(wire, body) == []


RESULT = {"type": "tool_result", "tool_use_id": "t1", "content": "x"}


@pytest.mark.parametrize(
    ("wire", "body", "place"),
    [
        ("chat", chat(tools=["read"]), "tools.0"),
        ("responses", {"model": "m", "input": "x", "tools": ["read"]}, "tools.0"),
        ("messages", {"model": "m", "max_tokens": 9, "messages": [USER], "tools": ["read"]}, "tools.0"),
        ("chat", chat(messages=[{"role": "user", "content": [RESULT]}]), "messages.0"),
        ("chat", chat(answer_quickly=True), "answer_quickly"),
        ("chat", chat(messages=[{**USER, "mood": "glad"}]), "mood"),
        ("responses", {"model": "m", "messages": [USER]}, "messages"),
        ("messages", {"model": "m", "messages": [USER]}, "max_tokens"),
    ],
)
def test_the_judge_refuses_what_is_wrong(wire: str, body: dict[str, Any], place: str) -> None:
    assert any(place in told for told in valid.errors(wire, body))


@pytest.mark.corpus
@pytest.mark.parametrize("wire", recordings.WIRES)
def test_the_judge_agrees_with_the_vendor(wire: str) -> None:
    """Every recorded request that the vendor itself answered with 200 is valid, up to the classes of ACCEPTED."""
    refused: dict[str, list[str]] = {}
    classes: Counter[str] = Counter()
    for entry in recordings.entries(wire):
        if sdk.speaks(entry) and entry["status"] == 200 and isinstance(entry["request"], dict):
            body, names = valid.mended(wire, entry["request"])
            classes.update(names)
            if told := valid.errors(wire, body):
                refused[entry["id"]] = told
    assert refused == {}
    assert classes == {row.name: row.taken for row in valid.ACCEPTED if row.wire == wire}


@pytest.mark.corpus
@pytest.mark.parametrize(("source", "target"), pairs.PAIRS)
def test_every_recorded_request_is_valid_on_the_other_wire(source: str, target: str) -> None:
    pair = pairs.judged(source, target)
    assert pair.invalid == {}
    assert pair.total > 450
