"""Histories as clients really send them: drawn without any rule, so that every rule is broken somewhere."""

from __future__ import annotations

from typing import Any

import msgspec
from hypothesis import strategies as st

from dragoman.dialect.model import BASE, Dialect, override
from dragoman.history import unfinished
from dragoman.types import (
    Foreign,
    HostedCall,
    Json,
    Media,
    Message,
    Origin,
    Reasoning,
    Refusal,
    Request,
    ServerState,
    Text,
    Tool,
    ToolCall,
    ToolChoice,
    ToolResult,
    ToolsChange,
)

WIRES = ("chat", "messages", "responses")
IDS = ("a", "b", "a_2", "functions.run:0", "")
WORDS = ("hi", "hi \n", "", " ", "读", "\ud83d", "\ud83d\ude00")

words = st.sampled_from(WORDS)
texts = st.builds(Text, text=words)
images = st.just(Media(kind="image", url="https://example.org/a.png"))
calls = st.builds(
    ToolCall,
    id=st.sampled_from(IDS[:-1]),
    name=st.sampled_from(["read", "a b"]),
    arguments=st.sampled_from(["{}", "", "[1]", '{"a": 1e400}', "{broken", "\ud83d"]),
    kind=st.sampled_from(["function", "custom"]),
)
results = st.builds(
    ToolResult,
    call_id=st.sampled_from(IDS),
    content=st.lists(st.one_of(texts, images, st.just(Json(value='{"a":1}'))), max_size=2).map(tuple),
)
thoughts = st.sampled_from(
    [Reasoning(text=" "), Reasoning(text="hm"), Reasoning(opaque={"messages": {"signature": "c2ln"}})]
)
oddities = st.sampled_from(
    [
        Refusal(text="no"),
        HostedCall(id="h", name="search"),
        Foreign(wire="chat", kind="sticker", payload={}),
        ToolsChange(add=(Tool(name="later"),)),
    ]
)
blocks = st.one_of(texts, texts, calls, results, results, images, thoughts, oddities)
IN_ROLE: dict[str, st.SearchStrategy[Any]] = {
    "user": st.one_of(texts, images, blocks),
    "assistant": st.one_of(texts, calls, calls, thoughts, blocks),
    "tool": st.one_of(results, results, texts),
    "system": st.one_of(texts, oddities),
    "developer": texts,
}


@st.composite
def messages(draw: Any) -> Message:
    """One message of any role, mostly with what such a message holds."""
    role = draw(st.sampled_from(["user", "assistant", "assistant", "tool", "tool", "tool", "system", "developer"]))
    origin = draw(st.sampled_from([None, None, Origin(wire="chat", model="m")]))
    content = tuple(draw(st.lists(IN_ROLE[role], max_size=3)))
    opaque = draw(
        st.sampled_from([None, None, None, {"chat": {"name2": "x"}}, {"messages": {"~": {"content": "list"}}}])
    )
    message = Message(
        role=role,
        content=content,
        name=draw(st.sampled_from([None, None, "ann"])),
        prefill=draw(st.sampled_from([None, None, None, True])) if role == "assistant" else None,
        origin=origin if role == "assistant" else None,
        opaque=opaque,
    )
    broke_off = role == "assistant" and draw(st.integers(0, 5)) == 0
    return unfinished(message) if broke_off else message


@st.composite
def requests(draw: Any) -> Request:
    """Any messages in any order, and tools that may be missing or doubled."""
    return Request(
        messages=tuple(draw(st.lists(messages(), max_size=7))),
        tools=draw(st.sampled_from([None, None, (Tool(name="read"),), (Tool(name="read"), Tool(name="read"))])),
        tool_choice=draw(
            st.sampled_from([None, ToolChoice(mode="auto"), ToolChoice(mode="required", names=("read",))])
        ),
        parallel_tools=draw(st.sampled_from([None, False])),
        state=ServerState(previous_id="resp_1") if draw(st.integers(0, 7)) == 0 else None,
    )


DIALECTS: tuple[Dialect, ...] = (
    BASE,
    override(BASE, {"alternate_roles": True, "one_system_message": True, "prefill": "marked"}),
    override(BASE, {"alternate_roles": True, "inline_system": "user_text", "prefill": "refused"}),
)
ends = st.tuples(st.sampled_from(WIRES), st.sampled_from(DIALECTS))


def without_surrogates(request: Request) -> Request:
    """The request with every text a text: what a test must write as bytes."""
    whole = msgspec.to_builtins(request, builtin_types=())
    return msgspec.convert(_mended(whole), Request)


def _mended(value: Any) -> Any:
    if isinstance(value, str):
        return value.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    if isinstance(value, dict):
        return {key: _mended(item) for key, item in value.items()}
    return [_mended(item) for item in value] if isinstance(value, list | tuple) else value
