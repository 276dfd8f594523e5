"""What is asked of a model."""

from __future__ import annotations

from typing import Literal

import msgspec

from dragoman.types.base import Cache, Value
from dragoman.types.message import Message, system
from dragoman.types.opaque import JSON
from dragoman.types.tool import HostedTool, Tool, ToolChoice


class Sampling(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """How the next token is drawn; None = not said."""

    temperature: float | int | None = None
    top_p: float | int | None = None
    top_k: float | int | None = None
    seed: int | None = None
    presence_penalty: float | int | None = None
    frequency_penalty: float | int | None = None


class Output(Value, frozen=True, kw_only=True):
    """The form the answer must have: text, any JSON, or JSON of a schema."""

    kind: Literal["text", "json", "schema"]
    name: str | None = None
    schema: dict[str, JSON] | None = None
    strict: bool | None = None
    description: str | None = None


class ServerState(Value, frozen=True, kw_only=True):
    """The conversation that the server keeps: messages are then only its new tail, and a result may have no call."""

    previous_id: str | None = None
    conversation: JSON = None
    cached_content: str | None = None


class Request(Value, frozen=True, kw_only=True):
    """One request. The system prompt is the leading system message; None anywhere means "not said"."""

    model: str | None = None
    messages: tuple[Message, ...] = ()
    tools: tuple[Tool | HostedTool, ...] | None = None
    tool_choice: ToolChoice | None = None
    parallel_tools: bool | None = None
    max_output: int | None = None
    sampling: Sampling = Sampling()
    stop: tuple[str, ...] | None = None
    effort: str | None = None
    budget: int | None = None
    output: Output | None = None
    cache: Cache | None = None
    state: ServerState | None = None
    tier: str | None = None
    store: bool | None = None
    user: str | None = None
    cache_key: str | None = None
    metadata: dict[str, str] | None = None
    verbosity: str | None = None
    logprobs: bool | None = None
    top_logprobs: int | None = None
    n: int | None = None
    stream: bool | None = None

    @property
    def system(self) -> str | None:
        """The text of the leading system message, or None when there is none."""
        first = self.messages[0] if self.messages else None
        return first.text if first is not None and first.role == "system" else None

    def with_system(self, text: str | None) -> Request:
        """This request with its leading system message set to `text`, or taken away."""
        rest = self.messages[1:] if self.system is not None else self.messages
        head = () if text is None else (system(text),)
        return msgspec.structs.replace(self, messages=(*head, *rest))
