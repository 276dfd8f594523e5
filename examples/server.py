"""The least server of the chat format, of our parts: a template makes the prompt, a model its text, a parser the calls.

    python examples/server.py TEMPLATE.jinja "text that the model says" …     # scripted: a text a request
    python examples/server.py MODEL.gguf                                     # a real model, with its own template

It prints its address and answers POST /v1/chat/completions, whole or streamed. `dragoman serve` is the one to use: it has every
wire, keys, limits and signs of life. This one shows that there is nothing else to it.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Generator, Iterator
from datetime import datetime
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, Protocol

from dragoman.dialect.model import BASE
from dragoman.engine.backend import Asked, Piece
from dragoman.engine.model import LocalModel
from dragoman.engine.parsers.formats import picked
from dragoman.engine.speaker import Speaker, spoken
from dragoman.engine.template import Template
from dragoman.errors import ApiError, DragomanError
from dragoman.types import Collector, Request, StreamEvent
from dragoman.wire import find
from dragoman.wire.base import Exchange, Http

CHAT = find("chat")


class Producer(Protocol):
    """What answers."""

    def stream(self, request: Request) -> Iterator[StreamEvent]: ...


class Scripted:
    """A back end that says what it is told to, in small pieces; `prompts` is what it was asked."""

    def __init__(self, *texts: str) -> None:
        self.texts, self.prompts = list(texts), list[str]()

    def generate(self, asked: Asked) -> Generator[Piece, None, None]:
        text = self.texts[min(len(self.prompts), len(self.texts) - 1)]
        self.prompts.append(asked.prompt)
        for at in range(0, len(text), 4):
            yield Piece(text[at : at + 4])
        yield Piece("", "stop")


class Templated:
    """Template → text → parser, as events."""

    def __init__(self, template: str, backend: Scripted) -> None:
        self._speaker, self._backend = Speaker(Template(template), picked(template), "scripted"), backend

    def stream(self, request: Request) -> Iterator[StreamEvent]:
        return spoken(self._speaker, self._backend, self._speaker.turn(request, datetime.now().astimezone()))


class Server(ThreadingHTTPServer):
    """`Server(producer)` listens on a free port of this machine; `serve_forever` answers."""

    def __init__(self, producer: Producer, port: int = 0) -> None:
        super().__init__(("127.0.0.1", port), Handler)
        self.producer = producer
        self.url = f"http://127.0.0.1:{self.server_address[1]}"


class Handler(BaseHTTPRequestHandler):
    """One request: decoded, answered, encoded."""

    server: Server  # pyright: ignore[reportIncompatibleVariableOverride]

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers.get("content-length", 0)))
        try:
            asked = CHAT.decode_request(Http(path=self.path, body=body), BASE, Exchange(seed="x", now=int(time.time())))
            events = self.server.producer.stream(asked.request)
            if asked.request.stream:
                self._head(200, ("content-type", "text/event-stream"))
                encoder = CHAT.stream_encoder(BASE, asked.exchange)
                for event in events:
                    self.wfile.write(encoder.encode(event))
                self.wfile.write(encoder.close())
                return
            collector = Collector()
            for event in events:
                collector.feed(event)
            self._whole(200, CHAT.encode_reply(collector.reply, BASE, asked.exchange).body)
        except DragomanError as error:
            told = error if isinstance(error, ApiError) else ApiError("invalid_request", error.message)
            status, _, said = CHAT.encode_error(told, BASE)
            self._whole(status, said)

    def _whole(self, status: int, body: bytes) -> None:
        self._head(status, ("content-type", "application/json"), ("content-length", str(len(body))))
        self.wfile.write(body)

    def _head(self, status: int, *headers: tuple[str, str]) -> None:
        self.send_response(status)
        for name, value in headers:
            self.send_header(name, value)
        self.end_headers()

    def log_message(self, format: str, *args: Any) -> None:
        """Quiet."""


def made(file: str, *texts: str) -> Producer:
    """The producer of a command line."""
    return Templated(Path(file).read_text("utf-8"), Scripted(*texts)) if texts else LocalModel(file)


if __name__ == "__main__":
    with Server(made(*sys.argv[1:])) as server:
        print(server.url, flush=True)
        server.serve_forever()
