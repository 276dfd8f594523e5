"""Messages in the middle format to those of this wire."""

from __future__ import annotations

from typing import Any

from dragoman.dialect.model import Dialect
from dragoman.types.base import Origin
from dragoman.types.content import Content, Json, Media, Reasoning, Refusal, Text, ToolCall, ToolResult, ToolsChange
from dragoman.types.message import Message
from dragoman.types.note import Path
from dragoman.types.opaque import bag, marks, restore
from dragoman.wire.base import Notes, own
from dragoman.wire.kinds import kind_of
from dragoman.wire.media import guess_type, split_data_url
from dragoman.wire.ollama.calls import encode_call
from dragoman.wire.ollama.stops import WIRE
from dragoman.wire.replay import may_replay

ROLES = {"developer": "system"}


class HistoryEncoder:
    """Writes messages one by one; a result says the name of the tool it answers, which servers go by."""

    def __init__(self, dialect: Dialect, notes: Notes, target: Origin) -> None:
        self._dialect = dialect
        self._notes = notes
        self._target = target
        self._names: dict[str, str] = {}
        self.out: list[dict[str, Any]] = []

    def encode(self, message: Message, path: Path) -> None:
        """Write one message: one element, or one for each of its results."""
        self._notes.leftovers(message.opaque, WIRE, path)
        for block in message.content:
            if isinstance(block, ToolCall):
                self._names[block.id] = block.name
        if message.name is not None:
            self._notes.add((*path, "name"), "dropped", "this wire has no names of speakers")
        if message.role == "tool":
            self._tool(message, path)
            return
        if message.content and all(isinstance(block, ToolsChange) for block in message.content):
            return  # `put_tools` offers them
        written = write_message(message, (self._dialect, self._notes, self._target), path)
        if len(written) > 1 or not message.content or bag(message.opaque, WIRE) or _says(message):
            self.out.append(written)

    def _tool(self, message: Message, path: Path) -> None:
        left, spelled = own(message.opaque, WIRE), marks(message.opaque, WIRE)
        rest: list[tuple[int, Content]] = []
        for at, block in enumerate(message.content):
            if not isinstance(block, ToolResult):
                rest.append((at, block))
                continue
            self.out.append(restore(self._result(block, spelled, (*path, "content", at)), left))
            left, spelled = {}, {}
        if rest:
            self._notes.add(path, "moved", "what followed the tool results became a user message", loss=False)
            writer = _Writer((self._dialect, self._notes, self._target))
            writer.blocks(rest, message, path)
            self.out.append({"role": "user"} | writer.said({}))

    def _result(self, result: ToolResult, spelled: dict[str, Any], path: Path) -> dict[str, Any]:
        notes = self._notes
        notes.leftovers(result.opaque, WIRE, path)
        if result.is_error is not None:
            reason = "a result's words tell the failure here, there is no flag (S0-49)"
            notes.add((*path, "is_error"), "dropped", reason, loss=result.is_error)
        if result.cache is not None:
            notes.add((*path, "cache"), "dropped", "this wire has no cache hints")
        writer = _Writer((self._dialect, notes, self._target))
        writer.blocks(list(enumerate(result.content)), Message(role="tool", content=()), path)
        out: dict[str, Any] = {"role": "tool"} | writer.said(spelled)
        name = result.name if result.name is not None else self._names.get(result.call_id)
        if name is not None and (result.name is not None or spelled.get("tool_name") != "absent"):
            out["tool_name"] = name
        if spelled.get("made") != result.call_id:
            out["tool_call_id"] = result.call_id
        return out


def write_message(message: Message, to: tuple[Dialect, Notes, Origin], path: Path) -> dict[str, Any]:
    """One element of `messages`, or the message of a reply."""
    _, notes, _ = to
    role = ROLES.get(message.role, message.role)
    if role != message.role:
        notes.add((*path, "role"), "renamed", f"this wire calls it {role}", loss=False)
        for at in range(len(message.content)):
            notes.add((*path, "content", at), "renamed", f"this wire calls the role {role}", loss=False)
    if message.prefill is not None:
        notes.add((*path, "prefill"), "dropped", "an answer that stands last is gone on with anyway", loss=False)
    writer = _Writer(to)
    writer.blocks(list(enumerate(message.content)), message, path)
    return restore({"role": role} | writer.said(marks(message.opaque, WIRE)), bag(message.opaque, WIRE))


