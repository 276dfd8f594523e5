"""A provider of the chat wire that costs as little as Python can: a fixed reply, or a stream of so many events a second.

    python benchmarks/upstream.py

Prints its port. All streams are written by one timer, so that a client's cost is not hidden behind its server's.
`GET /open` tells how many connections are open beside its own.
"""

from __future__ import annotations

import asyncio
import json
import sys
from typing import ClassVar

RATE, EVENTS = 50, 150  # events a second of each stream, and how many each has
WORD = b'{"id":"c","object":"chat.completion.chunk","created":1,"model":"m","choices":[{"index":0,"delta":%s,"finish_reason":%s}]}'
FIRST, NEXT = b'{"role":"assistant","content":""}', b'{"content":" word%d"}'
USAGE = {"prompt_tokens": 1900, "completion_tokens": 150, "total_tokens": 2050}


def reply() -> bytes:
    """A whole answer with its head."""
    message = {"role": "assistant", "content": "The start command is npm run dev. " * 10}
    body = {
        "id": "c",
        "object": "chat.completion",
        "created": 1,
        "model": "m",
        "choices": [{"index": 0, "message": message, "finish_reason": "stop", "logprobs": None}],
        "usage": USAGE,
    }
    return whole(json.dumps(body).encode())


def whole(body: bytes) -> bytes:
    """A body with its head."""
    return b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: %d\r\n\r\n" % len(body) + body


def chunk(data: bytes) -> bytes:
    """An event of a stream, in its chunk."""
    event = b"data: " + data + b"\n\n"
    return b"%x\r\n" % len(event) + event + b"\r\n"


HEAD = b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n"
REPLY = reply()
STREAM = [
    HEAD + chunk(WORD % (FIRST, b"null")),
    *[chunk(WORD % (NEXT % at, b"null")) for at in range(EVENTS - 2)],  # clients suspect words that are said again
    chunk(WORD % (b"{}", b'"stop"')) + chunk(b"[DONE]") + b"0\r\n\r\n",
]


class Connection(asyncio.Protocol):
    """One client."""

    open: ClassVar[set[Connection]] = set()
    streams: ClassVar[dict[Connection, int]] = {}

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """It came."""
        self._transport: asyncio.Transport = transport  # type: ignore[assignment]
        self._got = b""
        self.open.add(self)

    def connection_lost(self, exc: Exception | None) -> None:
        """It went."""
        self.open.discard(self)
        self.streams.pop(self, None)

    def data_received(self, data: bytes) -> None:
        """Answer a request once it is whole."""
        self._got += data
        head, end, body = self._got.partition(b"\r\n\r\n")
        if not end or len(body) < length(head):
            return
        self._got = b""
        if head.startswith(b"GET"):
            self._transport.write(whole(str(len(self.open) - 1).encode()))
        elif b'"stream":true' in body.replace(b" ", b""):
            self.streams[self] = 0
        else:
            self._transport.write(REPLY)

    def tick(self, at: int) -> None:
        """The next event."""
        self._transport.write(STREAM[at])


def length(head: bytes) -> int:
    """How long the body of a request is."""
    for line in head.lower().split(b"\r\n"):
        if line.startswith(b"content-length:"):
            return int(line[15:])
    return 0


async def main() -> None:
    """Serve until the parent goes."""
    loop = asyncio.get_running_loop()
    server = await loop.create_server(Connection, "127.0.0.1", 0, backlog=1024)
    print(server.sockets[0].getsockname()[1], flush=True)
    due = loop.time()
    while True:
        due += 1 / RATE
        await asyncio.sleep(max(due - loop.time(), 0))
        for connection, at in list(Connection.streams.items()):
            connection.tick(at)
            if at + 1 == len(STREAM):
                del Connection.streams[connection]
            else:
                Connection.streams[connection] = at + 1


if __name__ == "__main__":
    sys.exit(asyncio.run(main()))
