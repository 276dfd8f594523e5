"""What is written to a client within one step of the event loop leaves in one piece: head and body are one call of the system."""

from __future__ import annotations

import asyncio
from typing import Any

from dragoman.gateway.heads import Heading


class Joining(Heading):
    """uvicorn's protocol, over a transport that joins."""

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """See asyncio.Protocol."""
        joined: Any = Joined(transport, self.loop)
        super().connection_made(joined)


class Joined:
    """A transport that writes at the end of each step of `loop`, and before it closes."""

    def __init__(self, transport: asyncio.Transport, loop: asyncio.AbstractEventLoop) -> None:
        self._transport, self._loop = transport, loop
        self._waiting: list[bytes] = []
        self.is_closing = transport.is_closing  # asked with every answer

    def write(self, data: bytes) -> None:
        """See asyncio.WriteTransport."""
        if not self._waiting:
            self._loop.call_soon(self._flush)
        self._waiting.append(data)

    def close(self) -> None:
        """See asyncio.BaseTransport."""
        self._flush()
        self._transport.close()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._transport, name)

    def _flush(self) -> None:
        waiting, self._waiting = self._waiting, []
        if waiting and not self._transport.is_closing():
            self._transport.write(b"".join(waiting))
