"""The messages of a chat request, and the one message of a reply: JSON to middle."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from dragoman.dialect.model import Dialect
from dragoman.types.content import Content, Media, Reasoning, Refusal, Text, ToolResult
from dragoman.types.message import Message
from dragoman.types.note import Path
from dragoman.wire import jsonio
from dragoman.wire.base import Fields, Notes
from dragoman.wire.chat import plain
from dragoman.wire.chat.calls import Asked, decode_call, decode_legacy
from dragoman.wire.chat.parts import WIRE, decode_part, is_annotation
from dragoman.wire.jsonio import refuse

ROLES = ("system", "developer", "user", "assistant", "tool", "function")


def decode_messages(items: Any, dialect: Dialect, notes: Notes) -> tuple[Message, ...]:
    """Each message of a body as one Message: boundaries are data."""
    if not isinstance(items, list):
        refuse(f"expected an array of messages, got {jsonio.kind(items)}", "messages")
    messages: list[Message] = []
    asked = Asked(messages)
    for index, item in enumerate(items):
        at_once = plain.read_message(item, asked) if type(item) is dict else None
        if at_once is not None:
            messages.append(at_once)
            continue
        path = ("messages", index)
        if not isinstance(item, dict):
            refuse("expected a message (an object)", *path)
        role = item.get("role")
        if role not in ROLES:
            refuse(f"unknown role {role!r}: one of {', '.join(ROLES)}", *path, "role")
        fields = Fields(item)
        del fields.left["role"]
        match role:
            case "assistant":
                messages.append(decode_assistant(fields, dialect, notes, path))
            case "tool":
                messages.append(_decode_tool(fields, path, asked))
            case "function":
                messages.append(_decode_function(fields, path, asked))
            case _:
                messages.append(_decode_plain(fields, role, path))
    return tuple(messages)


def decode_assistant(fields: Fields, dialect: Dialect, notes: Notes, path: Path) -> Message:
    """An assistant message of a request or a reply: reasoning, text, refusal, audio, calls, in this order."""
    blocks: list[Content] = []
    reasoning = _take_reasoning(fields, dialect)
    if reasoning is not None:
        blocks.append(reasoning)
    texts = _take_content(fields, path)
    if not (len(texts) == 1 and texts[0] == Text(text="")):
        blocks += _with_annotations(texts, fields)
    else:
        fields.marks["content"] = "empty"
    refusal = fields.take("refusal", str)
    if refusal is not None:
        blocks.append(Refusal(text=refusal))
    audio = fields.left.get("audio")
    if isinstance(audio, dict) and isinstance(audio.get("data"), str):
        del fields.left["audio"]
        blocks.append(_decode_voice(audio))
    calls = fields.left.get("tool_calls")
    if isinstance(calls, list) and calls:
        del fields.left["tool_calls"]
        blocks += [decode_call(call, (*path, "tool_calls", at), notes) for at, call in enumerate(calls)]
    legacy = fields.left.get("function_call")
    if isinstance(legacy, dict) and legacy.get("name"):  # some servers send an empty one beside `tool_calls`
        del fields.left["function_call"]
        blocks.append(decode_legacy(legacy, (*path, "function_call"), notes))
    prefill = fields.take("prefix", bool)
    if prefill is not None:
        fields.marks["prefill"] = True
    name = fields.take("name", str)
    opaque = fields.opaque(WIRE)
    return Message(role="assistant", content=tuple(blocks), name=name, prefill=prefill, opaque=opaque)


def _decode_plain(fields: Fields, role: Any, path: Path) -> Message:
    content = _take_content(fields, path)
    name = fields.take("name", str)
    return Message(role=role, content=tuple(content), name=name, opaque=fields.opaque(WIRE))


def _decode_tool(fields: Fields, path: Path, asked: Asked) -> Message:
    """A result, of the kind of the call it answers: this wire says one role for all kinds, others do not."""
    content = _result_content(fields, path)
    call_id = fields.take("tool_call_id", str)
    if call_id is None:
        fields.marks["tool_call_id"] = "absent"
    name = fields.take("name", str)
    if name is not None:
        fields.marks["name"] = True
    kind = asked.kind_of(call_id)
    result = ToolResult(call_id=call_id or "", content=tuple(content), name=name, kind=kind)
    return Message(role="tool", content=(result,), opaque=fields.opaque(WIRE))


def _decode_function(fields: Fields, path: Path, asked: Asked) -> Message:
    """A legacy result: it answers the latest legacy call of its name."""
    content = _result_content(fields, path)
    name = fields.take("name", str)
    fields.marks["legacy"] = True
    result = ToolResult(call_id=asked.legacy(name), content=tuple(content), name=name)
    return Message(role="tool", content=(result,), opaque=fields.opaque(WIRE))


def _result_content(fields: Fields, path: Path) -> list[Any]:
    content = _take_content(fields, path)
    if content == [Text(text="")] and "content" not in fields.marks:
        fields.marks["content"] = "empty"
        return []
    return content


def _take_content(fields: Fields, path: Path) -> list[Content]:
    """The value of `content` as blocks; how it was spelled becomes a mark, an explicit null stays a leftover."""
    content = fields.left.get("content")
    if isinstance(content, str):
        del fields.left["content"]
        return [Text(text=content)]
    if isinstance(content, list):
        del fields.left["content"]
        fields.marks["content"] = "list"
        return [decode_part(part, (*path, "content", at)) for at, part in enumerate(content)]
    if content is not None:
        refuse(f"expected text or an array of parts, got {jsonio.kind(content)}", *path, "content")
    if "content" not in fields.left:
        fields.marks["content"] = "absent"
    return []


def _take_reasoning(fields: Fields, dialect: Dialect) -> Reasoning | None:
    """The first reasoning field that says something; equal copies under other names are remembered as spellings.

    Some servers send the same text under two names (dialects §1.1): reading both would double it.
    """
    keys = [key for key in dialect.reasoning_in if isinstance(fields.left.get(key), str) and fields.left[key]]
    details = fields.left.get("reasoning_details")
    inner = Fields({})
    if isinstance(details, list) and details:
        inner.left["reasoning_details"] = fields.left.pop("reasoning_details")
    if not keys:
        if not inner.left:
            return None
        inner.marks["key"] = []
        text = details_text(details)
        return Reasoning(text=text or None, redacted=not text, opaque=inner.opaque(WIRE))
    text = fields.left[keys[0]]
    same = [key for key in keys if fields.left[key] == text]
    for key in same:
        del fields.left[key]
    inner.marks["key"] = same
    return Reasoning(text=text, opaque=inner.opaque(WIRE))


def details_text(details: Any) -> str:
    """The readable text of `reasoning_details`: their texts and summaries, joined with nothing."""
    texts = [item.get("text") or item.get("summary") for item in details if isinstance(item, dict)]
    return "".join(text for text in texts if isinstance(text, str))


def _with_annotations(blocks: list[Content], fields: Fields) -> list[Content]:
    annotations = fields.left.get("annotations")
    if not isinstance(annotations, list) or not annotations or not all(is_annotation(item) for item in annotations):
        return blocks
    if len(blocks) != 1 or not isinstance(blocks[0], Text):
        return blocks
    del fields.left["annotations"]
    return [Text(text=blocks[0].text, citations=tuple(annotations), opaque=blocks[0].opaque)]


def _decode_voice(audio: Mapping[str, Any]) -> Media:
    fields = Fields(audio)
    data, transcript = fields.take("data", str), fields.take("transcript", str)
    return Media(kind="audio", data=data, transcript=transcript, opaque=fields.opaque(WIRE))
