"""Which facts of a dialect can be seen: what is sent or read differs when the fact is taken back to the wire's base.

The questions and answers are such that every fact some server needs has its place in one of them.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import msgspec

from dragoman.catalog.target import Target
from dragoman.client.compose import Care, composed
from dragoman.client.send import encode
from dragoman.dialect.model import BASE, Dialect
from dragoman.errors import DragomanError
from dragoman.types import (
    Media,
    Message,
    Output,
    Reasoning,
    Reply,
    Request,
    Sampling,
    Stop,
    Text,
    Tool,
    ToolCall,
    ToolChoice,
    ToolResult,
    assistant,
    explode,
    system,
    tool,
    user,
)
from dragoman.types.base import Cache, Origin
from dragoman.wire import find
from dragoman.wire.base import Exchange

# Facts that change nothing, and why they stand in a row all the same.
UNSEEN = {
    ("bedrock", "messages", "arguments_style"): "the codec keeps the spacing that it read, whoever wrote it",
    ("openai", "chat", "custom_tools"): "what the gateway asks before it makes such a tool a function",
}
CALL = ToolCall.of("call|" + "x" * 60, "read", {"path": "README.md", "line": 1})
TEXT = Text(text="npm run dev", cache=Cache())
RESULT = ToolResult(call_id=CALL.id, name="read", content=(TEXT,), is_error=True)
SEEN = ToolResult(
    call_id=CALL.id, name="read", content=(TEXT, Media(kind="image", media_type="image/png", data="AA=="))
)
PLACE = {"type": "string", "format": "uri", "minLength": 1, "default": "."}
PARAMETERS = {
    "type": "object",
    "properties": {"path": {"$ref": "#/$defs/path"}, "line": {"type": ["integer", "null"], "minimum": 0}},
    "additionalProperties": False,
    "$defs": {"path": {"anyOf": [PLACE, {"type": "null"}]}},
}
READ = Tool(name="read", parameters=PARAMETERS, strict=True)
SCHEMA = {"type": "object", "properties": {"a": {"type": "string"}}}
SAMPLING = Sampling(temperature=1.9, top_p=0.5, top_k=5, seed=7, presence_penalty=0.1, frequency_penalty=0.1)
EVERYTHING: dict[str, Any] = {
    "max_output": 4096,
    "sampling": SAMPLING,
    "stop": tuple("abcdef"),
    "parallel_tools": True,
    "tier": "flex",
    "store": True,
    "user": "u",
    "metadata": {"k": "v"},
    "cache_key": "c",
    "verbosity": "low",
    "logprobs": True,
    "top_logprobs": 2,
    "n": 2,
}


def thought(provider: str, model: str, wire: str) -> Message:
    """A turn that was thought about: who thought decides whether it is sent back."""
    return Message(
        role="assistant",
        content=(Reasoning(text="hm"), CALL),
        origin=Origin(wire=wire, provider=provider, model=model),
    )


def questions(wire: str, provider: str) -> Iterator[Request]:
    """Requests that between them hold every part that a server may want otherwise."""
    named = (
        Message(role="system", name="s", content=(Text(text="Be brief."), Text(text="Very."))),
        system("And kind."),
        Message(role="user", name="u", content=(Text(text="Read it."), Text(text="Now."))),
        Message(role="assistant", name="a", content=(CALL,)),
        Message(role="tool", name="t", content=(SEEN,)),
        Message(role="developer", name="d", content=(Text(text="Do not stop."),)),
        user("And?"),
        user("Well?"),
        assistant("It is", Text(text=" so")),
    )
    tools = (READ, Tool(name="write", parameters={"type": "object"}, cache=Cache()))
    yield Request(messages=named, tools=tools, **EVERYTHING)
    yield Request(messages=(assistant("Hello."), user("hi"), assistant(CALL), tool(RESULT), user("And?")), tools=tools)
    yield Request(messages=(user("hi"), assistant(CALL), tool(RESULT), user("And?"), assistant("So")), tools=tools)
    for who in ((provider, "m"), (provider, "other"), ("nobody", "other")):
        yield Request(messages=(user("hi"), thought(*who, wire), tool(RESULT)), tools=tools)
    for effort in ("none", "low", "max"):
        yield Request(messages=(user("hi"),), effort=effort, budget=2048, max_output=4096)
    choices = (ToolChoice(mode="auto"), ToolChoice(mode="none"), ToolChoice(mode="required"))
    for choice in (*choices, ToolChoice(mode="required", names=("read",)), ToolChoice(names=("read", "write"))):
        yield Request(messages=(user("hi"),), tools=tools, tool_choice=choice)
    for output in (Output(kind="json"), Output(kind="schema", name="x", schema=SCHEMA, strict=True)):
        yield Request(messages=(user("hi"),), output=output)
    empty: dict[str, Any] = {"name": None, "refusal": None, "function_call": None, "audio": None, "annotations": []}
    replayed = Message(role="assistant", content=(CALL,), opaque={wire: empty})
    yield Request(messages=(user("hi"), replayed, tool(RESULT)), state=None)
    beyond = {"previous_response_id": "r", "thinking": None, "max_completion_tokens": 9, "max_tokens": 9}
    yield Request(messages=(user("hi"),), opaque={wire: beyond})
    yield Request(messages=(Message(role="developer", content=(Text(text="Be brief."),)), user("hi")))
    begun = Message(role="assistant", content=(Text(text="So"),), prefill=True)
    yield Request(messages=(user("hi"), begun))


def answers(wire: str) -> Iterator[bytes]:
    """Replies whose reading depends on facts."""
    if wire == "chat":
        for content in ("<think>hm</think>yes", "hm</think>yes"):
            message = {"role": "assistant", "content": content, "reasoning": "r", "reasoning_content": "c"}
            usage = {
                "prompt_tokens": 10,
                "completion_tokens": 20,
                "prompt_tokens_details": {"cached_tokens": 4},
                "completion_tokens_details": {"reasoning_tokens": 5},
            }
            said = {"choices": [{"message": message, "finish_reason": "stop"}], "usage": usage}
            yield json.dumps(said).encode()
    if wire == "responses":
        yield b'{"status": "completed", "output": [], "usage": {"input_tokens": 1, "output_tokens": 8}}'


REPLY = Reply(message=assistant("hi"), stop=Stop(reason="end"))


def shown(dialect: Dialect, wire: str, provider: str) -> Iterator[Any]:
    """All that is sent and read under a dialect, to be compared."""
    codec = find(wire)
    target = Target(
        provider=provider, label=provider, wire=wire, model="m", base_url="http://127.0.0.1:9", dialect=dialect
    )
    for number, request in enumerate(questions(wire, provider)):
        for care in (Care(repair=True, vision=True), None):
            try:
                sent = composed(request, target, care)[0] if care else request
                yield encode(sent, codec, target, stream=number == 0, strict=False).http
            except DragomanError as error:
                yield error.message
    for body in answers(wire):
        yield codec.decode_reply(body, dialect, Exchange(echo={"max_output_tokens": 8})).value
    encoder = codec.stream_encoder(dialect, Exchange(stream=True, model="m"))
    yield [encoder.encode(event) for event in explode(REPLY)]


def differing(dialect: Dialect) -> list[str]:
    """The facts in which a dialect is not the wire's base."""
    names = (name for name in Dialect.__struct_fields__ if name not in ("name", "source"))
    return [name for name in names if getattr(dialect, name) != getattr(BASE, name)]


def seen(dialect: Dialect, wire: str, provider: str) -> list[str]:
    """Those of them that change something that is sent or read."""
    whole = list(shown(dialect, wire, provider))
    found: list[str] = []
    for name in differing(dialect):
        without = msgspec.structs.replace(dialect, **{name: getattr(BASE, name)})
        if any(one != other for one, other in zip(shown(without, wire, provider), whole, strict=True)):
            found.append(name)
    return found
