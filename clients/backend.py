"""The back end that stands behind `dragoman serve`: two parallel calls with reasoning, then the final text, on any wire."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from clients.client import Call
from dragoman.errors import ApiDetail, ApiError
from dragoman.testing import FakeProvider
from dragoman.types.content import Content, Reasoning, Text, ToolCall, ToolResult, ToolsChange
from dragoman.types.message import assistant
from dragoman.types.reply import Reply, Stop, Usage
from dragoman.types.request import Request
from dragoman.types.tool import Tool

ANSWER = "Both were done: the last word is heliotrope."
ASIDE = "Nothing to do here."
THOUGHT = "The user wants both of them, so both are called at once."
SIGNATURE = "c2lnbmF0dXJlLW9mLWEtdGhvdWdodA=="
USAGE = Usage(input=120, output=30)
ROUNDS = 3
SCENES: dict[str, tuple[str, ...]] = {
    "turns": (),
    "anew": (),  # the same, where bytes might pass untouched and do not
    "demand": (),  # three turns, and each call wants the reasoning back that stood before it
    "limit": ("rate-limit-seconds",),
    "cut": ("cut-in-stream",),
    "leave": ("silence-in-stream",),
    "leave-early": ("silence",),
}


def backend(wire: str, calls: Sequence[Call], scene: str = "turns") -> FakeProvider:
    """A provider of `wire` that makes these calls, and misbehaves as the scene wants it."""
    if scene == "demand":
        return FakeProvider(wire, script=lambda request: said(demanded(request), wire, calls, rounds=ROUNDS))
    return FakeProvider(wire, quirks=SCENES[scene], script=lambda request: said(request, wire, calls))


def demanded(request: Request) -> Request:
    """`request`, as DeepSeek takes it in thinking mode. Raises ApiError for a call that comes without its reasoning."""
    for message in request.messages:
        calls = any(isinstance(block, ToolCall) for block in message.content)
        thoughts = [block.text for block in message.content if isinstance(block, Reasoning)]
        if calls and thoughts != [THOUGHT]:
            said = "The `reasoning_content` in the thinking mode must be passed back to the API."
            raise ApiError("invalid_request", said, ApiDetail(status=400))
    return request


def said(request: Request, wire: str, calls: Sequence[Call], rounds: int = 1) -> Reply:
    """The turn that follows: the calls where there are tools and no results of `rounds` turns, the answer where there are,
    else an aside (a client may want a title)."""
    blocks = [block for message in request.messages for block in message.content]
    results = any(isinstance(block, ToolResult) for block in blocks)
    called = sum(isinstance(block, ToolCall) for block in blocks)
    added = [tool for block in blocks if isinstance(block, ToolsChange) for tool in block.add or ()]
    offered = [tool for tool in (*(request.tools or ()), *added) if isinstance(tool, Tool)]
    if (results and called >= rounds * len(calls)) or not calls:
        return _reply(Text(text=ANSWER))
    if not offered:
        return _reply(Text(text=ASIDE))
    made = [_call(call, number, offered) for number, call in enumerate(calls, called + 1)]
    thinks = wire != "messages" or _asked_to_think(request)
    return _reply(*([_thought(wire)] if thinks else []), *made, number=called + 1)


def _asked_to_think(request: Request) -> bool:
    """That wire thinks only when it is asked to."""
    thinking: Any = (request.opaque or {}).get("messages", {}).get("thinking")
    asked = isinstance(thinking, dict) and thinking.get("type") != "disabled"
    return asked or request.budget is not None or request.effort is not None


def _reply(*blocks: Content, number: int = 0) -> Reply:
    """A reply under an id of its own: clients take what comes under one id for one turn."""
    calls = any(isinstance(block, ToolCall) for block in blocks)
    stop = Stop(reason="tool_calls" if calls else "end")
    return Reply(message=assistant(*blocks), stop=stop, usage=USAGE, id=f"fake-{number}", model="fake")


def _thought(wire: str) -> Reasoning:
    """Reasoning as this wire has it: signed, encrypted or bare."""
    match wire:
        case "messages":
            return Reasoning(text=THOUGHT, opaque={"messages": {"signature": SIGNATURE}})
        case "responses":
            left = {"id": "rs_1", "encrypted_content": SIGNATURE}
            return Reasoning(summary=(THOUGHT,), opaque={"responses": left})
        case _:
            return Reasoning(text=THOUGHT)


def _call(call: Call, number: int, offered: list[Tool]) -> ToolCall:
    """A call in the words of whoever was asked: a tool of a namespace may stand there under a longer name, one that takes
    text as a function of one string."""
    tool = next((tool for tool in offered if tool.name == call.name), None)
    tool = tool or next((tool for tool in offered if tool.name.endswith(call.name)), None)
    name, kind = (tool.name, tool.kind) if tool else (call.name, "function")
    arguments = call.arguments
    if isinstance(arguments, str) and kind != "custom":
        arguments = {"input": arguments}
    text = arguments if isinstance(arguments, str) else json.dumps(arguments)
    namespace = tool.namespace if tool else None
    return ToolCall(id=f"call_{number}", name=name, arguments=text, kind=kind, namespace=namespace)
