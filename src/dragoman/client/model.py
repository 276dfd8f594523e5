"""Model and AsyncModel: one model, spoken to in the middle format, wherever it runs and whatever it speaks."""

from __future__ import annotations

import os
from collections.abc import AsyncGenerator, Callable, Generator, Mapping, Sequence
from importlib import import_module
from pathlib import Path
from random import Random
from types import TracebackType
from typing import Any, TypeAlias, Unpack

from dragoman.catalog.find import find
from dragoman.catalog.target import Target
from dragoman.client.call import Call, LocalCall, Outcome, Producer
from dragoman.client.observe import Observer, observed
from dragoman.client.options import Messages, Options
from dragoman.client.options import request as request_of
from dragoman.client.remote import Manner, RemoteCall
from dragoman.client.send import addressed, encode
from dragoman.client.stream import AsyncModelStream, ModelStream
from dragoman.dialect.model import Dialect
from dragoman.errors import UsageError
from dragoman.transport.base import AsyncTransport, Limits, Transport
from dragoman.transport.cancel import CancelToken
from dragoman.transport.choose import choose, choose_async, recording, recording_async
from dragoman.transport.clock import SYSTEM, Clock
from dragoman.transport.flow import Flow, drive, drive_async
from dragoman.transport.retry import Retry, policy
from dragoman.types.events import StreamEvent
from dragoman.types.reply import Reply
from dragoman.types.request import Request
from dragoman.wire import find as find_wire
from dragoman.wire.base import Wire

Spec: TypeAlias = str | Target | Producer
Facts: TypeAlias = Dialect | Mapping[str, Any]


class _Line:
    """What both kinds of model share: where requests go, and how a call of it is made."""

    def __init__(
        self, spec: Spec, env: Mapping[str, str] | None, dialect: Facts | None, manner: Manner, strict: bool
    ) -> None:
        self._manner = manner
        self.limits = manner.limits
        self.strict = strict
        self.target: Target | None = None
        self._producer: Producer | None = None
        self._wire: Wire | None = None
        where = os.environ if env is None else env
        if isinstance(spec, str) and spec.partition(":")[0] == "local":
            self._producer = _local(spec, where)
        elif isinstance(spec, (str, Target)):
            self.target = spec if isinstance(spec, Target) else find(spec, where, dialect=dialect)
            self._wire = find_wire(self.target.wire)
        else:
            self._producer = spec

    def _call(self, messages: Messages, options: Options, *, stream: bool = False) -> tuple[Call, Flow[StreamEvent]]:
        """A call, and the way it goes."""
        request = request_of(messages, options)
        call = self._made(request, stream=stream)
        return call, observed(call, request, self._manner.observers, self._manner.clock)

    def _made(self, request: Request, *, stream: bool) -> Call:
        if self.target is None or self._wire is None:
            assert self._producer is not None
            return LocalCall(self._producer, request, self._manner.clock)
        stream = stream or bool(request.stream)
        outgoing = encode(request, self._wire, self.target, stream=stream, strict=self.strict)
        http = addressed(outgoing.http, self.target, stream=stream)
        return RemoteCall(self.target, self._wire, outgoing, http, self._manner)

    def _recorded(self, folder: Path | str | None) -> Path | str | None:
        if folder is not None and self.target is None:
            raise UsageError("usage", "record keeps what goes over a wire; a model in this process sends nothing")
        return folder

    def __repr__(self) -> str:
        if self.target is None:
            return f"{type(self).__name__}({self._producer!r})"
        at = self.target
        return f"{type(self).__name__}({at.provider}/{at.model}, {at.wire} at {at.base_url.partition('?')[0]})"


