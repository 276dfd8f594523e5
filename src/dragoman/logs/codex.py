"""Logs of Codex (~/.codex/sessions/YYYY/MM/DD/rollout-*.jsonl, seen with 0.171.0): items of the Responses wire, a line each."""

from __future__ import annotations

from typing import Any

from dragoman.logs.part import Gathered, Part, decoded
from dragoman.types.message import assistant
from dragoman.types.reply import Reply, Stop, Usage
from dragoman.wire.figures import count

# Keys that the program adds to items; they are no part of the wire.
ADDED = ("internal_chat_message_metadata_passthrough",)


def is_log(lines: list[dict[str, Any]]) -> bool:
    """Whether these are lines of such a log."""
    return any(line.get("type") in ("session_meta", "response_item") and "payload" in line for line in lines)


def gather(lines: list[dict[str, Any]]) -> Gathered:
    """Read the lines: the items, the instructions, the usage of each answer, and the summaries that stood for the start.
    What else the program kept of itself is not part of the conversation.
    """
    gathered = Gathered(origin="codex", parts=[Part()])
    items: list[dict[str, Any]] = []
    model: str | None = None
    for line in lines:
        payload = line.get("payload")
        if not isinstance(payload, dict):
            continue
        match line.get("type"):
            case "session_meta":
                instructions = payload.get("base_instructions") or payload.get("instructions")
                gathered.system = _text(instructions.get("text") if isinstance(instructions, dict) else instructions)
            case "turn_context":
                model = _text(payload.get("model")) or model
            case "response_item":
                items.append({key: value for key, value in payload.items() if key not in ADDED})
            case "token_usage_record":
                gathered.replies.append(_used(payload.get("usage"), model))
            case "compacted":
                _close(gathered, items)
                gathered.parts[-1].summary = str(payload.get("message") or "")
                gathered.parts.append(Part())
                items = []
            case _:
                pass
    _close(gathered, items)
    return gathered


def _close(gathered: Gathered, items: list[dict[str, Any]]) -> None:
    if items:
        gathered.parts[-1].messages += decoded("responses", {"model": "m", "input": items})


def _text(value: Any) -> str | None:
    return value if isinstance(value, str) else None


def _used(said: Any, model: str | None) -> Reply:
    """The usage of one answer: cached tokens lie within the input, as on the wire."""

    def figure(name: str) -> int | None:
        return count(said.get(name)) if isinstance(said, dict) else None

    usage = Usage(
        input=figure("input_tokens"),
        output=figure("output_tokens"),
        cache_read=figure("cached_input_tokens"),
        reasoning=figure("reasoning_output_tokens"),
    )
    return Reply(message=assistant(), stop=Stop(reason="end"), usage=usage, model=model)
