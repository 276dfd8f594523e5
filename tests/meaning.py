"""What a value says, however it was spelled: the form in which laws compare two of them."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Any

import msgspec

from dragoman.types import (
    Choice,
    Content,
    HostedCall,
    Media,
    Message,
    Note,
    Reasoning,
    Reply,
    Request,
    Stop,
    Text,
    Tool,
    ToolCall,
    ToolResult,
    Usage,
)
from dragoman.types.note import Path
from matrix.judge import paths

# Not said by anybody: whose leftovers, whose words.
BOOKKEEPING = frozenset({"opaque", "origin", "raw"})
# Said by the call that a result answers; most wires do not say them again (C-15).
DERIVED = frozenset({(ToolResult, "name"), (ToolResult, "kind")})


def meaning(value: Any) -> Any:
    """`value` without leftovers and origins, in normal form.

    Neighbouring assistant messages are one, a run of tool messages is one, the system messages at the start are one;
    neighbouring texts of an assistant or of a result are one text of several lines, a text without a character is none.
    Arguments that say nothing are `{}`, a figure of 0 is one not reported, a tool that is not said to be strict is not,
    the detail of an image is "auto" where nobody chose it, and only a refusal is explained.
    """
    match value:
        case Request():
            return _bare(msgspec.structs.replace(value, messages=_merged(value.messages)))
        case Reply():
            others = None if value.others is None else tuple(_joined_choice(choice) for choice in value.others)
            return _bare(msgspec.structs.replace(value, message=_merged((value.message,))[0], others=others))
        case _:
            return _bare(value)


def _joined_choice(choice: Choice) -> Choice:
    return msgspec.structs.replace(choice, message=_merged((choice.message,))[0])


def _merged(messages: tuple[Message, ...]) -> tuple[Message, ...]:
    out: list[Message] = []
    for message in messages:
        before = out[-1] if out else None
        content = message.content
        prompt = message.role == "system" and len(out) == 1
        if before is not None and message.role == before.role and (prompt or message.role in ("assistant", "tool")):
            content = (*before.content, *content)
            out.pop()
        joins = message.role == "assistant"
        out.append(msgspec.structs.replace(message, content=_joined(content, joins=joins)))
    return tuple(out)


def _joined(content: tuple[Content, ...], *, joins: bool) -> tuple[Content, ...]:
    out: list[Content] = []
    for block in content:
        if isinstance(block, ToolResult):
            inner: Any = _joined(block.content, joins=True)
            block = msgspec.structs.replace(block, content=inner)
        if isinstance(block, Text) and not block.text:
            continue
        last = out[-1] if out else None
        if joins and isinstance(block, Text) and isinstance(last, Text) and not (block.citations or last.citations):
            out[-1] = msgspec.structs.replace(block, text=f"{last.text}\n{block.text}")
        else:
            out.append(block)
    return tuple(out)


def _bare(value: Any) -> Any:
    if isinstance(value, msgspec.Struct):
        said = (
            name for name in value.__struct_fields__ if name not in BOOKKEEPING and (type(value), name) not in DERIVED
        )
        bare = {name: _bare(item) for name in said if (item := getattr(value, name)) is not None}
        if isinstance(value, Usage):
            bare = {name: item for name, item in bare.items() if item}
        if isinstance(value, ToolCall):
            bare["arguments"] = _arguments(value)
        if isinstance(value, Stop) and value.reason != "refusal":
            bare.pop("detail", None)
        if isinstance(value, Tool) and not value.strict:
            bare.pop("strict", None)
        if isinstance(value, Media) and value.detail == "auto":
            bare.pop("detail")
        return {"is": type(value).__name__, **bare}
    if isinstance(value, tuple):
        return [_bare(item) for item in value]
    return value


def _arguments(call: ToolCall) -> str:
    return "{}" if call.kind == "function" and call.arguments.strip() in ("", "null") else call.arguments


def unspaced(reply: Reply) -> Reply:
    """The same reply, with the JSON of its calls' arguments written without spaces: servers differ in these (L4)."""
    content = tuple(
        msgspec.structs.replace(block, arguments=json.dumps(json.loads(block.arguments), ensure_ascii=False))
        if isinstance(block, ToolCall | HostedCall) and _is_json(block.arguments)
        else block
        for block in reply.message.content
    )
    return msgspec.structs.replace(reply, message=msgspec.structs.replace(reply.message, content=content))


def _is_json(text: str | None) -> bool:
    try:
        json.loads(text or "")
    except ValueError:
        return False
    return True


Fact = tuple[Any, ...]


