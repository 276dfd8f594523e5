"""The official SDKs' own stream readers, over a real socket: what a client of each wire makes of the bytes."""

from __future__ import annotations

import json
from typing import Any

import anthropic
import openai
from openai.lib.streaming.chat import ChatCompletionStreamState

from matrix import oracle
from origin import Answer, Origin

SSE = {"content-type": "text/event-stream"}
KEY = "not-a-key"
PIECE = 512


def read(wire: str, stream: bytes) -> oracle.Reading:
    """A stream as the SDK of `wire` reads it from a server on loopback; an error that it raises is a failed answer.

    Whatever else it raises comes through: that is a stream it does not understand.
    """
    pieces = [stream[at : at + PIECE] for at in range(0, len(stream), PIECE)]
    with Origin(Answer(headers=SSE, body=pieces)) as service:
        return read_at(wire, service.url)


def read_at(wire: str, url: str) -> oracle.Reading:
    """The same from a service that answers with a stream already."""
    try:
        whole = READERS[wire](url)
    except (openai.APIError, anthropic.APIError):
        return oracle.Reading(failed=True)
    return oracle.READERS[wire][0](whole)


def _chat(url: str) -> Any:
    with openai.OpenAI(base_url=url, api_key=KEY, max_retries=0) as client:
        chunks: Any = client.chat.completions.create(
            model="m", messages=[{"role": "user", "content": "x"}], stream=True, stream_options={"include_usage": True}
        )
        state: Any = ChatCompletionStreamState()
        for chunk in chunks:
            state.handle_chunk(chunk)
        return _dumped(state.current_completion_snapshot)


def _responses(url: str) -> Any:
    with openai.OpenAI(base_url=url, api_key=KEY, max_retries=0) as client:
        last: Any = None
        with client.responses.stream(model="m", input="x") as events:
            for event in events:
                last = event
        return _dumped(last.response)


def _messages(url: str) -> Any:
    asked: Any = {"model": "m", "max_tokens": 9, "messages": [{"role": "user", "content": "x"}]}
    client = anthropic.Anthropic(base_url=url, api_key=KEY, max_retries=0)
    with client, client.messages.stream(**asked) as events:
        for _ in events:
            pass
        return _dumped(events.get_final_message())


def _dumped(value: Any) -> Any:
    return json.loads(value.model_dump_json(warnings=False, exclude_unset=True))


READERS = {"chat": _chat, "messages": _messages, "responses": _responses}
