"""Tool calls that arrive in pieces: which piece belongs to which call, on every wire that does not say it cleanly."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cached_property
from heapq import heappop, heappush
from typing import Any, Literal, NamedTuple

from dragoman.errors import RemoteError
from dragoman.types.content import ToolCall
from dragoman.types.events import BlockEnd, BlockStart, Delta, Patch, StreamEvent
from dragoman.types.opaque import Bag
from dragoman.wire import jsonio
from dragoman.wire.base import Exchange, Notes
from dragoman.wire.extent import Extent, objects
from dragoman.wire.ids import made_id

NAME_MAX = 4096  # characters of a name that comes in pieces; it is looked at anew with each
DIGITS_MAX = 18  # of an index; more are no position in any stream
UNREAD = object()
MISSING = frozenset({"", "null"})  # ids that say nothing (dialects §8d)


class Piece(NamedTuple):
    """What one event says of a call, each as it came; empty, null and absent are the same."""

    index: Any = None
    id: Any = None
    name: Any = None
    arguments: Any = None


class _Read(NamedTuple):
    """A piece as it is understood."""

    key: int | None
    id: str | None
    name: str
    text: str

    @property
    def begins(self) -> bool:
        """Whether its text could be the beginning of arguments."""
        return not self.text or self.text.lstrip().startswith("{")


class _Slot:
    """One call. `index` is its block's, once it was told; `said` its arguments, `beyond` what followed their end."""

    def __init__(self, key: int | None, position: int) -> None:
        self.key = key
        self.position = position
        self.id: str | None = None
        self.name = ""
        self.index: int | None = None
        self.kind: Literal["function", "custom"] = "function"
        self.left: Bag = {}
        self.extent = Extent()
        self.said: list[str] = []
        self.told = 0  # pieces of `said` that were passed on
        self.beyond: list[str] = []
        self.empty = False  # they are an empty object, which waits for the end
        self.named_again = False  # its name came once more after its arguments were whole, and nothing with it

    def add(self, text: str) -> None:
        within, beyond = (text, "") if self.kind == "custom" else self.extent.split(text)
        if within:
            self.said.append(within)
        if beyond:
            self.beyond.append(beyond)

    @property
    def whole(self) -> bool:
        return self.extent.closed

    def repeated_by(self, text: str) -> bool:
        """Whether `text` says these arguments over again. Asked only once they are whole, so they are read once."""
        return _says(objects(text), *self._read)

    @cached_property
    def _read(self) -> tuple[str, Any]:
        return _valued("".join(self.said))


