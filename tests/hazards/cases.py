"""What the hazards share: streams of each wire by hand, and one way to read them, however the network cuts them."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from dragoman.dialect.model import BASE, Dialect
from dragoman.types import Collector, Failure, Note, Reasoning, Reply, Text, ToolCall
from dragoman.types.events import StreamEvent
from dragoman.wire import find
from dragoman.wire.base import Exchange

WIRES = ("chat", "messages", "responses")
DONE = b"data: [DONE]\n\n"


@dataclass(frozen=True)
class Seen:
    """What a stream added up to: its events, the reply, the failure if it failed, and the notes."""

    events: tuple[StreamEvent, ...]
    reply: Reply
    failure: Failure | None
    notes: tuple[Note, ...]

    @property
    def calls(self) -> tuple[tuple[str, str, str], ...]:
        """id, name and arguments of each call."""
        return tuple((call.id, call.name, call.arguments) for call in self.reply.calls)

    @property
    def thoughts(self) -> str:
        """All readable reasoning."""
        blocks = [block for block in self.reply.message.content if isinstance(block, Reasoning)]
        return "".join("".join(block.summary or ()) + (block.text or "") for block in blocks)

    @property
    def outline(self) -> tuple[tuple[str, str], ...]:
        """The blocks in order: their kind and their text or arguments."""
        return tuple(_outline(block) for block in self.reply.message.content)


def read(wire: str, pieces: list[bytes], dialect: Dialect = BASE, offered: tuple[str, ...] = ()) -> Seen:
    """A stream as it came in `pieces`."""
    decoder = find(wire).stream_decoder(dialect, Exchange(stream=True, seed="hazard", offered=offered))
    events = [event for piece in pieces for event in decoder.feed(piece)]
    events += decoder.close()
    collector = Collector()
    for event in events:
        collector.feed(event)
    return Seen(tuple(events), collector.reply, collector.failure, tuple(decoder.notes))


def read_however_cut(wire: str, stream: bytes, dialect: Dialect = BASE, offered: tuple[str, ...] = ()) -> Seen:
    """A stream that must give the same events in one piece, byte by byte, and cut in two anywhere."""
    whole = read(wire, [stream], dialect, offered)
    for pieces in cuts(stream):
        assert read(wire, pieces, dialect, offered) == whole
    return whole


def cuts(stream: bytes, at_most: int = 6) -> Iterator[list[bytes]]:
    """Byte by byte, and in two: at every place of a short stream, at `at_most` places spread over a long one."""
    yield [stream[at : at + 1] for at in range(len(stream))]
    for at in range(1, len(stream), max(len(stream) // at_most, 1)):
        yield [stream[:at], stream[at:]]


def whole(wire: str, body: Any, dialect: Dialect = BASE) -> Reply:
    """A whole reply's body, read."""
    return (
        find(wire).decode_reply(json.dumps(body, ensure_ascii=False).encode(), dialect, Exchange(seed="hazard")).value
    )


# --- chat, piece by piece


def piece(**said: Any) -> dict[str, Any]:
    """One entry of a delta's `tool_calls`: what is not given is not said."""
    inner = {key: said.pop(key) for key in ("name", "arguments") if key in said}
    return {**said, "function": inner} if inner else said


def chunk(delta: Any, finish: str | None = None, **more: Any) -> bytes:
    """One chunk of a chat stream."""
    choice = {"index": 0, "delta": delta, "finish_reason": finish}
    head = {"id": "chatcmpl-t1", "object": "chat.completion.chunk", "created": 1700000000, "model": "test-model"}
    return data({**head, "choices": [choice], **more})


def chat(*deltas: Any, finish: str | None = "stop", end: bytes = DONE) -> bytes:
    """A chat stream of these deltas."""
    last = b"" if finish is None else chunk({}, finish)
    return b"".join(chunk(delta) for delta in deltas) + last + end


def calling(*pieces: dict[str, Any], finish: str | None = "tool_calls", end: bytes = DONE) -> bytes:
    """A chat stream with one piece of a call in each chunk."""
    return chat(*({"tool_calls": [each]} for each in pieces), finish=finish, end=end)


def data(value: Any, name: str | None = None) -> bytes:
    """One event."""
    head = "" if name is None else f"event: {name}\n"
    return f"{head}data: {value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)}\n\n".encode()


# --- the same said on each wire


def said(wire: str, *blocks: Any, stop: str = "end", usage: tuple[int, int] | None = None) -> list[bytes]:
    """A reply of these blocks as the events of a wire, its end not cut: `stop` is end, length or tool_calls."""
    writers = {"chat": _chat, "messages": _messages, "responses": _responses}
    return writers[wire](blocks, stop, usage)


