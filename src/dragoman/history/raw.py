"""Raw bodies read without trust: each wire's messages or items as the steps of pairing, and what is wrong on the way."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from dragoman.history.pairing import Call, Result, Step
from dragoman.history.rules import Finding, find
from dragoman.types.note import Path
from dragoman.wire import jsonio

# Role → the wire that has it, for the roles that not all have.
ROLES = {
    "chat": ("system", "developer", "user", "assistant", "tool", "function"),
    "messages": ("system", "user", "assistant"),
    "responses": ("system", "developer", "user", "assistant"),
}
ROLE_OWNERS = {"tool": "chat", "function": "chat", "developer": "chat"}

# Per wire: types of content parts that belong to another one.
PARTS: dict[str, dict[str, str]] = {
    "chat": {
        **dict.fromkeys(("tool_use", "tool_result", "image", "redacted_thinking"), "messages"),
        **dict.fromkeys(("input_text", "output_text", "input_image", "input_file"), "responses"),
    },
    "messages": {
        **dict.fromkeys(("image_url", "input_audio", "tool_call", "refusal"), "chat"),
        **dict.fromkeys(("input_text", "output_text", "input_image", "input_file", "function_call"), "responses"),
    },
    "responses": {
        **dict.fromkeys(("text", "image_url"), "chat"),
        **dict.fromkeys(("tool_use", "tool_result", "image", "thinking"), "messages"),
    },
}
# Keys of one message or item that belong to another wire.
MESSAGE_KEYS: dict[str, dict[str, str]] = {
    "chat": {},
    "messages": dict.fromkeys(("tool_calls", "tool_call_id", "function_call"), "chat"),
    "responses": dict.fromkeys(("tool_calls", "tool_call_id"), "chat"),
}
ITEMS = ("message", "function_call", "function_call_output", "custom_tool_call", "custom_tool_call_output", "reasoning")
BLOCKS = ("tool_use", "tool_result")
# Responses items: calls that the caller answers, and where their arguments stand if those are a string.
CALLS: dict[str, str | None] = {
    "function_call": "arguments",
    "custom_tool_call": "input",
    "computer_call": None,
    "local_shell_call": None,
    "apply_patch_call": None,
}
FROM_CLIENT = ("mcp_approval_response", "compaction_trigger", "configuration_update", "additional_tools")


class Raw:
    """A body being read: what was found, and the steps so far. `kept`: the server holds a part of the conversation."""

    def __init__(self, body: Mapping[str, Any]) -> None:
        self.body = body
        self.found: list[Finding] = []
        self.steps: list[Step] = []
        self.kept = False

    def tell(self, rule: str, path: Path, message: str) -> None:
        """One finding."""
        self.found.append(find(rule, path, message))

    def step(self, role: str) -> Step:
        """The next step."""
        step = Step(role)
        self.steps.append(step)
        return step

    def entries(self, key: str) -> Iterator[tuple[Path, Mapping[str, Any]]]:
        """The objects of an array, with their places."""
        items = self.body.get(key)
        if not isinstance(items, list):
            said = "it is missing" if items is None else f"got {jsonio.kind(items)}"
            self.tell("wrong-shape", (key,), f"expected an array: {said}")
            return
        for at, item in enumerate(items):
            if isinstance(item, dict):
                yield (key, at), item
            else:
                self.tell("wrong-shape", (key, at), f"expected an object, got {jsonio.kind(item)}")

    def content(self, wire: str, item: Mapping[str, Any], path: Path) -> list[tuple[Path, Mapping[str, Any]]]:
        """The parts of a content, those of other wires told and left out."""
        for key, owner in MESSAGE_KEYS[wire].items():
            if item.get(key) is not None:
                self.tell("foreign-key", (*path, key), f"`{key}` is of the {owner} wire")
        parts: list[tuple[Path, Mapping[str, Any]]] = []
        content = item.get("content")
        if content is not None and not isinstance(content, str | list):
            text = f"expected text or an array of parts, got {jsonio.kind(content)}"
            self.tell("wrong-shape", (*path, "content"), text)
        for at, part in enumerate(_listed(content)):
            place = (*path, "content", at)
            kind = part.get("type") if isinstance(part, dict) else None
            if not isinstance(part, dict):
                self.tell("wrong-shape", place, f"expected a part (an object), got {jsonio.kind(part)}")
            elif isinstance(kind, str) and kind in PARTS[wire]:
                self.tell("foreign-part", place, f"a part of type {kind!r} is of the {PARTS[wire][kind]} wire")
            else:
                parts.append((place, part))
        return parts

    def role(self, wire: str, item: Mapping[str, Any], path: Path) -> str | None:
        """The role of a message; None for one that this wire does not have."""
        role = item.get("role")
        if isinstance(role, str) and role in ROLES[wire]:
            return role
        if isinstance(role, str) and role in ROLE_OWNERS:
            text = f"role {role!r} is of the {ROLE_OWNERS[role]} wire: one of {', '.join(ROLES[wire])}"
            self.tell("foreign-role", (*path, "role"), text)
        else:
            self.tell("wrong-shape", (*path, "role"), f"unknown role {role!r}: one of {', '.join(ROLES[wire])}")
        return None

    def id_of(self, item: Mapping[str, Any], key: str, path: Path) -> str:
        """The id of a call; one of its place where it has none, which is told."""
        id = item.get(key)
        if isinstance(id, str) and id:
            return id
        self.tell("wrong-shape", (*path, key), "a call has no id: give it one, and its result the same")
        return f"{path}"


def read_chat(raw: Raw) -> None:
    """The messages of a chat body."""
    for path, item in raw.entries("messages"):
        kind = item.get("type")
        if "role" not in item and kind in (*ITEMS, *BLOCKS):
            owner = "messages" if kind in BLOCKS else "responses"
            raw.tell("foreign-item", path, f"an item of type {kind!r} is of the {owner} wire")
            continue
        role = raw.role("chat", item, path)
        raw.content("chat", item, path)
        step = raw.step("tool" if role == "function" else role or "user")
        step.speaks = role == "user"
        if role == "assistant":
            _chat_calls(raw, item, path, step)
        elif role == "tool":
            id = item.get("tool_call_id")
            step.results.append(Result((*path, "tool_call_id"), id if isinstance(id, str) else ""))
        elif role == "function":
            step.results.append(Result((*path, "name"), f"function {item.get('name')}"))


def _chat_calls(raw: Raw, item: Mapping[str, Any], path: Path, step: Step) -> None:
    calls = item.get("tool_calls")
    if calls is not None and not isinstance(calls, list):
        raw.tell("wrong-shape", (*path, "tool_calls"), f"expected an array of calls, got {jsonio.kind(calls)}")
    for at, call in enumerate(_listed(calls)):
        place = (*path, "tool_calls", at)
        if not isinstance(call, dict):
            raw.tell("wrong-shape", place, f"expected a call (an object), got {jsonio.kind(call)}")
            continue
        custom = "custom" in call and "function" not in call
        key, text = ("custom", "input") if custom else ("function", "arguments")
        step.calls.append(Call(place, raw.id_of(call, "id", place), _name(call.get(key))))
        _function(raw, call.get(key), (*place, key), text)
    legacy = item.get("function_call")
    if isinstance(legacy, dict) and legacy.get("name"):
        step.calls.append(Call((*path, "function_call"), f"function {legacy['name']}", _name(legacy)))
        _function(raw, legacy, (*path, "function_call"), "arguments")


def _function(raw: Raw, value: Any, path: Path, key: str) -> None:
    if not isinstance(value, dict):
        raw.tell("wrong-shape", path, f"expected an object with name and {key}, got {jsonio.kind(value)}")
        return
    if not isinstance(value.get("name"), str):
        raw.tell("wrong-shape", (*path, "name"), "expected the name of the tool")
    _stringified(raw, value, path, key)


def _stringified(raw: Raw, value: Mapping[str, Any], path: Path, key: str) -> None:
    if value.get(key) is not None and not isinstance(value[key], str):
        text = f"`{key}` must be a string of JSON, not {jsonio.kind(value[key])}: write it with json.dumps"
        raw.tell("arguments-not-string", (*path, key), text)


def read_messages(raw: Raw) -> None:
    """The turns of a messages body."""
    for path, item in raw.entries("messages"):
        role = raw.role("messages", item, path)
        if item.get("content") == "" and role == "user":
            raw.tell("empty-text", (*path, "content"), "a user's turn is empty: leave it out, or say something")
        parts = raw.content("messages", item, path)
        step = raw.step(role or "user")
        for place, part in parts:
            _messages_part(raw, step, place, part)
        if step.results and step.role == "user":
            step.role = "tool"


def _messages_part(raw: Raw, step: Step, path: Path, part: Mapping[str, Any]) -> None:
    match part.get("type"):
        case "tool_use":
            step.calls.append(Call(path, raw.id_of(part, "id", path), _name(part)))
            if "input" in part and not isinstance(part["input"], dict):
                text = f"`input` must be an object, not {jsonio.kind(part['input'])}: send it parsed"
                raw.tell("arguments-not-object", (*path, "input"), text)
            if step.role == "user":
                raw.tell("misplaced-block", path, "a call stands in a user's turn: only the assistant calls")
        case "tool_result":
            id = part.get("tool_use_id")
            step.results.append(Result((*path, "tool_use_id"), id if isinstance(id, str) else ""))
            if step.speaks:
                raw.tell("text-before-result", path, "a result stands behind what is said in its turn: put it first")
            if step.role == "assistant":
                raw.tell("misplaced-block", path, "a result stands in an assistant's turn: put it in the user's next")
        case "text" if isinstance(part.get("text"), str) and not part["text"].strip():
            raw.tell("empty-text", path, "a text is empty or white space only: leave it out")
        case _:
            step.speaks = step.role == "user"


def read_responses(raw: Raw) -> None:
    """The items of a responses body."""
    body = raw.body
    raw.kept = body.get("previous_response_id") is not None or body.get("conversation") is not None
    asked = body.get("input")
    if isinstance(asked, str):
        raw.step("user").speaks = True
        return
    if asked is None and (raw.kept or body.get("prompt") is not None or "messages" in body):
        return
    for path, item in raw.entries("input"):
        kind = item.get("type")
        if kind in (None, "message") and "role" in item:
            role = raw.role("responses", item, path)
            raw.content("responses", item, path)
            raw.step(role or "user").speaks = role == "user"
        else:
            _responses_item(raw, item, path)


def _responses_item(raw: Raw, item: Mapping[str, Any], path: Path) -> None:
    kind = item.get("type")
    if not isinstance(kind, str):
        if "id" in item:
            raw.kept = True
        else:
            raw.tell("wrong-shape", path, "expected an item with a type, or a message with a role")
    elif kind in PARTS["responses"]:
        raw.tell("foreign-item", path, f"an item of type {kind!r} is of the {PARTS['responses'][kind]} wire")
    elif kind in CALLS:
        step = raw.step("assistant")
        step.calls.append(Call(path, raw.id_of(item, "call_id", path), _name(item)))
        key = CALLS[kind]
        if key is not None:
            _stringified(raw, item, path, key)
    elif kind.endswith("_call") and isinstance(item.get("call_id"), str):
        call = Call(path, item["call_id"], kind)
        call.optional = True
        raw.step("assistant").calls.append(call)
    elif kind.removesuffix("_output") in CALLS and kind.endswith("_output"):
        id = item.get("call_id", item.get("id"))
        raw.step("tool").results.append(Result((*path, "call_id"), id if isinstance(id, str) else ""))
    elif kind == "item_reference":
        raw.kept = True
    elif kind.endswith("_output") or kind in FROM_CLIENT:  # answers of kinds that the server may have asked for itself
        raw.step("tool")
    else:
        raw.step("assistant")


def _listed(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def _name(value: Any) -> str:
    name = value.get("name") if isinstance(value, dict) else None
    return name if isinstance(name, str) else ""


READERS: dict[str, Callable[[Raw], None]] = {
    "chat": read_chat,
    "messages": read_messages,
    "responses": read_responses,
}
