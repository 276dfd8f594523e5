"""The openai SDK on responses, whole and streamed; nothing is stored, so the reasoning comes back as it was."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent))

from common import CITY, MODEL, PROMPT, SCENE, SYSTEM, TOOLS, URL, before, called, main, pieces
from openai import OpenAI

client = OpenAI(base_url=f"{URL}/v1", api_key="sk-dummy", max_retries=0)
tools: list[Any] = [
    {"type": "function", "name": name, "description": about, "parameters": CITY, "strict": True}
    for name, about in TOOLS.items()
]
asked: dict[str, Any] = {
    "model": MODEL,
    "instructions": SYSTEM,
    "tools": tools,
    "store": False,
    "include": ["reasoning.encrypted_content"],
    "reasoning": {"effort": "low", "summary": "auto"},
}


def whole(items: list[Any]) -> Any:
    return client.responses.create(**asked, input=items)


def streamed(items: list[Any]) -> Any:
    with client.responses.stream(**asked, input=items) as stream:
        pieces(stream)
        return stream.get_final_response()


def talk(ask: Any) -> str:
    items: list[Any] = [{"role": "user", "content": PROMPT}]
    if SCENE == "turns":
        count = client.responses.input_tokens.count(model=MODEL, input=items, tools=tools)
        before(*(model.id for model in client.models.list()), tokens=count.input_tokens)
    response = ask(items)
    while calls := [item for item in response.output if item.type == "function_call"]:
        items += response.output
        for call in calls:
            result = called(call.name, call.arguments)
            items.append({"type": "function_call_output", "call_id": call.call_id, "output": result})
        response = ask(items)
    return response.output_text


main(lambda: talk(streamed), lambda: talk(whole))
