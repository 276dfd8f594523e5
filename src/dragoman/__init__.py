"""Any agent, any language model, any wire format; nothing lost unless it says so."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

if TYPE_CHECKING:
    from dragoman.agent.agent import Agent as Agent
    from dragoman.client import AsyncModel as AsyncModel
    from dragoman.client import Model as Model
    from dragoman.client import Structured as Structured
    from dragoman.errors import ApiError as ApiError
    from dragoman.errors import Cancelled as Cancelled
    from dragoman.errors import DragomanError as DragomanError
    from dragoman.errors import LossyError as LossyError
    from dragoman.errors import OutputError as OutputError
    from dragoman.errors import RefusedError as RefusedError
    from dragoman.errors import TransportError as TransportError
    from dragoman.errors import TruncatedError as TruncatedError
    from dragoman.errors import UsageError as UsageError
    from dragoman.errors import WireError as WireError
    from dragoman.tools.function import tool as tool
    from dragoman.types.content import Media as Media
    from dragoman.types.content import Reasoning as Reasoning
    from dragoman.types.content import Text as Text
    from dragoman.types.content import ToolCall as ToolCall
    from dragoman.types.content import ToolResult as ToolResult
    from dragoman.types.message import Message as Message
    from dragoman.types.message import assistant as assistant
    from dragoman.types.message import system as system
    from dragoman.types.message import user as user
    from dragoman.types.note import Note as Note
    from dragoman.types.reply import Reply as Reply
    from dragoman.types.reply import Stop as Stop
    from dragoman.types.reply import Usage as Usage
    from dragoman.types.request import Request as Request
    from dragoman.types.tool import Tool as Tool
    from dragoman.types.tool import ToolChoice as ToolChoice

# A public name → the module that holds it: loaded when it is first asked for, so that `import dragoman` stays light.
_HOMES = {
    "Agent": "agent.agent",
    "ApiError": "errors",
    "AsyncModel": "client",
    "Cancelled": "errors",
    "DragomanError": "errors",
    "LossyError": "errors",
    "Media": "types.content",
    "Message": "types.message",
    "Model": "client",
    "Note": "types.note",
    "OutputError": "errors",
    "Reasoning": "types.content",
    "RefusedError": "errors",
    "Reply": "types.reply",
    "Request": "types.request",
    "Stop": "types.reply",
    "Structured": "client",
    "Text": "types.content",
    "Tool": "types.tool",
    "ToolCall": "types.content",
    "ToolChoice": "types.tool",
    "ToolResult": "types.content",
    "TransportError": "errors",
    "TruncatedError": "errors",
    "Usage": "types.reply",
    "UsageError": "errors",
    "WireError": "errors",
    "assistant": "types.message",
    "system": "types.message",
    "tool": "tools.function",
    "user": "types.message",
}

__all__ = [
    "Agent",
    "ApiError",
    "AsyncModel",
    "Cancelled",
    "DragomanError",
    "LossyError",
    "Media",
    "Message",
    "Model",
    "Note",
    "OutputError",
    "Reasoning",
    "RefusedError",
    "Reply",
    "Request",
    "Stop",
    "Structured",
    "Text",
    "Tool",
    "ToolCall",
    "ToolChoice",
    "ToolResult",
    "TransportError",
    "TruncatedError",
    "Usage",
    "UsageError",
    "WireError",
    "__version__",
    "assistant",
    "system",
    "tool",
    "user",
]


def __getattr__(name: str) -> Any:
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module 'dragoman' has no attribute {name!r}")
    value = getattr(import_module(f"dragoman.{home}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return __all__
