"""What a model says, item by item: JSON to blocks, and blocks back to items."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from dragoman.dialect.model import Dialect
from dragoman.types.base import Origin
from dragoman.types.content import (
    Content,
    Foreign,
    HostedCall,
    HostedResult,
    Reasoning,
    Refusal,
    Text,
    ToolCall,
    ToolsChange,
    replaced,
)
from dragoman.types.message import Message
from dragoman.types.note import Path
from dragoman.types.opaque import MARKS, bag, marks, nested, restore, word
from dragoman.wire import jsonio
from dragoman.wire.base import Fields, Notes, own
from dragoman.wire.ids import made_id
from dragoman.wire.jsonio import refuse
from dragoman.wire.kinds import kind_of
from dragoman.wire.replay import may_replay
from dragoman.wire.responses.calls import (
    BUILTIN,
    HOSTED,
    decode_call,
    decode_hosted,
    decode_hosted_result,
    encode_call,
    encode_hosted,
    is_hosted,
)
from dragoman.wire.responses.parts import WIRE, decode_part, encode_part, own_nested, type_of
from dragoman.wire.responses.reasoning import decode_reasoning, encode_reasoning
from dragoman.wire.responses.tools import decode_tools, encode_tools

BRINGS = frozenset({"additional_tools", "tool_search_output"})  # items that bring tools in
ITEM = "~item"  # in the leftovers of a message item's first block: the item's own fields
PHASES = {"commentary": "commentary", "final_answer": "final"}
PHASE_WORDS = {ours: word for word, ours in PHASES.items()}
PREFIXES = {"message": "msg_", "reasoning": "rs_", "function_call": "fc_", "custom_tool_call": "ctc_"}
LOST = "the server keeps nothing, and this reasoning has no state of its own: its id would not be found"
Placed = tuple[int, Content]


class To(NamedTuple):
    """Where items are written to. `seed` is said for a reply, whose items all need ids and statuses; `stateless` for a
    server that keeps nothing, so that an id leads nowhere.
    """

    dialect: Dialect
    notes: Notes
    target: Origin
    seed: str | None = None
    stateless: bool = False


def decode_item(item: Mapping[str, Any], path: Path, notes: Notes, place: Path) -> list[Content]:
    """The blocks of one item of a model's turn: a message item gives one block a part, any other item one block.

    `path` is the item's place in the body, for errors; `place` that of its first block in the middle, for notes.
    """
    kind = type_of(item)
    if kind == "message" or (kind is None and item.get("role") == "assistant"):
        return _decode_message(item, path)
    if kind == "reasoning":
        return [decode_reasoning(item)]
    if kind in HOSTED or (kind in BUILTIN and is_hosted(item)):
        return [decode_hosted(item)]
    if kind in ("function_call", "custom_tool_call") or kind in BUILTIN:
        return [decode_call(item, path, notes, place)]
    if kind == "shell_call_output":
        return [decode_hosted_result(item)]
    if kind == "tool_search_output" and isinstance(item.get("tools"), list):
        return [decode_found_tools(item, path)]
    return [Foreign(wire=WIRE, kind=kind or "item_reference", payload=item)]


def encode_items(message: Message, path: Path, to: To) -> list[dict[str, Any]]:
    """The items of an assistant message, in its order."""
    out: list[dict[str, Any]] = []
    replays = to.seed is not None or may_replay(message.origin, to.target, to.dialect)
    replays = replays and not any(_is_lost(block, to) for block in message.content)
    for group in grouped(message.content, joins=to.seed is not None):
        at, block = group[0]
        place = (*path, "content", at)
        if is_part(block):
            item = encode_message(group, path, to)
        else:
            item = encode_block(block, message, place, to)
        if item is None:
            continue
        if not replays and "id" in item and is_part_or_call(block):
            del item["id"]
            to.notes.add(place, "dropped", "an item's id goes back to the model that gave it only", loss=False)
        if to.seed is not None:
            complete(item, to.seed, len(out))
        out.append(item)
    return out


def encode_block(block: Content, message: Message, path: Path, to: To) -> dict[str, Any] | None:
    """The item of a block that is one by itself; None, with a note, when this wire has none for it."""
    note_cache(block, to.notes, path)
    match block:
        case Reasoning():
            return _encode_reasoning(block, message, path, to)
        case ToolCall():
            return encode_call(block, to.notes, path)
        case HostedCall() | HostedResult():
            return encode_hosted(block, to.notes, path)
        case ToolsChange():
            return encode_tools_change(block, to.notes, path)
        case Foreign(wire="responses"):
            return dict(block.payload)
        case _:
            to.notes.add(path, "dropped", f"the responses wire has no item for a block of type {kind_of(block)}")
            return None


def note_cache(block: Content, notes: Notes, path: Path) -> None:
    """A cache hint on what is no part: this wire has none there."""
    if block.cache is not None:
        notes.add((*path, "cache"), "dropped", "the responses wire has cache hints on content parts only")


def encode_message(group: Sequence[Placed], path: Path, to: To) -> dict[str, Any] | None:
    """A message item of the parts of `group`. None when none of them can be said here."""
    first = group[0][1]
    left = own_nested(first, "item")
    spelled = nested(left, MARKS)
    parts: list[dict[str, Any]] = []
    for at, block in group:
        part = encode_part(block, "assistant", to.dialect, to.notes, (*path, "content", at))
        if part is not None:
            parts.append(part)
    if not parts:
        return None
    item: dict[str, Any] = {"role": "assistant"}
    if ITEM not in bag(first.opaque, WIRE):  # llama-server takes an answer in a history only with its type
        item = {"type": "message", **item}
    phase = next((block.phase for _, block in group if isinstance(block, Text)), None)
    if phase is not None:
        item["phase"] = PHASE_WORDS[phase]
    put_content(item, parts, spelled.get("content") or (None if to.seed is None else "list"))
    return restore(item, left)


def put_content(item: dict[str, Any], parts: list[dict[str, Any]], spelled: Any) -> None:
    """Write `content`: a lone plain text is a string unless it was a list."""
    plain = len(parts) == 1 and set(parts[0]) == {"type", "text"}
    empty = plain and not parts[0]["text"]
    if spelled == "list" or not plain:
        item["content"] = parts
    elif empty and spelled == "empty":
        item["content"] = []
    elif not (empty and spelled == "absent"):
        item["content"] = parts[0]["text"]


def complete(item: dict[str, Any], seed: str, position: int) -> None:
    """Give an item of a reply the type, id and status that strict clients need, where nobody said them."""
    name(item, seed, position)
    if item["type"] in ("message", "function_call"):
        item.setdefault("status", "completed")
    for part in item["content"] if item["type"] == "message" else ():
        if part.get("type") == "output_text":
            part.setdefault("annotations", [])


def name(item: dict[str, Any], seed: str, position: int) -> None:
    """Give an item a type and an id, where nobody said them."""
    item.setdefault("type", "message")
    if not isinstance(item.get("id"), str) or not item["id"]:
        item["id"] = made_id(PREFIXES.get(type_of(item) or "", "item_"), seed, position)


def grouped(blocks: Sequence[Content], *, joins: bool) -> list[list[Placed]]:
    """The blocks of a message by item. Parts of one item stand together: a part that brings an item's fields opens an
    item; one that does not goes on with an item of parts, and, where `joins`, with any message item of its phase."""
    groups: list[list[Placed]] = []
    for at, block in enumerate(blocks):
        if groups and continues(groups[-1][0][1], block, joins=joins):
            groups[-1].append((at, block))
        else:
            groups.append([(at, block)])
    return groups


def continues(first: Content, block: Content, *, joins: bool) -> bool:
    """Whether `block` is a further part of the message item that `first` opened."""
    if not (is_part(first) and is_part(block)) or ITEM in bag(block.opaque, WIRE):
        return False
    phase = getattr(block, "phase", None)
    if phase is not None and isinstance(first, Text) and phase != first.phase:
        return False
    return joins or nested(own_nested(first, "item"), MARKS).get("content") == "list"


def is_part(block: Content) -> bool:
    """Whether a block stands inside a message item."""
    return isinstance(block, Text | Refusal) or bool(
        marks(block.opaque, WIRE).get("part") or ITEM in bag(block.opaque, WIRE)
    )


def is_part_or_call(block: Content) -> bool:
    """Whether an item's id ties it to reasoning items that may not be sent beside it."""
    return is_part(block) or isinstance(block, ToolCall)


