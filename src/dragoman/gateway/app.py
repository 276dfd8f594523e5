"""The ASGI application: who may come in, which door, and the small answers that no model gives."""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Any

import msgspec
from anyio.to_thread import current_default_thread_limiter
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware.cors import CORSMiddleware
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from dragoman.client import AsyncModel
from dragoman.dialect.model import BASE
from dragoman.errors import ApiDetail, ApiError, DragomanError, RemoteError, UsageError
from dragoman.gateway import faults, lists
from dragoman.gateway.alarm import Alarm
from dragoman.gateway.asking import Asked, Manner, read
from dragoman.gateway.behind import Behind
from dragoman.gateway.body import Gone, read_body
from dragoman.gateway.doors import DOORS, LINES, Door, onward, speaker
from dragoman.gateway.guard import Guard
from dragoman.gateway.losses import LOST
from dragoman.gateway.readers import reader
from dragoman.gateway.seats import Seats
from dragoman.gateway.serving import Bounds, Receive, Reply, Send, Serving
from dragoman.wire import find
from dragoman.wire.base import Exchange, Http, Incoming

JSON = "application/json"
KEYLESS = frozenset({"/", "/health"})
READABLE = (LOST, "retry-after")  # headers of ours that a page in a browser could not see


class App:
    """`dragoman serve` as an ASGI application."""

    def __init__(
        self,
        seats: Seats,
        guard: Guard = Guard(),  # noqa: B008  a frozen value, as the others
        manner: Manner = Manner(),  # noqa: B008
        bounds: Bounds = Bounds(),  # noqa: B008
        alarm: Alarm | None = None,
    ) -> None:
        self.seats, self.guard, self.manner, self.bounds = seats, guard, manner, bounds
        self.alarm = alarm or Alarm()
        self.active = 0
        self._born = int(time.time())
        self._doors = {path: _Entry(self, door) for path, door in DOORS.items()}
        routes = [
            *(Route(path, entry, methods=["POST"]) for path, entry in self._doors.items()),
            Route("/", self._root, methods=["GET"]),
            Route("/health", self._health, methods=["GET"]),
            Route("/v1/models", self._models, methods=["GET"]),
            Route("/v1/models/{name:path}", self._model, methods=["GET"]),
            Route("/api/version", self._version, methods=["GET"]),
            Route("/api/tags", self._tags, methods=["GET"]),
            Route("/api/ps", self._tags, methods=["GET"]),
            Route("/api/show", self._show, methods=["POST"]),
            Route("/api/pull", self._pull, methods=["POST"]),
        ]
        handlers: dict[Any, Any] = {HTTPException: self._unknown, DragomanError: self._refused, Gone: self._unheard}
        handlers[Exception] = self._failed
        self._inside = Starlette(routes=routes, exception_handlers=handlers, lifespan=self._lifespan)
        self.entry = _for_pages(self._entered, guard.origins) if guard.origins else self._entered
        self._inside.router.redirect_slashes = False  # a redirect would name a scheme and a host that we only guess

    async def __call__(self, scope: Any, receive: Receive, send: Send) -> None:
        await self.entry(scope, receive, send)

    async def _entered(self, scope: Any, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._inside(scope, receive, send)
            return
        headers = _headers(scope)
        try:
            self._may_enter(scope, headers)
        except ApiError as error:
            await Reply(send).whole(faults.written(error, speaker(scope["path"], headers)))
            return
        door = self._doors.get(scope["path"])
        if door is None or scope["method"] != "POST":
            await self._inside(scope, receive, send)
        else:  # the way of nearly all requests: nothing of the router's is needed on it
            await door.knock(scope, receive, send, headers)

    def _may_enter(self, scope: Any, headers: dict[str, str]) -> None:
        self.guard.check(headers, keyless=scope["path"] in KEYLESS)
        if headers.get("upgrade", "").lower() == "websocket":
            said = "no WebSocket here: send the request with POST"
            raise ApiError("invalid_request", said, ApiDetail(status=426))

    @asynccontextmanager
    async def _lifespan(self, _: Starlette) -> AsyncGenerator[None]:
        # a client of a model in this process holds a thread while it waits for the next word, or for its turn
        current_default_thread_limiter().total_tokens = max(40, self.bounds.active)
        asyncio.get_running_loop().set_exception_handler(self._stray)
        yield
        await self.seats.close()
        self.alarm.close()

    def _stray(self, _: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
        """A fault that nobody waited for. The loop itself would print all that it knows, the words of clients with it."""
        error = context.get("exception")
        if isinstance(error, BaseException):
            self.alarm.bug(error)
        else:
            self.alarm.say(f"a fault in this server: {context['message']}")

    async def _root(self, _: Request) -> Response:
        return Response("dragoman\n", media_type="text/plain")

    async def _health(self, _: Request) -> Response:
        return Response(b'{"status":"ok"}', media_type=JSON)

    async def _models(self, request: Request) -> Response:
        headers = _headers(request.scope)
        wire, card = speaker(request.url.path, headers), reader(headers).card
        return Response(lists.listed(self.seats.models, wire, self._born, card), media_type=JSON)

    async def _model(self, request: Request) -> Response:
        headers, name = _headers(request.scope), request.path_params["name"]
        self.seats.choose(name)
        wire, card = speaker(request.url.path, headers), reader(headers).card
        return Response(msgspec.json.encode(lists.entry(name, wire, self._born, card)), media_type=JSON)

    async def _version(self, _: Request) -> Response:
        return Response(lists.VERSION, media_type=JSON)

    async def _tags(self, _: Request) -> Response:
        return Response(lists.tags(self.seats.models, self._born), media_type=JSON)

    async def _show(self, request: Request) -> Response:
        name, _ = lists.asked_for(await read_body(_headers(request.scope), request.receive, self.bounds))
        return Response(lists.shown(self.seats.choose(name), self._born), media_type=JSON)

    async def _pull(self, request: Request) -> Response:
        name, stream = lists.asked_for(await read_body(_headers(request.scope), request.receive, self.bounds))
        self.seats.choose(name)
        return Response(lists.PULLED + b"\n", media_type=LINES if stream else JSON)

    async def _refused(self, request: Request, error: Exception) -> Response:
        assert isinstance(error, DragomanError)
        return self._told(request, self.refusal(error))

    async def _unheard(self, _: Request, error: Exception) -> Response:
        return Response(status_code=400)  # for nobody

    async def _failed(self, request: Request, error: Exception) -> Response:
        self.alarm.bug(error)
        return self._told(request, faults.bug(error))

    def _told(self, request: Request, error: ApiError) -> Response:
        return _response(faults.written(error, speaker(request.url.path, _headers(request.scope))))

    def refusal(self, error: DragomanError) -> ApiError:
        """What a client is told of an error before its request was taken; what is not his to mend is told here, too."""
        if isinstance(error, UsageError) and error.code != "usage":
            self.alarm.say(error.message)
        return faults.refusal(error)

    async def _unknown(self, request: Request, error: Exception) -> Response:
        status = error.status_code if isinstance(error, HTTPException) else 404
        said = f"nothing answers {request.method} {request.url.path} here"
        return self._told(request, ApiError("not_found", said, ApiDetail(status=status)))


class _Entry:
    """One door as an ASGI endpoint."""

    def __init__(self, app: App, door: Door) -> None:
        self._app, self._door = app, door
        self._wire = find(door.wire)

    async def __call__(self, scope: Any, receive: Receive, send: Send) -> None:
        await self.knock(scope, receive, send, _headers(scope))

    async def knock(self, scope: Any, receive: Receive, send: Send, headers: dict[str, str]) -> None:
        """Answer one request."""
        app, reply = self._app, Reply(send)
        app.active += 1
        try:
            if app.active > app.bounds.active:
                detail = ApiDetail(status=503, retry_after=1.0)
                raise ApiError("overloaded", "too many requests at a time here", detail)
            await self._answer(scope, receive, reply, headers)
        except DragomanError as error:
            await reply.whole(faults.written(app.refusal(error), self._door.wire))
        except Gone:
            pass
        except Exception as error:  # noqa: BLE001 - a fault of ours in this one request; its client gets an answer
            app.alarm.bug(error, f"POST {scope['path']}")
            if not reply.begun:
                await reply.whole(faults.written(faults.bug(error), self._door.wire))
        finally:
            app.active -= 1

    async def _answer(self, scope: Any, receive: Receive, reply: Reply, headers: dict[str, str]) -> None:
        app, door = self._app, self._door
        asked, model = self._asked(scope, headers, await read_body(headers, receive, app.bounds))
        behind = Behind(app.alarm, model.target)
        if door.asks == "reply":
            await Serving(asked, door, reply, app.bounds, behind).run(receive)
            return
        try:
            count = await model.forward_count(asked.forward)
        except DragomanError as error:
            raise behind.broken(error) from None
        said: dict[str, Any] = {} if door.object is None else {"object": door.object}
        counted = msgspec.json.encode({**said, "input_tokens": count.tokens})
        await reply.whole((200, (("content-type", JSON),), counted))

    def _asked(self, scope: Any, headers: dict[str, str], body: bytes) -> tuple[Asked, AsyncModel]:
        """What is asked, and of whom. Its bytes are let go of here: an answer may take minutes."""
        app, door = self._app, self._door
        http = onward(door, scope["query_string"].decode("latin-1"), headers, body)
        incoming = self._read(http, Exchange(seed=os.urandom(8).hex(), now=int(time.time())))
        model = app.seats.choose(incoming.request.model)
        known = reader(headers)
        manner = app.manner if known is app.manner.reader else app.manner._replace(reader=known)
        return read(http, incoming, door.wire, model, manner), model

    def _read(self, http: Http, exchange: Exchange) -> Incoming:
        """A client's body. Codecs read what is nearly JSON, and say so; a service would refuse such a body, and so do we."""
        try:
            incoming = self._wire.decode_request(http, BASE, exchange)
        except RemoteError:
            self._wire.peek(http, BASE)  # refuses what is no JSON, and says why
            raise
        if incoming.notes:
            self._wire.peek(http, BASE)
        return incoming


def _headers(scope: Any) -> dict[str, str]:
    """Headers by their names in lower case; what a name says in several lines is one list (RFC 9110, 5.3)."""
    lines = [(name.decode("latin-1").lower(), value.decode("latin-1")) for name, value in scope["headers"]]
    said = dict(lines)
    if len(said) < len(lines):
        said = {name: ", ".join(value for other, value in lines if other == name) for name in said}
    return said


def _for_pages(app: Any, origins: frozenset[str]) -> Any:
    """The same for pages of `origins`: whatever they are told, a refusal at the door too, their browser lets them read."""
    every = ["*"]
    return CORSMiddleware(
        app,
        allow_origins=[*origins],
        allow_methods=every,
        allow_headers=every,
        allow_private_network=True,
        expose_headers=READABLE,
    )


def _response(answered: faults.Answered) -> Response:
    status, headers, body = answered
    return Response(body, status_code=status, headers=dict(headers))
