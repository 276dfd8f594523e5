"""Logs of Claude Code (~/.claude/projects/FOLDER/ID.jsonl, seen with 2.1.197): a line a block, a tree by `parentUuid`."""

from __future__ import annotations

from typing import Any

from dragoman.logs.part import Gathered, Part, decoded, replied
from dragoman.types.message import Message

NEVER_SAID = "<synthetic>"  # the model of what the program itself put in the model's mouth


def is_log(lines: list[dict[str, Any]]) -> bool:
    """Whether these are lines of such a log."""
    return any(
        line.get("type") in ("user", "assistant") and "sessionId" in line and "message" in line for line in lines
    )


def gather(lines: list[dict[str, Any]]) -> Gathered:
    """Read the lines. The blocks of one answer become one message again; what sub-agents did is noted and left out, and
    so is what was taken back. The log does not hold the system prompt.
    """
    gathered = Gathered(origin="claude-code", parts=[Part()])
    turns = _Turns()
    aside = 0
    for line in lines:
        kind, message = line.get("type"), line.get("message")
        if kind not in ("user", "assistant") or not isinstance(message, dict):
            continue
        if line.get("isSidechain"):
            aside += 1
        elif line.get("isApiErrorMessage") or message.get("model") == NEVER_SAID:
            gathered.note("an error that the program showed as an answer")
        elif line.get("isCompactSummary"):
            _close(gathered, turns, summary=_text(message))
            turns = _Turns()
        elif kind == "assistant":
            turns.answer(line, message)
        elif turns.ask(line, message):
            gathered.note("rounds that were taken back before another was tried")
    if aside:
        gathered.note(f"{aside} lines of sub-agents, whose results stand in the conversation")
    _close(gathered, turns)
    return gathered


class _Turns:
    """The turns of one stretch; `bodies` are messages of the wire, `keys` the lines they were made of."""

    def __init__(self) -> None:
        self.bodies: list[dict[str, Any]] = []
        self.keys: list[set[str]] = []

    def answer(self, line: dict[str, Any], message: dict[str, Any]) -> None:
        """A block of an answer; those of one id that follow each other are one message."""
        last = self.bodies[-1] if self.bodies else None
        content = message.get("content")
        if last is not None and last["role"] == "assistant" and last.get("id") == message.get("id"):
            last["content"] = [*last["content"], *(content if isinstance(content, list) else [])]
            last.update({key: message[key] for key in ("usage", "stop_reason") if message.get(key) is not None})
            self.keys[-1].add(str(line.get("uuid")))
        else:
            blocks = content if isinstance(content, list) else [{"type": "text", "text": content}]
            self._add(line, {"role": "assistant", **message, "content": blocks})

    def ask(self, line: dict[str, Any], message: dict[str, Any]) -> bool:
        """A user's message or results; whether it takes back what stood after the one it answers."""
        back = False
        if not _results(message):
            parent = str(line.get("parentUuid"))
            at = next((at for at, keys in enumerate(self.keys) if parent in keys), None)
            later = self.bodies[at + 1 :] if at is not None else []
            back = at is not None and any(body["role"] == "user" and not _results(body) for body in later)
            if back and at is not None:
                del self.bodies[at + 1 :], self.keys[at + 1 :]
        self._add(line, {"role": "user", **message})
        return back

    def _add(self, line: dict[str, Any], body: dict[str, Any]) -> None:
        self.bodies.append(body)
        self.keys.append({str(line.get("uuid"))})


def _close(gathered: Gathered, turns: _Turns, *, summary: str | None = None) -> None:
    """End a stretch of the conversation."""
    part = gathered.parts[-1]
    for body in turns.bodies:
        if body["role"] == "assistant":
            reply = replied("messages", {"type": "message", **body})
            gathered.replies.append(reply)
            part.messages.append(reply.message)
        else:
            part.messages += _said(body)
    if summary is not None:
        part.summary = summary
        gathered.parts.append(Part())


def _said(body: dict[str, Any]) -> tuple[Message, ...]:
    return decoded("messages", {"model": "m", "max_tokens": 1, "messages": [body]})


def _results(message: dict[str, Any]) -> bool:
    content = message.get("content")
    return isinstance(content, list) and any(
        isinstance(block, dict) and block.get("type") == "tool_result" for block in content
    )


def _text(message: dict[str, Any]) -> str:
    content = message.get("content")
    if isinstance(content, str):
        return content
    blocks = content if isinstance(content, list) else []
    texts = [block.get("text") for block in blocks if isinstance(block, dict)]
    return "\n".join(text for text in texts if isinstance(text, str))
