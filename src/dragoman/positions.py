"""Where the nine parts of an agent's conversation stand in each wire's body, found rather than listed.

Each part of a copy of the request is replaced by a marker of its own; the copy is written in each wire; where a marker
turns up is that wire's place for the part. Source of the nine: S3-04 and appendix A.3 of the requirements.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import msgspec

from dragoman.dialect.model import BASE, Dialect
from dragoman.types.content import Content, Text, ToolCall, ToolResult
from dragoman.types.message import Message
from dragoman.types.note import Path, show_path
from dragoman.types.request import Request
from dragoman.types.tool import Tool
from dragoman.wire import find, jsonio
from dragoman.wire.base import Exchange

MARK = "dragomanplace"

# The part, its marker, and how many steps above the marker its container is (the call and the definition are objects).
PARTS: tuple[tuple[str, str, int], ...] = (
    ("system prompt", "system", 0),
    ("user task", "task", 0),
    ("tool definition", "definition", 1),
    ("call container", "callid", 1),
    ("call id", "callid", 0),
    ("tool name", "toolname", 0),
    ("arguments", "arguments", 0),
    ("result content", "result", 0),
    ("result → call link", "link", 0),
)


class Place(msgspec.Struct, frozen=True, kw_only=True):
    """One part's place in one wire: its path in the body, and whether a string or an object stands there."""

    path: str
    form: str


class Position(msgspec.Struct, frozen=True, kw_only=True):
    """One part's place in every wire; None where this conversation has no such part."""

    part: str
    places: dict[str, Place | None]

    @property
    def differs(self) -> bool:
        """Whether every other wire has it elsewhere than the first one asked for (S3-04)."""
        first, *others = [place.path for place in self.places.values() if place is not None] or [""]
        return bool(others) and first not in others


def positions(request: Request, wires: tuple[str, ...], dialect: Dialect = BASE) -> list[Position]:
    """The nine positions of a conversation, in the order of the requirements."""
    marked = _marked(request)
    found = {wire: _find_marks(marked, wire, dialect) for wire in wires}
    return [
        Position(part=part, places={wire: _place(found[wire].get(mark), above) for wire in wires})
        for part, mark, above in PARTS
    ]


def _marked(request: Request) -> Request:
    """The request with each part's value replaced; bags are taken off, so every wire writes its plain form."""
    seen: set[str] = set()
    messages = tuple(_mark_message(message, seen) for message in request.messages)
    tools = tuple(_mark_tool(tool, seen) for tool in request.tools or () if isinstance(tool, Tool))
    return Request(model=request.model, messages=messages, tools=tools or None, max_output=request.max_output)


def _mark_message(message: Message, seen: set[str]) -> Message:
    content: list[Content] = []
    for block in message.content:
        match block:
            case Text() if message.role in ("system", "developer", "user"):
                name = "task" if message.role == "user" else "system"
                content.append(Text(text=_mark(name, seen) or block.text))
            case Text():
                content.append(Text(text=block.text))
            case ToolCall():
                content.append(_mark_call(block, seen))
            case ToolResult():
                text = _mark("result", seen)
                inner = (Text(text=text),) if text else tuple(b for b in block.content if isinstance(b, Text))
                content.append(ToolResult(call_id=_linked(block, text), content=inner))
            case _:
                pass
    return Message(role=message.role, content=tuple(content))


def _mark_call(call: ToolCall, seen: set[str]) -> ToolCall:
    id = _mark("callid", seen)
    if id is None:
        return ToolCall(id=call.id, name=call.name, arguments="{}")
    arguments = jsonio.text({_word("arguments"): 1})
    return ToolCall(id=id, name=_word("toolname"), arguments=arguments)


def _linked(result: ToolResult, first: str | None) -> str:
    return _word("link") if first else result.call_id


def _mark_tool(tool: Tool, seen: set[str]) -> Tool:
    return Tool(name=tool.name, description=_mark("definition", seen) or tool.description, parameters=tool.parameters)


def _mark(name: str, seen: set[str]) -> str | None:
    """The marker of a part the first time, None after that."""
    if name in seen:
        return None
    seen.add(name)
    return _word(name)


def _word(name: str) -> str:
    return f"{MARK}-{name}"


def _find_marks(request: Request, wire: str, dialect: Dialect) -> dict[str, tuple[Path, str]]:
    outgoing = find(wire).encode_request(request, dialect, Exchange())
    body, _ = jsonio.decode(outgoing.http.body)
    found: dict[str, tuple[Path, str]] = {}
    for path, text, form in _words(body):
        name = text.partition(f"{MARK}-")[2].strip('":{}1 ')
        if name:
            found.setdefault(name, (path, form))
    return found


def _words(value: Any) -> Iterator[tuple[Path, str, str]]:
    """Every string and key of a body with its path, in its order; a key stands for the object that holds it."""
    left: list[tuple[Path, Any, str]] = [((), value, "string")]
    while left:
        path, held, form = left.pop()
        if isinstance(held, str):
            yield path, held, form
        elif isinstance(held, list):
            left += [((*path, at), item, "string") for at, item in enumerate(held)][::-1]
        elif isinstance(held, dict):
            for key, item in reversed(held.items()):
                left += [((*path, key), item, "string"), (path, key, "object")]


def _place(found: tuple[Path, str] | None, above: int) -> Place | None:
    if found is None:
        return None
    path, form = found
    return Place(path=show_path(path[: len(path) - above]), form="object" if above else form)
