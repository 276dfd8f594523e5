"""A request said on another wire and read again there: what differs, held against what the notes tell.

The rule, for a request R of one wire, written on another, where it reads R':

facts      R is taken apart into facts: each value of a typed field, each line of a text, where a turn begins, and each
           leftover of a wire that is not on the list of harmless keys. A fact has a place in R. Not facts: where one of
           several assistant or tool messages in a row ends, an empty text, the order of keys, spaces in arguments, the
           name and kind of a result (its call says them), and the values of SAYS_NOTHING. A result's call id is a fact by the call
           that it answers; a tool is the same fact wherever it is offered, the form of its free text on whatever wire.
silent     a fact of R that R' does not say, and no note at its place or at what holds it, or, for a turn, at all that is
           said in it. A note at the root or at all messages holds nothing.
unmoved    facts that stand in another order in R', and none of them is told as moved or merged.
unasked    a fact of R' that R does not say, and no note (but `dropped`, save within a schema) at its field, or, within messages and tools, at
           one of those between which it stands; a whole message or tool may be `synthesised` at the list.
idle       a loss note that no missing fact stands under; a `dropped` one under which not every fact is missing; any note
           whose place is not in R.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import msgspec

from dragoman import translate, wire
from dragoman.dialect.model import BASE
from dragoman.types import (
    HostedTool,
    Json,
    Note,
    Reasoning,
    Request,
    Sampling,
    Text,
    Tool,
    ToolCall,
    ToolChoice,
    ToolResult,
    ToolsChange,
)
from dragoman.types.content import Block
from dragoman.types.message import Message
from dragoman.types.note import Path, show_path
from dragoman.wire.base import Exchange, Http
from dragoman.wire.harmless import HARMLESS

Key = tuple[Any, ...]
RUNS = ("assistant", "tool")
LISTS = ("messages", "tools")
SCHEMAS = ("parameters", "schema")
BOOKKEEPING = frozenset({"opaque", "origin", "raw"})
# Values that mean what not saying them means, each by its wire's own page: some wires want them said (dialects §1, §4).
SAYS_NOTHING: dict[tuple[str, str], tuple[Any, ...]] = {
    ("Tool", "strict"): (False,),
    ("Tool", "parameters"): ({"type": "object", "properties": {}},),
    ("Media", "detail"): ("auto",),
    ("ToolChoice", "mode"): ("auto",),
    ("ToolResult", "is_error"): (False,),
    ("Message", "prefill"): (False,),
}


class Fact(NamedTuple):
    """One thing said, and where."""

    path: Path
    key: Key


class Crossing(NamedTuple):
    """A request, what another wire reads of it, and what was told on the way."""

    before: Request
    after: Request
    notes: tuple[Note, ...]
    http: Http


def cross(http: Http, source: str, target: str) -> Crossing:
    """A request of `source` translated to `target`, in their base dialects, and read there again."""
    there = translate.request(http, wire.find(source), wire.find(target))
    before, after = (
        wire.find(name).decode_request(sent, BASE, Exchange()).request
        for name, sent in ((source, http), (target, there.http))
    )
    return Crossing(before, after, there.notes, there.http)


def faults(crossing: Crossing) -> list[str]:
    """What breaks the rule above, one line each; nothing when all is told and all that is told is so."""
    return [*_silent(crossing), *_unmoved(crossing), *_unasked(crossing), *_idle(crossing)]


# --- facts


def facts(request: Request) -> list[Fact]:
    """Everything a request says, in its order."""
    return list(_Facts(request))


class _Facts:
    def __init__(self, request: Request) -> None:
        self._request = request
        self._calls: dict[str, int] = {}
        self._count = 0

    def __iter__(self) -> Iterator[Fact]:
        request = self._request
        for name in request.__struct_fields__:
            value = getattr(request, name)
            if name == "messages":
                yield from self._messages(value)
            elif name == "tools":
                yield from self._value(value, (name,), ())
            elif name not in BOOKKEEPING and value is not None:
                yield from self._value(value, (name,), (name,))
        yield from _leftovers(request, ())

    def _messages(self, messages: Sequence[Message]) -> Iterator[Fact]:
        before = ""
        for at, message in enumerate(messages):
            path: Path = ("messages", at)
            if message.role != before or message.role not in RUNS:
                yield Fact((*path, "role"), ("turn", message.role))
            before = message.role
            for name in ("name", "prefill"):
                if getattr(message, name):
                    yield Fact((*path, name), (message.role, name, getattr(message, name)))
            yield from _leftovers(message, path)
            for place, block in enumerate(message.content):
                yield from self._block(block, (*path, "content", place))

    def _block(self, block: Any, path: Path) -> Iterator[Fact]:
        yield from _leftovers(block, path)
        match block:
            case Text() | Json():
                text = block.text if isinstance(block, Text) else block.value
                yield from _lines(text, path, "text")
                yield from self._fields(block, path, ("text",), but=("text", "value"))
            case Reasoning():
                for text in (block.text or "", *(block.summary or ())):
                    yield from _lines(text, path, "thought")
                yield from self._fields(block, path, ("thought",), but=("text", "summary", "redacted"))
                if block.redacted:
                    yield Fact(path, ("redacted",))
            case ToolCall():
                self._count += 1
                self._calls[block.id] = self._count
                yield Fact((*path, "id"), ("call", block.id))
                yield Fact((*path, "arguments"), ("arguments", _parsed(block.arguments)))
                yield from self._fields(block, path, ("call",), but=("id", "arguments"))
            case ToolResult():
                answered = self._calls.get(block.call_id, block.call_id)
                yield Fact((*path, "call_id"), ("result", answered))
                for at, item in enumerate(block.content):
                    yield from self._block(item, (*path, "content", at))
                but = ("call_id", "content", "name", *(("kind",) if block.call_id in self._calls else ()))
                yield from self._fields(block, path, ("result", answered), but)
            case _:
                yield from self._value(block, path, ())

    def _value(self, value: Any, path: Path, about: Key) -> Iterator[Fact]:
        if isinstance(value, msgspec.Struct):
            about = (type(value).__name__,) if isinstance(value, Tool | HostedTool) else (*about, type(value).__name__)
            if not isinstance(value, ToolChoice | Sampling | ToolsChange):
                yield Fact(path, about)
            yield from () if isinstance(value, Block) else _leftovers(value, path)
            yield from self._fields(value, path, about)
        elif isinstance(value, tuple):
            for at, item in enumerate(value):
                yield from self._value(item, (*path, at), about)
        elif value is not None:
            yield Fact(path, (*about, json.dumps(value, sort_keys=True, ensure_ascii=False)))

    def _fields(self, value: Any, path: Path, about: Key, but: Sequence[str] = ()) -> Iterator[Fact]:
        for name in value.__struct_fields__:
            said = getattr(value, name)
            if name in BOOKKEEPING or name in but or said in SAYS_NOTHING.get((type(value).__name__, name), ()):
                continue
            yield from self._value(said, (*path, name), (*about, name))


def _lines(text: str, path: Path, kind: str) -> Iterator[Fact]:
    if text:
        yield from (Fact(path, (kind, line)) for line in text.split("\n"))


def _parsed(text: str) -> str:
    try:
        return json.dumps(json.loads(text), sort_keys=True)
    except ValueError:
        return text


def _leftovers(value: Any, path: Path) -> Iterator[Fact]:
    for name, left in (getattr(value, "opaque", None) or {}).items():
        yield from _bag(name, left, path)


def _bag(name: str, left: dict[str, Any], path: Path) -> Iterator[Fact]:
    for key, value in left.items():
        if key == "~":
            continue
        if key.startswith("~") and isinstance(value, dict):
            yield from _bag(name, value, (*path, key[1:]))
        elif key == "format" and not {"tools", "add"}.isdisjoint(path) and isinstance(value, dict):
            yield Fact((*path, key), ("form", json.dumps(_form(value), sort_keys=True)))
        elif key not in HARMLESS[name] and value not in (None, "", [], {}):
            yield Fact((*path, key), ("leftover", name, key, json.dumps(value, sort_keys=True)))


def _form(said: dict[str, Any]) -> dict[str, Any]:
    """The form of a free-text tool: two wires say it, and one of them has the grammar's rule in an object of its own."""
    inner = said.get("grammar")
    return {"type": said.get("type"), **inner} if isinstance(inner, dict) else said


