"""A provider's reply shown to a client of another wire, and sent back by it as history."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import msgspec

from dragoman.carriers import Carrier, MemoryStore, carry_reply, uncarry_request
from dragoman.carriers.out import wants
from dragoman.dialect.model import BASE
from dragoman.types import Content, Note, Reply
from dragoman.wire import find
from dragoman.wire.base import Exchange, Http, Notes

KEY = b"secret of the edge"
EXCHANGE = Exchange(seed="s", model="m")
Echo = Callable[[Any], Any]


def carrier() -> Carrier:
    return Carrier(key=KEY, store=MemoryStore())


def shown(reply: Reply, wire: str, by: Carrier) -> Any:
    """The body that a client of `wire` gets."""
    return json.loads(find(wire).encode_reply(carry_reply(reply, wire, by, Notes()), BASE, EXCHANGE).body)


def echoed(wire: str, body: Any) -> Any:
    """The request that a client makes of it, which sends back all it was given."""
    match wire:
        case "chat":
            message = body["choices"][0]["message"]
            results = [
                {"role": "tool", "tool_call_id": c["id"], "content": "x"} for c in message.get("tool_calls") or ()
            ]
            return {"messages": [{"role": "user", "content": "q"}, message, *results]}
        case "messages":
            uses = [b["id"] for b in body["content"] if b["type"] == "tool_use"]
            results = [{"type": "tool_result", "tool_use_id": id, "content": "x"} for id in uses]
            turn = {"role": "assistant", "content": body["content"]}
            return {"max_tokens": 1, "messages": [turn, {"role": "user", "content": results or "go on"}]}
        case _:
            return {"input": [{"role": "user", "content": "q"}, *body["output"]]}


def only_ids(request: Any) -> Any:
    """What every chat client sends back, and no more."""
    kept = ("role", "content", "tool_calls", "tool_call_id")
    messages = [{key: message[key] for key in kept if key in message} for message in request["messages"]]
    return {**request, "messages": messages}


def restored(wire: str, request: Any, by: Carrier) -> tuple[tuple[Content, ...], list[Note], Any]:
    """The assistant's blocks as the edge restores them, what it told, and the whole request."""
    notes = Notes()
    said = (
        find(wire).decode_request(Http(body=json.dumps(request, ensure_ascii=False).encode()), BASE, EXCHANGE).request
    )
    back = uncarry_request(said, wire, by, notes)
    message = next(message for message in back.messages if message.role == "assistant")
    return message.content, notes.taken, back


def hidden(blocks: Any, wire: str) -> list[Content]:
    """The blocks that a client of `wire` cannot say."""
    return [block for block in blocks if wants(block, wire)]


def owed(reply: Reply, wire: str) -> list[Content]:
    """The same of a reply, with who made them: what must come back."""
    origin = reply.message.origin
    return [msgspec.structs.replace(block, origin=origin) for block in hidden(reply.message.content, wire)]