def decode_found_tools(item: Mapping[str, Any], path: Path) -> ToolsChange:
    """Tools that a search loaded in mid-conversation."""
    fields = Fields(item)
    fields.marks["item"] = fields.left.pop("type")
    tools = decode_tools(fields.left.pop("tools"), path)
    return ToolsChange(add=tools, opaque=fields.opaque(WIRE))


def encode_tools_change(block: ToolsChange, notes: Notes, path: Path, role: str = "developer") -> dict[str, Any] | None:
    """An item that brings tools in; this wire cannot take tools away."""
    if block.remove:
        notes.add((*path, "remove"), "dropped", "the responses wire cannot take tools away in mid-conversation")
    if block.names:
        notes.add((*path, "names"), "dropped", "the responses wire adds tools by their definition only")
    if block.add is None:
        return None
    kind = word(marks(block.opaque, WIRE), "item", BRINGS) or "additional_tools"
    item: dict[str, Any] = {"type": kind, "tools": encode_tools(block.add, notes, (*path, "add"))}
    if kind == "additional_tools" and marks(block.opaque, WIRE).get("role") != "absent":
        item["role"] = role
    return restore(item, bag(block.opaque, WIRE))


def _decode_message(item: Mapping[str, Any], path: Path) -> list[Content]:
    if item.get("role") != "assistant":  # a compacted history repeats the user's messages: kept whole
        return [Foreign(wire=WIRE, kind="message", payload=item)]
    fields = Fields(item)
    del fields.left["role"]
    word = fields.choice("phase", tuple(PHASES))
    blocks = take_content(fields, "assistant", path)
    if fields.marks.get("content") is not None:
        fields.left[MARKS] = fields.marks
    if word is not None:
        blocks = [_in_phase(block, PHASES[word]) for block in blocks]
    first = blocks[0]
    if word is not None and not any(isinstance(block, Text) for block in blocks):
        fields.left["phase"] = word
    blocks[0] = replaced(first, {**(first.opaque or {}), WIRE: {**bag(first.opaque, WIRE), ITEM: fields.left}})
    return blocks


