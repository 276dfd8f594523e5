"""The blocks a message is made of: one closed union."""

from __future__ import annotations

from typing import Any, Literal, TypeAlias

import msgspec

from dragoman.types.base import Cache, Origin, Value
from dragoman.types.opaque import JSON, Opaque
from dragoman.types.tool import HostedTool, Tool


class Block(Value, frozen=True, kw_only=True, tag_field="type"):
    """`cache` is a breakpoint after this block; `origin` is said only where it differs from the message's."""

    cache: Cache | None = None
    origin: Origin | None = None


class Text(Block, frozen=True, kw_only=True, tag="text"):
    """Plain text. `citations` are the vendor's own objects; `phase` tells commentary from the final answer."""

    text: str
    citations: tuple[JSON, ...] | None = None
    phase: Literal["commentary", "final"] | None = None


class Json(Block, frozen=True, kw_only=True, tag="json"):
    """A structured tool result: `value` is its JSON text."""

    value: str


class Media(Block, frozen=True, kw_only=True, tag="media"):
    """An image, a sound, a video or a document, by exactly one of `data` (base64), `url`, `file_id` or `text`."""

    kind: Literal["image", "audio", "video", "document"]
    media_type: str | None = None
    data: str | None = None
    url: str | None = None
    file_id: str | None = None
    text: str | None = None
    name: str | None = None
    detail: str | None = None
    transcript: str | None = None


class Reasoning(Block, frozen=True, kw_only=True, tag="reasoning"):
    """Thinking. Signatures and ciphertexts live in `opaque`; the readable text never decides a replay."""

    text: str | None = None
    summary: tuple[str, ...] | None = None
    redacted: bool = False


class Refusal(Block, frozen=True, kw_only=True, tag="refusal"):
    """The model's own words for not answering."""

    text: str


class Valid(msgspec.Struct, frozen=True):
    """Arguments that can be executed: a JSON object."""

    arguments: dict[str, Any]


class Invalid(msgspec.Struct, frozen=True):
    """Arguments that cannot: the text as the model wrote it, and why."""

    raw: str
    why: str


class ToolCall(Block, frozen=True, kw_only=True, tag="tool_call"):
    """A call the caller must answer; only this block makes a call open and a Stop "tool_calls".

    `arguments` is the text as the model wrote it (JSON for kind function, free text for custom), so an unchanged
    history keeps its bytes and broken JSON survives. kind builtin: the vendor defined the tool, the caller runs it;
    `name` is then the item type and `arguments` the JSON text of its action.
    """

    id: str
    name: str
    arguments: str
    kind: Literal["function", "custom", "builtin"] = "function"
    namespace: str | None = None

    @classmethod
    def of(cls, id: str, name: str, arguments: dict[str, Any]) -> ToolCall:
        """A call built from an object: its text is compact and unescaped (S0-33, S0-64, C-26)."""
        return cls(id=id, name=name, arguments=msgspec.json.encode(arguments).decode())

    def parsed(self) -> Valid | Invalid:
        """The arguments as an object; `""` and `null` mean `{}`. Never a silent empty object for broken text."""
        if self.kind == "custom":
            return Invalid(self.arguments, "a custom tool takes text, not a JSON object")
        if not self.arguments.strip():
            return Valid({})
        try:
            value: Any = msgspec.json.decode(self.arguments)
        except (msgspec.DecodeError, RecursionError, UnicodeError) as error:
            return Invalid(self.arguments, f"invalid JSON: {error}")
        if value is None:
            return Valid({})
        if not isinstance(value, dict):
            return Invalid(self.arguments, f"expected a JSON object, got {_json_kind(value)}")
        return Valid(value)


class Foreign(Block, frozen=True, kw_only=True, tag="foreign"):
    """A block this version does not know: kept whole for its own wire, noted on every other."""

    wire: str
    kind: str
    payload: JSON


ResultContent: TypeAlias = Text | Json | Media | Foreign


class ToolResult(Block, frozen=True, kw_only=True, tag="tool_result"):
    """The answer to one call."""

    call_id: str
    content: tuple[ResultContent, ...]
    name: str | None = None
    is_error: bool | None = None
    kind: Literal["function", "custom", "builtin"] = "function"


class HostedCall(Block, frozen=True, kw_only=True, tag="hosted_call"):
    """A call the provider runs itself: streams like a ToolCall, is never open, never executed, never repaired."""

    id: str | None
    name: str
    arguments: str | None = None
    payload: dict[str, JSON] | None = None


class HostedResult(Block, frozen=True, kw_only=True, tag="hosted_result"):
    """What the provider's own call gave."""

    call_id: str | None
    name: str
    payload: JSON = None


class ToolsChange(Block, frozen=True, kw_only=True, tag="tools_change"):
    """Tools that appear or go in mid-conversation."""

    add: tuple[Tool | HostedTool, ...] | None = None
    names: tuple[str, ...] | None = None
    remove: tuple[str, ...] | None = None


Content: TypeAlias = (
    Text
    | Json
    | Media
    | Reasoning
    | Refusal
    | ToolCall
    | ToolResult
    | HostedCall
    | HostedResult
    | ToolsChange
    | Foreign
)


def replaced(block: Any, opaque: Opaque | None) -> Any:
    """`block` with another bag."""
    return msgspec.structs.replace(block, opaque=opaque)


def _json_kind(value: Any) -> str:
    kinds = {list: "an array", str: "a string", bool: "a boolean", int: "a number", float: "a number"}
    return kinds.get(type(value), type(value).__name__)
