"""The anthropic SDK: messages whole and streamed, with thinking and cache marks, and a count of tokens."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent))

from anthropic import Anthropic
from common import CITY, MODEL, PROMPT, SCENE, SYSTEM, TOOLS, URL, before, called, main, pieces

client = Anthropic(base_url=URL, api_key="sk-ant-dummy", max_retries=0)
tools: list[Any] = [{"name": name, "description": about, "input_schema": CITY} for name, about in TOOLS.items()]
tools[-1]["cache_control"] = {"type": "ephemeral"}
system: list[Any] = [{"type": "text", "text": SYSTEM, "cache_control": {"type": "ephemeral"}}]
asked: dict[str, Any] = {
    "model": MODEL,
    "max_tokens": 2048,
    "system": system,
    "tools": tools,
    "thinking": {"type": "enabled", "budget_tokens": 1024},
}


def whole(messages: list[Any]) -> Any:
    return client.messages.create(**asked, messages=messages)


def streamed(messages: list[Any]) -> Any:
    with client.messages.stream(**asked, messages=messages) as stream:
        pieces(stream)
        return stream.get_final_message()


def talk(ask: Any) -> str:
    messages: list[Any] = [{"role": "user", "content": PROMPT}]
    if SCENE == "turns":
        count = client.messages.count_tokens(model=MODEL, messages=messages, tools=tools, system=system)
        before(*(model.id for model in client.models.list()), tokens=count.input_tokens)
    message = ask(messages)
    while message.stop_reason == "tool_use":
        messages.append({"role": "assistant", "content": message.content})
        results = [
            {"type": "tool_result", "tool_use_id": block.id, "content": called(block.name, block.input)}
            for block in message.content
            if block.type == "tool_use"
        ]
        messages.append({"role": "user", "content": results})
        message = ask(messages)
    return "".join(block.text for block in message.content if block.type == "text")


main(lambda: talk(streamed), lambda: talk(whole))