def take_content(fields: Fields, role: str, path: Path) -> list[Content]:
    """The value of `content` as blocks, one at the least; how it was spelled becomes a mark."""
    content = fields.left.get("content")
    if isinstance(content, str):
        del fields.left["content"]
        return [Text(text=content)]
    if isinstance(content, list):
        del fields.left["content"]
        fields.marks["content"] = "list" if content else "empty"
        blocks = [decode_part(part, role, (*path, "content", at)) for at, part in enumerate(content)]
        return blocks or [Text(text="")]
    if content is not None:
        refuse(f"expected text or an array of parts, got {jsonio.kind(content)}", *path, "content")
    fields.marks["content"] = "absent"
    return [Text(text="")]


def _in_phase(block: Content, phase: Any) -> Content:
    if not isinstance(block, Text):
        return block
    return Text(text=block.text, citations=block.citations, phase=phase, cache=block.cache, opaque=block.opaque)


def _encode_reasoning(block: Reasoning, message: Message, path: Path, to: To) -> dict[str, Any] | None:
    """Reasoning goes back whole to where it came from; a client is shown it whatever its origin."""
    if to.seed is None:
        ours = bool(bag(block.opaque, WIRE))
        lost = _is_lost(block, to)
        if lost or not ours or not may_replay(block.origin or message.origin, to.target, to.dialect):
            to.notes.leftovers(block.opaque, WIRE, path)
            reason = "reasoning of this origin is not sent back on the responses wire"
            to.notes.add(path, "dropped", LOST if lost else reason)
            return None
    return encode_reasoning(block, to.dialect, to.notes, path, shown=to.seed is not None)


def _is_lost(block: Content, to: To) -> bool:
    """Reasoning that is an id alone, which a server that keeps nothing cannot find; the items beside it are paired with
    it by their ids, so these go as well (dialects §1.2).
    """
    if not to.stateless or not isinstance(block, Reasoning) or block.text:
        return False
    return not own(block.opaque, WIRE).get("encrypted_content")
