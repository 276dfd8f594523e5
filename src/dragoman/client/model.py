"""Model and AsyncModel: one model, spoken to in the middle format, wherever it runs and whatever it speaks."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable, Generator, Mapping, Sequence
from pathlib import Path
from random import Random
from types import TracebackType
from typing import Unpack

from dragoman.caching import Caching
from dragoman.client.arguments import check_cancel, watching
from dragoman.client.call import Call, Outcome
from dragoman.client.completion import Purpose, prompt_of, text_of
from dragoman.client.compose import Care
from dragoman.client.count import Count
from dragoman.client.forward import Forward
from dragoman.client.line import Facts, Line, Spec
from dragoman.client.observe import Observer
from dragoman.client.options import Messages, Options, Plain
from dragoman.client.remote import Manner
from dragoman.client.stream import AsyncModelStream, ModelStream
from dragoman.transport.base import AsyncTransport, Limits, Transport
from dragoman.transport.cancel import CancelToken
from dragoman.transport.choose import choose, choose_async, recording, recording_async
from dragoman.transport.clock import SYSTEM, Clock
from dragoman.transport.flow import Flow, Means, drive, drive_async
from dragoman.transport.retry import Retry, policy
from dragoman.types.events import StreamEvent
from dragoman.types.reply import Reply
from dragoman.types.request import Request


class Model(Line):
    """One model for sync callers; also fine inside a running event loop, and from several threads.

    `spec` is a name (openai/gpt-5, http://127.0.0.1:8080/v1#chat:my-model, local, local:PATH), a Target, or anything with
    `stream(request)`. `template` is the chat template, as a file, of a model behind a server of text
    (http://127.0.0.1:8080/v1#text:my-model), or of a local one instead of its own (docs/local.md). `env` (the process's, by default) is read here and never again (S0-13). `dialect` are facts that
    differ from the catalogue's row. `strict` refuses a request that would lose something. A conversation that the wire's
    vendor would refuse is an error; `repair` sends a mended copy instead, noted (C-28). `vision` says whether the model
    sees images: None looks it up, and a model that is not known to see gets words in their place, noted (C-32). `cache` auto marks
    what the service's prompt cache should hold, off leaves that to you (docs/caching.md). `retry` says when a call is
    tried again: default, ink, plain, a count, or a RetryPolicy. `restart_on_drop` lets a stream begin anew although some
    of it was shown, before a tool ran: a Raw event `restart` says so first. `adapt` lets a request be written again by what
    a 400 teaches of the server (docs/errors.md). `transport` is a Transport, or
    httpx2, http2 or stdlib by name. `observers` are told of each call when it has ended (see Exchanged).
    `record` is a folder in which both sides of every exchange are kept, keys apart (docs/recording.md). Raises
    UsageError for an unknown name, for what is no model, and for a missing key (S0-70).
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
        repair: bool = False,
        vision: bool | None = None,
        cache: Caching = "auto",
        template: Path | str | None = None,
        retry: Retry = "default",
        adapt: bool = True,
        restart_on_drop: bool | Callable[[], bool] = False,
        clock: Clock = SYSTEM,
        rng: Random | None = None,
        observers: Sequence[Observer] = (),
        record: Path | str | None = None,
    ) -> None:
        manner = Manner(limits, policy(retry), restart_on_drop, clock, rng or Random(), watching(observers), adapt)
        super().__init__(spec, env, dialect, manner, Care(strict, repair, vision, cache, template))
        self._transport = recording(choose(transport, env), self._recorded(record), clock)

    def chat(self, messages: Messages, *, cancel: CancelToken | None = None, **options: Unpack[Options]) -> Reply:
        """One whole reply; it is streamed and gathered when the request says `stream`.

        Raises ApiError when the service refuses or the reply fails, TransportError without an answer, RemoteError for
        one that cannot be read, LossyError in strict mode, LocalError for a history
        that no vendor takes, OutputError for an answer that is not of the form `output` asks for, UsageError for options that cannot be, and Cancelled when
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

    def complete(
        self,
        prompt: str,
        data: str | None = None,
        *,
        purpose: Purpose | None = None,
        cancel: CancelToken | None = None,
        **options: Unpack[Plain],
    ) -> str:
        """Text in, text out: one user message, nothing kept (S4-02, S4-04). `data` goes last, behind a delimiter that
        loses its meaning within it. `purpose` sets the temperature where none is said: deterministic, tools or prose.

        Raises what `chat` raises, TruncatedError for an answer that was cut off, and RefusedError for none (S4-08).
        """
        call, steps = self._completion(prompt_of(prompt, data), purpose, options)
        for _ in self._drive(steps, cancel):
            pass
        return text_of(call.outcome().reply)

    def count(self, messages: Messages, *, cancel: CancelToken | None = None, **options: Unpack[Options]) -> Count:
        """The tokens of what `chat` would send: as the service counts them where its wire has a question for it, else an
        estimate that says so; a local model counts its own prompt. Raises what `chat` raises, and UsageError for another
        object in this process.
        """
        counted = self._counted(messages, options)
        for _ in self._drive(counted.steps(), cancel):
            pass
        return counted.count

    def request_stream(self, request: Request) -> ModelStream:
        """The stream of a ready request: what an agent's loop asks for."""
        return self.stream(request)

    def forward(self, ask: Forward, *, cancel: CancelToken | None = None) -> ModelStream:
        """The answer to a request that somebody else's client made: nothing of it is changed but what this model's wire and
        service need. Raises here what is wrong with the request; a whole reply, where none was to be streamed, gives no
        events and is `reply` at the end."""
        call, steps = self._forwarded(ask)
        return ModelStream(call, self._drive(steps, cancel))

    def forward_count(self, ask: Forward, *, cancel: CancelToken | None = None) -> Count:
        """The tokens of such a request: as the service counts them where the client speaks its own wire, else an estimate."""
        counted = self._forward_counted(ask)
        for _ in self._drive(counted.steps(), cancel):
            pass
        return counted.count

    def close(self) -> None:
        """Close the connections; a later call opens new ones. A local model that was named gives its memory back, and
        cannot be asked again."""
        self._transport.close()
        self._let_go()

    def _drive(self, steps: Flow[StreamEvent], cancel: CancelToken | None) -> Generator[StreamEvent, None, None]:
        check_cancel(cancel)
        return drive(steps, self._transport, self.limits, clock=self._manner.clock, cancel=cancel)

    def __enter__(self) -> Model:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.close()


class AsyncModel(Line):
    """The same for async callers. Use it under `async with`: connections of an event loop are closed within it."""

    def __init__(
        self,
        spec: Spec,
        *,
        env: Mapping[str, str] | None = None,
        dialect: Facts | None = None,
        transport: AsyncTransport | str | None = None,
        limits: Limits = Limits(),  # noqa: B008  a frozen value
        strict: bool = False,
        repair: bool = False,
        vision: bool | None = None,
        cache: Caching = "auto",
        template: Path | str | None = None,
        retry: Retry = "default",
        adapt: bool = True,
        restart_on_drop: bool | Callable[[], bool] = False,
        clock: Clock = SYSTEM,
        rng: Random | None = None,
        observers: Sequence[Observer] = (),
        record: Path | str | None = None,
    ) -> None:
        manner = Manner(limits, policy(retry), restart_on_drop, clock, rng or Random(), watching(observers), adapt)
        super().__init__(spec, env, dialect, manner, Care(strict, repair, vision, cache, template))
        self._transport = recording_async(choose_async(transport, env), self._recorded(record), clock)

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
        return self._streaming(call, steps, cancel)

    async def complete(
        self,
        prompt: str,
        data: str | None = None,
        *,
        purpose: Purpose | None = None,
        cancel: CancelToken | None = None,
        **options: Unpack[Plain],
    ) -> str:
        """See Model.complete."""
        call, steps = self._completion(prompt_of(prompt, data), purpose, options)
        async for _ in self._drive(steps, cancel):
            pass
        return text_of(call.outcome().reply)

    async def count(
        self, messages: Messages, *, cancel: CancelToken | None = None, **options: Unpack[Options]
    ) -> Count:
        """See Model.count."""
        counted = self._counted(messages, options)
        async for _ in self._drive(counted.steps(), cancel):
            pass
        return counted.count

    def request_stream(self, request: Request) -> AsyncModelStream:
        """See Model.request_stream."""
        return self.stream(request)

    def forward(self, ask: Forward, *, cancel: CancelToken | None = None) -> AsyncModelStream:
        """See Model.forward; not awaited itself."""
        call, steps = self._forwarded(ask)
        return self._streaming(call, steps, cancel)

    async def forward_count(self, ask: Forward, *, cancel: CancelToken | None = None) -> Count:
        """See Model.forward_count."""
        counted = self._forward_counted(ask)
        async for _ in self._drive(counted.steps(), cancel):
            pass
        return counted.count

    async def close(self) -> None:
        """See Model.close."""
        await self._transport.close()
        self._let_go()

    def _streaming(self, call: Call, steps: Flow[StreamEvent], cancel: CancelToken | None) -> AsyncModelStream:
        return AsyncModelStream(call, steps, self._means(cancel))

    def _drive(self, steps: Flow[StreamEvent], cancel: CancelToken | None) -> AsyncGenerator[StreamEvent, None]:
        return drive_async(steps, self._means(cancel))

    def _means(self, cancel: CancelToken | None) -> Means:
        check_cancel(cancel)
        return Means(self._transport, self.limits, self._manner.clock, cancel)

    async def __aenter__(self) -> AsyncModel:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None
    ) -> None:
        await self.close()
