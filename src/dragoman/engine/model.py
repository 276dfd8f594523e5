"""A model file as a producer of events: the same Request in, the same events out as from any service."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from pathlib import Path

from dragoman.engine import gguf, runtime
from dragoman.engine.backend import Llama
from dragoman.engine.parsers.formats import FORMATS, named, picked
from dragoman.engine.speaker import Events, Speaker
from dragoman.engine.template import Template
from dragoman.errors import ApiError, UsageError
from dragoman.transport.clock import SYSTEM, Clock
from dragoman.types.collect import Collector
from dragoman.types.events import Failure, StreamEvent
from dragoman.types.reply import Reply
from dragoman.types.request import Request

CONTEXT = 8192
CHATML = (
    "{% for message in messages %}{{ '<|im_start|>' + message.role + '\n' + message.content + '<|im_end|>\n' }}"
    "{% endfor %}{% if add_generation_prompt %}{{ '<|im_start|>assistant\n' }}{% endif %}"
)  # for a file without a template: what most of them were taught


class LocalModel:
    """A GGUF file that is asked in this process.

    Loaded with the first question (`load` does it ahead) and kept for the process. Its own chat template makes the
    prompt, and the format of calls is the one that the template teaches; `template` and `format` are other ones. A tool
    call that must be (tool_choice required, or a tool by name) comes out under constraint, from any model. Else a model
    whose template knows tools decides itself, and one whose template does not answers in text: see
    `dragoman.engine.fallback`. `clock` tells the time to templates that ask for it. Raises UsageError for an unknown
    format.
    """

    def __init__(
        self,
        path: str | Path,
        *,
        name: str = "local",
        context: int = CONTEXT,
        template: Template | None = None,
        format: str | None = None,
        clock: Clock = SYSTEM,
    ) -> None:
        self.path = Path(path)
        self.name = name
        self.context = context
        if format is not None and named(format) is None:
            raise UsageError("usage", f"unknown format {format!r}: one of {', '.join(sorted(FORMATS))}")
        self._template, self._format, self._clock = template, format, clock
        self._speaker: Speaker | None = None

    def __repr__(self) -> str:
        return f"LocalModel({str(self.path)!r}, name={self.name!r})"

    def load(self) -> None:
        """Load the file. Raises UsageError when it is missing or no model, or the extra is not installed."""
        self._ready()

    @property
    def knows_tools(self) -> bool:
        """Whether its chat template renders tools. Loads the model."""
        return self._ready().can.tools

    def stream(self, request: Request) -> Iterator[StreamEvent]:
        """The reply as it is made. Closing the iterator stops the model.

        Raises UsageError for what cannot be asked or loaded, ApiError for a request that is refused (context_overflow:
        it is longer than the context). What breaks after the first event ends with a Failure.
        """
        return _told(self._ready().events(request, datetime.fromtimestamp(self._clock.date()).astimezone()))

    def complete(self, request: Request) -> Reply:
        """The whole reply. Raises as `stream`, and ApiError for one that broke off."""
        collector = Collector()
        for event in self.stream(request):
            collector.feed(event)
        if collector.failure is not None:
            raise ApiError(collector.failure.code, collector.failure.message)
        return collector.reply

    def _ready(self) -> Speaker:
        if self._speaker is None:
            values = gguf.metadata(self.path)
            context = min(self.context, gguf.context_length(values) or self.context)
            loaded = runtime.load(self.path, context)
            template = self._template or Template(gguf.chat_template(values) or CHATML)
            found = named(self._format) if self._format is not None else None
            self._speaker = Speaker(Llama(loaded), template, found or picked(template.source), self.name)
        return self._speaker


def _told(events: Events) -> Iterator[StreamEvent]:
    started = False
    try:
        for event in events:
            started = True
            yield event
    except ApiError as error:
        if not started:
            raise
        yield Failure(code=error.code, message=error.message, retryable=error.retryable)
    finally:
        events.close()