def _says(message: Message) -> bool:
    return any(isinstance(block, Text) for block in message.content)


class _Writer:
    """Gathers what the blocks of one message say."""

    def __init__(self, to: tuple[Dialect, Notes, Origin]) -> None:
        self._dialect, self._notes, self._target = to
        self._texts: list[str] = []
        self._thoughts: list[str] = []
        self._images: list[str] = []
        self._calls: list[dict[str, Any]] = []

    def said(self, spelled: dict[str, Any]) -> dict[str, Any]:
        """The keys of the message."""
        out: dict[str, Any] = {}
        if self._texts or spelled.get("content") != "absent":
            out["content"] = "\n".join(self._texts)
        if self._thoughts:
            out["thinking"] = "\n".join(self._thoughts)
        if self._images:
            out["images"] = self._images
        if self._calls:
            out["tool_calls"] = self._calls
        return out

    def blocks(self, blocks: list[tuple[int, Content]], message: Message, path: Path) -> None:
        """Take in each block, with its place in the message."""
        for at, block in blocks:
            self._block(block, message, (*path, "content", at))

    def _block(self, block: Content, message: Message, path: Path) -> None:
        notes = self._notes
        match block:
            case ToolsChange():
                return  # `put_tools` offers them
            case ToolCall():
                self._calls.append(encode_call(block, notes, path))
                return
            case Media():
                data = image_data(block, notes, path)
                self._images += [] if data is None else [data]
            case Reasoning():
                self._thought(block, message, path)
            case _:
                text = block_text(block, notes, path)
                self._texts += [] if text is None else [text]
                return
        notes.leftovers(block.opaque, WIRE, path)
        if block.cache is not None:
            notes.add((*path, "cache"), "dropped", "this wire has no cache hints")

    def _thought(self, block: Reasoning, message: Message, path: Path) -> None:
        if not may_replay(block.origin or message.origin, self._target, self._dialect):
            self._notes.add(path, "dropped", "reasoning of this origin is not sent back")
            return
        text = block.text if block.text is not None else "\n".join(block.summary or ())
        if not text:
            self._notes.add(path, "dropped", "reasoning without a readable word has no place on this wire")
            return
        if block.text is not None and block.summary:
            self._notes.add((*path, "summary"), "dropped", "thinking is one text here")
        if block.redacted:
            self._notes.add((*path, "redacted"), "dropped", "thinking is one text here")
        self._thoughts.append(text)


def image_data(media: Media, notes: Notes, path: Path) -> str | None:
    """The base64 of an image, what is said beside it noted; None for what this wire cannot show."""
    split = split_data_url(media.url) if media.url is not None else None
    kind, data = split or (media.media_type, media.data)
    if media.kind != "image" or data is None:
        notes.add(path, "dropped", f"this wire takes images by their bytes, no {media.kind} of this form")
        return None
    if split is not None:
        notes.add((*path, "url"), "substituted", "the data of the address stands by itself here", loss=False)
    if kind is not None and kind != guess_type(data):
        notes.add((*path, "media_type"), "dropped", "this wire does not say the type of an image")
    for field in ("name", "detail", "transcript"):
        if getattr(media, field) is not None:
            loss = getattr(media, field) != "auto"
            notes.add((*path, field), "dropped", f"an image has no {field} here", loss=loss)
    return data


def block_text(block: Content, notes: Notes, path: Path) -> str | None:
    """The text of one block, what it holds beside it noted; None for a block that is no text."""
    if not isinstance(block, Text | Refusal | Json):
        notes.add(path, "dropped", f"this wire has no place for a block of type {kind_of(block)}")
        return None
    notes.leftovers(block.opaque, WIRE, path)
    if block.cache is not None:
        notes.add((*path, "cache"), "dropped", "this wire has no cache hints")
    if isinstance(block, Json):
        notes.add(path, "substituted", "a result holds text: its JSON text", loss=False)
        return block.value
    if isinstance(block, Refusal):
        notes.add(path, "substituted", "a refusal is text like any other here")
        return block.text
    if block.citations is not None:
        notes.add((*path, "citations"), "dropped", "this wire has no citations")
    if block.phase is not None:
        notes.add((*path, "phase"), "dropped", "commentary and answer are not told apart here")
    return block.text
