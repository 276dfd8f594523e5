"""openai SDK, chat completions: whole and streamed."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent))

from common import CITY, MODEL, PROMPT, SYSTEM, TOOLS, URL, called, main
from openai import OpenAI

client = OpenAI(base_url=f"{URL}/v1", api_key="sk-dummy", max_retries=0)
tools: list[Any] = [
    {"type": "function", "function": {"name": name, "description": about, "parameters": CITY, "strict": True}}
    for name, about in TOOLS.items()
]
Message = Any


def whole(messages: list[Any]) -> Message:
    return client.chat.completions.create(model=MODEL, messages=messages, tools=tools).choices[0].message


def streamed(messages: list[Any]) -> Message:
    with client.chat.completions.stream(
        model=MODEL, messages=messages, tools=tools, stream_options={"include_usage": True}
    ) as stream:
        for _ in stream:
            pass
        return stream.get_final_completion().choices[0].message


def talk(ask: Any) -> str:
    messages: list[Any] = [{"role": "system", "content": SYSTEM}, {"role": "user", "content": PROMPT}]
    message = ask(messages)
    while message.tool_calls:
        messages.append(message.model_dump(exclude_none=True))
        for call in message.tool_calls:
            result = called(call.function.name, call.function.arguments)
            messages.append({"role": "tool", "tool_call_id": call.id, "content": result})
        message = ask(messages)
    return message.content


main([lambda: talk(whole), lambda: talk(streamed)])
