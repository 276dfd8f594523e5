"""The messages and the system prompt of a request: middle to JSON."""

from __future__ import annotations

from operator import itemgetter

from dragoman.dialect.model import Dialect
from dragoman.types.base import Origin
from dragoman.types.content import (
    Content,
    HostedCall,
    HostedResult,
    Media,
    Reasoning,
    ToolCall,
    ToolResult,
    ToolsChange,
)
from dragoman.types.message import Message
from dragoman.types.note import Path
from dragoman.types.opaque import Bag, bag, listed, marks, restore
from dragoman.wire.base import Notes, own
from dragoman.wire.ids import IdFitter, Renamer
from dragoman.wire.messages import plain
from dragoman.wire.messages.blocks import (
    encode_change,
    encode_hosted,
    encode_reasoning,
    is_own_kind,
    is_signed,
    thought,
)
from dragoman.wire.messages.calls import encode_call, encode_result, has_made_id
from dragoman.wire.messages.parts import WIRE, encode_part, is_plain
from dragoman.wire.plain import is_silent
from dragoman.wire.replay import may_replay

INSTRUCTIONS = ("system", "developer")
UPDATE = ("<system-update>\n", "\n</system-update>")  # dialects §8e.8


class HistoryEncoder:
    """Writes messages one by one: `system` gathers the prompt, `out` the turns.

    All results of one batch go in one user turn (S3-06). Call ids are made legal, the same in call and result; an id
    that a later call uses again becomes another, since ids are unique in a request here.
    """

    def __init__(self, dialect: Dialect, notes: Notes, target: Origin) -> None:
        self._dialect = dialect
        self._notes = notes
        self._target = target
        pattern, length = dialect.call_id_pattern, dialect.call_id_length
        self._legal = Renamer() if pattern is None else IdFitter(pattern, length)
        self._current: dict[str, str] = {}
        self._turns: dict[str, int] = {}  # an id that was written → which of its successors was the last
        self._batch: tuple[list[Bag], int] | None = None  # results and what follows them; how many are results
        self._begun = False
        self._prompt: Message | None = None
        self.ids: dict[str, str] = {}
        self.system: list[Bag] = []
        self.out: list[Bag] = []

    def encode(self, message: Message, path: Path) -> None:
        """Write one message."""
        opaque = message.opaque
        bare = message.name is None and (opaque is None or is_silent(opaque, WIRE))
        if bare:
            turn = plain.write_turn(message)
            if turn is not None:
                self._batch, self._begun = None, True
                self.out.append(turn)
                return
        else:
            self._notes.leftovers(opaque, WIRE, path)
            if message.name is not None:
                self._notes.add((*path, "name"), "dropped", "this wire has no names of speakers")
        if message.role == "tool":
            self._tool(message, path, bare=bare)
            return
        self._batch = None
        if message.role in INSTRUCTIONS:
            self._instruct(message, path)
            return
        self._begun = True
        parts = self._blocks(message, path)
        if bare and parts and (len(parts) > 1 or parts[0].get("type") != "text"):
            self.out.append({"role": message.role, "content": parts})
        else:
            self._put(message.role, message, parts, path)

    def put_system(self, out: Bag) -> None:
        """Write the prompt: a lone plain text is a string."""
        listed = self._prompt is not None and marks(self._prompt.opaque, WIRE).get("content") == "list"
        if len(self.system) == 1 and is_plain(self.system[0]) and not listed:
            out["system"] = self.system[0]["text"]
        elif self.system:
            out["system"] = self.system

    def _instruct(self, message: Message, path: Path) -> None:
        if message.role == "developer":
            self._notes.add(path, "renamed", "this wire calls a developer's words system", loss=False)
        parts = self._blocks(message, path)
        how, in_place = self._dialect.inline_system, marks(message.opaque, WIRE).get("place") == "messages"
        if not self._begun and not in_place:
            if self.system:
                self._notes.add(path, "merged", "this wire has one system prompt", loss=False)
            self._prompt = self._prompt or message
            self.system += parts
        elif how == "native" or in_place:
            self._put("system", message, parts, path)
        elif how == "merged":
            self._notes.add(path, "moved", "this server knows one system prompt, at the start")
            self.system += parts
        elif parts:
            self._begun = True
            self._notes.add(path, "substituted", "this server wants instructions in a user turn")
            text = "\n".join(part["text"] for part in parts if part.get("type") == "text")
            self.out.append({"role": "user", "content": text.join(UPDATE)})

    def _tool(self, message: Message, path: Path, *, bare: bool) -> None:
        results: list[Bag] = []
        rest: list[Bag] = []
        for at, block in enumerate(message.content):
            if isinstance(block, ToolResult):
                results.append(self._result(block, path, at))
            else:
                rest += self._block(block, message, path, at)
        if bare and results and not rest and self._batch is None:
            self._begun, self._batch = True, (results, len(results))
            self.out.append({"role": "user", "content": results})
            return
        if not results and not rest:
            return
        spelled = marks(message.opaque, WIRE)
        if self._batch is not None and not spelled.get("apart"):
            self._notes.add(path, "merged", "all results of one batch go in one user turn (S3-06)", loss=False)
            parts, count = self._batch
            parts[count:count] = results
            parts += rest
            self._batch = (parts, count + len(results))
            self.out[-1]["content"] = parts
            return
        self._begun = True
        parts = [*results, *rest]
        self._batch = (parts, len(results))
        content = _ordered(parts, listed(spelled, "order", int))
        self.out.append(restore({"role": "user", "content": content}, bag(message.opaque, WIRE)))

    def _put(self, role: str, message: Message, parts: list[Bag], path: Path) -> None:
        spelled, left = marks(message.opaque, WIRE), own(message.opaque, WIRE)
        out: Bag = {"role": role}
        if parts and (len(parts) > 1 or not is_plain(parts[0]) or spelled.get("content") == "list"):
            out["content"] = parts
        elif parts:
            out["content"] = parts[0]["text"]
        elif message.content or not spelled.get("content"):
            if "content" not in left:
                self._notes.add(path, "dropped", "nothing of this message can be said here", loss=False)
                return
        elif spelled["content"] != "absent":
            out["content"] = [] if spelled["content"] == "list" else ""
        self.out.append(restore(out, left))

    def _blocks(self, message: Message, path: Path) -> list[Bag]:
        out: list[Bag] = []
        for at, block in enumerate(message.content):
            if isinstance(block, ToolCall):
                out.append(self._call(block, path, at))
                continue
            text = plain.write_text(block)
            if text is not None:
                out.append(text)
            else:
                out += self._block(block, message, path, at)
        return out

    def _block(self, block: Content, message: Message, path: Path, at: int) -> list[Bag]:
        if isinstance(block, ToolCall):
            return [self._call(block, path, at)]
        if isinstance(block, ToolResult):
            return [self._result(block, path, at)]
        place = (*path, "content", at)
        match block:
            case Reasoning():
                return encode_replayed(block, message, (self._dialect, self._notes, place, self._target))
            case ToolsChange():
                return encode_change(block, self._notes, place, inside=message.role in INSTRUCTIONS)
            case Media() if message.role in ("assistant", *INSTRUCTIONS) and not marks(block.opaque, WIRE).get("said"):
                self._notes.add(place, "dropped", f"a turn of the {message.role} holds no {block.kind} here")
                return []
            case HostedCall() | HostedResult():
                entry = encode_hosted(block, self._notes, place)
            case _:
                entry = encode_part(block, self._notes, place)
        return [] if entry is None else [entry]

    def _call(self, call: ToolCall, path: Path, at: int) -> Bag:
        entry = plain.write_call(call)
        if entry is None:
            entry = encode_call(call, self._notes, (*path, "content", at))
            if has_made_id(call):
                return entry
        made = self._legal(call.id)
        if made in self._turns:
            made = self._another(made)
        self._turns[made] = 1
        self._current[call.id] = made
        if made != call.id:
            self.ids[made] = call.id
            self._notes.add((*path, "content", at, "id"), "renamed", f"this wire calls it {made}", loss=False)
            entry["id"] = made
        return entry

    def _another(self, id: str) -> str:
        """What a further call of an id that was written is called."""
        made = id
        while made in self._turns:
            self._turns[id] += 1
            made = self._legal(f"{id}_{self._turns[id]}")
        return made

    def _result(self, result: ToolResult, path: Path, at: int) -> Bag:
        entry = plain.write_result(result) or encode_result(result, self._notes, (*path, "content", at))
        if result.call_id:
            made = self._current.get(result.call_id) or self._legal(result.call_id)
            if made != result.call_id:
                place = (*path, "content", at, "call_id")
                self._notes.add(place, "renamed", f"this wire calls it {made}", loss=False)
            entry["tool_use_id"] = made
        return entry