# --- judging


def holds(note: Note, path: Path) -> bool:
    """Whether a note speaks of a place or of what holds it; a note of everything speaks of nothing. A schema is one
    fact: a note of a place within it speaks of it."""
    within = path[-1] in SCHEMAS and note.path[: len(path)] == path
    return within or (note.path not in ((), ("messages",)) and path[: len(note.path)] == note.path)


class _Missing:
    """The facts that the other side does not say, or not as often."""

    def __init__(self, before: list[Fact], after: list[Fact]) -> None:
        said = Counter(fact.key for fact in after)
        places: dict[Key, list[Path]] = {}
        for fact in before:
            places.setdefault(fact.key, []).append(fact.path)
        self.short = {key: len(paths) - said[key] for key, paths in places.items() if len(paths) > said[key]}
        self.places = {key: places[key] for key in self.short}


def _silent(crossing: Crossing) -> list[str]:
    missing = _Missing(facts(crossing.before), facts(crossing.after))
    found: list[str] = []
    for key, short in missing.short.items():
        untold = [path for path in missing.places[key] if not _told(path, crossing)]
        if len(missing.places[key]) - len(untold) < short:
            found.append(f"silent: {show_path(untold[0])}: {_short(key)}")
    return found


def _told(path: Path, crossing: Crossing) -> bool:
    if any(holds(note, path) for note in crossing.notes):
        return True
    if path[-1] != "role":
        return False
    content = crossing.before.messages[int(path[1])].content
    return bool(content) and all(_block_told((*path[:2], "content", at), crossing) for at in range(len(content)))