class Assembler:
    """Pieces in, events out. A piece goes to the call of its id, else of its index, else to the one that is open; it
    begins a call of its own when it brings another id and a name (servers that count every call as 0), or a name when
    the arguments before it are whole (dialects §1.1).

    A call is told once its name is certain: names come split, restated and repeated, and `offered` decides. Arguments
    are never mended: a call is whole when its stream ends, not when its text happens to parse. Only what follows a
    whole object is judged, at the end: the same object over again, or the real one after an empty one, is said once.
    `next_index` gives the index of a new block; `names` are what names of tools stand for that went out under another.
    """

    def __init__(self, wire: str, next_index: Callable[[], int], exchange: Exchange) -> None:
        self._wire = wire
        self._next_index = next_index
        self._seed = exchange.seed
        self._names: Mapping[str, str] = exchange.names
        self._offered = frozenset((*exchange.offered, *exchange.names))
        self._slots: list[_Slot] = []
        self._by_id: dict[str, _Slot] = {}
        self._by_key: dict[int, _Slot] = {}  # the last one of each index
        self._longest = max(map(len, self._offered), default=0)
        self._named: dict[int, _Slot] = {}  # untold ones whose name has begun, by position
        self._ready: list[int] = []  # a heap of the positions of those whose name may be whole

    def __bool__(self) -> bool:
        return bool(self._slots)

    def take(self, piece: Piece, kind: Literal["function", "custom"], left: Bag, notes: Notes) -> list[StreamEvent]:
        """Events for one piece; `left` is what else was said of the call."""
        name = piece.name if isinstance(piece.name, str) else ""
        said = _Read(_key(piece.index), _id(piece.id), name, _text(piece.arguments))
        slot = self._find(said)
        if slot.id is None and said.id is not None and said.id not in self._by_id:
            slot.id = said.id
            self._by_id[said.id] = slot
        if slot.index is None:
            slot.kind = kind
            slot.name = self._folded(slot.name, name)
            slot.left |= left
            slot.add(said.text)
            if self._is_certain(slot):
                return self._open_up_to(slot, notes)
            self._wait(slot)
            return []
        if self._adds(slot.name, name):
            reason = f"another name, {name!r}, came after the arguments had begun"
            notes.add(("message", "content", slot.index, "name"), "dropped", reason)
        slot.add(said.text)
        out = self._tell(slot)
        return [*out, Patch(index=slot.index, opaque={self._wire: left})] if left else out

    def settle(self, notes: Notes) -> list[StreamEvent]:
        """Another block begins: calls whose name came are told before it."""
        named = [self._named[position] for position in sorted(self._named)]
        return [event for slot in named for event in self._open(slot, notes)]

    def close(self, notes: Notes) -> list[StreamEvent]:
        """The end of all calls; one whose name never came is told all the same, under no name."""
        out: list[StreamEvent] = []
        for slot in self._slots:
            if slot.index is None:
                out += self._open(slot, notes)
        for slot in self._slots:
            out += [*self._rest(slot, notes), BlockEnd(index=slot.index or 0)]
        return out

    def _open_up_to(self, slot: _Slot, notes: Notes) -> list[StreamEvent]:
        """Calls are told in the order in which they began, save those whose name is still in pieces."""
        before: list[_Slot] = []
        while self._ready and self._ready[0] < slot.position:
            one = self._slots[heappop(self._ready)]
            if one.index is None and one not in before[-1:] and self._is_name(one.name):
                before.append(one)
        return [event for one in (*before, slot) for event in self._open(one, notes)]

    def _wait(self, slot: _Slot) -> None:
        if slot.name:
            self._named[slot.position] = slot
        if self._is_name(slot.name):
            heappush(self._ready, slot.position)

    def _open(self, slot: _Slot, notes: Notes) -> list[StreamEvent]:
        """The start of a call, and the arguments that came before its name was certain."""
        index = slot.index = self._next_index()
        self._named.pop(slot.position, None)
        if slot.id is None:
            slot.id = made_id("call_", self._seed, slot.position)
            self._by_id.setdefault(slot.id, slot)
            reason = "a tool call without an id of its own"
            notes.add(("message", "content", index, "id"), "synthesised", reason, loss=False)
        opaque = {self._wire: dict(slot.left)} if slot.left else None
        name = self._names.get(slot.name, slot.name)
        call = ToolCall(id=slot.id, name=name, arguments="", kind=slot.kind, opaque=opaque)
        return [BlockStart(index=index, block=call), *self._tell(slot)]

    def _tell(self, slot: _Slot) -> list[StreamEvent]:
        """What is new of the arguments; an empty object waits for the end, since some servers begin with one."""
        if slot.empty:
            return []
        fresh = "".join(slot.said[slot.told :])
        slot.empty = slot.told == 0 and slot.whole and _is_empty(fresh)
        if not fresh or slot.index is None or slot.empty:
            return []
        slot.told = len(slot.said)
        return [Delta(index=slot.index, field="arguments", text=fresh)]

    def _rest(self, slot: _Slot, notes: Notes) -> list[StreamEvent]:
        said, beyond = "".join(slot.said), "".join(slot.beyond)
        waits = "".join(slot.said[slot.told :])
        reason = None
        if beyond.strip() and repeats(said, beyond):
            beyond, reason = "", "the arguments were said over again: kept once"
        elif beyond.strip() and waits and len(objects(beyond) or ()) == 1:
            waits, reason = "", "an empty object stood before the arguments"
        if reason is not None:
            notes.add(("message", "content", slot.index or 0, "arguments"), "merged", reason, loss=False)
        text = waits + beyond
        return [Delta(index=slot.index or 0, field="arguments", text=text)] if text else []

    def _is_certain(self, slot: _Slot) -> bool:
        """Whether the name can be told: no more of it may come, or arguments follow it."""
        grows = any(name != slot.name and name.startswith(slot.name) for name in self._offered)
        return self._is_name(slot.name) and (bool(slot.said) or (slot.name in self._offered and not grows))

    def _is_name(self, name: str) -> bool:
        """Whether this can be a whole name: an offered one, or none that an offered one begins with."""
        return bool(name) and (name in self._offered or not self._begins_offered(name))

    def _folded(self, before: str, name: str) -> str:
        """The name so far with another piece of it: split, restated, or said again with more."""
        if not before or not name:
            return before or name
        if self._splits(before, name):
            return before + name
        if not self._adds(before, name):
            return before
        if name in self._offered or name.startswith(before):
            return name
        if len(before) + len(name) > NAME_MAX:
            raise RemoteError("too_large", f"a tool's name of more than {NAME_MAX} characters came in pieces")
        return before + name

    def _adds(self, before: str, name: str) -> bool:
        """Whether a piece of a name says more than the name so far."""
        if not name or (name == before and not self._splits(before, name)):
            return False
        return before not in self._offered or name in self._offered or self._splits(before, name)

    def _splits(self, before: str, name: str) -> bool:
        """Whether an offered name begins with the name so far and this piece of it."""
        return len(before) + len(name) <= self._longest and self._begins_offered(before + name)

    def _begins_offered(self, text: str) -> bool:
        return any(name.startswith(text) for name in self._offered)

    def _find(self, said: _Read) -> _Slot:
        slot = before = self._candidate(said)
        if slot is None or self._begins_another(slot, said):
            slot = _Slot(said.key, len(self._slots))
            slot.name = before.name if before is not None and before.named_again and not said.name else ""
            self._slots.append(slot)
            if said.key is not None:
                self._by_key[said.key] = slot
        elif said.name and slot.whole and not said.text.strip():
            slot.named_again = True
        return slot

    def _candidate(self, said: _Read) -> _Slot | None:
        """The call a piece could go on with."""
        by_id = None if said.id is None else self._by_id.get(said.id)
        by_key = None if said.key is None else self._by_key.get(said.key)
        shared = bool(said.name) and said.key is not None  # two calls under one id tell their indexes apart
        if by_id is not None and not (shared and by_id.key not in (None, said.key)):
            return by_id
        if by_key is not None:
            return by_key
        open_one = said.key is None or not (said.id or said.name)
        return self._slots[-1] if self._slots and open_one else None

    def _begins_another(self, slot: _Slot, said: _Read) -> bool:
        """Whether a piece that could go on with `slot` is a call of its own."""
        another_id = said.id is not None and slot.id is not None and said.id != slot.id
        if not said.name:  # servers change the id within a call, but a new call brings a name
            fresh = another_id or (slot.named_again and said.begins)
            return fresh and slot.whole and bool(said.text.strip()) and not slot.repeated_by(said.text)
        if not slot.name:
            return another_id
        another_name = said.name != slot.name
        if slot.said and not slot.whole and slot.kind == "function":  # in the middle of arguments
            if another_id:
                return said.begins or another_name
            return another_name and said.begins and bool(said.text)
        if another_id:
            return True
        if slot.whole:
            whole = said.id is None or objects(said.text) is not None
            says = said.begins and bool(said.text) and whole and not slot.repeated_by(said.text)
            return says or (another_name and not said.text)
        splits = self._splits(slot.name, said.name) or said.name.startswith(slot.name)
        return another_name and said.key is None and not splits


