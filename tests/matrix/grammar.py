"""What the strictest clients need of a stream, as rules over its parsed events (docs/architecture.md, "Streams").

Each function takes the events of one stream and gives what is wrong with them, one line each.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

Event = Any
TERMINAL = ("response.completed", "response.incomplete", "response.failed")
# Event → the event that must have come before it for the same item and part.
AFTER = {
    "response.output_text.delta": "response.content_part.added",
    "response.refusal.delta": "response.content_part.added",
    "response.output_text.done": "response.content_part.added",
    "response.refusal.done": "response.content_part.added",
    "response.content_part.done": "response.content_part.added",
    "response.reasoning_summary_text.done": "response.reasoning_summary_part.added",
    "response.reasoning_summary_text.delta": "response.reasoning_summary_part.added",
    "response.reasoning_summary_part.done": "response.reasoning_summary_part.added",
}
# Kind of a part → the events of which one must have said its text whole before the part is done.
WHOLE = {
    "output_text": "response.output_text.done",
    "refusal": "response.refusal.done",
    "summary_text": "response.reasoning_summary_text.done",
}
START_AND_STOP = ("content_block_start", "content_block_delta", "content_block_stop")


def chat(events: list[Event], *, usage_asked: bool = True) -> list[str]:
    """The role first, one id, time and model, a call's id and name in its first piece, one finish a choice, usage when
    asked, [DONE] last."""
    if _failed(events):
        return []
    wrong: list[str] = []
    chunks = [event for event in events if isinstance(event, dict)]
    if events[-1] != "[DONE]" or events.count("[DONE]") != 1:
        wrong.append("no [DONE], or not last")
    first = chunks[0]["choices"][0]["delta"] if chunks and chunks[0]["choices"] else {}
    if first.get("role") != "assistant":
        wrong.append("no role in the first chunk")
    wrong += [f"{key} changes" for key in ("id", "created", "model") if len({chunk.get(key) for chunk in chunks}) != 1]
    wrong += [f"{key} is not said" for key in ("id", "created", "model", "object") if key not in chunks[0]]
    seen: set[int] = set()
    finishes = 0
    for choice in (choice for chunk in chunks for choice in chunk["choices"] if choice.get("index", 0) == 0):
        finishes += choice.get("finish_reason") is not None
        for call in choice.get("delta", {}).get("tool_calls") or ():
            if call["index"] not in seen and not (call.get("id") and (call.get("function") or call["custom"])["name"]):
                wrong.append("a call begins without its id or name")
            seen.add(call["index"])
    if finishes != 1:
        wrong.append(f"{finishes} finishes")
    if not usage_asked and any(chunk.get("usage") for chunk in chunks):
        wrong.append("usage that nobody asked for")
    return wrong


def messages(events: list[Event]) -> list[str]:
    """message_start with usage, blocks one by one from index 0, an empty input at the start of a call, the signature
    within its block, one message_delta with usage, message_stop last."""
    if _failed(events):
        return []
    wrong: list[str] = []
    names = [event["type"] for event in events if event["type"] != "ping"]
    if names[:1] != ["message_start"] or names[-2:] != ["message_delta", "message_stop"]:
        wrong.append(f"begins with {names[:1]}, ends with {names[-2:]}")
    opened, following = -1, 0
    for event in events:
        kind = event["type"]
        if kind == "message_start" and not {"input_tokens", "output_tokens"} <= event["message"]["usage"].keys():
            wrong.append("no usage at the start")
        if kind == "message_delta" and "output_tokens" not in event["usage"]:
            wrong.append("no usage at the end")
        if kind not in START_AND_STOP:
            continue
        if kind == "content_block_start":
            if opened != -1 or event["index"] != following:
                wrong.append(f"block {event['index']} begins where {following} should")
            opened, following = event["index"], following + 1
            if event["content_block"]["type"] == "tool_use" and event["content_block"]["input"] != {}:
                wrong.append("a call begins with arguments")
        elif event["index"] != opened:
            wrong.append(f"{kind} of block {event['index']} inside {opened}")
        if kind == "content_block_stop":
            opened = -1
    return wrong


def responses(events: list[Event]) -> list[str]:
    """Sequence numbers without gaps, created and in_progress first, each part inside its item: added, deltas, text done,
    part done, and only then its item done; one id an item; the terminal output equal to the items that were done."""
    wrong: list[str] = []
    names = [event["type"] for event in events]
    if [event.get("sequence_number") for event in events] != list(range(len(events))):
        wrong.append("sequence numbers with gaps")
    if "error" in names:
        return wrong
    if names[:2] != ["response.created", "response.in_progress"] or names[-1] not in TERMINAL:
        wrong.append(f"begins with {names[:2]}, ends with {names[-1]}")
    opened: dict[int, str | None] = {}
    begun: set[tuple[Any, ...]] = set()
    unfinished: set[tuple[Any, str, Any]] = set()
    done: list[Any] = []
    for event in events:
        kind: str = event["type"]
        at: Any = event.get("output_index")
        if kind == "response.output_item.added":
            opened[at] = event["item"].get("id")
        if at is not None and at not in opened:
            wrong.append(f"{kind} before its item")
        if event.get("item_id") is not None and (at not in opened or event["item_id"] != opened[at]):
            wrong.append(f"{kind} of another item id")
        part = event.get("content_index", event.get("summary_index"))
        if kind.endswith("part.added"):
            begun.add((kind, at, part))
            unfinished.add((at, kind.removesuffix("added"), part))
        elif kind in AFTER and (AFTER[kind], at, part) not in begun:
            wrong.append(f"{kind} before {AFTER[kind]}")
        if kind.endswith("part.done"):
            said = WHOLE.get(event["part"].get("type"))
            if said is not None and (said, at, part) not in begun:
                wrong.append(f"{kind} before {said}")
            unfinished.discard((at, kind.removesuffix("done"), part))
        elif kind in WHOLE.values():
            begun.add((kind, at, part))
        if kind == "response.output_item.done":
            wrong += [f"the item is done before its {name}done" for item, name, _ in unfinished if item == at]
            done.append(event["item"])
    if names[-1] == "response.completed" and events[-1]["response"]["output"] != done:
        wrong.append("the terminal output is not what was done")
    return wrong


def _failed(events: list[Event]) -> bool:
    return any(isinstance(event, dict) and (event.get("error") or event.get("type") == "error") for event in events)


RULES: dict[str, Callable[[list[Event]], list[str]]] = {"chat": chat, "messages": messages, "responses": responses}
