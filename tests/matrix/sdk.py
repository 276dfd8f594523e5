"""The same answers as the vendors' own SDKs put them together: a second opinion on the oracle."""

from __future__ import annotations

from typing import Any

import anthropic._models as anthropic_models
import openai._models as openai_models
from anthropic.lib.streaming._messages import accumulate_event
from anthropic.types import Message, RawMessageStreamEvent
from openai import omit
from openai.lib.streaming.chat import ChatCompletionStreamState
from openai.lib.streaming.responses._responses import ResponseStreamState
from openai.types.chat import ChatCompletion, ChatCompletionChunk
from openai.types.responses import Response, ResponseStreamEvent

from matrix import oracle
from matrix.recordings import Entry, events, is_stream

# Whose SDK speaks to whom. A gateway or a local server of the same wire is read by JSON paths only.
VENDORS = {"chat": ("openai", "azure"), "responses": ("openai", "azure"), "messages": ("anthropic",)}

# Where the SDK itself does not say what the bytes say.
REFUSES = {
    "dd-trace-py-dd0a8b497e27": "its accumulator takes no chunk whose delta is null (the asynchronous content filter)",
    "pydantic-ai-d243e04dfd36": "its accumulator wants response.created first; a resumed background stream has response.queued",
    "ai-67edca6fd199": "its accumulator wants one call_id an item; here the finished item has another than the announced one",
}
MISREADS = {
    "pydantic-ai-76768fe2fa5f": "its accumulator forgets usage when a chunk with usage null follows (moderation results)",
}


def speaks(entry: Entry) -> bool:
    """Whether the official SDK of this wire has a say on this answer."""
    return entry["provider"] in VENDORS[entry["wire"]] and entry["status"] < 400


def whole(entry: Entry) -> dict[str, Any]:
    """The answer as one reply body, streams put together by the vendor's SDK; raises whatever the SDK raises."""
    put_together, model, construct = SDKS[entry["wire"]]
    if is_stream(entry):
        value = put_together([event for event in events(entry) if isinstance(event, dict)])
    else:
        value = construct(type_=model, value=entry["response"])
    return value.model_dump(mode="json", warnings=False, exclude_unset=True)


def read(entry: Entry) -> oracle.Reading:
    """The answer as the vendor's SDK reads it."""
    return oracle.READERS[entry["wire"]][0](whole(entry))


def _chat(chunks: list[Any]) -> Any:
    state: Any = ChatCompletionStreamState()
    for chunk in chunks:
        state.handle_chunk(openai_models.construct_type(type_=ChatCompletionChunk, value=chunk))
    return state.current_completion_snapshot


def _responses(happened: list[Any]) -> Any:
    state: Any = ResponseStreamState(input_tools=omit, text_format=omit)
    last: Any = None
    for event in happened:
        for seen in state.handle_event(openai_models.construct_type(type_=ResponseStreamEvent, value=event)):
            last = seen.response if seen.type in oracle.TERMINAL else last
    return last


def _messages(happened: list[Any]) -> Any:
    snapshot: Any = None
    pieces: dict[int, bytes] = {}
    for event in happened:
        typed: Any = anthropic_models.construct_type(type_=RawMessageStreamEvent, value=event)
        snapshot = accumulate_event(event=typed, current_snapshot=snapshot, json_bufs=pieces)
    return snapshot


SDKS: dict[str, tuple[Any, Any, Any]] = {
    "chat": (_chat, ChatCompletion, openai_models.construct_type),
    "messages": (_messages, Message, anthropic_models.construct_type),
    "responses": (_responses, Response, openai_models.construct_type),
}