def repeats(said: str, beyond: str) -> bool:
    """Whether `beyond` is the object `said` once or more, however it is spaced."""
    again = objects(beyond)
    return bool(again) and _says(again, *_valued(said))


def _valued(said: str) -> tuple[str, Any]:
    """A text and what it says; a text that cannot be read says what none does."""
    try:
        return said, jsonio.decode(said.encode())[0]
    except (RemoteError, UnicodeError):
        return said, UNREAD


def _says(again: list[str] | None, said: str, value: Any) -> bool:
    if not again or value is UNREAD:
        return False
    try:
        return all(one == said or jsonio.decode(one.encode())[0] == value for one in again)
    except (RemoteError, UnicodeError):
        return False


def _is_empty(text: str) -> bool:
    return text.strip().replace(" ", "") == "{}"


def _key(value: Any) -> int | None:
    """An index; some servers write it as text."""
    if isinstance(value, str) and value.isdecimal() and len(value) <= DIGITS_MAX:
        return int(value)
    if isinstance(value, float) and value.is_integer():
        return int(value)
    return value if type(value) is int else None


def _id(value: Any) -> str | None:
    """An id as text; numbers are ids too."""
    text = str(value) if isinstance(value, str | int | float) and not isinstance(value, bool) else ""
    return None if text in MISSING else text


def _text(value: Any) -> str:
    """Arguments as text; some servers send the object itself."""
    if value is None:
        return ""
    return value if isinstance(value, str) else jsonio.text(value)
