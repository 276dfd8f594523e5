"""What is wrong with a raw body, also one that no codec would read: the shapes of other wires, and calls without pairs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from dragoman.dialect.model import BASE
from dragoman.errors import RemoteError
from dragoman.history import pairing
from dragoman.history.raw import READERS, Raw
from dragoman.history.rules import Finding, find
from dragoman.types.note import Path, show_path
from dragoman.wire import find as find_wire
from dragoman.wire import jsonio
from dragoman.wire.base import Exchange, Http

# Per wire: a key that only another wire's body has, and that wire.
KEYS: dict[str, dict[str, str]] = {
    "chat": {
        **dict.fromkeys(("system", "stop_sequences", "thinking_budget_tokens"), "messages"),
        **dict.fromkeys(("input", "instructions", "max_output_tokens", "previous_response_id"), "responses"),
    },
    "messages": {
        **dict.fromkeys(("stop", "functions", "function_call", "response_format", "max_completion_tokens"), "chat"),
        **dict.fromkeys(("input", "instructions", "max_output_tokens", "previous_response_id"), "responses"),
    },
    "responses": {
        **dict.fromkeys(("messages", "stop", "functions", "response_format", "max_completion_tokens"), "chat"),
        **dict.fromkeys(("system", "stop_sequences"), "messages"),
    },
}
# Per wire: the keys of a tool definition that belong to another wire.
DEFINITIONS: dict[str, dict[str, str]] = {
    "chat": {"input_schema": "messages"},
    "messages": {"function": "chat", "parameters": "responses"},
    "responses": {"input_schema": "messages", "function": "chat"},
}


def check_body(wire: str, body: bytes | Mapping[str, Any]) -> tuple[Finding, ...]:
    """Every place where a raw body breaks a rule of `wire`, with its path in that body (S0-62, S0-72, S4-25).

    Works on bodies that `decode_request` refuses, and calls nothing but shapes into question: no dialect, no model. Of
    a wire that has no rows here its codec's own refusal is the one finding. Raises RemoteError for bytes that are no
    JSON object, UsageError for an unknown wire.
    """
    find_wire(wire)
    value: Mapping[str, Any] = jsonio.decode_object(body)[0] if isinstance(body, bytes) else body
    raw = Raw(value)
    if wire not in READERS:
        return _refusal(wire, value, raw)
    for key, owner in KEYS[wire].items():
        if value.get(key) is not None:
            raw.tell("foreign-key", (key,), f"`{key}` is of the {owner} wire: send this body there, or leave it out")
    READERS[wire](raw)
    _tools(wire, value, raw)
    _choice(wire, value, raw)
    pairs = pairing.Pairs(raw.steps)
    raw.found += pairing.findings(pairs, wire, kept=raw.kept)
    if wire == "messages":
        _repeated(pairs, raw)
    return tuple(raw.found)


def _refusal(wire: str, body: Mapping[str, Any], raw: Raw) -> tuple[Finding, ...]:
    try:
        find_wire(wire).decode_request(Http(body=jsonio.encode(body)), BASE, Exchange())
    except RemoteError as error:
        raw.tell("wrong-shape", error.path, error.message.removeprefix(f"{show_path(error.path)}: "))
    return tuple(raw.found)


def _tools(wire: str, body: Mapping[str, Any], raw: Raw) -> None:
    tools = body.get("tools")
    if tools is None:
        return
    if not isinstance(tools, list):
        raw.tell("wrong-shape", ("tools",), f"expected an array of tools, got {jsonio.kind(tools)}")
        return
    for at, tool in enumerate(tools):
        _tool(wire, tool, ("tools", at), raw)


def _tool(wire: str, tool: Any, path: Path, raw: Raw) -> None:
    if not isinstance(tool, dict):
        raw.tell("wrong-shape", path, f"expected a tool (an object), got {jsonio.kind(tool)}")
        return
    for key, owner in DEFINITIONS[wire].items():
        if key in tool:
            raw.tell("foreign-tool", (*path, key), f"a tool with `{key}` is defined in the form of the {owner} wire")
            return
    if wire == "chat" and tool.get("type", "function") == "function" and not isinstance(tool.get("function"), dict):
        owner = " (a flat tool is of the responses wire)" if "name" in tool else ""
        raw.tell("foreign-tool", path, f"expected an object `function` with the definition{owner}")


def _choice(wire: str, body: Mapping[str, Any], raw: Raw) -> None:
    choice = body.get("tool_choice")
    if choice is None:
        return
    kind = choice.get("type") if isinstance(choice, dict) else None
    if wire == "messages" and isinstance(choice, str):
        raw.tell("wrong-shape", ("tool_choice",), f'a word is of other wires: say {{"type": "{choice}"}}')
    elif wire != "messages" and kind in ("tool", "any", "auto", "none"):
        raw.tell("wrong-shape", ("tool_choice",), f"a choice of type {kind!r} is of the messages wire")
    elif wire == "responses" and kind == "function" and "function" in choice:
        raw.tell("wrong-shape", ("tool_choice", "function"), "the name stands beside the type on the responses wire")
    elif not isinstance(choice, str | Mapping):
        raw.tell("wrong-shape", ("tool_choice",), f"expected a word or an object, got {jsonio.kind(choice)}")


def _repeated(pairs: pairing.Pairs, raw: Raw) -> None:
    seen: set[str] = set()
    for call in pairs.calls:
        if call.id in seen and not call.doubled:
            text = f"an earlier turn has a call {call.id!r} too: ids are unique in a request"
            raw.found.append(find("repeated-call-id", call.path, text))
        seen.add(call.id)
