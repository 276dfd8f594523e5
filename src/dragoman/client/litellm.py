"""Calls handed to an installed litellm: the road to services that speak none of our wires (S3-20)."""

from __future__ import annotations

import os
import time
from collections.abc import Generator, Iterator
from importlib import import_module
from typing import Any

import msgspec

from dragoman.dialect.model import Dialect
from dragoman.errors import UsageError
from dragoman.types.events import Failure, StreamEvent
from dragoman.types.note import Note
from dragoman.types.request import Request
from dragoman.wire import find as find_wire
from dragoman.wire.base import Exchange, StreamDecoder

DIALECT = Dialect(name="litellm")


class LiteLLM:
    """A model behind litellm. What it says and what it takes is the chat wire; keys, addresses, retries and time limits
    are litellm's own, out of the process's environment.

    `name` is the model as litellm calls it, PROVIDER/MODEL. Raises UsageError missing_extra where litellm is not there.
    """

    def __init__(self, name: str) -> None:
        self.name = name
        try:
            self._module: Any = import_module("litellm")
        except ImportError as error:
            said = f"DRAGOMAN_PROVIDER=litellm: litellm cannot be loaded ({error}): pip install litellm, or unset it"
            raise UsageError("missing_extra", said) from None

    def stream(self, request: Request) -> Answer:
        """The events of one answer."""
        return Answer(self._module, self.name, request)

    def __repr__(self) -> str:
        return f"LiteLLM({self.name})"


class Answer:
    """The events of one answer as they come; `notes` tell what the chat wire could not say of the request."""

    def __init__(self, module: Any, name: str, request: Request) -> None:
        self._module = module
        exchange = Exchange(stream=True, model=name, provider="litellm", include_usage=True)
        sent = msgspec.structs.replace(request, model=name, stream=True)
        made = find_wire("chat").encode_request(sent, DIALECT, exchange)
        self._body: dict[str, Any] = msgspec.json.decode(made.http.body)
        answers = msgspec.structs.replace(made.exchange, seed=os.urandom(8).hex(), now=int(time.time()))
        self._decoder: StreamDecoder = find_wire("chat").stream_decoder(DIALECT, answers)
        self._noted = made.notes
        self._events: Generator[StreamEvent, None, None] = self._come()

    @property
    def notes(self) -> tuple[Note, ...]:
        """What was not carried over so far."""
        return (*self._noted, *self._decoder.notes)

    def __iter__(self) -> Iterator[StreamEvent]:
        return self

    def __next__(self) -> StreamEvent:
        return next(self._events)

    def close(self) -> None:
        """End it before its time."""
        self._events.close()

    def _come(self) -> Generator[StreamEvent, None, None]:
        chunks: Iterator[Any] | None = None
        while True:
            try:
                chunks = iter(self._module.completion(**self._body)) if chunks is None else chunks
                chunk = next(chunks, None)
            except Exception as error:  # noqa: BLE001  litellm raises the classes of whatever SDK it used
                yield _failure(error)
                return
            if chunk is None:
                break
            yield from self._decoder.feed(b"data: %b\n\n" % _written(chunk))
        yield from self._decoder.close()


def _written(chunk: Any) -> bytes:
    """A chunk as JSON: litellm gives pydantic models, a stub may give dicts."""
    return msgspec.json.encode(
        chunk.model_dump(mode="json", exclude_none=True) if hasattr(chunk, "model_dump") else chunk
    )


def _failure(error: Exception) -> Failure:
    status = getattr(error, "status_code", None)
    said = f"litellm: {type(error).__name__}: {error}"
    if not isinstance(status, int):
        return Failure(code="server_error", message=said, retryable=False)
    body = msgspec.json.encode({"error": {"message": str(error), "code": getattr(error, "code", None)}})
    read = find_wire("chat").decode_error(status, {}, body, DIALECT)
    return Failure(code=read.code, message=said, retryable=read.retryable)
