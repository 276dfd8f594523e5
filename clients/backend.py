"""The back end that stands behind `dragoman serve`: two parallel calls with reasoning, then the final text, on any wire."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from clients.client import Call
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
SCENES: dict[str, tuple[str, ...]] = {
    "turns": (),
    "anew": (),  # the same, where bytes might pass untouched and do not
    "limit": ("rate-limit-seconds",),
    "cut": ("cut-in-stream",),
    "leave": ("silence-in-stream",),
    "leave-early": ("silence",),
}


def backend(wire: str, calls: Sequence[Call], scene: str = "turns") -> FakeProvider:
    """A provider of `wire` that makes these calls, and misbehaves as the scene wants it."""
    return FakeProvider(wire, quirks=SCENES[scene], script=lambda request: said(request, wire, calls))


def said(request: Request, wire: str, calls: Sequence[Call]) -> Reply:
    """The turn that follows: the calls where there are tools and no results, the answer where there are, else an aside (a
    client may want a title)."""
    blocks = [block for message in request.messages for block in message.content]
    results = any(isinstance(block, ToolResult) for block in blocks)
    added = [tool for block in blocks if isinstance(block, ToolsChange) for tool in block.add or ()]
    offered = [tool for tool in (*(request.tools or ()), *added) if isinstance(tool, Tool)]
    if results or not calls:
        return _reply(Text(text=ANSWER))
    if not offered:
        return _reply(Text(text=ASIDE))
    made = [_call(call, number, offered) for number, call in enumerate(calls, 1)]
    thinks = wire != "messages" or _asked_to_think(request)
    return _reply(*([_thought(wire)] if thinks else []), *made)


def _asked_to_think(request: Request) -> bool:
    """That wire thinks only when it is asked to."""
    thinking: Any = (request.opaque or {}).get("messages", {}).get("thinking")
    asked = isinstance(thinking, dict) and thinking.get("type") != "disabled"
    return asked or request.budget is not None or request.effort is not None


def _reply(*blocks: Content) -> Reply:
    calls = any(isinstance(block, ToolCall) for block in blocks)
    stop = Stop(reason="tool_calls" if calls else "end")
    return Reply(message=assistant(*blocks), stop=stop, usage=USAGE, id="fake-1", model="fake")


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