def facts(value: Request | Reply) -> Iterator[tuple[Path, Fact]]:
    """Everything that a value says, one thing each, with its place. Texts are told line by line, so that joining two
    is no change, nor is showing a summary as thinking; where a message ends is no fact, its role is."""
    for name in value.__struct_fields__:
        item = getattr(value, name)
        if name in BOOKKEEPING or item is None:
            continue
        if name == "messages":
            for at, message in enumerate(item):
                yield from _message_facts(message, ("messages", at))
        elif name == "message":
            yield from _message_facts(item, ("message",))
        else:
            yield from _facts(item, (name,), (name,))


def _message_facts(message: Message, path: Path) -> Iterator[tuple[Path, Fact]]:
    for name in ("name", "prefill"):
        if getattr(message, name) is not None:
            yield (*path, name), (message.role, name, getattr(message, name))
    for at, block in enumerate(message.content):
        yield from _facts(block, (*path, "content", at), (message.role,))


def _facts(value: Any, path: Path, about: Fact) -> Iterator[tuple[Path, Fact]]:
    if isinstance(value, Text | Reasoning):
        thinks = isinstance(value, Reasoning)
        said = [value.text or "", *(value.summary or ())] if thinks else [value.text]
        about = (*about, "thought" if thinks else "text")
        if thinks and not any(said):
            yield path, about
        yield from ((path, (*about, line)) for text in said for line in text.split("\n") if line)
        yield from (fact for fact in _fields(value, path, about) if fact[0][len(path)] not in ("text", "summary"))
    elif isinstance(value, msgspec.Struct):
        said_so_far = list(_fields(value, path, (*about, type(value).__name__)))
        yield from said_so_far or [(path, (*about, type(value).__name__))]  # that it stands there says something
    elif isinstance(value, tuple):
        for at, item in enumerate(value):
            yield from _facts(item, (*path, at), about)
    elif value or about[:2] != ("usage", "Usage"):  # a figure of 0 equals one not reported
        yield path, (*about, msgspec.json.encode(value))


def _fields(value: msgspec.Struct, path: Path, about: Fact) -> Iterator[tuple[Path, Fact]]:
    for name in value.__struct_fields__:
        item = getattr(value, name)
        if name == "arguments" and isinstance(value, ToolCall):
            item = _arguments(value)
        unsaid = item is None or (name == "redacted" and not item)
        if not unsaid and name not in BOOKKEEPING and (type(value), name) not in DERIVED:
            yield from _facts(item, (*path, name), (*about, name))


def silent(before: Request | Reply, after: Request | Reply, notes: Iterable[Note]) -> list[tuple[Path, Fact]]:
    """The facts of `before` that `after` does not say and that no note speaks of, with a place of each."""
    told = list(notes)
    return [
        (places[0], fact)
        for fact, places, missing in _missing(before, after)
        if missing > sum(any(covers(note, place) for note in told) for place in places)
    ]


def idle(before: Request | Reply, after: Request | Reply, notes: Iterable[Note]) -> list[Note]:
    """The loss notes that speak of nothing missing in `after`. A leftover is missing when `before` holds its key: the
    bags of two wires never meet."""
    gone = [place for _, places, _ in _missing(before, after) for place in places]
    kept = [path for path, _ in leftovers(before)]
    return [
        note for note in notes if note.loss and note.path not in kept and not any(covers(note, place) for place in gone)
    ]


def _missing(before: Request | Reply, after: Request | Reply) -> Iterator[tuple[Fact, list[Path], int]]:
    left = Counter(fact for _, fact in facts(after))
    said: dict[Fact, list[Path]] = {}
    for path, fact in facts(before):
        said.setdefault(fact, []).append(path)
    for fact, places in said.items():
        if len(places) > left[fact]:
            yield fact, places, len(places) - left[fact]


def leftovers(value: Any, path: Path = ()) -> Iterator[tuple[Path, Any]]:
    """Every key of every bag in a value, at the path its note would have."""
    if isinstance(value, tuple):
        for at, item in enumerate(value):
            yield from leftovers(item, (*path, at))
    elif isinstance(value, msgspec.Struct):
        for name in value.__struct_fields__:
            item = getattr(value, name)
            if name == "opaque":
                for left in (item or {}).values():
                    yield from _keys(left, path)
            else:
                yield from leftovers(item, (*path, name))


def _keys(left: Any, path: Path) -> Iterator[tuple[Path, Any]]:
    for key, value in left.items():
        if key != "~" and key.startswith("~") and isinstance(value, dict):  # of an object nested in this one
            yield from _keys(value, (*path, key[1:]))
        else:
            yield (*path, key), value


def covers(note: Note, path: Path) -> bool:
    """Whether a note speaks of a place: of it, of what holds it, or of something in it."""
    shorter = min(len(note.path), len(path))
    return note.path[:shorter] == path[:shorter]


def differences(one: Any, other: Any) -> list[str]:
    """The places where two values do not mean the same, in words; empty when nowhere."""
    return paths(meaning(one), meaning(other))
