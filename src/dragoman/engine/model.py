"""A model file as a producer of events: the same Request in, the same events out as from any service."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from threading import Lock
from types import TracebackType
from typing import Self

from dragoman.engine import gguf, runtime
from dragoman.engine.backend import Llama, TextBackend
from dragoman.engine.parsers.formats import FORMATS, named, picked
from dragoman.engine.runtime import Room
from dragoman.engine.speaker import Speaker, spoken
from dragoman.engine.template import Template
from dragoman.engine.turn import Turn
from dragoman.engine.unsaid import WIRE
from dragoman.errors import ApiError, UsageError
from dragoman.transport.clock import SYSTEM, Clock
from dragoman.types.collect import Collector
from dragoman.types.events import StreamEvent
from dragoman.types.note import Note
from dragoman.types.reply import Reply
from dragoman.types.request import Request

CHATML = (
    "{% for message in messages %}{{ '<|im_start|>' + message.role + '\n' + message.content + '<|im_end|>\n' }}"
    "{% endfor %}{% if add_generation_prompt %}{{ '<|im_start|>assistant\n' }}{% endif %}"
)  # for a file without a template: what most of them were taught


class LocalModel:
    """A GGUF file that is asked in this process.

    Loaded with the first question (`load` does it ahead) and shared by all in this process that name the same file, until
    the last of them is closed. Its own chat template makes the prompt, and the format of calls is the one that the template
    teaches; `template` and `format` are other ones. A tool call that must be (tool_choice required, or a tool by name)
    comes out under constraint, from any model. Else a model whose template knows tools decides itself, and one whose
    template does not answers in text: see `dragoman.engine.fallback`. `room` is what it may take
    of this machine; `clock` tells the time to templates that ask for it.
    Raises UsageError for an unknown format.
    """

    wire = WIRE  # by whose rules a conversation is checked before it is asked

    def __init__(
        self,
        path: str | Path,
        *,
        name: str = "local",
        room: Room = Room(),  # noqa: B008  a frozen value
        template: Template | None = None,
        format: str | None = None,
        clock: Clock = SYSTEM,
    ) -> None:
        self.path = Path(path)
        self.name = name
        self.room = room
        if format is not None and named(format) is None:
            raise UsageError("usage", f"unknown format {format!r}: one of {', '.join(sorted(FORMATS))}")
        self._template, self._format, self._clock = template, format, clock
        self._speaker: Speaker | None = None
        self._loaded: runtime.Runtime | None = None
        self._closed = False
        self._lock = Lock()

    def __repr__(self) -> str:
        return f"LocalModel({str(self.path)!r}, name={self.name!r})"

    def load(self) -> None:
        """Load the file. Raises UsageError when it is missing or no model, or the extra is not installed."""
        self._runtime()

    def close(self) -> None:
        """Let go of the model: of those who share it the last frees its memory, when the answer that is under way has come
        to its end. Closing twice is fine; a question afterwards raises UsageError."""
        with self._lock:
            self._closed = True
            loaded, self._loaded = self._loaded, None
        if loaded is not None:
            runtime.release(loaded)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.close()

    @property
    def knows_tools(self) -> bool:
        """Whether it was taught to call tools, by its chat template."""
        return self.speaker.can.taught

    @property
    def speaker(self) -> Speaker:
        """Its template and format, without the model itself. Raises UsageError for a file that is missing or none."""
        with self._lock:
            if self._closed:
                raise UsageError("usage", runtime.CLOSED)
            if self._speaker is None:
                template = self._template or Template(gguf.chat_template(gguf.metadata(self.path)) or CHATML)
                found = named(self._format) if self._format is not None else None
                self._speaker = Speaker(template, found or picked(template.source), self.name)
            return self._speaker

    def turn(self, request: Request) -> Turn:
        """What the model would be asked, to the last character, and what it would not be told; it is not loaded.

        Raises as `stream`.
        """
        return self.speaker.turn(request, datetime.fromtimestamp(self._clock.date()).astimezone())

    def count(self, request: Request) -> int:
        """The tokens of the prompt that `stream` would ask. Raises as `stream`."""
        return self._runtime().count(self.turn(request).asked.prompt)

    def stream(self, request: Request) -> Answer:
        """The reply as it is made. Closing the iterator stops the model.

        Raises UsageError for what cannot be asked or loaded, ApiError for a request that is refused (context_overflow:
        it is longer than the context). What breaks after the first event ends with a Failure.
        """
        turn = self.turn(request)
        return Answer(self.speaker, Llama(self._runtime()), turn)

    def complete(self, request: Request) -> Reply:
        """The whole reply. Raises as `stream`, and ApiError for one that broke off."""
        collector = Collector()
        for event in self.stream(request):
            collector.feed(event)
        if collector.failure is not None:
            raise ApiError(collector.failure.code, collector.failure.message)
        return collector.reply

    def _runtime(self) -> runtime.Runtime:
        with self._lock:
            if self._closed:
                raise UsageError("usage", runtime.CLOSED)
            if self._loaded is None:
                values = gguf.metadata(self.path)
                context = min(self.room.context, gguf.context_length(values) or self.room.context)
                self._loaded = runtime.load(self.path, self.room._replace(context=context))
            return self._loaded


class Answer:
    """The events of one answer; `notes` tell what the model was not told of the request."""

    def __init__(self, speaker: Speaker, backend: TextBackend, turn: Turn) -> None:
        self.turn = turn
        self._events = spoken(speaker, backend, turn)

    @property
    def notes(self) -> tuple[Note, ...]:
        """Known before the first event."""
        return self.turn.notes

    def __iter__(self) -> Iterator[StreamEvent]:
        return self

    def __next__(self) -> StreamEvent:
        return next(self._events)

    def close(self) -> None:
        """Stop the model."""
        self._events.close()