def _chat(blocks: tuple[Any, ...], stop: str, usage: tuple[int, int] | None) -> list[bytes]:
    out = [chunk({"role": "assistant", "content": ""})]
    calls = 0
    for block in blocks:
        match block:
            case Text():
                out += [chunk({"content": text}) for text in _halves(block.text)]
            case Reasoning():
                out += [chunk({"reasoning_content": text}) for text in _halves(block.text or "")]
            case ToolCall():
                first = piece(index=calls, id=block.id, type="function", name=block.name, arguments="")
                rest = [piece(index=calls, arguments=text) for text in _halves(block.arguments)]
                out += [chunk({"tool_calls": [each]}) for each in (first, *rest)]
                calls += 1
    out.append(chunk({}, {"end": "stop"}.get(stop, stop)))
    if usage is not None:
        counts = {"prompt_tokens": usage[0], "completion_tokens": usage[1], "total_tokens": sum(usage)}
        out.append(data({"id": "chatcmpl-t1", "object": "chat.completion.chunk", "choices": [], "usage": counts}))
    return [*out, DONE]


def event(value: dict[str, Any]) -> bytes:
    """One event that is named by its type."""
    return data(value, value["type"])


def _messages(blocks: tuple[Any, ...], stop: str, usage: tuple[int, int] | None) -> list[bytes]:
    given, output = usage or (10, 5)
    counts = {"input_tokens": given, "output_tokens": 1}
    head = {"id": "msg_t1", "type": "message", "role": "assistant", "model": "test-model", "content": []}
    message = {**head, "stop_reason": None, "stop_sequence": None, "usage": counts}
    out = [event({"type": "message_start", "message": message})]
    for at, block in enumerate(blocks):
        match block:
            case Text():
                start: dict[str, Any] = {"type": "text", "text": ""}
                deltas = [{"type": "text_delta", "text": text} for text in _halves(block.text)]
            case Reasoning():
                start = {"type": "thinking", "thinking": "", "signature": ""}
                deltas = [{"type": "thinking_delta", "thinking": text} for text in _halves(block.text or "")]
            case _:
                start = {"type": "tool_use", "id": block.id, "name": block.name, "input": {}}
                deltas = [{"type": "input_json_delta", "partial_json": text} for text in _halves(block.arguments)]
        out.append(event({"type": "content_block_start", "index": at, "content_block": start}))
        out += [event({"type": "content_block_delta", "index": at, "delta": delta}) for delta in deltas]
        out.append(event({"type": "content_block_stop", "index": at}))
    word = {"end": "end_turn", "length": "max_tokens", "tool_calls": "tool_use"}[stop]
    last = {"stop_reason": word, "stop_sequence": None}
    out.append(event({"type": "message_delta", "delta": last, "usage": {"output_tokens": output}}))
    return [*out, event({"type": "message_stop"})]


def _responses(blocks: tuple[Any, ...], stop: str, usage: tuple[int, int] | None) -> list[bytes]:
    base: dict[str, Any] = {"id": "resp_t1", "object": "response", "model": "test-model", "status": "in_progress"}
    out = [event({"type": "response.created", "response": {**base, "output": []}})]
    items: list[dict[str, Any]] = []
    for at, block in enumerate(blocks):
        place = {"output_index": at, "item_id": f"item_{at}"}
        match block:
            case Text():
                kind, place = "response.output_text", {**place, "content_index": 0}
                part = {"type": "output_text", "text": block.text, "annotations": []}
                item: dict[str, Any] = {"type": "message", "role": "assistant", "content": [part]}
                begun, text = {**item, "content": []}, block.text
            case Reasoning():
                kind, text = "response.reasoning_text", block.text or ""
                item = {"type": "reasoning", "summary": [], "content": [{"type": "reasoning_text", "text": text}]}
                begun = {**item, "content": []}
            case _:
                kind, text = "response.function_call_arguments", block.arguments
                item = {"type": "function_call", "call_id": block.id, "name": block.name, "arguments": text}
                begun = {**item, "arguments": ""}
        named = {"id": f"item_{at}", "status": "completed"}
        added = {**begun, **named, "status": "in_progress"}
        out.append(event({"type": "response.output_item.added", "output_index": at, "item": added}))
        out += [event({"type": f"{kind}.delta", **place, "delta": delta}) for delta in _halves(text)]
        items.append({**item, **named})
        out.append(event({"type": "response.output_item.done", "output_index": at, "item": items[-1]}))
    given, output = usage or (10, 5)
    counts = {"input_tokens": given, "output_tokens": output, "total_tokens": given + output}
    word = "incomplete" if stop == "length" else "completed"
    last = {**base, "status": word, "output": items, "usage": counts}
    if stop == "length":
        last["incomplete_details"] = {"reason": "max_output_tokens"}
    return [*out, event({"type": f"response.{word}", "response": last})]


def _halves(text: str) -> list[str]:
    return [half for half in (text[: len(text) // 2], text[len(text) // 2 :]) if half]


def _outline(block: Any) -> tuple[str, str]:
    match block:
        case ToolCall():
            return "call", block.arguments
        case Reasoning():
            return "reasoning", "".join(block.summary or ()) + (block.text or "")
        case Text():
            return "text", block.text
        case _:
            return type(block).__name__, ""
