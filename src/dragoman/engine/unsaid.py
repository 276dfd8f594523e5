"""What no prompt says of a request, each thing told once: parameters, hosted tools, leftovers of other wires (pure)."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from dragoman.engine.capable import Capabilities
from dragoman.types.content import HostedCall, HostedResult, Reasoning, Text, ToolCall, ToolResult, ToolsChange
from dragoman.types.message import Message
from dragoman.types.note import Path
from dragoman.types.opaque import MARKS
from dragoman.types.request import Request
from dragoman.types.tool import HostedTool, Tool
from dragoman.wire.base import Notes

WIRE = "text"  # how a prompt and its continuation are called beside the wires
KWARGS = "chat_template_kwargs"  # where vLLM, SGLang and llama.cpp take a template's own variables

# Parameters that nobody keeps here, why, and the values that ask for what happens anyway.
UNKEPT: dict[str, tuple[str, tuple[Any, ...]]] = {
    "budget": ("nobody counts the tokens of a thought here: effort turns it on or off", ()),
    "verbosity": ("a template has no such switch", ("medium",)),
    "logprobs": ("the chances of tokens are not told", (False,)),
    "top_logprobs": ("the chances of tokens are not told", (0,)),
    "n": ("one answer is made", (1,)),
    "state": ("no conversation is kept for another request: all of it must be sent", ()),
}
# Labels for a service's own books: there are none, and nothing the model could have known is lost.
BOOKS = ("tier", "store", "user", "cache_key", "metadata")


def tell_request(request: Request, can: Capabilities, notes: Notes) -> None:
    """What of a request beside its messages reaches no model through a prompt."""
    for field, (reason, neutral) in UNKEPT.items():
        value = getattr(request, field)
        if value is not None and value not in neutral:
            notes.add((field,), "dropped", reason)
    for field in BOOKS:
        if getattr(request, field) not in (None, False):
            notes.add((field,), "dropped", "a model that reads a prompt has no use for it", loss=False)
    left = {wire: {key: value for key, value in bag.items() if key != KWARGS} for wire, bag in _bags(request)}
    notes.leftovers(left, WIRE, ())
    _tell_tools(request, can, notes)


def tell_message(message: Message, notes: Notes, path: Path) -> None:
    """What of a message, beside what it says, no prompt has a place for."""
    notes.leftovers(message.opaque, WIRE, path)
    if message.name is not None:
        notes.add((*path, "name"), "dropped", "a template knows roles, not authors")
    for at, block in enumerate(message.content):
        _tell_block(block, notes, (*path, "content", at), by_model=message.role == "assistant")


def _tell_block(block: Any, notes: Notes, path: Path, *, by_model: bool) -> None:
    notes.leftovers(block.opaque, WIRE, path)
    match block:
        case Text():
            if block.citations is not None:
                notes.add((*path, "citations"), "dropped", "a prompt has no citations")
            if block.phase is not None:
                notes.add((*path, "phase"), "dropped", "a prompt does not tell commentary from the answer")
        case ToolResult():
            if block.is_error is not None:
                reason = "a result's words tell the failure here, there is no flag (S0-49)"
                notes.add((*path, "is_error"), "dropped", reason, loss=block.is_error)
            for inner, part in enumerate(block.content):
                _tell_block(part, notes, (*path, "content", inner), by_model=False)
        case HostedCall() | HostedResult():
            notes.add(path, "dropped", "a tool that another provider ran itself has no place in a template")
        case ToolCall() | Reasoning() if not by_model:
            notes.add(path, "dropped", "only the assistant's own turn has calls and thoughts")
        case ToolsChange():
            for inner, tool in enumerate(block.add or ()):
                _tell_tool(tool, notes, (*path, "add", inner))
        case _:
            pass


def _tell_tools(request: Request, can: Capabilities, notes: Notes) -> None:
    for at, tool in enumerate(request.tools or ()):
        _tell_tool(tool, notes, ("tools", at))
    offered = any(isinstance(tool, Tool) for tool in request.tools or ())
    refused = request.tool_choice is not None and request.tool_choice.mode == "none"
    if not offered or can.tools or refused:
        return
    if can.calls:
        notes.add(("tools",), "moved", "the template has no list of tools: the system message tells them", loss=False)
    else:
        notes.add(("tools",), "dropped", "the template knows no tools: the model is not told what they are for")


def _tell_tool(tool: Tool | HostedTool, notes: Notes, path: Path) -> None:
    if isinstance(tool, HostedTool):
        notes.add(path, "dropped", f"nobody here runs the hosted tool {tool.kind!r}")
        return
    notes.leftovers(tool.opaque, WIRE, path)
    if tool.strict:
        reason = "only a call that must be is held to its schema"
        notes.add((*path, "strict"), "dropped", reason, loss=False)


def _bags(request: Request) -> Iterable[tuple[str, dict[str, Any]]]:
    return ((wire, bag) for wire, bag in (request.opaque or {}).items() if wire != MARKS)
