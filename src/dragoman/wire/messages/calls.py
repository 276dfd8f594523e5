"""Tool calls and their results on the messages wire, in both directions."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any

import msgspec

from dragoman.errors import RemoteError
from dragoman.types.content import ToolCall, ToolResult
from dragoman.types.note import Path
from dragoman.types.opaque import bag, marks, restore
from dragoman.wire import jsonio
from dragoman.wire.base import Fields, Notes, own
from dragoman.wire.caching import take_cache, write_cache
from dragoman.wire.jsonio import refuse
from dragoman.wire.messages.parts import WIRE, decode_part, encode_part, is_plain

USES = ("tool_use", "server_tool_use", "mcp_tool_use")
NO_OUTPUT = "(no tool output)"  # S0-40
ESCAPED = re.compile(rb"\\u(?!00[01])")  # a character that need not be escaped
SPACED = re.compile(rb'\{"(?:[^"\\]|\\.)*": ')  # the first key and what follows it
PLACED = re.compile(r"toolu(_\d+)+")  # an id that a call got from its place
RAW = "_raw"  # under this key go arguments that are no JSON object
AROUND = len(("body", "messages", "turn", "content", "block"))  # the levels around an input


class JsonText(str):
    """The JSON text of an `input`, put where its parsed value stood."""

    __slots__ = ()


class _Use(msgspec.Struct):
    input: msgspec.Raw = msgspec.Raw()


class _Turn(msgspec.Struct):
    content: str | list[_Use] | None = None


class _Body(msgspec.Struct):
    messages: list[_Turn] = []


_body = msgspec.json.Decoder(_Body)
_turn = msgspec.json.Decoder(_Turn)


def keep_inputs(turns: Iterable[Any], body: bytes, *, whole: bool = False) -> None:
    """Put the text of each `input` where its parsed value stands, so that 1e400 and the model's own spacing survive
    (evidence B8). `turns` were parsed from `body`: a request's messages, or (`whole`) the one message of a reply.

    Text that a client escaped is written anew, unescaped. A body that only the lenient reader understood keeps the
    parsed values.
    """
    try:
        texts_of = [_turn.decode(body)] if whole else _body.decode(body).messages
    except (msgspec.MsgspecError, UnicodeError, RecursionError):
        return
    for turn, texts in zip(turns, texts_of, strict=True):
        if not isinstance(texts.content, list):
            continue
        for block, use in zip(turn["content"], texts.content, strict=True):
            if (raw := bytes(use.input)) and _is_use(block):
                block["input"] = JsonText(spelled_text(block["input"], raw))


def take_input(fields: Fields) -> str | None:
    """The JSON text of `input`; None when it is absent or null."""
    value = fields.left.get("input")
    if value is None:
        return None
    del fields.left["input"]
    if isinstance(value, JsonText):
        return str(value)
    if not isinstance(value, dict):
        fields.marks["input"] = "value"
    return jsonio.text(value)


def write_input(text: str | None, spelled: Mapping[str, Any], notes: Notes, path: Path) -> Any:
    """The object that `text` stands for; nothing means `{}`. Text that is no JSON object is wrapped, never dropped."""
    stripped = (text or "").strip()
    if stripped in ("", "null"):
        notes.add((*path, "arguments"), "substituted", "no arguments are an empty object here", loss=False)
        return {}
    raw = stripped.encode("utf-8", "replace")
    if jsonio.is_object(raw, AROUND):
        return msgspec.Raw(raw)
    try:
        value, found = jsonio.decode(raw, max_depth=jsonio.MAX_DEPTH - AROUND)
    except RemoteError:
        value, found = None, ()
    if isinstance(value, dict) or (value is not None and spelled.get("input") == "value"):
        notes.taken += [msgspec.structs.replace(note, path=(*path, "arguments")) for note in found]
        return value
    reason = f"arguments that are no JSON object went as the value of {RAW!r}"
    notes.add((*path, "arguments"), "substituted", reason)
    return {RAW: text}


def decode_call(block: Mapping[str, Any], path: Path, notes: Notes) -> ToolCall:
    """A `tool_use` block: what the caller must answer. A call without an id gets one from its place, noted."""
    fields = Fields(block)
    del fields.left["type"]
    id, name = fields.take("id", str), fields.take("name", str)
    if not id:
        fields.marks["id"] = "absent" if id is None else "empty"
        id = "toolu_" + "_".join(str(step) for step in path if isinstance(step, int))
        notes.add(path, "synthesised", "a tool call without an id got one from its place", loss=False)
    if name is None:
        refuse("expected the name of the tool", *path, "name")
    arguments = take_input(fields)
    if arguments is None:
        fields.marks["input"] = "absent"
    cache = take_cache(fields)
    return ToolCall(id=id, name=name, arguments=arguments or "", cache=cache, opaque=fields.opaque(WIRE))


def encode_call(call: ToolCall, notes: Notes, path: Path) -> dict[str, Any]:
    """A `tool_use` block, with the id and name as they are."""
    spelled = marks(call.opaque, WIRE)
    if call.kind == "builtin":
        notes.add((*path, "kind"), "substituted", "a vendor's own tool became a function call")
    if call.namespace is not None:
        notes.add(
            (*path, "namespace"), "dropped", "the messages wire has no namespaces: a call gets its own back", loss=False
        )
    notes.leftovers(call.opaque, WIRE, path)
    out: dict[str, Any] = {"type": "tool_use", "id": call.id, "name": call.name}
    if has_made_id(call):
        out["id"] = ""
        if spelled["id"] == "absent":
            del out["id"]
    if call.kind == "custom":
        notes.add((*path, "kind"), "substituted", "a call with free text became one with a string, `input`", loss=False)
        notes.add((*path, "arguments"), "substituted", "free text became the string `input`", loss=False)
        out["input"] = {"input": call.arguments}
    elif call.arguments or spelled.get("input") != "absent":
        out["input"] = write_input(call.arguments, spelled, notes, path)
    if call.cache is not None:
        out |= write_cache(call.cache)
    return restore(out, bag(call.opaque, WIRE))


def has_made_id(call: ToolCall) -> bool:
    """Whether this wire said the call without an id, which is then not written either."""
    return "id" in marks(call.opaque, WIRE) and PLACED.fullmatch(call.id) is not None


def custom_text(arguments: str) -> str:
    """The free text of a custom tool's call that went out as a function of one string, `input`."""
    try:
        value, _ = jsonio.decode(arguments.encode("utf-8", "replace"))
    except RemoteError:
        return arguments
    text = value.get("input") if isinstance(value, dict) and len(value) == 1 else None
    return text if isinstance(text, str) else arguments


