"""What a careful person would read in a recorded answer: plain JSON paths, not a line of dragoman.

The rules, one for each thing that is compared:

text       the answer's own text blocks, joined without a separator; a refusal is its own thing, not text.
reasoning  chat: the first of reasoning_content, reasoning, reasoning_text that says something, else the readable
           parts of reasoning_details. messages: thinking blocks. responses: of each reasoning item its summary
           parts, then its content parts. Joined without a separator.
calls      what the caller must run, in order. Hosted calls (web search, code execution, MCP, a shell in the
           provider's container, tool search by the server) are not calls; a call that the provider's own program
           makes to the caller's tool is one. Builtin tools that the caller runs (local_shell_call, shell_call
           without a container, apply_patch_call, computer_call, tool_search_call with execution client) count under
           their item type, with their action as arguments.
usage      inclusive: input holds what was read from and written to a cache, output holds the reasoning (added where
           the total shows that it stands beside). A figure that the totals do not contradict stays as said.
failed     HTTP status >= 400, an error object, an error event, status failed; a stream without its last signal:
           chat neither [DONE] nor a finish_reason, messages no message_stop or stop_reason, responses no terminal event.
           A reply cut short by a length limit has not failed.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from matrix.recordings import Entry, events, is_stream

Json = Any
REASONING_KEYS = ("reasoning_content", "reasoning", "reasoning_text")
CALLER_RUNS = {
    "local_shell_call": ("action",),
    "shell_call": ("action",),
    "apply_patch_call": ("operation",),
    "computer_call": ("action", "actions"),
    "tool_search_call": ("arguments",),
}
TERMINAL = ("response.completed", "response.incomplete", "response.failed")


@dataclass(frozen=True)
class Call:
    """One call: its arguments parsed, or the text as it stands where that is not JSON."""

    name: str
    arguments: Json


@dataclass(frozen=True)
class Usage:
    """Inclusive token counts; 0 is also "not reported"."""

    input: int = 0
    cache_read: int = 0
    output: int = 0


@dataclass(frozen=True)
class Reading:
    """One answer as it was understood."""

    text: str = ""
    reasoning: str = ""
    refusal: str = ""
    calls: tuple[Call, ...] = ()
    usage: Usage = Usage()
    failed: bool = False


def read(entry: Entry) -> Reading:
    """The answer of one recorded exchange."""
    if entry["status"] >= 400:
        return Reading(failed=True)
    reader, stream_reader = READERS[entry["wire"]]
    return stream_reader(events(entry)) if is_stream(entry) else reader(entry["response"])


def arguments(text: Json) -> Json:
    """Arguments as JSON where they are JSON, else as they stand."""
    if not isinstance(text, str):
        return text
    try:
        return json.loads(text)
    except ValueError:
        return text


# --- chat


def chat(reply: Json) -> Reading:
    """A whole answer of Chat Completions: the choice with index 0."""
    if reply.get("error"):
        return Reading(failed=True)
    choice = next((c for c in reply["choices"] if c.get("index", 0) == 0), reply["choices"][0])
    message = choice.get("message") or {}  # a content filter may leave none
    text, thought = _chat_content(message.get("content"))
    calls = [_chat_call(call) for call in message.get("tool_calls") or ()]
    legacy = message.get("function_call") or {}
    if legacy.get("name"):
        calls.append(Call(legacy["name"], arguments(legacy.get("arguments"))))
    return Reading(
        text=text,
        reasoning=thought + _chat_reasoning(message),
        refusal=message.get("refusal") or "",
        calls=tuple(calls),
        usage=chat_usage(_chat_counts(reply)),
    )


def chat_stream(chunks: list[Json]) -> Reading:
    """A streamed answer of Chat Completions: the pieces of choice 0 put together."""
    message: dict[str, Any] = {"content": "", "refusal": "", "reasoning_details": [], "function_call": {}}
    calls: dict[int, dict[str, str]] = {}
    counts: Json = None
    ended = failed = False
    for chunk in chunks:
        if not isinstance(chunk, dict):
            ended |= chunk == "[DONE]"
            continue
        failed |= bool(chunk.get("error"))
        counts = _chat_counts(chunk) or counts
        for choice in chunk.get("choices") or ():
            if choice.get("index", 0) == 0:
                ended |= bool(choice.get("finish_reason"))
                _chat_piece(message, calls, choice.get("delta") or {})
    parts = [calls[index] for index in sorted(calls)]
    if message["function_call"].get("name"):
        parts.append(message["function_call"])
    return Reading(
        text=message["content"],
        reasoning=message.get("thought", "") + _chat_reasoning(message),
        refusal=message["refusal"],
        calls=tuple(
            Call(part["name"], part["input"] if "input" in part else arguments(part["arguments"])) for part in parts
        ),
        usage=chat_usage(counts),
        failed=failed or not ended,
    )


def _chat_piece(message: dict[str, Any], calls: dict[int, dict[str, str]], delta: Json) -> None:
    text, thought = _chat_content(delta.get("content"))
    message["content"] += text
    message["thought"] = message.get("thought", "") + thought
    message["refusal"] += delta.get("refusal") or ""
    message["reasoning_details"] += delta.get("reasoning_details") or []
    for key in REASONING_KEYS:
        if delta.get(key):
            message[key] = message.get(key, "") + delta[key]
    if legacy := delta.get("function_call"):
        _grow(message["function_call"], legacy)
    for piece in delta.get("tool_calls") or ():
        call = calls.setdefault(piece.get("index", len(calls)), {"name": "", "arguments": ""})
        _grow(call, piece.get("function") or {})
        if custom := piece.get("custom"):
            call["name"] = call["name"] or custom.get("name") or ""
            call["input"] = call.get("input", "") + (custom.get("input") or "")


def _grow(call: dict[str, str], piece: Json) -> None:
    # Some servers repeat the name with every piece: it is said once, only the arguments grow.
    call["name"] = call.get("name") or piece.get("name") or ""
    call["arguments"] = call.get("arguments", "") + (piece.get("arguments") or "")


def _chat_call(call: Json) -> Call:
    if call.get("type") == "custom":
        return Call(call["custom"]["name"], call["custom"]["input"])
    return Call(call["function"]["name"], arguments(call["function"].get("arguments", "")))


def _chat_content(content: Json) -> tuple[str, str]:
    if not isinstance(content, list):
        return content or "", ""
    text = "".join(part.get("text") or "" for part in content if part.get("type") == "text")
    return text, "".join(_chat_thought(part) for part in content)


def _chat_thought(part: Json) -> str:
    inner = part.get("thinking") if part.get("type") == "thinking" else part.get("summary")
    if isinstance(inner, list):
        return "".join(piece.get("text") or "" for piece in inner)
    return inner if isinstance(inner, str) and part.get("type") in ("thinking", "reasoning") else ""


def _chat_reasoning(message: Json) -> str:
    for key in REASONING_KEYS:
        if message.get(key):
            return message[key]
    details = message.get("reasoning_details") or ()
    return "".join(part.get("text") or part.get("summary") or "" for part in details)


def _chat_counts(reply: Json) -> Json:
    return reply.get("usage") or (reply.get("x_groq") or {}).get("usage")


def chat_usage(counts: Json) -> Usage:
    """prompt_tokens and completion_tokens, made inclusive where the server counts beside them."""
    counts = counts or {}
    given, made = counts.get("prompt_tokens") or 0, counts.get("completion_tokens") or 0
    cached = (
        (counts.get("prompt_tokens_details") or {}).get("cached_tokens")
        or counts.get("prompt_cache_hit_tokens")
        or counts.get("cached_tokens")
        or counts.get("cache_read_input_tokens")
        or 0
    )
    details = counts.get("completion_tokens_details") or {}
    reasoning = details.get("reasoning_tokens") or counts.get("reasoning_tokens") or 0
    return _inclusive(given, cached, made, reasoning, counts.get("total_tokens") or 0)


def _inclusive(given: int, cached: int, made: int, reasoning: int, total: int) -> Usage:
    # A few servers say more cached than given tokens. No total tells which is meant: the input stays as said.
    outside = reasoning and total == given + made + reasoning
    return Usage(input=given, cache_read=cached, output=made + reasoning if outside else made)


# --- messages


def messages(reply: Json) -> Reading:
    """A whole answer of Messages."""
    if reply.get("type") == "error" or reply.get("error"):
        return Reading(failed=True)
    return _messages_blocks(reply["content"], messages_usage(reply.get("usage")), False)


def messages_stream(happened: list[Json]) -> Reading:
    """A streamed answer of Messages: blocks by index, the later figure of each count."""
    blocks: dict[int, dict[str, Any]] = {}
    counts: dict[str, Any] = {}
    stop = failed = False
    for event in happened:
        if not isinstance(event, dict):
            continue
        match event["type"]:
            case "message_start":
                blocks = {index: dict(block) for index, block in enumerate(event["message"].get("content") or ())}
                counts |= event["message"].get("usage") or {}
            case "content_block_start":
                blocks[event["index"]] = dict(event["content_block"])
            case "content_block_delta":
                _messages_piece(blocks[event["index"]], event["delta"])
            case "message_delta":
                counts |= {key: value for key, value in (event.get("usage") or {}).items() if value is not None}
            case "message_stop":
                stop = True
            case "error":
                failed = True
            case _:
                pass
    ordered = [blocks[index] for index in sorted(blocks)]
    return _messages_blocks(ordered, messages_usage(counts), failed or not stop)


def _messages_piece(block: dict[str, Any], delta: Json) -> None:
    match delta["type"]:
        case "text_delta":
            block["text"] = (block.get("text") or "") + delta["text"]
        case "thinking_delta":
            block["thinking"] = (block.get("thinking") or "") + delta["thinking"]
        case "input_json_delta":
            block["json"] = block.get("json", "") + delta["partial_json"]
        case _:
            pass


def _messages_blocks(blocks: Iterable[Json], usage: Usage, failed: bool) -> Reading:
    kept = list(blocks)
    return Reading(
        text="".join(block["text"] for block in kept if block["type"] == "text"),
        reasoning="".join(block["thinking"] for block in kept if block["type"] == "thinking"),
        calls=tuple(
            Call(block["name"], arguments(block["json"]) if block.get("json") else block.get("input"))
            for block in kept
            if block["type"] == "tool_use"
        ),
        usage=usage,
        failed=failed,
    )


def messages_usage(counts: Json) -> Usage:
    """input_tokens is what was neither read from a cache nor written to one: the sum is the input."""
    counts = counts or {}
    cached = counts.get("cache_read_input_tokens") or 0
    written = counts.get("cache_creation_input_tokens") or 0
    return Usage((counts.get("input_tokens") or 0) + cached + written, cached, counts.get("output_tokens") or 0)


# --- responses


def responses(reply: Json) -> Reading:
    """A whole answer of Responses, from its output items."""
    if "output" not in reply:
        return Reading(failed=True)
    return _responses_items(reply["output"], reply)


def responses_stream(happened: list[Json]) -> Reading:
    """A streamed answer of Responses: the finished items, and the terminal event for the rest.

    Some servers end with an empty `output`; then the items are those that the events finished. An item that was
    never finished is what its deltas add up to.
    """
    items: dict[int, dict[str, Any]] = {}
    terminal: Json = None
    failed = False
    for event in happened:
        if not isinstance(event, dict):
            continue
        kind = event.get("type", "")
        if kind in TERMINAL:
            terminal = event["response"]
        elif kind == "error":
            failed = True
        elif kind in ("response.output_item.added", "response.output_item.done"):
            items[event["output_index"]] = dict(event["item"])
        elif kind.endswith(".delta") and event.get("output_index") in items:
            _responses_piece(items[event["output_index"]], kind, event)
    output = (terminal or {}).get("output") or [items[index] for index in sorted(items)]
    reading = _responses_items(output, terminal or {})
    return reading if terminal is not None and not failed else _failed(reading)


def _failed(reading: Reading) -> Reading:
    return Reading(reading.text, reading.reasoning, reading.refusal, reading.calls, reading.usage, failed=True)


def _responses_piece(item: dict[str, Any], kind: str, event: Json) -> None:
    if kind in ("response.function_call_arguments.delta", "response.custom_tool_call_input.delta"):
        key = "arguments" if "function" in kind else "input"
        item[key] = (item.get(key) or "") + event["delta"]
        return
    places = {
        "response.output_text.delta": ("content", "content_index", "output_text", "text"),
        "response.refusal.delta": ("content", "content_index", "refusal", "refusal"),
        "response.reasoning_text.delta": ("content", "content_index", "reasoning_text", "text"),
        "response.reasoning_summary_text.delta": ("summary", "summary_index", "summary_text", "text"),
    }
    if kind in places:
        field, index, type_, key = places[kind]
        item[field] = [dict(part) for part in item.get(field) or ()]
        while len(item[field]) <= event[index]:
            item[field].append({"type": type_, key: ""})
        item[field][event[index]][key] += event["delta"]


def _responses_items(items: Iterable[Json], reply: Json) -> Reading:
    kept = list(items)
    parts = [part for item in kept if item.get("type") == "message" for part in item.get("content") or ()]
    return Reading(
        text="".join(part["text"] for part in parts if part["type"] == "output_text"),
        reasoning="".join(piece for item in kept if item.get("type") == "reasoning" for piece in _thoughts(item)),
        refusal="".join(part["refusal"] for part in parts if part["type"] == "refusal"),
        calls=tuple(call for item in kept if (call := _responses_call(item)) is not None),
        usage=responses_usage(reply.get("usage")),
        failed=reply.get("status") == "failed" or bool(reply.get("error")),
    )


def _thoughts(item: Json) -> Iterator[str]:
    for part in (*(item.get("summary") or ()), *(item.get("content") or ())):
        yield part.get("text") or ""


def _responses_call(item: Json) -> Call | None:
    kind = item.get("type")
    if kind == "function_call":
        return Call(item["name"], arguments(item.get("arguments", "")))
    if kind == "custom_tool_call":
        return Call(item["name"], item["input"])
    hosted = (item.get("environment") or {}).get("type") == "container_reference" or item.get("execution") == "server"
    if kind not in CALLER_RUNS or hosted:
        return None
    return Call(kind, next((arguments(item[key]) for key in CALLER_RUNS[kind] if item.get(key) is not None), None))


def responses_usage(counts: Json) -> Usage:
    """input_tokens holds the cached ones, output_tokens the reasoning, except where the total says otherwise."""
    counts = counts or {}
    return _inclusive(
        counts.get("input_tokens") or 0,
        (counts.get("input_tokens_details") or {}).get("cached_tokens") or 0,
        counts.get("output_tokens") or 0,
        (counts.get("output_tokens_details") or {}).get("reasoning_tokens") or 0,
        counts.get("total_tokens") or 0,
    )


READERS = {
    "chat": (chat, chat_stream),
    "messages": (messages, messages_stream),
    "responses": (responses, responses_stream),
}
