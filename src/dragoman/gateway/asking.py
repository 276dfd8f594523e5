"""A client's request on its way in: read, and brought to what its model can be asked."""

from __future__ import annotations

from typing import NamedTuple

import msgspec
from msgspec.structs import replace

from dragoman.caching import hinted, within
from dragoman.carriers import Carrier, carries, uncarry_request
from dragoman.catalog.target import Target
from dragoman.client import AsyncModel, Forward
from dragoman.dialect.readers import EVERY
from dragoman.gateway.answer import Answer
from dragoman.gateway.freetext import NONE, as_functions
from dragoman.gateway.idle import Idle, asks_nothing
from dragoman.gateway.readers import Reader
from dragoman.gateway.refusing import refuse
from dragoman.gateway.several import EachOf
from dragoman.gateway.tap import Tap
from dragoman.types.content import ToolResult
from dragoman.types.request import Request
from dragoman.types.tool import Tool, ToolChoice
from dragoman.wire import find
from dragoman.wire.base import Http, Incoming, Notes
from dragoman.wire.completions.several import each_prompt, each_sample, how_many
from dragoman.wire.ollama import generate

HINTS = (b"cache_control", b"prompt_cache_breakpoint")  # how clients say where a prompt's cache may end


class Manner(NamedTuple):
    """How requests are treated: the carrier of models' state, whether bytes may pass as they came, who reads the answer,
    and whether a model is made to call a tool in the first step of a turn, which so small a one does not think of itself."""

    carrier: Carrier | None = None
    passthrough: bool = True
    reader: Reader = EVERY
    call_first: bool = False


class Asked(msgspec.Struct, frozen=True):
    """A request that was read: who answers it, what he is asked, and how the answer is written."""

    model: AsyncModel | EachOf | Idle
    forward: Forward
    answer: Answer
    stream: bool


def read(http: Http, incoming: Incoming, wire: str, model: AsyncModel, manner: Manner) -> Asked:
    """A client's request for `model`, which his wire's codec has read as `incoming`. Raises ApiError for one that asks for
    what this model's wire has not."""
    source = find(wire)
    speaks = generate.wire if http.path == generate.PATH else source
    notes, request = Notes(), incoming.request
    stream = bool(request.stream)
    if asks_nothing(request, wire, model):
        nothing, answer = Idle(request, incoming.exchange.now), Answer(speaks, incoming.exchange, None)
        return Asked(nothing, Forward(request=request, source=source, exchange=incoming.exchange), answer, stream)
    refuse(request, wire, model)
    same = model.target is not None and model.target.wire == wire
    if carries(request, wire):
        request = uncarry_request(request, wire, manner.carrier, notes)
    first = manner.call_first and first_step(request)
    if first:
        request = replace(request, tool_choice=ToolChoice(mode="required"))
    passes = same and manner.passthrough and speaks is source and not first
    if model.target is not None and _too_many_hints(http.body, model.target):
        request, cut = within(request, model.target.wire, model.target.dialect)
        notes.taken += cut
        passes = passes and not cut
    customs = NONE
    if not same and (model.target is None or model.target.wire != "responses"):
        request, customs = as_functions(request, notes, texts=not _takes_text(model))
    tap = Tap(source) if passes and not manner.reader.whole_calls else None
    forward = Forward(
        request=request,
        source=source,
        exchange=incoming.exchange,
        notes=(*incoming.notes, *notes.done()),
        http=http if passes else None,
        listening=tap,  # pyright: ignore[reportArgumentType]  the part of a wire that reads
    )
    told = incoming.exchange
    if wire == "responses" and not same:  # a reply repeats what was asked, and what nobody said: here nothing is kept
        told = replace(told, echo={**told.echo, "store": False})
    answer = Answer(speaks, told, manner.carrier, tap, customs, manner.reader)
    several = wire == "completions" and not same and how_many(request) > 1
    asked = [one for each in each_prompt(request) for one in each_sample(each)] if several else []
    return Asked(EachOf(model, asked) if asked else model, forward, answer, stream)


def _too_many_hints(body: bytes, target: Target) -> bool:
    """Whether there may be more of them than the service takes; False is sure."""
    return hinted(target.wire, target.dialect) and sum(map(body.count, HINTS)) > target.dialect.max_cache


def first_step(request: Request) -> bool:
    """Whether a user has just asked, with tools at hand, and the choice is the model's."""
    choice, last = request.tool_choice, request.messages[-1:]
    free = choice is None or (choice.mode in (None, "auto") and not choice.names)
    asked = bool(last) and last[0].role == "user" and not any(isinstance(each, ToolResult) for each in last[0].content)
    return free and asked and any(isinstance(tool, Tool) for tool in request.tools or ())


def _takes_text(model: AsyncModel) -> bool:
    """Whether a model's service knows tools of free text."""
    return model.target is not None and (model.target.wire == "responses" or model.target.dialect.custom_tools)