def decode_result(block: Mapping[str, Any], path: Path) -> ToolResult:
    """A `tool_result` block."""
    fields = Fields(block)
    del fields.left["type"]
    call_id = fields.take("tool_use_id", str)
    if call_id is None:
        fields.marks["tool_use_id"] = "absent"
    content = _take_content(fields, path)
    is_error = fields.take("is_error", bool)
    cache = take_cache(fields)
    opaque = fields.opaque(WIRE)
    return ToolResult(call_id=call_id or "", content=tuple(content), is_error=is_error, cache=cache, opaque=opaque)


def encode_result(result: ToolResult, notes: Notes, path: Path) -> dict[str, Any]:
    """A `tool_result` block: images stay inside it (S0-60), its error flag is said (C-14)."""
    spelled, left = marks(result.opaque, WIRE), own(result.opaque, WIRE)
    notes.leftovers(result.opaque, WIRE, path)
    if result.name is not None:
        notes.add((*path, "name"), "dropped", "this wire names a result by its call", loss=False)
    if result.kind != "function":
        notes.add((*path, "kind"), "substituted", "the result of a function call, as its call became one", loss=False)
    out: dict[str, Any] = {"type": "tool_result"}
    if result.call_id or spelled.get("tool_use_id") != "absent":
        out["tool_use_id"] = result.call_id
    written = [encode_part(item, notes, (*path, "content", at)) for at, item in enumerate(result.content)]
    parts = [part for part in written if part is not None]
    if spelled.get("content") == "list" and (parts or not result.content):
        out["content"] = parts
    elif parts:
        out["content"] = parts[0]["text"] if len(parts) == 1 and is_plain(parts[0]) else parts
    elif spelled.get("content") == "empty":
        out["content"] = ""
    elif spelled.get("content") != "absent" and "content" not in left:
        out["content"] = NO_OUTPUT
        notes.add(path, "synthesised", f"a result without content says {NO_OUTPUT!r}", loss=False)
    if result.is_error is not None:
        out["is_error"] = result.is_error
    if result.cache is not None:
        out |= write_cache(result.cache)
    return restore(out, left)


def _take_content(fields: Fields, path: Path) -> list[Any]:
    content = fields.left.get("content")
    if content is None:
        if "content" not in fields.left:
            fields.marks["content"] = "absent"
        return []
    del fields.left["content"]
    if content == "":
        fields.marks["content"] = "empty"
        return []
    if isinstance(content, str):
        return [decode_part({"type": "text", "text": content}, path)]
    if not isinstance(content, list):
        refuse(f"expected text or an array of blocks, got {jsonio.kind(content)}", *path, "content")
    fields.marks["content"] = "list"
    return [decode_part(part, (*path, "content", at)) for at, part in enumerate(content)]


def _is_use(block: Mapping[str, Any]) -> bool:
    return block.get("type") in USES and isinstance(block.get("input"), dict) and isinstance(block.get("name"), str)


def spelled_text(value: dict[str, Any], raw: bytes) -> str:
    """The text of an object as it was said; what was escaped is written anew, with the spaces it had."""
    if ESCAPED.search(raw):
        return jsonio.text(value, spaced=SPACED.match(raw) is not None)
    return raw.decode("utf-8", "replace")
