"""A reply as a history can hold it: whatever a model said, the next request can be sent to any service."""

from __future__ import annotations

from typing import Any

import msgspec

from dragoman.tools.arguments import load_arguments
from dragoman.types.content import Content, Reasoning, Text, ToolCall, ToolResult, Valid
from dragoman.types.message import Message

RAW = "_raw"  # under this key stands what is no JSON object: the form that every wire takes


def fitted(message: Message, taken: set[str]) -> tuple[Message, list[str]]:
    """`message` with every call under an id of its own and with an object as arguments, and what was changed.

    `taken` are the ids of the history; those of `message` are added. Blank texts and empty thoughts beside something
    else are left out, half characters become U+FFFD. A message that needs nothing of this is given back as it is: the
    text a model wrote is kept to the byte (C-26).
    """
    changes: list[str] = []
    content: list[Content] = []
    for block in message.content:
        block = whole(block)
        if isinstance(block, ToolCall):
            block = _call(block, taken, changes)
            taken.add(block.id)
        elif _is_left_out(block):
            continue
        content.append(block)
    if len(content) == len(message.content) and all(a is b for a, b in zip(content, message.content, strict=True)):
        return message, changes
    return msgspec.structs.replace(message, content=tuple(content)), changes


def _call(call: ToolCall, taken: set[str], changes: list[str]) -> ToolCall:
    changed: dict[str, Any] = {}
    if not call.id or call.id in taken:
        changed["id"] = _free(call.id or "call", taken)
        changes.append(f"a second call has the id {call.id!r}: it is {changed['id']!r} from here on")
    if call.kind != "custom" and not isinstance(call.parsed(), Valid):
        found = load_arguments(call)
        arguments = found.arguments if isinstance(found, Valid) else {RAW: call.arguments}
        changed["arguments"] = msgspec.json.encode(whole(arguments)).decode()
        how = "read with patience" if isinstance(found, Valid) else f"no JSON object, and kept under {RAW!r}"
        changes.append(f"the arguments of `{call.name[:64]}` were {how}")
    return msgspec.structs.replace(call, **changed) if changed else call


def _free(id: str, taken: set[str]) -> str:
    number = 2
    while (name := f"{id[:32]}_{number}") in taken:
        number += 1
    return name


def _is_left_out(block: Content) -> bool:
    match block:
        case Text():
            return not block.text.strip()
        case Reasoning():
            said = block.text or "".join(block.summary or ())
            return not (said.strip() or block.redacted or block.opaque)
        case ToolResult():
            return True  # a model answers no calls
        case _:
            return False


def whole(value: Any) -> Any:
    """A value whose every text is Unicode, half characters as U+FFFD; the very same one where it was."""
    match value:
        case str():
            try:
                value.encode()
            except UnicodeEncodeError:
                return value.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
            return value
        case msgspec.Struct():
            changed = {
                name: new for name in value.__struct_fields__ if (new := whole(old := getattr(value, name))) is not old
            }
            return msgspec.structs.replace(value, **changed) if changed else value
        case tuple() | list():
            items = [whole(item) for item in value]
            return value if all(a is b for a, b in zip(items, value, strict=True)) else type(value)(items)
        case dict():
            pairs = {whole(key): whole(item) for key, item in value.items()}
            return value if all(pairs.get(key) is item for key, item in value.items()) else pairs
        case _:
            return value