def encode_replayed(block: Reasoning, message: Message, to: tuple[Dialect, Notes, Path, Origin]) -> list[Bag]:
    """Reasoning goes back verbatim, with its signature, when its origin may be replayed; anything else is dropped and
    noted: a thinking block that this wire did not sign is refused by its server (dialects §1.3)."""
    dialect, notes, path, target = to
    origin = block.origin or message.origin
    notes.leftovers(block.opaque, WIRE, path)
    if not may_replay(origin, target, dialect):
        notes.add(path, "dropped", "reasoning of this origin is not sent to this server")
        return []
    lenient = dialect.replay in ("always", "required")  # compatible servers that sign nothing want it back all the same
    if is_signed(block) or (lenient and (is_own_kind(block) or thought(block))):
        return [encode_reasoning(block)]
    if is_own_kind(block) and origin is None:
        return [encode_reasoning(block)]
    notes.add(path, "dropped", "reasoning that this wire has not signed would be refused")
    return []


def encode_shown(message: Message, notes: Notes, path: Path) -> list[Bag]:
    """The content of a reply for a client: reasoning of any origin is shown, ids stay as they are."""
    content: list[Bag] = []
    for at, block in enumerate(message.content):
        place = (*path, "content", at)
        match block:
            case Reasoning():
                entry = encode_thinking(block, notes, place)
            case ToolCall():
                entry = encode_call(block, notes, place)
            case HostedCall() | HostedResult():
                entry = encode_hosted(block, notes, place)
            case Media() if not block.transcript:
                notes.add(place, "dropped", f"a reply of this wire holds no {block.kind}")
                entry = None
            case _:
                entry = encode_part(block, notes, place)
        if entry is not None:
            content.append(entry)
    return content


def encode_thinking(block: Reasoning, notes: Notes, path: Path) -> Bag | None:
    """Reasoning as clients are shown it; None, with a note, when there is neither text nor a state of this wire."""
    notes.leftovers(block.opaque, WIRE, path)
    if not thought(block) and not is_own_kind(block):
        notes.add(path, "dropped", "reasoning without text, in a state that only its own wire reads")
        return None
    return encode_reasoning(block)


def _ordered(parts: list[Bag], order: list[int] | None) -> list[Bag]:
    """Parts in the order that a client wrote them, while they are as many as then."""
    if order is None or len(order) != len(parts) or sorted(order) != [*range(len(parts))]:
        return parts
    return [part for _, part in sorted(zip(order, parts, strict=True), key=itemgetter(0))]
