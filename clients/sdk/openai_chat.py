"""The openai SDK on chat completions, whole and streamed."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent))

from common import FUNCTIONS, MODEL, PROMPT, SCENE, SYSTEM, URL, before, called, main, pieces
from openai import OpenAI

client = OpenAI(base_url=f"{URL}/v1", api_key="sk-dummy", max_retries=0)


def whole(messages: list[Any]) -> Any:
    return client.chat.completions.create(model=MODEL, messages=messages, tools=FUNCTIONS).choices[0].message


def streamed(messages: list[Any]) -> Any:
    more = {"include_usage": True}
    with client.chat.completions.stream(model=MODEL, messages=messages, tools=FUNCTIONS, stream_options=more) as stream:
        pieces(stream)
        return stream.get_final_completion().choices[0].message


def talk(ask: Any) -> str:
    if SCENE == "turns":
        before(*(model.id for model in client.models.list()))
    messages: list[Any] = [{"role": "system", "content": SYSTEM}, {"role": "user", "content": PROMPT}]
    message = ask(messages)
    while message.tool_calls:
        messages.append(message.model_dump(exclude_none=True))
        for call in message.tool_calls:
            result = called(call.function.name, call.function.arguments)
            messages.append({"role": "tool", "tool_call_id": call.id, "content": result})
        message = ask(messages)
    return message.content


main(lambda: talk(streamed), lambda: talk(whole))
