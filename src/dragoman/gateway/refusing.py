"""What cannot be had of a model, refused by the name of its field: never dropped in silence."""

from __future__ import annotations

from typing import Any

from dragoman.client import AsyncModel
from dragoman.errors import ApiDetail, ApiError
from dragoman.gateway.faults import NoThreads
from dragoman.types.content import Foreign
from dragoman.types.request import Request
from dragoman.types.tool import HostedTool
from dragoman.wire.completions.prompt import TOKENS
from dragoman.wire.completions.several import each_prompt, how_many

FORCED = ("required",)
MOST_ANSWERS = 128  # to one body, each of which is a request of its own
# What only a service of text completions can do: a field, and the values of it that ask for nothing.
OF_COMPLETIONS: dict[str, tuple[Any, ...]] = {
    "suffix": (None, ""),
    "echo": (None, False),
    "best_of": (None, 1),
    "logprobs": (None,),
    "logit_bias": (None, {}),
}


def refuse(request: Request, wire: str, model: AsyncModel) -> None:
    """Raises ApiError with the field for what a client of `wire` cannot have of this model."""
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
