"""What Python can do at all: aiohttp in and out, nothing read, one process.

    python benchmarks/serve_raw.py PORT UPSTREAM

Every POST goes to the same path of UPSTREAM; whole answers are passed in one piece, streams as they come.
"""

from __future__ import annotations

import sys

import uvloop
from aiohttp import ClientSession, TCPConnector, web

HEADERS = {"content-type": "application/json"}
STREAM = "text/event-stream"


class Passing:
    """One upstream."""

    def __init__(self, upstream: str) -> None:
        self._upstream = upstream

    async def opened(self, _: web.Application) -> None:
        """The connections belong to the loop of the server."""
        self._session = ClientSession(connector=TCPConnector(limit=0))

    async def closed(self, _: web.Application) -> None:
        """Let go of them."""
        await self._session.close()

    async def passed(self, request: web.Request) -> web.StreamResponse:
        """One request and its answer."""
        body = await request.read()
        async with self._session.post(self._upstream + request.path, data=body, headers=HEADERS) as answer:
            if answer.content_type != STREAM:
                return web.Response(body=await answer.read(), content_type=answer.content_type)
            out = web.StreamResponse(headers={"content-type": STREAM})
            await out.prepare(request)
            async for chunk in answer.content.iter_any():
                await out.write(chunk)
            await out.write_eof()
            return out


def main(port: int, upstream: str) -> None:
    """Serve until the parent ends it."""
    passing = Passing(upstream)
    app = web.Application(client_max_size=1 << 30)
    app.on_startup.append(passing.opened)
    app.on_cleanup.append(passing.closed)
    app.router.add_post("/{path:.*}", passing.passed)
    uvloop.install()
    web.run_app(app, host="127.0.0.1", port=port, access_log=None, print=None)


if __name__ == "__main__":
    main(int(sys.argv[1]), sys.argv[2])
