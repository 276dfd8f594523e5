"""A client's request on its way in: read, understood, and refused where it asks for what cannot be had here."""

from __future__ import annotations

from typing import Any, NamedTuple

from msgspec.structs import replace

from dragoman.caching import within
from dragoman.carriers import Carrier, carries, uncarry_request
from dragoman.client import AsyncModel, Forward
from dragoman.dialect.model import BASE
from dragoman.errors import ApiDetail, ApiError
from dragoman.gateway.answer import Answer
from dragoman.gateway.faults import NoThreads
from dragoman.gateway.freetext import as_functions
from dragoman.gateway.idle import Idle, asks_nothing
from dragoman.gateway.readers import Reader
from dragoman.gateway.several import EachOf
from dragoman.gateway.tap import Tap
from dragoman.types.content import Foreign
from dragoman.types.request import Request
from dragoman.types.tool import HostedTool
from dragoman.wire import find
from dragoman.wire.base import Exchange, Http, Notes, Peek
from dragoman.wire.completions.prompt import TOKENS
from dragoman.wire.completions.several import each_prompt, each_sample, how_many
from dragoman.wire.ollama import generate

FORCED = ("required",)
HINTS = (b"cache_control", b"prompt_cache_breakpoint")  # how clients say where a prompt's cache may end
TEXT_TOOLS = ("responses", "messages")  # the wires whose codecs know what to do with a tool of free text
MOST_ANSWERS = 128  # to one body, each of which is a request of its own
# What only a service of text completions can do: a field, and the values of it that ask for nothing.
OF_COMPLETIONS: dict[str, tuple[Any, ...]] = {
    "suffix": (None, ""),
    "echo": (None, False),
    "best_of": (None, 1),
    "logprobs": (None,),
    "logit_bias": (None, {}),
}


class Manner(NamedTuple):
    """How requests are treated: the carrier of models' state, whether bytes may pass as they came, and who reads the answer."""

    carrier: Carrier | None = None
    passthrough: bool = True
    reader: Reader = Reader()


class Asked(NamedTuple):
    """A request that was read: who answers it, what he is asked, and how the answer is written."""

    model: AsyncModel | EachOf | Idle
    forward: Forward
    answer: Answer
    stream: bool


def read(http: Http, seen: Peek, wire: str, model: AsyncModel, exchange: Exchange, manner: Manner) -> Asked:
    """A client's request for `model`; `seen` is what a look at it told. Raises RemoteError for a body that cannot be read,
    ApiError for one that asks for what this model's wire has not."""
    source = find(wire)
    speaks = generate.wire if http.path == generate.PATH else source
    incoming = source.decode_request(http, BASE, exchange)
    stream = seen.stream  # some wires stream where nothing is said
    notes, request = Notes(), incoming.request
    if stream and not request.stream:
        request = replace(request, stream=True)
    if asks_nothing(request, wire, model):
        nothing, answer = Idle(request, exchange.now), Answer(speaks, incoming.exchange, None)
        return Asked(nothing, Forward(request=request, source=source, exchange=exchange), answer, stream)
    refuse(request, wire, model)
    same = model.target is not None and model.target.wire == wire
    if carries(request, wire):
        request = uncarry_request(request, wire, manner.carrier, notes)
    passes = same and manner.passthrough and speaks is source
    if model.target is not None and sum(map(http.body.count, HINTS)) > model.target.dialect.max_cache:
        request, cut = within(request, model.target.wire, model.target.dialect)
        notes.taken += cut
        passes = passes and not cut
    customs: frozenset[str] = frozenset()
    if not same and not _takes_text(model):
        request, customs = as_functions(request, notes)
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


def _takes_text(model: AsyncModel) -> bool:
    """Whether tools of free text are said and undone by the model's own wire and service."""
    return model.target is not None and (model.target.wire in TEXT_TOOLS or model.target.dialect.custom_tools)


def refuse(request: Request, wire: str, model: AsyncModel) -> None:
    """Raises ApiError, with the field, for what cannot be had of this model: never dropped in silence."""
    if wire == "messages" and "thread" in (request.opaque or {}).get(wire, {}):
        raise NoThreads
    there = None if model.target is None else model.target.wire
    if wire == "responses" and there != "responses":
        _no_state(request)
    if there != wire:
        _no_hosted_choice(request, wire)
        if wire == "completions":
            _text_alone(request)
    _no_forced_thinking(request, there)


def _no_state(request: Request) -> None:
    state = request.state
    fields = {
        "previous_response_id": state is not None and state.previous_id,
        "conversation": state is not None and state.conversation,
        "store": request.store,
        "background": (request.opaque or {}).get("responses", {}).get("background"),
    }
    for field, said in fields.items():
        if said:
            raise _refused(field, f"`{field}`: the model behind this server keeps no responses: send the whole input")
    for at, message in enumerate(request.messages):
        if any(isinstance(block, Foreign) and block.kind == "item_reference" for block in message.content):
            said = f"input[{at}] is an item_reference and nothing is stored here: send store=false and whole items"
            raise _refused("input", said)


def _text_alone(request: Request) -> None:
    """A model that is asked in turns answers a prompt in words, and no more of this wire than that (CMP-002)."""
    if (asked := how_many(request)) > MOST_ANSWERS:
        said = f"`prompt` and `n` ask for {asked} answers: this server gives at most {MOST_ANSWERS} to one body"
        raise _refused("prompt", said)
    left = (request.opaque or {}).get("completions", {})
    for field, nothing in OF_COMPLETIONS.items():
        if left.get(field) not in nothing:
            raise _refused(
                field, f"`{field}`: the model behind this server is no text completion and has no such thing"
            )
    blocks = (block for each in each_prompt(request) for message in each.messages for block in message.content)
    for block in blocks:
        if isinstance(block, Foreign) and block.kind == TOKENS:
            raise _refused("prompt", "`prompt`: token ids are of another model's tokenizer here: send text")


def _no_hosted_choice(request: Request, wire: str) -> None:
    """A tool that only the vendor runs is left out with a note; to insist on it cannot be granted (GWY-012)."""
    said: Any = (request.opaque or {}).get(wire, {}).get("tool_choice")
    names = () if request.tool_choice is None else request.tool_choice.names or ()
    wanted = {*names, said.get("type") if isinstance(said, dict) else None}
    for tool in request.tools or ():
        if isinstance(tool, HostedTool) and tool.kind in wanted:
            reason = f"`tool_choice` wants {tool.kind!r}, which the model behind this server has not"
            raise _refused("tool_choice", reason)


def _no_forced_thinking(request: Request, there: str | None) -> None:
    """Where thinking has a budget no call can be forced: said by whom it was asked, not by the service (GWY-030)."""
    forced = request.tool_choice is not None and request.tool_choice.mode in FORCED
    if there == "messages" and forced and (request.budget or _thinks(request)):
        raise _refused(
            "tool_choice", "`tool_choice` forces a call and `thinking` is on: this model takes one of the two"
        )


def _thinks(request: Request) -> bool:
    left = (request.opaque or {}).values()
    return any(isinstance(bag.get("thinking"), dict) and bag["thinking"].get("type") == "enabled" for bag in left)


def _refused(field: str, message: str) -> ApiError:
    return ApiError("invalid_request", message, ApiDetail(status=400, param=field))
