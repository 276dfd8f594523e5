"""The mistralai SDK on chat completions, whole and streamed."""

from __future__ import annotations

import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

sys.path.insert(0, str(Path(__file__).parent))

from common import FUNCTIONS, MODEL, PROMPT, SCENE, SYSTEM, URL, before, called, main, pieces
from mistralai.client import Mistral

client = Mistral(api_key="m-dummy", server_url=URL)


def whole(messages: list[Any]) -> Any:
    return client.chat.complete(model=MODEL, messages=messages, tools=FUNCTIONS, temperature=0).choices[0].message


def streamed(messages: list[Any]) -> Any:
    text, calls, ended = "", [], None
    with client.chat.stream(model=MODEL, messages=messages, tools=FUNCTIONS, temperature=0) as stream:
        for piece in pieces(stream):
            for choice in piece.data.choices:
                text += choice.delta.content if isinstance(choice.delta.content, str) else ""
                calls += choice.delta.tool_calls or []
                ended = choice.finish_reason or ended
    if ended is None:
        raise RuntimeError("the stream ended without a word of why")
    return SimpleNamespace(role="assistant", content=text, tool_calls=joined(calls))


def joined(pieces_of_calls: list[Any]) -> list[Any]:
    """Calls of one index are one call, whose arguments came in pieces."""
    made: dict[int, Any] = {}
    for call in pieces_of_calls:
        known = made.setdefault(call.index or 0, call)
        if known is not call:
            known.function.arguments += call.function.arguments
    return list(made.values())


def talk(ask: Any) -> str:
    if SCENE == "turns":
        before(*(model.id for model in client.models.list().data))
    messages: list[Any] = [{"role": "system", "content": SYSTEM}, {"role": "user", "content": PROMPT}]
    message = ask(messages)
    while message.tool_calls:
        messages.append({"role": "assistant", "content": message.content or "", "tool_calls": message.tool_calls})
        for call in message.tool_calls:
            result = called(call.function.name, call.function.arguments)
            messages.append({"role": "tool", "name": call.function.name, "tool_call_id": call.id, "content": result})
        message = ask(messages)
    return message.content


main(lambda: talk(streamed), lambda: talk(whole))
