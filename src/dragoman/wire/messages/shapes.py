"""The shape that most bodies have, as the parser itself knows it: keys and kinds are checked while it reads, and the
text of each `input` stays what the model wrote. `turns` reads bodies of any other shape, and gives the same values."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Annotated, Any, Literal

import msgspec
from msgspec import UNSET, Raw, UnsetType

from dragoman.types.base import Cache
from dragoman.types.content import Content, Foreign, Reasoning, Text, ToolCall, ToolResult
from dragoman.types.message import Message
from dragoman.types.opaque import Bag
from dragoman.wire import jsonio
from dragoman.wire.base import Fields
from dragoman.wire.messages.calls import AROUND, spelled_text
from dragoman.wire.messages.parts import WIRE, decode_part
from dragoman.wire.messages.plain import LISTED
from dragoman.wire.messages.turns import finished, is_prefill

# Keys of a body beside its messages (dialects §1.3): a body that has another is of another shape.
BESIDE = (
    *("model", "max_tokens", "system", "tools", "tool_choice", "thinking", "output_config", "output_format", "stream"),
    *("temperature", "top_p", "top_k", "stop_sequences", "metadata", "service_tier", "cache_control", "speed"),
    *("anthropic_version", "anthropic_beta", "betas", "container", "context_management", "mcp_servers", "compaction"),
    *("diagnostics", "inference_geo", "user_profile_id", "workspace_id", "billing_policy", "fallbacks", "thread"),
)


class _Hint(msgspec.Struct, forbid_unknown_fields=True, gc=False):
    type: Literal["ephemeral"]
    ttl: str | UnsetType = UNSET


class _Block(msgspec.Struct, kw_only=True, forbid_unknown_fields=True, gc=False, tag_field="type"):
    cache_control: _Hint | UnsetType = UNSET


class _Text(_Block, tag="text"):
    text: str


class _Source(msgspec.Struct, forbid_unknown_fields=True, gc=False):
    type: str
    media_type: str | UnsetType = UNSET
    data: str | UnsetType = UNSET
    url: str | UnsetType = UNSET
    file_id: str | UnsetType = UNSET


class _Image(_Block, tag="image"):
    source: _Source


class _Document(_Block, tag="document"):
    source: _Source
    title: str | UnsetType = UNSET


class _Use(_Block, tag="tool_use"):
    id: Annotated[str, msgspec.Meta(min_length=1)]
    name: str
    input: Raw


class _Result(_Block, tag="tool_result"):
    tool_use_id: str
    content: str | list[_Text | _Image | _Document]
    is_error: bool | UnsetType = UNSET


class _Thinking(msgspec.Struct, forbid_unknown_fields=True, gc=False, tag_field="type", tag="thinking"):
    thinking: str
    signature: str


class _Redacted(msgspec.Struct, forbid_unknown_fields=True, gc=False, tag_field="type", tag="redacted_thinking"):
    data: str


SPOKEN: frozenset[type] = frozenset({_Text, _Use, _Thinking, _Redacted})
RESULTS: frozenset[type] = frozenset({_Result})


class _Turn(msgspec.Struct, forbid_unknown_fields=True, gc=False):
    role: Literal["user", "assistant", "system"]
    content: str | list[_Text | _Use | _Result | _Thinking | _Redacted | _Image | _Document]


_Body = msgspec.defstruct(
    "_Body", [("messages", list[_Turn]), *((key, Any, UNSET) for key in BESIDE)], forbid_unknown_fields=True
)
_body: msgspec.json.Decoder[Any] = msgspec.json.Decoder(_Body)
_object = msgspec.json.Decoder(dict[str, Any])


class _OtherShape(Exception):
    """Only the long way tells what this is."""


def read(body: bytes) -> tuple[Bag, tuple[Message, ...]] | None:
    """What stands beside the messages, and the messages; None for a body of another shape, right or wrong."""
    shaped = jsonio.shaped(body, _body, _beside)
    if shaped is None:
        return None
    messages: list[Message] = []
    try:
        for turn in shaped.messages:
            messages.append(_read_turn(turn, messages))
    except _OtherShape:
        return None
    if messages and is_prefill(messages[-1]):
        messages[-1] = msgspec.structs.replace(messages[-1], prefill=True)
    return _beside(shaped), tuple(messages)


def _beside(body: Any) -> Bag:
    values = msgspec.structs.astuple(body)[1:]
    return {key: value for key, value in zip(BESIDE, values, strict=True) if value is not UNSET}


def _read_turn(turn: _Turn, before: Sequence[Message]) -> Message:
    role, content = turn.role, turn.content
    if type(content) is str:
        if role != "system" and content and not content.isspace():
            return Message(role=role, content=(Text(text=content),))
        marks = {} if content else {"content": "empty"}
        return finished(role, [_said(content)] if content else [], _marked(marks), before)
    blocks = [_READERS[type(block)](block) for block in content]
    if role == "assistant" and SPOKEN.issuperset(map(type, content)):
        return Message(role=role, content=tuple(blocks), opaque=LISTED)
    apart = bool(before) and before[-1].role == "tool"
    if role == "user" and content and not apart and RESULTS.issuperset(map(type, content)):
        return Message(role="tool", content=tuple(blocks), opaque=LISTED)
    return finished(role, blocks, _marked({"content": "list"}), before)


def _marked(marks: Bag) -> Fields:
    fields = Fields({})
    fields.marks = marks
    return fields


def _said(text: str, cache: Cache | None = None) -> Text:
    if text and not text.isspace():
        return Text(text=text) if cache is None else Text(text=text, cache=cache)
    return Text(text=text, cache=cache, opaque={WIRE: {"~": {"empty": True}}})


def _cache(hint: _Hint | UnsetType) -> Cache | None:
    if hint is UNSET:
        return None
    return Cache() if hint.ttl is UNSET else Cache(ttl=hint.ttl)


def _itself(value: Bag) -> Bag:
    return value


def _read_text(block: _Text) -> Text:
    return _said(block.text, _cache(block.cache_control))


def _read_media(block: _Image | _Document) -> Content:
    media = decode_part(msgspec.to_builtins(block), ())
    if isinstance(media, Foreign):  # kept as it was spelled, the order of its keys too
        raise _OtherShape
    return media


def _read_use(block: _Use) -> ToolCall:
    raw = bytes(block.input)
    value = jsonio.shaped(raw, _object, _itself, AROUND)
    if value is None:
        raise _OtherShape
    text = spelled_text(value, raw)
    if block.cache_control is UNSET:
        return ToolCall(id=block.id, name=block.name, arguments=text)
    return ToolCall(id=block.id, name=block.name, arguments=text, cache=_cache(block.cache_control))


def _read_result(block: _Result) -> ToolResult:
    content = block.content
    said = None if block.is_error is UNSET else block.is_error
    if isinstance(content, str):
        parts: Any = (_said(content),) if content else ()
        opaque = None if content else {WIRE: {"~": {"content": "empty"}}}
    else:
        parts, opaque = tuple([_READERS[type(part)](part) for part in content]), LISTED
    if said is None and block.cache_control is UNSET:
        return ToolResult(call_id=block.tool_use_id, content=parts, opaque=opaque)
    cache = _cache(block.cache_control)
    return ToolResult(call_id=block.tool_use_id, content=parts, is_error=said, cache=cache, opaque=opaque)


def _read_thinking(block: _Thinking) -> Reasoning:
    return Reasoning(text=block.thinking, opaque={WIRE: {"signature": block.signature}})


def _read_redacted(block: _Redacted) -> Reasoning:
    return Reasoning(redacted=True, opaque={WIRE: {"data": block.data}})


_READERS: dict[type, Callable[[Any], Any]] = {
    _Text: _read_text,
    _Image: _read_media,
    _Document: _read_media,
    _Use: _read_use,
    _Result: _read_result,
    _Thinking: _read_thinking,
    _Redacted: _read_redacted,
}
