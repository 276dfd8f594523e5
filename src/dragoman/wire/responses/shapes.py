"""The shape that most bodies have, as the parser itself knows it: keys and kinds are checked while it reads. `turns` reads
bodies of any other shape, and gives the same values."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Any, Literal

import msgspec
from msgspec import UNSET, UnsetType

from dragoman.types.content import Content, Text, ToolCall, ToolResult
from dragoman.types.message import Message
from dragoman.types.opaque import Bag, Opaque
from dragoman.wire import jsonio
from dragoman.wire.responses.parts import WIRE
from dragoman.wire.responses.plain import ITEM

# Keys of a body beside its input (dialects §1.2): a body that has another is of another shape.
BESIDE = (
    *(
        "model",
        "instructions",
        "tools",
        "tool_choice",
        "parallel_tool_calls",
        "stream",
        "store",
        "include",
        "reasoning",
    ),
    *("text", "temperature", "top_p", "max_output_tokens", "previous_response_id", "conversation", "metadata", "user"),
    *("service_tier", "prompt_cache_key", "prompt_cache_retention", "safety_identifier", "truncation", "background"),
    *("top_logprobs", "max_tool_calls", "stream_options", "prompt", "context_management", "client_metadata"),
)

# The leftovers of a message: its type, said or not. Many values share them, as none changes its own.
TYPED: Opaque = {WIRE: {"type": "message"}}
ANSWER, TYPED_ANSWER = ({WIRE: {ITEM: left}} for left in ({}, {"type": "message"}))


class _Words(msgspec.Struct, forbid_unknown_fields=True, gc=False):
    type: Literal["input_text"]
    text: str


class _Item(msgspec.Struct, kw_only=True, forbid_unknown_fields=True, gc=False):
    """An item of any of three types; a message may leave its type unsaid, so that no parser can tell them apart by it."""

    type: Literal["message", "function_call", "function_call_output"] | UnsetType = UNSET
    role: Literal["system", "developer", "user", "assistant"] | UnsetType = UNSET
    content: str | Annotated[list[_Words], msgspec.Meta(min_length=1)] | UnsetType = UNSET
    call_id: str | UnsetType = UNSET
    name: str | UnsetType = UNSET
    arguments: str | UnsetType = UNSET
    output: str | UnsetType = UNSET


_Body = msgspec.defstruct(
    "_Body", [("input", list[_Item]), *((key, Any, UNSET) for key in BESIDE)], forbid_unknown_fields=True
)
_body: msgspec.json.Decoder[Any] = msgspec.json.Decoder(_Body)


def read(body: bytes) -> tuple[Bag, tuple[Message, ...]] | None:
    """What stands beside the input, and the messages of it; None for a body of another shape, right or wrong."""
    shaped = jsonio.shaped(body, _body, _beside)
    messages = None if shaped is None else _read_items(shaped.input)
    return None if messages is None else (_beside(shaped), tuple(messages))


def _beside(body: Any) -> Bag:
    values = msgspec.structs.astuple(body)[1:]
    return {key: value for key, value in zip(BESIDE, values, strict=True) if value is not UNSET}


def _read_items(items: list[_Item]) -> list[Message] | None:
    """One message for each run of items that a model says, one for each other item."""
    messages: list[Message] = []
    run: list[Content] = []
    for item in items:
        read = _READERS[item.type](item)
        if read is None:
            return None
        if type(read) is not Message:
            run.append(read)  # type: ignore[arg-type]
            continue
        if run:
            messages.append(Message(role="assistant", content=tuple(run)))
            run = []
        messages.append(read)
    if run:
        messages.append(Message(role="assistant", content=tuple(run)))
    return messages


def _read_message(item: _Item) -> Message | Text | None:
    """What a person or a program said as a message; a model's text, whose turn has more items."""
    kind, role, content = item.type, item.role, item.content
    if role is UNSET or content is UNSET or not item.call_id is item.name is item.arguments is item.output is UNSET:
        return None
    typed = kind is not UNSET
    if role == "assistant":
        return Text(text=content, opaque=TYPED_ANSWER if typed else ANSWER) if isinstance(content, str) else None
    if isinstance(content, str):
        return Message(role=role, content=(Text(text=content),), opaque=TYPED if typed else None)
    left: Bag = {"type": kind} if typed else {}
    left["~"] = {"content": "list"}
    return Message(role=role, content=tuple([Text(text=part.text) for part in content]), opaque={WIRE: left})


def _read_call(item: _Item) -> ToolCall | None:
    id, name, arguments = item.call_id, item.name, item.arguments
    if not id or name is UNSET or arguments is UNSET or not item.role is item.content is item.output is UNSET:
        return None
    return ToolCall(id=id, name=name, arguments=arguments)


def _read_output(item: _Item) -> Message | None:
    id, output = item.call_id, item.output
    if id is UNSET or output is UNSET or not item.role is item.content is item.name is item.arguments is UNSET:
        return None
    if output:
        result = ToolResult(call_id=id, content=(Text(text=output),))
    else:
        result = ToolResult(call_id=id, content=(), opaque={WIRE: {"~": {"content": "empty"}}})
    return Message(role="tool", content=(result,))


_READERS: dict[Any, Callable[[_Item], Message | Text | ToolCall | None]] = {
    UNSET: _read_message,
    "message": _read_message,
    "function_call": _read_call,
    "function_call_output": _read_output,
}
