"""Messages as the input items of a Responses request: middle to JSON."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from dragoman.types.content import Content, Foreign, Json, Text, ToolCall, ToolResult, ToolsChange
from dragoman.types.message import Message
from dragoman.types.note import Path
from dragoman.types.opaque import bag, marks, restore, word
from dragoman.wire.base import Notes, own
from dragoman.wire.responses import plain
from dragoman.wire.responses.calls import ANSWERS, OUTPUTS, answer_type, parsed_or_text
from dragoman.wire.responses.items import To, encode_items, encode_tools_change, note_cache, put_content
from dragoman.wire.responses.parts import FROM_CLIENT, WIRE, encode_part, note_citations

NO_OUTPUT = "(no tool output)"  # S0-40, C-31
INSTRUCTING = ("developer", "system", "user")  # roles that may bring tools in
NO_FIELDS: dict[str, Any] = {}


class HistoryEncoder:
    """Writes messages one by one as items; results are items beside the calls they answer (S3-07)."""

    def __init__(self, to: To) -> None:
        self._to = to
        self._notes = to.notes
        self._calls: dict[str, ToolCall] = {}
        self.out: list[dict[str, Any]] = []

    def encode(self, message: Message, path: Path) -> None:
        """Write the items of one message."""
        if message.role == "assistant":
            for block in message.content:
                if type(block) is ToolCall:
                    self._calls[block.id] = block
        items = plain.write_items(message, self._calls)
        if items is not None:
            self.out += items
            return
        note_unsaid_message(message, self._notes, path)
        match message.role:
            case "assistant":
                self.out += encode_items(message, path, self._to)
                if not message.content:
                    self._notes.add(path, "dropped", "a message that says nothing has no item here", loss=False)
            case "tool":
                self._tool(message, path)
            case _:
                self._plain(message, path)

    def _plain(self, message: Message, path: Path) -> None:
        """A message a person or a program said; tools it brings in and items of its own divide it."""
        rest: list[tuple[int, Content]] = []
        for at, block in enumerate(message.content):
            place = (*path, "content", at)
            if isinstance(block, ToolsChange):
                self._message(message, rest, path)
                self._tools_change(block, message.role, place)
            elif isinstance(block, Foreign) and block.wire == WIRE and not marks(block.opaque, WIRE).get("part"):
                self._message(message, rest, path)
                self.out.append(dict(block.payload))
                if block.kind not in FROM_CLIENT:
                    self._notes.add(place, "moved", "an item of its own belongs to no message", loss=False)
            else:
                rest.append((at, block))
                continue
            rest = []
        self._message(message, rest, path)

    def _message(self, message: Message, blocks: Sequence[tuple[int, Content]], path: Path) -> None:
        if message.content and not blocks:
            return
        role = self._role(message, path)
        parts = self._parts(blocks, role, path)
        spelled = marks(message.opaque, WIRE).get("content")
        if not parts and blocks:
            return
        item: dict[str, Any] = {"role": role}
        left = own(message.opaque, WIRE)
        if not parts and spelled in ("empty", "absent"):
            if spelled == "empty":
                item["content"] = []
        else:
            put_content(item, parts or [{"type": "input_text", "text": ""}], spelled)
        self.out.append(restore(item, left))

    def _role(self, message: Message, path: Path) -> str:
        wanted = self._to.dialect.instruction_role
        if wanted is not None and message.role in ("system", "developer") and message.role != wanted:
            self._notes.add((*path, "role"), "renamed", f"this server calls it {wanted}", loss=False)
            return wanted
        return message.role

    def _parts(self, blocks: Sequence[tuple[int, Content]], role: str, path: Path) -> list[dict[str, Any]]:
        to = self._to
        written = (encode_part(block, role, to.dialect, to.notes, (*path, "content", at)) for at, block in blocks)
        return [part for part in written if part is not None]

    def _tools_change(self, block: ToolsChange, role: str, path: Path) -> None:
        self._notes.leftovers(block.opaque, WIRE, path)
        item = encode_tools_change(block, self._notes, path, role if role in INSTRUCTING else "developer")
        if item is not None:
            self.out.append(item)

    def _tool(self, message: Message, path: Path) -> None:
        rest: list[tuple[int, Content]] = []
        found = next((block for block in message.content if isinstance(block, ToolsChange)), None)
        for at, block in enumerate(message.content):
            place = (*path, "content", at)
            if isinstance(block, ToolResult):
                item = self._result(block, place)
                if item["type"] == "tool_search_output":
                    written = encode_tools_change(found or ToolsChange(add=()), self._notes, place)
                    item["tools"], found = (written or NO_FIELDS).get("tools", []), None
                self.out.append(item)
            elif isinstance(block, ToolsChange):
                if found is block:
                    self._tools_change(block, "developer", place)
            else:
                rest.append((at, block))
        if rest:
            self._notes.add(path, "moved", "what followed the tool results became a user message", loss=False)
            self._message(Message(role="user", content=message.content), rest, path)

    def _result(self, result: ToolResult, path: Path) -> dict[str, Any]:
        self._notes.leftovers(result.opaque, WIRE, path)
        note_cache(result, self._notes, path)
        spelled = marks(result.opaque, WIRE)
        kind = word(spelled, "item", OUTPUTS) or answer_type(self._calls.get(result.call_id), result.kind)
        item: dict[str, Any] = {"type": kind}
        if spelled.get("call_id") != "absent" or result.call_id:
            item["id" if spelled.get("call_id") == "id" else "call_id"] = result.call_id
        if result.name is not None:
            reason = "the responses wire finds the name by the call"
            self._notes.add((*path, "name"), "dropped", reason, loss=False)
        if result.is_error is not None:
            reason = "a result's words tell the failure here, there is no flag (S0-49)"
            self._notes.add((*path, "is_error"), "dropped", reason, loss=result.is_error)
        if result.cache is not None:
            self._notes.add((*path, "cache"), "dropped", "the responses wire has no cache hint on results")
        if kind == "tool_search_output":
            pass
        elif kind in ANSWERS.values():
            self._put_own_output(item, result, spelled)
        else:
            self._put_output(item, result, spelled, path)
        return restore(item, bag(result.opaque, WIRE))

    def _put_output(self, item: dict[str, Any], result: ToolResult, spelled: Mapping[str, Any], path: Path) -> None:
        """Texts joined by line breaks (S0-39); an array of parts when media are among them."""
        form = spelled.get("content")
        texts = _texts(result)
        if form == "list" or len(texts) != len(result.content) or any(block.cache for block in result.content):
            parts = self._parts(list(enumerate(result.content)), "tool", path)
            item["output"] = parts if parts or form == "list" else self._nothing(path)
            return
        for at, block in enumerate(result.content):
            place = (*path, "content", at)
            self._notes.leftovers(block.opaque, WIRE, place)
            if isinstance(block, Text):
                note_citations(block, self._notes, place)
            elif isinstance(block, Json):
                self._notes.add(place, "substituted", "a result written as text: its JSON text", loss=False)
        text = "\n".join(texts)
        if text or form != "absent":
            item["output"] = text or ("" if form == "empty" else self._nothing(path))

    def _nothing(self, path: Path) -> str:
        reason = f"a result without content says {NO_OUTPUT!r}"
        self._notes.add((*path, "content"), "synthesised", reason, loss=False)
        return NO_OUTPUT

    def _put_own_output(self, item: dict[str, Any], result: ToolResult, spelled: Mapping[str, Any]) -> None:
        """The output of a vendor's own tool: the JSON that was said, else one made of the text."""
        text = "\n".join(_texts(result))
        if spelled.get("content") == "value" or any(isinstance(block, Json) for block in result.content):
            item["output"] = parsed_or_text(text)
        elif item["type"] == "shell_call_output":
            outcome = {"type": "exit", "exit_code": 1 if result.is_error else 0}
            item["output"] = [{"stdout": text, "stderr": "", "outcome": outcome}]
        elif spelled.get("content") != "absent":
            item["output"] = text
        if item["type"] == "apply_patch_call_output" and "status" not in own(result.opaque, WIRE):
            item["status"] = "failed" if result.is_error else "completed"


def note_unsaid_message(message: Message, notes: Notes, path: Path) -> None:
    """What a message says beside its content and this wire has no place for."""
    notes.leftovers(message.opaque, WIRE, path)
    if message.name is not None:
        notes.add((*path, "name"), "dropped", "the responses wire has no names on messages")
    if message.prefill:
        notes.add((*path, "prefill"), "dropped", "the responses wire cannot continue a begun answer")


def _texts(result: ToolResult) -> list[str]:
    """The blocks of a result that are text, as text."""
    texts: list[str] = []
    for block in result.content:
        match block:
            case Text():
                texts.append(block.text)
            case Json():
                texts.append(block.value)
            case _:
                pass
    return texts
