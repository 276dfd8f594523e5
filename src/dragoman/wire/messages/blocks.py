"""The blocks that only a messages turn has: thinking, hosted calls and results, tools that come and go."""

from __future__ import annotations

from typing import Any

from dragoman.types.content import Content, HostedCall, HostedResult, Reasoning, ToolsChange
from dragoman.types.note import Path
from dragoman.types.opaque import Bag, bag, marks, restore
from dragoman.wire.base import Fields, Notes, own
from dragoman.wire.caching import take_cache, write_cache
from dragoman.wire.messages.calls import decode_call, decode_result, take_input, write_input
from dragoman.wire.messages.parts import WIRE, decode_part, nest, own_nested
from dragoman.wire.messages.tools import decode_tool, encode_tool, is_inline

HOSTED = ("server_tool_use", "mcp_tool_use")
RESULT = "_tool_result"
CHANGES = {"tool_addition": "names", "tool_removal": "remove"}


def decode_block(block: Any, path: Path, notes: Notes) -> Content:
    """Any block of a turn; a type this wire does not know is kept whole as Foreign."""
    kind = block.get("type") if isinstance(block, dict) else None
    if kind == "tool_use":
        return decode_call(block, path, notes)
    if kind == "tool_result":
        return decode_result(block, path)
    if kind == "thinking" or (kind == "redacted_thinking" and isinstance(block.get("data"), str)):
        return _decode_reasoning(Fields(block))
    if kind in HOSTED and isinstance(block.get("name"), str):
        return _decode_hosted(Fields(block), kind)
    if isinstance(kind, str) and kind.endswith(RESULT):
        return _decode_hosted_result(Fields(block), kind)
    if isinstance(kind, str) and kind in CHANGES:
        return _decode_change(Fields(block), kind, path) or decode_part(block, path)
    return decode_part(block, path)


def encode_reasoning(block: Reasoning) -> dict[str, Any]:
    """A thinking block with the signature that came with it, or a redacted one with its data."""
    left = own(block.opaque, WIRE)
    if block.redacted and "data" in left:
        return {"type": "redacted_thinking", **left}
    out: dict[str, Any] = {"type": "thinking"}
    if block.text is not None or not is_unusual(block, "thinking"):
        out["thinking"] = thought(block)
    if not is_unusual(block, "signature"):
        out["signature"] = left.get("signature", "")
    return restore(out, left)


def thought(block: Reasoning) -> str:
    """The readable text of a block: its text, else its summaries as paragraphs."""
    return block.text or "\n\n".join(block.summary or ())


def is_signed(block: Reasoning) -> bool:
    """Whether the block holds this wire's own proof of where it came from."""
    left = own(block.opaque, WIRE)
    return bool(left.get("data") if block.redacted else left.get("signature"))


def is_own_kind(block: Content) -> bool:
    """Whether the block was said on this wire, signed or not: it has a bag of it."""
    return bool(bag(block.opaque, WIRE))


def is_unusual(block: Content, key: str) -> bool:
    """Whether `key`, which such a block always has, was left out."""
    return marks(block.opaque, WIRE).get(key) == "absent"


def encode_hosted(block: HostedCall | HostedResult, notes: Notes, path: Path) -> dict[str, Any] | None:
    """A call that this wire's provider ran, or its result; None, with a note, for those of another wire."""
    kind = marks(block.opaque, WIRE).get("type")
    if not isinstance(kind, str):
        notes.add(path, "dropped", f"{block.name!r} was run by a provider of another wire")
        return None
    notes.leftovers(block.opaque, WIRE, path)
    out: dict[str, Any] = {"type": kind}
    if isinstance(block, HostedCall):
        if block.id is not None:
            out["id"] = block.id
        out["name"] = block.name
        if block.arguments is not None:
            out["input"] = write_input(block.arguments, marks(block.opaque, WIRE), notes, path)
    else:
        if block.call_id is not None:
            out["tool_use_id"] = block.call_id
        if block.payload is not None:
            out["content"] = block.payload
    if block.cache is not None:
        out |= write_cache(block.cache)
    return restore(out, bag(block.opaque, WIRE))


def encode_change(block: ToolsChange, notes: Notes, path: Path, *, inside: bool) -> list[dict[str, Any]]:
    """Additions and removals; `inside` a system turn, the only place for them. Definitions of another wire are not
    written here: the request offers them from the start."""
    notes.leftovers(block.opaque, WIRE, path)
    if (block.names or block.remove) and not inside:
        notes.add(path, "dropped", "tools come and go in system turns only")
        return []
    tools: list[tuple[str, Bag]] = []
    if is_inline(block):
        for at, tool in enumerate(block.add or ()):
            entry = encode_tool(tool, notes, (*path, "add", at))
            if entry is not None:
                tools.append(("tool_addition", {"type": "tool_definition", "definition": entry}))
    tools += [("tool_addition", {"type": "tool_reference", "name": name}) for name in block.names or ()]
    tools += [("tool_removal", {"type": "tool_reference", "name": name}) for name in block.remove or ()]
    cache = {} if block.cache is None else write_cache(block.cache)
    left, nested = own(block.opaque, WIRE), own_nested(block, "tool")
    return [restore({"type": kind, "tool": restore(tool, nested), **cache}, left) for kind, tool in tools]


def _decode_reasoning(fields: Fields) -> Reasoning:
    kind = fields.left.pop("type")
    if kind == "redacted_thinking":
        return Reasoning(redacted=True, opaque=fields.opaque(WIRE))
    text = fields.take("thinking", str)
    for key, said in (("thinking", text is not None), ("signature", "signature" in fields.left)):
        if not said:
            fields.marks[key] = "absent"
    return Reasoning(text=text, opaque=fields.opaque(WIRE))


def _decode_hosted(fields: Fields, kind: str) -> HostedCall:
    fields.marks["type"] = fields.left.pop("type")
    id, name = fields.take("id", str), fields.take("name", str)
    arguments = take_input(fields)
    cache = take_cache(fields)
    return HostedCall(
        id=id, name=name if name is not None else kind, arguments=arguments, cache=cache, opaque=fields.opaque(WIRE)
    )


def _decode_hosted_result(fields: Fields, kind: str) -> HostedResult:
    fields.marks["type"] = fields.left.pop("type")
    call_id = fields.take("tool_use_id", str)
    payload = fields.left.pop("content") if fields.left.get("content") is not None else None
    name, cache = kind.removesuffix(RESULT), take_cache(fields)
    return HostedResult(call_id=call_id, name=name, payload=payload, cache=cache, opaque=fields.opaque(WIRE))


def _decode_change(fields: Fields, kind: str, path: Path) -> ToolsChange | None:
    """A reference to one tool by its name, or its definition; other references stay Foreign."""
    tool = fields.left.get("tool")
    if not isinstance(tool, dict):
        return None
    inner = Fields(tool)
    values: dict[str, Any] = {}
    match inner.left.pop("type", None):
        case "tool_reference" if isinstance(tool.get("name"), str):
            values[CHANGES[kind]] = (inner.left.pop("name"),)
        case "tool_definition" if kind == "tool_addition" and isinstance(tool.get("definition"), dict):
            values["add"] = (decode_tool(inner.left.pop("definition"), (*path, "tool", "definition")),)
            fields.marks["definition"] = True
        case _:
            return None
    del fields.left["type"], fields.left["tool"]
    nest(fields, inner, "tool")
    return ToolsChange(cache=take_cache(fields), opaque=fields.opaque(WIRE), **values)