class Model(_Line):
    """One model for sync callers; also fine inside a running event loop, and from several threads.

    `spec` is a name (openai/gpt-5, http://127.0.0.1:8080/v1#chat:my-model, local, local:PATH), a Target, or anything with
    `stream(request)`. `env` (the process's, by default) is read here and never again (S0-13). `dialect` are facts that
    differ from the catalogue's row. `strict` refuses a request that would lose something. `retry` says when a call is
    tried again: default, ink, plain, a count, or a RetryPolicy. `restart_on_drop` lets a stream begin anew although some
    of it was shown, before a tool ran: a Raw event `restart` says so first. `transport` is a Transport, or httpx2 or
    stdlib by name. `observers` are told of each call when it has ended (see Exchanged).
    `record` is a folder in which both sides of every exchange are kept, keys apart (docs/recording.md). Raises
    UsageError for an unknown name and for a missing key (S0-70).
    """

    def __init__(
        self,
        spec: Spec,
        *,
        env: Mapping[str, str] | None = None,
        dialect: Facts | None = None,
        transport: Transport | str | None = None,
        limits: Limits = Limits(),  # noqa: B008  a frozen value
        strict: bool = False,
        retry: Retry = "default",
        restart_on_drop: bool | Callable[[], bool] = False,
        clock: Clock = SYSTEM,
        rng: Random | None = None,
        observers: Sequence[Observer] = (),
        record: Path | str | None = None,
    ) -> None:
        manner = Manner(limits, policy(retry), restart_on_drop, clock, rng or Random(), tuple(observers))
        super().__init__(spec, env, dialect, manner, strict)
        self._transport = recording(choose(transport), self._recorded(record), clock)

    def chat(self, messages: Messages, *, cancel: CancelToken | None = None, **options: Unpack[Options]) -> Reply:
        """One whole reply; it is streamed and gathered when the request says `stream`.

        Raises ApiError when the service refuses or the reply fails, TransportError without an answer, RemoteError for
        one that cannot be read, LossyError in strict mode, UsageError for options that cannot be, and Cancelled when
        `cancel` was cancelled, from whatever thread, wherever the call stood.
        """
        return self.outcome(messages, cancel=cancel, **options).reply

    def outcome(self, messages: Messages, *, cancel: CancelToken | None = None, **options: Unpack[Options]) -> Outcome:
        """The same reply with its notes and the count of requests it took."""
        call, steps = self._call(messages, options)
        for _ in self._drive(steps, cancel):
            pass
        return call.outcome()

    def stream(
        self, messages: Messages, *, cancel: CancelToken | None = None, **options: Unpack[Options]
    ) -> ModelStream:
        """The reply as it arrives; sent with the first event asked for. Raises here what is wrong with the request."""
        call, steps = self._call(messages, options, stream=True)
        return ModelStream(call, self._drive(steps, cancel))

    def request_stream(self, request: Request) -> ModelStream:
        """The stream of a ready request: what an agent's loop asks for."""
        return self.stream(request)

    def close(self) -> None:
        """Close the connections; a later call opens new ones."""
        self._transport.close()

    def _drive(self, steps: Flow[StreamEvent], cancel: CancelToken | None) -> Generator[StreamEvent, None, None]:
        return drive(steps, self._transport, self.limits, clock=self._manner.clock, cancel=cancel)

    def __enter__(self) -> Model:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.close()


class AsyncModel(_Line):
    """The same for async callers. Use it under `async with`: connections of an event loop are closed within it."""

    def __init__(
        self,
        spec: Spec,
        *,
        env: Mapping[str, str] | None = None,
        dialect: Facts | None = None,
        transport: AsyncTransport | None = None,
        limits: Limits = Limits(),  # noqa: B008  a frozen value
        strict: bool = False,
        retry: Retry = "default",
        restart_on_drop: bool | Callable[[], bool] = False,
        clock: Clock = SYSTEM,
        rng: Random | None = None,
        observers: Sequence[Observer] = (),
        record: Path | str | None = None,
    ) -> None:
        manner = Manner(limits, policy(retry), restart_on_drop, clock, rng or Random(), tuple(observers))
        super().__init__(spec, env, dialect, manner, strict)
        self._transport = recording_async(choose_async(transport), self._recorded(record), clock)

    async def chat(self, messages: Messages, *, cancel: CancelToken | None = None, **options: Unpack[Options]) -> Reply:
        """See Model.chat."""
        return (await self.outcome(messages, cancel=cancel, **options)).reply

    async def outcome(
        self, messages: Messages, *, cancel: CancelToken | None = None, **options: Unpack[Options]
    ) -> Outcome:
        """See Model.outcome."""
        call, steps = self._call(messages, options)
        async for _ in self._drive(steps, cancel):
            pass
        return call.outcome()

    def stream(
        self, messages: Messages, *, cancel: CancelToken | None = None, **options: Unpack[Options]
    ) -> AsyncModelStream:
        """See Model.stream; not awaited itself."""
        call, steps = self._call(messages, options, stream=True)
        return AsyncModelStream(call, self._drive(steps, cancel))

    def request_stream(self, request: Request) -> AsyncModelStream:
        """See Model.request_stream."""
        return self.stream(request)

    async def close(self) -> None:
        """Close the connections; a later call opens new ones."""
        await self._transport.close()

    def _drive(self, steps: Flow[StreamEvent], cancel: CancelToken | None) -> AsyncGenerator[StreamEvent, None]:
        return drive_async(steps, self._transport, self.limits, clock=self._manner.clock, cancel=cancel)

    async def __aenter__(self) -> AsyncModel:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None
    ) -> None:
        await self.close()


def _local(spec: str, env: Mapping[str, str]) -> Producer:
    try:
        resolve = import_module("dragoman.engine.resolve")
    except ModuleNotFoundError as error:
        said = f"{spec}: local models need the extra: pip install 'dragoman[local]' ({error.name} is missing)"
        raise UsageError("missing_extra", said) from None
    producer: Producer = resolve.find(spec, env)
    return producer
