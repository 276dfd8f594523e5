"""What a request asks, read from its plain JSON by a few lines a wire. On purpose none of our codecs: they are what is checked."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from msgspec import Struct


class Called(Struct, frozen=True):
    """A call in the history: free text stands as `{"input": text}`."""

    id: str
    name: str
    arguments: Any


class Asked(Struct, kw_only=True):
    """A request, wire by wire the same. `tools` are schemas by name (None: takes free text), `hosted` the kinds of tools that
    a vendor runs, `thoughts` reasoning that is sent back, `states` its signatures or ciphertexts, `marks` cache marks,
    `thinks` whether reasoning is asked for."""

    system: list[str] = []
    users: list[str] = []
    texts: list[str] = []
    tools: dict[str, Any] = {}
    hosted: list[str] = []
    calls: list[Called] = []
    results: dict[str, str] = {}
    thoughts: list[str] = []
    states: list[str] = []
    marks: int = 0
    limit: int | None = None
    thinks: bool = False
    alone: bool = False


def read(wire: str, body: Any) -> Asked:
    """The request that `body` is on `wire`."""
    asked = Asked(marks=sum(1 for _ in _marks(body)))
    {"chat": _chat, "ollama": _chat, "responses": _responses, "messages": _messages, "completions": _prompt}[wire](
        body, asked
    )
    return asked


def _chat(body: Any, asked: Asked) -> None:
    asked.limit = body.get("max_completion_tokens") or body.get("max_tokens")
    asked.thinks = "reasoning_effort" in body
    asked.alone = body.get("parallel_tool_calls") is False
    for tool in body.get("tools") or ():
        inner = tool.get(tool["type"], {})
        if tool["type"] in ("function", "custom"):
            asked.tools[inner["name"]] = None if tool["type"] == "custom" else inner.get("parameters")
        else:
            asked.hosted.append(tool["type"])
    if "web_search_options" in body:
        asked.hosted.append("web_search")
    for message in body["messages"]:
        text = _text(message.get("content"))
        match message["role"]:
            case "system" | "developer":
                asked.system.append(text)
            case "user":
                asked.users.append(text)
            case "tool":
                asked.results[message.get("tool_call_id") or f"result {len(asked.results)}"] = _lines(
                    message["content"]
                )
            case _:
                asked.texts += [text] if text else []
                thought = next((message[key] for key in THINKING if message.get(key)), None)
                asked.thoughts += [thought] if isinstance(thought, str) else []
                for call in message.get("tool_calls") or ():
                    inner = call.get("function") or {"name": call["custom"]["name"], "input": call["custom"]["input"]}
                    said = inner["arguments"] if "arguments" in inner else {"input": inner["input"]}
                    called = call.get("id") or f"result {len(asked.calls)}"
                    asked.calls.append(Called(called, inner["name"], _json(said)))


THINKING = ("reasoning_content", "reasoning", "thinking")


def _responses(body: Any, asked: Asked) -> None:
    asked.limit = body.get("max_output_tokens")
    asked.thinks = bool((body.get("reasoning") or {}).get("effort"))
    asked.alone = body.get("parallel_tool_calls") is False
    asked.system += [body["instructions"]] if body.get("instructions") else []
    _tools(body.get("tools") or (), asked)
    items = body.get("input") or []
    for item in [{"role": "user", "content": items}] if isinstance(items, str) else items:
        match item.get("type", "message"):
            case "message":
                where = {"user": asked.users, "assistant": asked.texts}.get(item["role"], asked.system)
                where += _texts(item["content"])
            case "function_call":
                asked.calls.append(Called(item["call_id"], item["name"], _json(item["arguments"])))
            case "custom_tool_call":
                asked.calls.append(Called(item["call_id"], item["name"], {"input": item["input"]}))
            case "function_call_output" | "custom_tool_call_output":
                asked.results[item["call_id"]] = _lines(item["output"])
            case "reasoning":
                parts: list[Any] = [*(item.get("summary") or ()), *(item.get("content") or ())]
                asked.thoughts += [part["text"] for part in parts]
                asked.states += [item["encrypted_content"]] if item.get("encrypted_content") else []
            case "additional_tools":
                _tools(item["tools"], asked)
            case _:
                pass


def _tools(tools: Any, asked: Asked) -> None:
    for tool in tools:
        match tool["type"]:
            case "function" | "custom":
                asked.tools[tool["name"]] = None if tool["type"] == "custom" else tool.get("parameters")
            case "namespace":
                _tools(tool["tools"], asked)
            case kind:
                asked.hosted.append(kind)


def _messages(body: Any, asked: Asked) -> None:
    asked.limit = body.get("max_tokens")
    thinking = (body.get("thinking") or {}).get("type", "disabled") != "disabled"
    asked.thinks = thinking or "effort" in (body.get("output_config") or {})
    asked.alone = bool((body.get("tool_choice") or {}).get("disable_parallel_tool_use"))
    asked.system += _texts(body.get("system"))
    for tool in body.get("tools") or ():
        if tool.get("type", "custom") == "custom":
            asked.tools[tool["name"]] = tool.get("input_schema")
        else:
            asked.hosted.append(tool["type"])
    for message in body["messages"]:
        content = message["content"]
        if message["role"] == "system":
            asked.system += _texts(content)
            continue
        said = asked.users if message["role"] == "user" else asked.texts
        for block in [{"type": "text", "text": content}] if isinstance(content, str) else content:
            _block(block, said, asked)


def _block(block: Any, said: list[str], asked: Asked) -> None:
    match block["type"]:
        case "text":
            said.append(block["text"])
        case "tool_use":
            asked.calls.append(Called(block["id"], block["name"], block["input"]))
        case "tool_result":
            asked.results[block["tool_use_id"]] = _lines(block.get("content"))
        case "thinking":
            asked.thoughts.append(block["thinking"])
            asked.states.append(block.get("signature", ""))
        case "redacted_thinking":
            asked.states.append(block["data"])
        case _:
            pass


def _prompt(body: Any, asked: Asked) -> None:
    asked.limit = body.get("max_tokens")
    asked.users.append(body["prompt"])


def _texts(content: Any) -> list[str]:
    if isinstance(content, str):
        return [content]
    return [part["text"] for part in content or () if isinstance(part.get("text"), str)]


def _text(content: Any) -> str:
    return "".join(_texts(content))


def _lines(content: Any) -> str:
    """The text of a result: several parts are lines of it where a wire has only one text."""
    return "\n".join(_texts(content))


def _json(said: Any) -> Any:
    try:
        return json.loads(said) if isinstance(said, str) else said
    except ValueError:
        return said


def _marks(value: Any) -> Iterator[None]:
    """Every cache mark, but those within a schema or a call's arguments, which hold none."""
    if isinstance(value, dict):
        if value.get("cache_control"):
            yield None
        for each in value.values():
            yield from _marks(each)
    elif isinstance(value, list):
        for each in value:
            yield from _marks(each)
