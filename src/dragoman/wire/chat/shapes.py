"""The shape that most bodies have, as the parser itself knows it: keys and kinds are checked while it reads. `turns` and
`tools` read bodies of any other shape, and give the same values."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Any, Literal, NamedTuple

import msgspec
from msgspec import UNSET, UnsetType

from dragoman.types.content import Content, Text, ToolCall, ToolResult
from dragoman.types.message import Message, Role
from dragoman.types.opaque import Bag, Opaque
from dragoman.types.tool import HostedTool, Tool
from dragoman.wire import jsonio
from dragoman.wire.chat.parts import WIRE, decode_part

# Keys of a body beside its messages and tools (dialects §1.1): a body that has another is of another shape.
BESIDE = (
    *("model", "stream", "stream_options", "max_tokens", "max_completion_tokens", "temperature", "top_p", "top_k"),
    *("tool_choice", "parallel_tool_calls", "response_format", "reasoning_effort", "reasoning", "thinking", "stop"),
    *("n", "seed", "presence_penalty", "frequency_penalty", "logprobs", "top_logprobs", "logit_bias", "verbosity"),
    *("store", "user", "metadata", "service_tier", "prompt_cache_key", "provider", "modalities", "prediction"),
)
# How content was spelled: leftovers that many messages share, as no value changes its own.
LISTED, ABSENT, EMPTY = ({WIRE: {"~": {"content": how}}} for how in ("list", "absent", "empty"))
NULL: Opaque = {WIRE: {"content": None}}


class _Words(msgspec.Struct, forbid_unknown_fields=True, gc=False):
    """A text where nothing else may stand: the tag of a lone kind is not asked for, so its type is a field."""

    type: Literal["text"]
    text: str


class _Text(msgspec.Struct, forbid_unknown_fields=True, gc=False, tag_field="type", tag="text"):
    text: str


class _Address(msgspec.Struct, forbid_unknown_fields=True, gc=False, omit_defaults=True):
    url: str
    detail: str | UnsetType = UNSET


class _Image(msgspec.Struct, forbid_unknown_fields=True, gc=False, tag_field="type", tag="image_url"):
    image_url: _Address


class _Turn(msgspec.Struct, kw_only=True, forbid_unknown_fields=True, gc=False, tag_field="role"):
    pass


class _System(_Turn, tag="system"):
    content: str | list[_Words]


class _Developer(_Turn, tag="developer"):
    content: str | list[_Words]


class _User(_Turn, tag="user"):
    content: str | list[_Text | _Image]


class _Function(msgspec.Struct, forbid_unknown_fields=True, gc=False):
    name: str
    arguments: str


class _Call(msgspec.Struct, forbid_unknown_fields=True, gc=False):
    id: Annotated[str, msgspec.Meta(min_length=1)]
    type: Literal["function"]
    function: _Function


class _Assistant(_Turn, tag="assistant"):
    content: str | UnsetType | None = UNSET
    tool_calls: Annotated[list[_Call], msgspec.Meta(min_length=1)] | UnsetType = UNSET


class _Result(_Turn, tag="tool"):
    tool_call_id: str
    content: str | list[_Words]


class _Definition(msgspec.Struct, forbid_unknown_fields=True, gc=False):
    name: str
    description: str | UnsetType = UNSET
    parameters: dict[str, Any] | UnsetType = UNSET
    strict: bool | UnsetType = UNSET


class _Tool(msgspec.Struct, forbid_unknown_fields=True, gc=False):
    type: Literal["function"]
    function: _Definition


_Body = msgspec.defstruct(
    "_Body",
    [
        ("messages", list[_System | _Developer | _User | _Assistant | _Result]),
        ("tools", Annotated[list[_Tool], msgspec.Meta(min_length=1)] | UnsetType, UNSET),
        *((key, Any, UNSET) for key in BESIDE),
    ],
    forbid_unknown_fields=True,
)
_body: msgspec.json.Decoder[Any] = msgspec.json.Decoder(_Body)


class Shaped(NamedTuple):
    """A body that was read: what stands beside its messages and tools, and these."""

    beside: Bag
    messages: tuple[Message, ...]
    tools: tuple[Tool | HostedTool, ...] | None


def read(body: bytes) -> Shaped | None:
    """A body; None for one of another shape, right or wrong."""
    shaped = jsonio.shaped(body, _body, _loose)
    if shaped is None:
        return None
    messages = tuple([_READERS[type(turn)](turn) for turn in shaped.messages])
    tools = None if shaped.tools is UNSET else tuple([_read_tool(tool.function) for tool in shaped.tools])
    return Shaped(_beside(shaped), messages, tools)


def _beside(body: Any) -> Bag:
    values = msgspec.structs.astuple(body)[2:]
    return {key: value for key, value in zip(BESIDE, values, strict=True) if value is not UNSET}


def _loose(body: Any) -> Any:
    """What may be of any depth, where it stands: beside the messages, or within body, tools, tool and function."""
    tools: list[_Tool] = [] if body.tools is UNSET else body.tools
    return [*_beside(body).values(), *([[[tool.function.parameters]]] for tool in tools)]


def _read_said(role: Role) -> Callable[[Any], Message]:
    def read(turn: Any) -> Message:
        content = turn.content
        if type(content) is str:
            return Message(role=role, content=(Text(text=content),))
        return Message(role=role, content=tuple([_read_part(part) for part in content]), opaque=LISTED)

    return read


def _read_part(part: _Words | _Text | _Image) -> Content:
    return decode_part(msgspec.to_builtins(part), ()) if isinstance(part, _Image) else Text(text=part.text)


def _read_assistant(turn: _Assistant) -> Message:
    text, calls = turn.content, turn.tool_calls
    content: tuple[Content, ...] = (Text(text=text),) if text else ()
    if calls is not UNSET:
        made = [ToolCall(id=call.id, name=call.function.name, arguments=call.function.arguments) for call in calls]
        content = (*content, *made)
    if text:
        return Message(role="assistant", content=content)
    if text is None:
        return Message(role="assistant", content=content, opaque=NULL)
    return Message(role="assistant", content=content, opaque=ABSENT if text is UNSET else EMPTY)


def _read_result(turn: _Result) -> Message:
    content = turn.content
    if isinstance(content, str):
        texts = (Text(text=content),) if content else ()
        result = ToolResult(call_id=turn.tool_call_id, content=texts)
        return Message(role="tool", content=(result,), opaque=None if content else EMPTY)
    result = ToolResult(call_id=turn.tool_call_id, content=tuple([Text(text=part.text) for part in content]))
    return Message(role="tool", content=(result,), opaque=LISTED)


def _read_tool(said: _Definition) -> Tool:
    description, parameters, strict = said.description, said.parameters, said.strict
    return Tool(
        name=said.name,
        description=None if description is UNSET else description,
        parameters=None if parameters is UNSET else parameters,
        strict=None if strict is UNSET else strict,
    )


_READERS: dict[type, Callable[[Any], Message]] = {
    _System: _read_said("system"),
    _Developer: _read_said("developer"),
    _User: _read_said("user"),
    _Assistant: _read_assistant,
    _Result: _read_result,
}
