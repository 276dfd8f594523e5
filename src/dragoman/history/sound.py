"""The common case seen in one walk: most conversations are in order, and saying so must cost next to nothing."""

from __future__ import annotations

from collections.abc import Iterable

from dragoman.dialect.model import Dialect
from dragoman.history.content import REFUSES_BLANK, WRAPPED, ends_blank, is_broken, is_invalid
from dragoman.history.shape import WANTS_TOOLS
from dragoman.history.unfinished import OURS
from dragoman.types.content import Content, Json, Text, ToolCall, ToolResult
from dragoman.types.message import Message
from dragoman.types.request import Request
from dragoman.types.tool import Tool
from dragoman.wire.jsonio import is_object


def is_sound(request: Request, wire: str, dialect: Dialect) -> bool:
    """True only when nothing is to be repaired; False says nothing but that the rules must be asked one by one."""
    if dialect.alternate_roles or dialect.prefill != "open" or not _offers(request):
        return False
    strict, wrapped = wire in REFUSES_BLANK, wire in WRAPPED
    bare = wire in WANTS_TOOLS and not request.tools
    waiting: set[str] = set()
    before, asked = "", False
    for message in request.messages:
        role, content = message.role, message.content
        if not content or (message.opaque is not None and OURS in message.opaque):
            return False
        if role == "tool":
            if bare or not _answers(content, waiting, strict):
                return False
        elif waiting or role == before == "assistant":
            return False
        elif role == "assistant":
            if not _turn(content, waiting, strict, wrapped):
                return False
        elif not _texts(content, strict):
            return False
        elif role == "user":
            asked = True
        before = role
    return asked and not waiting and not (strict and _ends_blank(request.messages[-1]))


def _offers(request: Request) -> bool:
    tools = request.tools
    if not tools:
        return request.tool_choice is None and request.parallel_tools is None
    return len({tool.name if type(tool) is Tool else id(tool) for tool in tools}) == len(tools)


def _turn(content: Iterable[Content], waiting: set[str], strict: bool, wrapped: bool) -> bool:
    """An assistant's turn of texts and calls; its calls wait."""
    for block in content:
        kind = type(block)
        if kind is Text:
            text: str = block.text  # type: ignore[union-attr]
            if not text or not (text.isascii() or not is_broken(text)) or (strict and text.isspace()):
                return False
        elif kind is ToolCall:
            id: str = block.id  # type: ignore[union-attr]
            if not id or id in waiting or not _asks(block, wrapped):  # type: ignore[arg-type]
                return False
            waiting.add(id)
        else:
            return False
    return True


def _asks(call: ToolCall, wrapped: bool) -> bool:
    said = f"{call.id}{call.name}{call.arguments}"
    if not said.isascii() and is_broken(said):
        return False
    return not wrapped or is_object(call.arguments) or not is_invalid(call)


def _answers(content: Iterable[Content], waiting: set[str], strict: bool) -> bool:
    """Results, each of a call that waits, of texts that say something."""
    for block in content:
        if type(block) is not ToolResult or block.call_id not in waiting or (block.name and is_broken(block.name)):
            return False
        waiting.remove(block.call_id)
        if not _texts(block.content, strict and len(block.content) > 1):
            return False
    return True


def _texts(content: Iterable[Content], strict: bool) -> bool:
    for block in content:
        kind = type(block)
        if kind is Text:
            text: str = block.text  # type: ignore[union-attr]
            if not (text.isascii() or not is_broken(text)) or (strict and (not text or text.isspace())):
                return False
        elif kind is not Json or is_broken(block.value):  # type: ignore[union-attr]
            return False
    return True


def _ends_blank(message: Message) -> bool:
    return message.role == "assistant" and ends_blank(message.content) is not None