def _block_told(place: Path, crossing: Crossing) -> bool:
    said = [fact.path for fact in facts(crossing.before) if fact.path[: len(place)] == place] or [place]
    return all(any(holds(note, path) for note in crossing.notes) for path in said)


def _unmoved(crossing: Crossing) -> list[str]:
    before, after = facts(crossing.before), facts(crossing.after)
    once = _once(before) & _once(after)
    one = [fact for fact in before if fact.key in once and not _told_moved(fact.path, crossing.notes)]
    kept = {fact.key for fact in one}
    other = [fact for fact in after if fact.key in kept]
    for here, there in zip(one, other, strict=True):
        if here.key != there.key:
            return [f"unmoved: {show_path(here.path)}: {_short(here.key)} where {_short(there.key)}"]
    return []


def _unasked(crossing: Crossing) -> list[str]:
    before, after = facts(crossing.before), facts(crossing.after)
    added = _Missing(after, before)
    origin = {fact.key: fact.path for fact in before if fact.key in _once(before) & _once(after)}
    unasked: dict[Key, list[Path]] = {}
    for at, fact in enumerate(after):
        if fact.key in added.short and not any(
            _accounts(note, fact.path, _between(after, at, origin)) for note in crossing.notes
        ):
            unasked.setdefault(fact.key, []).append(fact.path)
    return [
        f"unasked: {show_path(places[0])}: {_short(key)}"
        for key, places in unasked.items()
        if len(added.places[key]) - len(places) < added.short[key]
    ]


def _idle(crossing: Crossing) -> list[str]:
    said = facts(crossing.before)
    missing = _Missing(said, facts(crossing.after))
    found: list[str] = []
    for note in crossing.notes:
        under = [fact for fact in said if holds(note, fact.path)]
        gone = [fact for fact in under if fact.key in missing.short]
        if note.path in ((), ("messages",)) and (note.loss or note.action != "synthesised"):
            found.append(f"idle: {_shown(note)} speaks of everything")
        elif note.loss and not gone:
            found.append(f"idle: {_shown(note)}")
        elif note.loss and note.action == "dropped" and len(gone) < len(under):
            kept = next(fact for fact in under if fact.key not in missing.short)
            found.append(f"idle: {_shown(note)} but {show_path(kept.path)} is kept")
        elif not _exists(crossing.before, note.path):
            found.append(f"idle: {_shown(note)} is no place")
    return found


def _once(said: list[Fact]) -> set[Key]:
    return {key for key, count in Counter(fact.key for fact in said).items() if count == 1}


def _told_moved(path: Path, notes: Sequence[Note]) -> bool:
    return any(note.action in ("moved", "merged") and holds(note, path) for note in notes)


def _between(after: list[Fact], at: int, origin: dict[Key, Path]) -> tuple[int, int]:
    """The first and last message (or tool) of the original that a fact of the other side stands between."""
    into = after[at].path[0]
    lower: Any = next((origin[fact.key] for fact in reversed(after[:at]) if fact.key in origin), ())
    upper: Any = next((origin[fact.key] for fact in after[at + 1 :] if fact.key in origin), ())
    first = lower[1] if lower[:1] == (into,) else 0
    last = upper[1] if upper[:1] == (into,) else 1 << 30
    return first, last


def _accounts(note: Note, path: Path, between: tuple[int, int]) -> bool:
    if note.action == "dropped" and not (path[-1] in SCHEMAS and set(SCHEMAS) & set(note.path)):
        return False
    if path[0] not in LISTS:
        return holds(note, path)
    if path[0] == "tools" and "add" in note.path:  # a tool that appears in mid-conversation, offered from the start
        return True
    if note.path == path[:1]:
        return note.action == "synthesised"
    return len(note.path) > 1 and note.path[0] == path[0] and between[0] <= int(note.path[1]) <= between[1]


def _exists(value: Any, path: Path) -> bool:
    for step in path:
        if isinstance(step, int):
            if not isinstance(value, tuple | list) or step >= len(value):
                return False
            value = value[step]
        elif isinstance(value, msgspec.Struct) and step in value.__struct_fields__:
            value = getattr(value, step)
        else:
            return True  # a leftover: `_silent` and `_idle` see to it
    return True


def _shown(note: Note) -> str:
    return f"{note.action} {show_path(note.path)} ({note.reason})"


def _short(key: Key) -> str:
    text = " ".join(str(part) for part in key)
    return text if len(text) < 90 else f"{text[:60]}…{text[-25:]}"
