"""A provider of the chat wire that plays one script: a call of `look` with each request, and a text after so many results.

    python benchmarks/scripted.py CALLS

Prints its port. Which turn it is is read off the request, by how many results are in it: so any client may come, in any order,
as often as it likes. It answers whole or streamed, as it is asked.
"""

from __future__ import annotations

import asyncio
import json
import sys
from typing import Any

ANSWER = "It is started with npm run dev."
WORDS = 4  # pieces that arguments and texts are streamed in


def message(turn: int, calls: int) -> dict[str, Any]:
    """What is said after `turn` results."""
    if turn >= calls:
        return {"role": "assistant", "content": ANSWER}
    function = {"name": "look", "arguments": json.dumps({"path": f"docs/page-{turn}.md"})}
    return {
        "role": "assistant",
        "content": None,
        "tool_calls": [{"id": f"call_{turn}", "type": "function", "function": function}],
    }


def usage(turn: int) -> dict[str, int]:
    """Tokens as a provider counts them."""
    return {"prompt_tokens": 100 + 80 * turn, "completion_tokens": 20, "total_tokens": 120 + 80 * turn}


def whole(turn: int, calls: int) -> bytes:
    """The answer in one piece."""
    said = message(turn, calls)
    why = "tool_calls" if "tool_calls" in said else "stop"
    body = {
        "id": f"c{turn}",
        "object": "chat.completion",
        "created": 1,
        "model": "m",
        "choices": [{"index": 0, "message": said, "finish_reason": why, "logprobs": None}],
        "usage": usage(turn),
    }
    data = json.dumps(body).encode()
    return b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: %d\r\n\r\n" % len(data) + data


def streamed(turn: int, calls: int) -> bytes:
    """The answer as a stream."""
    said = message(turn, calls)
    deltas: list[tuple[dict[str, Any], str | None]] = []
    if "tool_calls" in said:
        (call,) = said["tool_calls"]
        begun = {**call, "index": 0, "function": {**call["function"], "arguments": ""}}
        deltas.append(({"role": "assistant", "content": None, "tool_calls": [begun]}, None))
        for piece in pieces(call["function"]["arguments"]):
            deltas.append(({"tool_calls": [{"index": 0, "function": {"arguments": piece}}]}, None))
        deltas.append(({}, "tool_calls"))
    else:
        deltas.append(({"role": "assistant", "content": ""}, None))
        deltas += [({"content": piece}, None) for piece in pieces(said["content"])]
        deltas.append(({}, "stop"))
    events = [[{"index": 0, "delta": delta, "finish_reason": why}] for delta, why in deltas]
    head = {"id": f"c{turn}", "object": "chat.completion.chunk", "created": 1, "model": "m"}
    said_events = [{**head, "choices": choices} for choices in events] + [{**head, "choices": [], "usage": usage(turn)}]
    lines = [b"data: " + json.dumps(event).encode() + b"\n\n" for event in said_events] + [b"data: [DONE]\n\n"]
    body = b"".join(b"%x\r\n%s\r\n" % (len(line), line) for line in lines) + b"0\r\n\r\n"
    return b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n" + body


def pieces(text: str) -> list[str]:
    """A text in a few pieces."""
    size = -(-len(text) // WORDS)
    return [text[at : at + size] for at in range(0, len(text), size)]


class Connection(asyncio.Protocol):
    """One client."""

    calls = 0

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """It came."""
        self._transport: asyncio.Transport = transport  # type: ignore[assignment]
        self._got = bytearray()
        self._length = 0

    def data_received(self, data: bytes) -> None:
        """Answer a request once it is whole."""
        self._got += data
        if not self._length:
            head, end, _ = bytes(self._got).partition(b"\r\n\r\n")
            if not end:
                return
            lines = (line for line in head.lower().split(b"\r\n") if line.startswith(b"content-length:"))
            self._length = len(head) + 4 + int(next(lines, b":0").partition(b":")[2])
        if len(self._got) < self._length:
            return
        body, self._length, self._got = bytes(self._got), 0, bytearray()
        turn = body.count(b'"tool_call_id"')
        answer = streamed if b'"stream":true' in body.replace(b'"stream": true', b'"stream":true') else whole
        self._transport.write(answer(turn, self.calls))


async def main() -> None:
    """Serve until the parent goes."""
    Connection.calls = int(sys.argv[1])
    server = await asyncio.get_running_loop().create_server(Connection, "127.0.0.1", 0)
    print(server.sockets[0].getsockname()[1], flush=True)
    await server.serve_forever()


if __name__ == "__main__":
    asyncio.run(main())
