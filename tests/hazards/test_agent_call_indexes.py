"""Guards AGT-018: parallel calls of a Responses service keep their own indexes and ids for a client of another wire."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

import pytest

from dragoman.translate import Options, StreamTranslator
from dragoman.wire import find
from dragoman.wire.base import Exchange
from hazards.cases import cuts


def event(name: str, **fields: Any) -> str:
    return f"event: {name}\ndata: {json.dumps({'type': name, **fields})}\n\n"


def item(index: int, arguments: str = "") -> dict[str, Any]:
    letter = "abc"[index]
    return {
        "type": "function_call",
        "id": f"fc_{letter}",
        "call_id": f"call_{letter}",
        "name": "add",
        "arguments": arguments,
    }


def stream(pieces: Iterable[tuple[int, str]], count: int) -> bytes:
    """A reply of `count` calls, opened at once, whose arguments come in `pieces` of an index and a text."""
    whole = ["", "", ""]
    said = event("response.created", response={"id": "r", "status": "in_progress", "output": []})
    for index in range(count):
        said += event("response.output_item.added", output_index=index, item=item(index))
    for index, text in pieces:
        whole[index] += text
        said += event(
            "response.function_call_arguments.delta", item_id=item(index)["id"], output_index=index, delta=text
        )
    done = [item(index, whole[index]) for index in range(count)]
    for index in range(count):
        said += event("response.output_item.done", output_index=index, item=done[index])
    usage = {"input_tokens": 5, "output_tokens": 9, "total_tokens": 14}
    said += event("response.completed", response={"id": "r", "status": "completed", "output": done, "usage": usage})
    return said.encode()


def chat(pieces: list[bytes]) -> list[dict[str, Any]]:
    """The chunks that a Chat client gets."""
    options = Options(client=Exchange(seed="s", model="m", stream=True), provider=Exchange(stream=True))
    translator = StreamTranslator(find("responses"), find("chat"), options)
    out = b"".join([*map(translator.feed, pieces), translator.close()]).decode()
    return [json.loads(line[6:]) for line in out.split("\n") if line.startswith("data: {")]


ORDERS = {
    "as it was met": [(1, '{"t":2}'), (0, '{"t":1}')],
    "in turn": [(0, '{"t"'), (1, '{"t"'), (0, ":1}"), (1, ":2}")],
    "three, backwards": [(2, '{"t":3}'), (1, '{"t":2}'), (0, '{"t":1}')],
    "one after the other": [(0, '{"t":'), (0, "1}"), (1, '{"t":2}')],
}


@pytest.mark.case("AGT-018")
@pytest.mark.parametrize("order", ORDERS)
def test_each_call_has_its_own_index_and_its_call_id(order: str) -> None:
    count = 1 + max(index for index, _ in ORDERS[order])
    for pieces in cuts(stream(ORDERS[order], count)):
        fragments = [
            call
            for chunk in chat(pieces)
            for choice in chunk["choices"]
            for call in choice["delta"].get("tool_calls", ())
        ]
        begun = {call["index"]: (call["id"], call["function"]["name"]) for call in fragments if call.get("id")}
        said = dict.fromkeys(begun, "")
        for call in fragments:
            said[call["index"]] += call["function"].get("arguments") or ""
        assert begun == {index: (f"call_{'abc'[index]}", "add") for index in range(count)}
        assert said == {index: f'{{"t":{index + 1}}}' for index in range(count)}
