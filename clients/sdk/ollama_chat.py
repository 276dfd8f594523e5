"""The ollama SDK: what there is and what it can, then chat, whole and streamed, with thinking."""

from __future__ import annotations

import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

sys.path.insert(0, str(Path(__file__).parent))

import ollama
from common import FUNCTIONS, MODEL, PROMPT, SCENE, SYSTEM, URL, called, main, pieces

client = ollama.Client(host=URL)


def whole(messages: list[Any]) -> Any:
    return client.chat(model=MODEL, messages=messages, tools=FUNCTIONS, options={"temperature": 0}).message


def streamed(messages: list[Any]) -> Any:
    stream = client.chat(model=MODEL, messages=messages, tools=FUNCTIONS, options={"temperature": 0}, stream=True)
    said = pieces(stream)
    if not said[-1].done:
        raise RuntimeError("the stream ended without a word of why")
    text = "".join(piece.message.content or "" for piece in said)
    thinking = "".join(piece.message.thinking or "" for piece in said)
    calls = [call for piece in said for call in piece.message.tool_calls or ()]
    return SimpleNamespace(role="assistant", content=text, thinking=thinking, tool_calls=calls)


def talk(ask: Any) -> str:
    if SCENE == "turns" and not (client.list().models and "tools" in (client.show(MODEL).capabilities or ())):
        raise RuntimeError("no model here, or one without tools")
    messages: list[Any] = [{"role": "system", "content": SYSTEM}, {"role": "user", "content": PROMPT}]
    message = ask(messages)
    while message.tool_calls:
        back = {"role": "assistant", "content": message.content or "", "tool_calls": message.tool_calls}
        messages.append({**back, "thinking": message.thinking} if message.thinking else back)
        for call in message.tool_calls:
            result = called(call.function.name, dict(call.function.arguments))
            messages.append({"role": "tool", "tool_name": call.function.name, "content": result})
        message = ask(messages)
    return message.content


main(lambda: talk(streamed), lambda: talk(whole))
