"""A model that goes on with a prompt, as one that answers requests: its template before it, its format behind it (pure)."""

from __future__ import annotations

from collections.abc import Generator, Mapping
from contextlib import closing
from datetime import datetime
from typing import TypeAlias

import msgspec

from dragoman.engine import fallback
from dragoman.engine.backend import Asked, TextBackend
from dragoman.engine.capable import capabilities
from dragoman.engine.constrain import calls_schema, must_call, offered, output_schema
from dragoman.engine.parsers.formats import Format
from dragoman.engine.prompt import Prompt, prompt, variables, written
from dragoman.engine.template import REFUSED, Template
from dragoman.engine.turn import Answering, Calling, Concluding, Reader, Turn, seed_of
from dragoman.engine.unsaid import WIRE, tell_message, tell_request
from dragoman.errors import ApiError
from dragoman.types.base import Origin
from dragoman.types.content import ToolCall
from dragoman.types.events import Failure, Start, StreamEvent
from dragoman.types.request import Request, Sampling
from dragoman.types.tool import Tool
from dragoman.wire.base import Notes
from dragoman.wire.namespaces import flat
from dragoman.wire.tags import left_open

LOCAL = "local"  # who speaks, where no service does
Events: TypeAlias = Generator[StreamEvent, None, None]

# Tokens, when the request does not say; the less where a model was never taught tools, which are the smallest ones.
OUTPUT_MAX, OUTPUT_MAX_SMALL = 1024, 256
CALL_MAX, CALL_MAX_SMALL = 2048, 512  # enough for a bounded call to end
CONCLUSION_MAX = 96  # one sentence; where a small model begins to repeat itself, more of it helps nobody


class Speaker:
    """What stands around a text back end, wherever that runs. `can` is what the template knows; `start` is how an answer of
    this process begins: what it thinks is its own, and no other model's."""

    def __init__(self, template: Template, format: Format, name: str) -> None:
        self.template, self.format, self.name = template, format, name
        self.start = Start(model=name, origin=Origin(wire=WIRE, provider=LOCAL, model=name))
        self.can = capabilities(template)

    def prompt(self, request: Request, now: datetime, *, open_turn: bool = True) -> Prompt:
        """What the model reads. Raises ApiError where the template refuses the conversation."""
        if self.can.taught:
            return prompt(self.template, self.can, request, now, open_turn=open_turn, own_system=False)
        notes = Notes()
        tell_request(request, self.can, notes)
        for at, message in enumerate(request.messages):
            tell_message(message, notes, ("messages", at))
        tools = offered(request)
        must = must_call(request) and bool(tools) and open_turn
        turns = fallback.call_turns(request.messages, tools) if must else fallback.turns(request.messages)
        fallback.tell(request.messages, notes)
        own = variables(request, self.can, notes)
        shown = turns if self.can.system else [turn for turn in turns if turn["role"] != "system" or turn["content"]]
        if not open_turn:
            text = self.template.render(shown, now=now, variables=own, open_turn=False)
        else:
            goes_on = bool(shown) and shown[-1]["role"] == "assistant"
            text = written(self.template, shown, now=now, variables=own, goes_on=goes_on)
        return Prompt(text=text, turns=tuple(shown), notes=notes.done())

    def turn(self, request: Request, now: datetime) -> Turn:
        """What is asked of the model, and how its answer is read.

        Raises ApiError invalid_request for a call of nothing, and where the template refuses the conversation or a schema is
        beyond what can be held.
        """
        notes = Notes()
        request, spaces = flat(request, notes)
        must, think = must_call(request), self.format.think
        tools = {tool.name: _known(tool, spaces) for tool in offered(request)}
        if must and not tools:
            raise ApiError(
                "invalid_request", "tool_choice asks for a call, but the request offers no such tool", REFUSED
            )
        made = self.prompt(request, now)
        text = made.text.removeprefix(self.template.bos)  # whoever reads the text puts it there
        form = calls_schema(offered(request), small=not self.can.taught) if must else output_schema(request)
        inside = think is not None and left_open(text, think)
        if form is not None and inside and think is not None:
            text, inside = f"{text.rstrip()}\n\n{think[1]}\n\n", False
        if must and self.can.taught:
            text += self.format.opens
        concludes = not must and not self.can.taught and fallback.awaits_conclusion(request.messages)
        calls = sum(isinstance(block, ToolCall) for message in request.messages for block in message.content)
        return Turn(
            kind="call" if must else "conclusion" if concludes else "answer",
            asked=Asked(
                prompt=text,
                max_output=request.max_output or self._limit(must=must, concludes=concludes),
                sampling=self._sampling(request.sampling),
                stop=(*(request.stop or ()), *(fallback.REPEATS if concludes else ())),
                form=form,
                shown=self.format.tokens,
            ),
            format=self.format.name,
            offered=tools if must or self.can.taught else {},
            inside=inside,
            single=request.parallel_tools is False,
            seed=seed_of(request.messages),
            first=calls,
            limited=request.max_output is None,
            notes=(*notes.done(), *made.notes),
        )

    def reader(self, turn: Turn) -> Reader:
        """What reads the answer to `turn`."""
        match turn.kind:
            case "call":
                return Calling(turn)
            case "conclusion":
                return Concluding(turn)
            case "answer":
                return Answering(turn, self.format)

    def _sampling(self, said: Sampling) -> Sampling:
        """The smallest models, never taught tools, say the likeliest word where nobody asks for others: chance spoils more
        of what they say than it helps. What others do by themselves is their maker's and their back end's to say."""
        sure = said.temperature is None and not self.can.taught
        return msgspec.structs.replace(said, temperature=0.0) if sure else said

    def _limit(self, *, must: bool, concludes: bool) -> int:
        if concludes:
            return CONCLUSION_MAX
        if must:
            return CALL_MAX if self.can.taught else CALL_MAX_SMALL
        return OUTPUT_MAX if self.can.taught else OUTPUT_MAX_SMALL


def spoken(speaker: Speaker, backend: TextBackend, turn: Turn) -> Events:
    """The reply as it is made. Raises ApiError as the back end does, before the first event; what breaks later is a Failure."""
    reader, begun = speaker.reader(turn), False
    with closing(backend.generate(turn.asked)) as pieces:
        try:
            for piece in pieces:
                if piece.alive is not None:
                    yield piece.alive
                    continue
                if not begun:  # until then a request can be refused
                    begun = True
                    yield speaker.start
                yield from reader.feed(piece)
                if reader.enough:
                    break
        except ApiError as error:
            if not begun:
                raise
            yield from reader.broken(Failure(code=error.code, message=error.message, retryable=error.retryable))
            return
    if not begun:
        yield speaker.start
    yield from reader.close()


def _known(tool: Tool, spaces: Mapping[str, tuple[str, str]]) -> Tool:
    """The tool as its caller knows it."""
    return msgspec.structs.replace(tool, name=spaces[tool.name][1]) if tool.name in spaces else tool
