"""The messages of a chat request, and the one message of a reply: middle to JSON."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from dragoman.dialect.model import Dialect
from dragoman.types.base import Origin
from dragoman.types.content import (
    Content,
    Foreign,
    Json,
    Media,
    Reasoning,
    Refusal,
    Text,
    ToolCall,
    ToolResult,
    ToolsChange,
)
from dragoman.types.message import Message
from dragoman.types.note import Path
from dragoman.types.opaque import bag, listed, marks, restore
from dragoman.wire.base import Notes, own
from dragoman.wire.chat import plain
from dragoman.wire.chat.calls import encode_call, encode_legacy, is_legacy
from dragoman.wire.chat.fit import MessageFitter
from dragoman.wire.chat.parts import WIRE, encode_part, is_annotation, note_phase
from dragoman.wire.chat.thoughts import IN_TEXT, in_text
from dragoman.wire.replay import may_replay

LINE = "\n"
NO_OUTPUT = "(no tool output)"  # S0-40
SEE_IMAGE = "(see attached image)"  # S0-40


class HistoryEncoder:
    """Writes messages one by one; images of tool results wait until their run of results ends (S0-41 to S0-44)."""

    def __init__(self, dialect: Dialect, notes: Notes, target: Origin) -> None:
        self._dialect = dialect
        self._notes = notes
        self._target = target
        self._fitter = MessageFitter(dialect, notes)
        self._as_is = self._fitter.idle and dialect.assistant_after_tool is None
        self._pending: list[dict[str, Any]] = []
        self._instructions: dict[str, Any] | None = None
        self.out: list[dict[str, Any]] = []

    def encode(self, message: Message, path: Path) -> None:
        """Write one message, after the images that waited, unless it goes on with results."""
        if message.role == "tool":
            results = plain.write_results(message)
            if results is None:
                self._tool(message, path)
            else:
                self._put_plain(results, path)
            return
        if self._pending:
            self.flush()
        at_once = plain.write_message(message, self._dialect)
        if at_once is not None:
            if self._as_is:
                self.out.append(at_once)
            else:
                self._put(at_once, path)
            return
        self._notes.leftovers(message.opaque, WIRE, path)
        if message.role == "assistant":
            written = encode_assistant(message, self._dialect, self._notes, path, self._target)
        else:
            written = self._plain(message, path)
        if written is None:
            if message.name is not None:
                self._notes.add((*path, "name"), "dropped", "nothing of this message can be said here")
        elif not self._merged(written, path):
            self._put(written, path)

    def _put_plain(self, written: Sequence[dict[str, Any]], path: Path) -> None:
        """Write messages without a name, which most dialects take as they are."""
        if self._as_is:
            self.out += written
            return
        for one in written:
            self._put(one, path)

    def _put(self, written: dict[str, Any], path: Path) -> None:
        """Write a message as the dialect wants it; some servers refuse a user right after a result."""
        filler = self._dialect.assistant_after_tool
        if filler is not None and written["role"] == "user" and self.out and self.out[-1]["role"] == "tool":
            self.out.append({"role": "assistant", "content": filler})
            self._notes.add(
                path, "synthesised", "this server wants an assistant between results and a user", loss=False
            )
        self.out.append(self._fitter.fit(written, path))

    def _merged(self, written: dict[str, Any], path: Path) -> bool:
        """Whether these instructions went into the first ones, for servers that take one such message only."""
        if not self._dialect.one_system_message or written["role"] not in ("system", "developer"):
            return False
        first = self._instructions
        if first is None:
            self._instructions = written
            return False
        first["content"] = f"{_as_text(first['content'])}\n\n{_as_text(written['content'])}"
        self._notes.add(path, "merged", "this server takes one system message: added to the first")
        return True

    def flush(self) -> None:
        """Write the images that wait, as one user message that no user wrote (S0-46)."""
        if self._pending:
            note = {"type": "text", "text": self._dialect.image_note}
            pending, self._pending = self._pending, []
            self._put({"role": "user", "content": [note, *pending]}, ("messages",))

    def _plain(self, message: Message, path: Path) -> dict[str, Any] | None:
        role: str = message.role
        wanted = self._dialect.instruction_role
        if wanted is not None and role in ("system", "developer") and role != wanted:
            self._notes.add((*path, "role"), "renamed", f"this server calls it {wanted}", loss=False)
            role = wanted
        out: dict[str, Any] = {"role": role}
        parts = self._parts(list(enumerate(message.content)), path)
        if parts or not message.content or marks(message.opaque, WIRE):
            put_content(out, message, parts)
        else:
            return None
        if message.name is not None:
            out["name"] = message.name
        return restore(out, bag(message.opaque, WIRE))

    def _parts(self, blocks: Sequence[tuple[int, Content]], path: Path) -> list[dict[str, Any]]:
        """Content parts; tools that come or go are no content: `put_tools` offers them."""
        written = (
            encode_part(block, self._dialect, self._notes, (*path, "content", at))
            for at, block in blocks
            if not isinstance(block, ToolsChange)
        )
        return [part for part in written if part is not None]

    def _tool(self, message: Message, path: Path) -> None:
        self._notes.leftovers(message.opaque, WIRE, path)
        rest: list[tuple[int, Content]] = []
        spelled, left = marks(message.opaque, WIRE), own(message.opaque, WIRE)
        if "content" in left:  # an explicit null
            spelled = {**spelled, "content": "absent"}
        for at, block in enumerate(message.content):
            if not isinstance(block, ToolResult):
                rest.append((at, block))
                continue
            self._put(restore(self._result(block, spelled, (*path, "content", at)), left), path)
            spelled, left = {}, {}
        parts = self._parts(rest, path)
        if parts:
            self.flush()
            self._notes.add(path, "moved", "what followed the tool results became a user message", loss=False)
            self._put({"role": "user", "content": parts}, path)

    def _result(self, result: ToolResult, spelled: dict[str, Any], path: Path) -> dict[str, Any]:
        self._notes.leftovers(result.opaque, WIRE, path)
        out: dict[str, Any] = {"role": "function"} if spelled.get("legacy") else {"role": "tool"}
        if not spelled.get("legacy") and (spelled.get("tool_call_id") != "absent" or result.call_id):
            out["tool_call_id"] = result.call_id
        if result.name is not None and (spelled.get("name") or spelled.get("legacy") or self._dialect.tool_result_name):
            out["name"] = result.name
        if result.is_error is not None:
            reason = "a result's words tell the failure here, there is no flag (S0-49)"
            self._notes.add((*path, "is_error"), "dropped", reason, loss=result.is_error)
        if result.cache is not None:
            self._notes.add((*path, "cache"), "dropped", "the chat wire has no cache hint on results")
        if spelled.get("content") == "list":
            parts = [
                encode_part(item, self._dialect, self._notes, (*path, "content", at))
                for at, item in enumerate(result.content)
            ]
            out["content"] = [part for part in parts if part is not None]
        elif spelled.get("content") != "absent" or result.content:
            out["content"] = self._result_text(result, spelled, path)
        return out

    def _result_text(self, result: ToolResult, spelled: dict[str, Any], path: Path) -> str:
        """Texts joined by line breaks; images are put aside; empty results say so (S0-39, S0-40)."""
        texts: list[str] = []
        images = len(self._pending)
        for at, item in enumerate(result.content):
            place = (*path, "content", at)
            match item:
                case Text():
                    texts.append(item.text)
                    self._notes.leftovers(item.opaque, WIRE, place)
                    if item.cache is not None:
                        self._notes.add((*place, "cache"), "dropped", "a result written as text holds no cache hint")
                case Json():
                    texts.append(item.value)
                    self._notes.add(place, "substituted", "a chat result holds text: its JSON text", loss=False)
                case Media() | Foreign():
                    part = encode_part(item, self._dialect, self._notes, place)
                    if part is not None:
                        self._pending.append(part)
                        self._notes.add(place, "moved", "results hold text only: sent in a user message", loss=False)
        text = "\n".join(texts)
        if text or spelled.get("content") == "empty":
            return text
        said = SEE_IMAGE if len(self._pending) > images else NO_OUTPUT
        self._notes.add((*path, "content"), "synthesised", f"a result without text says {said!r}", loss=False)
        return said


def encode_assistant(
    message: Message, dialect: Dialect, notes: Notes, path: Path, target: Origin
) -> dict[str, Any] | None:
    """An assistant message. None when nothing of it can be said here."""
    out: dict[str, Any] = {"role": "assistant"}
    texts: list[tuple[Path, Content]] = []
    calls: list[tuple[Path, ToolCall]] = []
    reasoning: dict[str, Any] = {}
    for at, block in enumerate(message.content):
        place = (*path, "content", at)
        match block:
            case Text():
                if calls:
                    notes.add(place, "moved", "a chat message says its text before its calls", loss=False)
                texts.append((place, block))
            case ToolCall():
                calls.append((place, block))
            case Reasoning():
                thought = _put_reasoning(reasoning, block, message, (dialect, notes, place, target))
                if thought is not None:
                    texts.append((place, thought))
            case ToolsChange():
                pass  # `put_tools` offers them
            case Refusal() if not marks(block.opaque, WIRE).get("part"):
                out["refusal"] = f"{out['refusal']}\n{block.text}" if "refusal" in out else block.text
            case Media(kind="audio", data=str()) if "audio" not in out:
                voice = {"data": block.data} | ({} if block.transcript is None else {"transcript": block.transcript})
                out["audio"] = restore(voice, bag(block.opaque, WIRE))
                if block.media_type is not None:
                    notes.add((*place, "media_type"), "dropped", "the chat wire does not say the type of a voice")
            case _:
                texts.append((place, block))
    _put_texts(out, message, texts, bool(calls), (dialect, notes))
    out |= reasoning
    legacy = [call for _, call in calls if is_legacy(call)]
    if legacy and len(calls) == 1:
        out["function_call"] = encode_legacy(legacy[0])
    elif calls:
        out["tool_calls"] = [encode_call(call, notes, place) for place, call in calls]
    if message.name is not None:
        out["name"] = message.name
    _put_prefill(out, message, (dialect, notes, path))
    out = restore(out, bag(message.opaque, WIRE))
    said = any(value not in (None, "") for key, value in out.items() if key != "role") or bag(message.opaque, WIRE)
    return out if said or not message.content or any(isinstance(block, Text) for _, block in texts) else None


def _put_prefill(out: dict[str, Any], message: Message, to: tuple[Dialect, Notes, Path]) -> None:
    """Said where the server has a word for it, or a client of this wire said it."""
    dialect, notes, path = to
    key = dialect.prefill_key or ("prefix" if marks(message.opaque, WIRE).get("prefill") else None)
    if key is not None and message.prefill is not None:
        out[key] = message.prefill
    elif message.prefill:
        notes.add((*path, "prefill"), "dropped", "this server has no word for an answer that is to be gone on with")


def _as_text(content: Any) -> str:
    """The text of written content."""
    if isinstance(content, list):
        return "\n".join(part["text"] for part in content if isinstance(part.get("text"), str))
    return content if isinstance(content, str) else ""


def put_content(out: dict[str, Any], message: Message, parts: list[dict[str, Any]]) -> None:
    """Write `content` of a user, system or developer message: a lone plain text is a string (S0-29)."""
    spelled = marks(message.opaque, WIRE).get("content")
    if spelled == "list":
        out["content"] = parts
    elif len(parts) == 1 and set(parts[0]) == {"type", "text"}:
        out["content"] = parts[0]["text"]
    elif parts:
        out["content"] = parts
    elif spelled != "absent" and "content" not in own(message.opaque, WIRE):
        out["content"] = ""


def _put_texts(
    out: dict[str, Any],
    message: Message,
    texts: list[tuple[Path, Content]],
    has_calls: bool,
    to: tuple[Dialect, Notes],
) -> None:
    """`content` of an assistant message: texts joined by line breaks (S0-32), null beside calls only (S0-35)."""
    dialect, notes = to
    spelled = marks(message.opaque, WIRE).get("content")
    if spelled == "list":
        parts = [encode_part(block, dialect, notes, place) for place, block in texts]
        out["content"] = [part for part in parts if part is not None]
        return
    words: list[str] = []
    citations: list[Any] = []
    for place, block in texts:
        part = encode_part(block, dialect, notes, place)
        if part is None:
            continue
        if part.get("type") != "text":
            notes.add(place, "dropped", f"an assistant's content cannot hold a part of type {part.get('type')!r}")
            continue
        words.append(part["text"])
        if isinstance(block, Text):
            citations += [item for item in block.citations or () if is_annotation(item)]
            note_phase(block, notes, place)
    if citations:
        out["annotations"] = citations
    text = ("" if citations else "\n").join(words)
    if words or (spelled == "empty"):
        out["content"] = text
    elif "content" in own(message.opaque, WIRE):
        out["content"] = None
    elif spelled != "absent":
        out["content"] = None if has_calls and dialect.empty_content == "null" else ""


def _put_reasoning(
    out: dict[str, Any], block: Reasoning, message: Message, to: tuple[Dialect, Notes, Path, Origin]
) -> Text | None:
    """Reasoning goes back under the key it came by, or the dialect's, when its origin may be replayed.

    For a server that wants it in the text: that text.
    """
    dialect, notes, place, target = to
    keys = listed(marks(block.opaque, WIRE), "key", str)
    if keys is None:
        keys = [dialect.reasoning_out] if dialect.reasoning_out is not None else None
    notes.leftovers(block.opaque, WIRE, place)
    if keys is None or not may_replay(block.origin or message.origin, target, dialect):
        notes.add(place, "dropped", "reasoning of this origin is not sent to this server")
        return None
    text = block.text if block.text is not None else "\n".join(block.summary or ())
    if not text and not own(block.opaque, WIRE):
        notes.add(place, "dropped", "reasoning without a readable word has no place on the chat wire")
        return None
    for key in keys if keys != [IN_TEXT] else ():
        before = out.get(key)
        out[key] = f"{before}{'' if text.startswith(LINE) else LINE}{text}" if before else text
    for key, value in own(block.opaque, WIRE).items():
        before = out.get(key)
        out[key] = [*before, *value] if isinstance(before, list) and isinstance(value, list) else value
    return in_text(text) if text and keys == [IN_TEXT] else None
