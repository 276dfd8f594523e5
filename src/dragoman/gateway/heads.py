"""The head of a request has an end, in bytes and in seconds: whoever sends one is nobody yet, and must not hold much here."""

from __future__ import annotations

import asyncio

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

MOST = 256 * 1024  # bytes of a head, and of what came with its last piece
SECONDS = 60.0  # for a whole head, from its first piece or from the connection on


class Heading(HttpToolsProtocol):
    """uvicorn's protocol, which by itself reads a head of any length for any time."""

    _open = True  # a head is awaited, or not yet whole
    _heard = 0
    _timer: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """See asyncio.Protocol."""
        super().connection_made(transport)
        self._timer = self.loop.call_later(SECONDS, self._late)

    def connection_lost(self, exc: Exception | None) -> None:
        """See asyncio.Protocol."""
        self._in_time()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """See asyncio.Protocol."""
        super().data_received(data)
        if not self._open:
            return
        self._heard += len(data)
        if self._timer is None:
            self._timer = self.loop.call_later(SECONDS, self._late)
        if self._heard > MOST and not self.transport.is_closing():
            self.send_400_response(f"The head of a request has at most {MOST} bytes here.")

    def on_message_begin(self) -> None:
        """A head begins."""
        self._open, self._heard = True, 0
        super().on_message_begin()

    def on_headers_complete(self) -> None:
        """It is whole."""
        self._open = False
        self._in_time()
        super().on_headers_complete()

    def _in_time(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _late(self) -> None:
        self._timer = None
        self.transport.close()
