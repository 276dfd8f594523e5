"""What the tests of schemas in requests share: bodies that offer tools, and answers read as their caller gets them."""

from __future__ import annotations

import json
from itertools import permutations
from typing import Any

import pytest
from msgspec.structs import replace

from dragoman.dialect.model import BASE, Dialect
from dragoman.types import Message, Note, Reply, Request, Stop, Tool, ToolCall, explode, user
from dragoman.types.collect import Collector
from dragoman.wire import WIRES, find
from dragoman.wire.base import Exchange, Outgoing

NOTHING = {"type": "object", "properties": {}}
PLAIN: dict[str, Any] = {"type": "object", "properties": {"q": {"type": "string", "minLength": 1}}, "required": ["q"]}
UNION: dict[str, Any] = {
    "anyOf": [
        {"type": "object", "properties": {"a": {"type": "string"}}, "required": ["a"]},
        {"type": "object", "properties": {"b": {"type": "integer"}}, "required": ["b"]},
    ]
}
FLAT: dict[str, Any] = {
    "type": "object",
    "properties": {"a": {"type": "string"}, "b": {"type": "integer"}},
    "description": '(give the properties of at least one of: ["a"] | ["b"])',
}
LOOSE: dict[str, Any] = {
    "type": "object",
    "properties": {
        "query": {"type": "string"},
        "limit": {"type": "integer"},
        "env": {"type": "object", "additionalProperties": {"type": "string"}},
    },
    "required": ["query"],
}
PAIRS = list(permutations(WIRES, 2))
each_wire = pytest.mark.parametrize("wire", WIRES)


def sent(wire: str, request: Request, dialect: Dialect = BASE, said_on: str | None = None) -> Outgoing:
    return find(wire).encode_request(request, dialect, Exchange(wire=said_on))


def ask(*tools: Tool, **fields: Any) -> Request:
    return Request(model="m", messages=(user("x"),), tools=tools or None, **fields)


def body_of(wire: str, *schemas: Any, **more: Any) -> dict[str, Any]:
    """A client's body that offers one tool for each schema; `...` stands for none."""
    key = "input_schema" if wire == "messages" else "parameters"
    said = [({} if schema is ... else {key: schema}) | more for schema in schemas]
    tools = [{"name": f"t{at}", **entry} for at, entry in enumerate(said)]
    turns = [{"role": "user", "content": "x"}]
    match wire:
        case "chat":
            tools = [{"type": "function", "function": tool} for tool in tools]
            return {"model": "m", "messages": turns, "tools": tools}
        case "responses":
            return {"model": "m", "input": turns, "tools": [{"type": "function", **tool} for tool in tools]}
        case _:
            return {"model": "m", "max_tokens": 9, "messages": turns, "tools": tools}


def schemas_in(body: bytes) -> list[Any]:
    """The schemas of a written body's tools, in their order."""
    tools = [tool.get("function", tool) for tool in json.loads(body)["tools"]]
    return [tool.get("input_schema", tool.get("parameters")) for tool in tools]


def outline(notes: tuple[Note, ...]) -> list[tuple[Any, str, bool]]:
    return [(note.path, note.action, note.loss) for note in notes]


ENTRIES: dict[str, Any] = {
    "type": "array",
    "items": {
        "type": "object",
        "properties": {"key": {"type": "string"}, "value": {"type": "string"}},
        "required": ["key", "value"],
        "additionalProperties": False,
    },
}
AS_A_LIST = "(an object, given as a list of its keys and values)"
# The messages wire lets a property be left out; the others say null for it.
LEFT_OUT = {
    "query": {"type": "string"},
    "limit": {"type": "integer"},
    "env": {**ENTRIES, "description": AS_A_LIST},
}
NULL = {
    "query": {"type": "string"},
    "limit": {"type": ["integer", "null"]},
    "env": {"description": AS_A_LIST, "anyOf": [ENTRIES, {"type": "null"}]},
}
SAID = {"query": "北京 🙂", "limit": None, "env": [{"key": "A", "value": "1"}]}
MEANT = {"query": "北京 🙂", "env": {"A": "1"}}


def answer_of(*content: Any) -> Reply:
    reason: Any = "tool_calls" if any(isinstance(block, ToolCall) for block in content) else "end"
    return Reply(message=Message(role="assistant", content=content), stop=Stop(reason=reason))


def answered(wire: str, *content: Any) -> Any:
    """What the caller reads of an answer to `out`, the last of `content`: whole, and streamed however it is cut."""
    *blocks, out = content
    codec, reply = find(wire), answer_of(*blocks)
    whole = codec.decode_reply(codec.encode_reply(reply, BASE, Exchange(seed="s")).body, BASE, out.exchange)
    encoder = codec.stream_encoder(BASE, Exchange(stream=True, seed="s"))
    stream = b"".join(encoder.encode(event) for event in explode(reply)) + encoder.close()  # type: ignore[arg-type]
    for pieces in ([stream], [stream[at : at + 1] for at in range(len(stream))]):
        decoder, collector = codec.stream_decoder(BASE, replace(out.exchange, stream=True)), Collector()
        for event in [event for piece in pieces for event in decoder.feed(piece)] + decoder.close():
            collector.feed(event)
        assert [_plain(block) for block in collector.reply.message.content] == [
            _plain(block) for block in whole.value.message.content
        ]
        assert outline(tuple(decoder.notes)) == outline(whole.notes)
    return whole.value


def _plain(block: Any) -> Any:
    return replace(block, opaque=None)
