"""What a request offers the model to call."""

from __future__ import annotations

from typing import Literal

from dragoman.types.base import Cache, Value
from dragoman.types.opaque import JSON


class Tool(Value, frozen=True, kw_only=True, tag_field="type", tag="function"):
    """A tool the caller runs. `parameters` is a JSON Schema; kind custom takes free text instead of an object."""

    name: str
    parameters: dict[str, JSON] | None = None
    description: str | None = None
    strict: bool | None = None
    kind: Literal["function", "custom"] = "function"
    namespace: str | None = None
    cache: Cache | None = None


class HostedTool(Value, frozen=True, kw_only=True, tag_field="type", tag="hosted"):
    """A tool the provider runs, or one whose shape only its own wire knows: `payload` is that wire's object, whole."""

    wire: str
    kind: str
    payload: JSON
    cache: Cache | None = None


class ToolChoice(Value, frozen=True, kw_only=True):
    """Five intents: auto · none · required (any tool) · required with one name (that tool) · names (only these)."""

    mode: Literal["auto", "none", "required"] | None = None
    names: tuple[str, ...] | None = None
