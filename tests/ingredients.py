"""What conversations of property tests are made of: words of many scripts, media, reasoning, hosted work."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st

from dragoman.types import (
    Cache,
    Foreign,
    HostedCall,
    HostedResult,
    HostedTool,
    Media,
    Reasoning,
    Sampling,
    ServerState,
    Tool,
    ToolsChange,
)

Some = st.SearchStrategy

PIXEL = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
WORDS = (
    "读取 README.md,告诉我项目怎样启动。",
    "👩🏽‍💻 works, 𝔘𝔫𝔦𝔠𝔬𝔡𝔢 too",
    "שלום עולם \u202b(right to left)\u202c",
    "a line\u2028that is one line\u0085still",
    "two\nlines\r\nand a tab\t",
    '{"looks": "like JSON"}',
    "<think>not a thought</think>",
    "data: [DONE]",
    " ",
    "\x00 and \x7f",
)
words = st.one_of(st.sampled_from(WORDS), st.text(max_size=12))
spoken = words.filter(bool)
visible = words.filter(str.strip)
names = st.from_regex(r"[a-z][a-z_]{0,8}", fullmatch=True)
json_values: Some[Any] = st.recursive(
    st.one_of(
        st.none(),
        st.booleans(),
        st.integers(-(10**20), 10**20),
        st.floats(allow_nan=False, allow_infinity=False),
        words,
    ),
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(words, inner, max_size=3)),
    max_leaves=6,
)
objects: Some[dict[str, Any]] = st.dictionaries(words, json_values, max_size=3)
schemas = st.sampled_from(
    [
        {"type": "object", "properties": {}},
        {
            "type": "object",
            "properties": {"path": {"type": "string", "description": "要读取的文件路径"}},
            "required": ["path"],
        },
        {
            "properties": {"b": {"type": "integer"}, "a": {"enum": [1, 2]}},
            "type": "object",
            "additionalProperties": False,
        },
    ]
)
broken_arguments = st.sampled_from(['{"path": "README.md', "not json", "[1, 2]", '{"a":1e400}', "null", ""])

tokens = st.integers(0, 5000)
penalties = st.sampled_from([-1.5, 0, 0.5, 2])

# A plain field of a request → what may stand there; the sampling fields are among them.
FIELDS: dict[str, Some[Any]] = {
    "model": st.sampled_from(["some-model", "vendor/模型-1"]),
    "parallel_tools": st.booleans(),
    "max_output": st.integers(1, 2**31),
    "temperature": st.sampled_from([0, 0.7, 1, 1.5]),
    "top_p": st.sampled_from([0.1, 1]),
    "top_k": st.integers(1, 100),
    "seed": st.integers(-(2**62), 2**62),
    "presence_penalty": penalties,
    "frequency_penalty": penalties,
    "stop": st.lists(spoken, min_size=1, max_size=3).map(tuple),
    "effort": st.sampled_from(["low", "medium", "high"]),
    "budget": st.integers(1024, 30000),
    "tier": st.just("auto"),  # the one word that every wire has
    "store": st.booleans(),
    "user": words,
    "cache_key": words,
    "metadata": st.dictionaries(spoken, words, min_size=1, max_size=2),
    "verbosity": st.sampled_from(["low", "high"]),
    "logprobs": st.booleans(),
    "top_logprobs": st.integers(0, 20),
    "n": st.integers(1, 3),
    "stream": st.booleans(),
    "cache": st.sampled_from([Cache(), Cache(ttl="1h")]),
    "state": st.sampled_from([ServerState(previous_id="resp_1"), ServerState(conversation="conv_1")]),
}
SAMPLING = frozenset(Sampling.__struct_fields__)

images = st.one_of(
    st.just(Media(kind="image", media_type="image/png", data=PIXEL)),
    st.just(Media(kind="image", media_type="image/jpeg", data="/9j/4AAQSkZJRg==")),
    st.builds(Media, kind=st.just("image"), url=st.just("https://example.org/猫.png")),
)
detailed = st.builds(Media, kind=st.just("image"), url=st.just("https://example.org/a.png"), detail=st.just("low"))
sounds = st.builds(
    Media, kind=st.just("audio"), media_type=st.sampled_from(["audio/wav", "audio/mpeg"]), data=st.just("AAAA")
)
videos = st.builds(Media, kind=st.just("video"), url=st.just("https://example.org/a.mp4"))
papers = st.builds(
    Media,
    kind=st.just("document"),
    media_type=st.just("application/pdf"),
    data=st.just("JVBERi0xLjQ="),
    name=st.sampled_from(["报告.pdf", None]),
)
named_papers = papers.filter(lambda paper: paper.name is not None)
stored = st.builds(Media, kind=st.sampled_from(["image", "document"]), file_id=st.just("file_1"))
plain_papers = st.builds(
    Media, kind=st.just("document"), media_type=st.just("text/plain"), text=spoken, name=st.just("a.txt")
)

# Reasoning as each wire leaves it, state and origin included.
thoughts: dict[str, Some[Reasoning]] = {
    "chat": st.builds(Reasoning, text=spoken, opaque=st.just({"chat": {"~": {"key": ["reasoning_content"]}}})),
    "messages": st.one_of(
        st.builds(Reasoning, text=words, opaque=st.just({"messages": {"signature": "c2lnbmF0dXJl"}})),
        st.builds(Reasoning, redacted=st.just(True), opaque=st.just({"messages": {"data": "cmVkYWN0ZWQ="}})),
    ),
    "responses": st.builds(
        Reasoning,
        summary=st.lists(spoken, max_size=2).map(tuple),
        opaque=st.just({"responses": {"id": "rs_1", "encrypted_content": "Y2lwaGVy"}}),
    ),
    "plain": st.builds(Reasoning, text=spoken),
    "none": st.one_of(st.builds(Reasoning, text=spoken), st.builds(Reasoning, summary=st.tuples(spoken, spoken))),
}


def _hosted(call: Any, result: Any) -> Some[tuple[HostedCall, HostedResult]]:
    """A provider's own call and its result, spelled as a wire did."""
    return st.builds(
        lambda n, query: (
            HostedCall(id=f"srvtoolu_{n}", name="web_search", arguments='{"query":"' + query + '"}', opaque=call),
            HostedResult(
                call_id=f"srvtoolu_{n}", name="web_search", payload=[{"url": "https://example.org"}], opaque=result
            ),
        ),
        st.integers(0, 99),
        names,
    )


# What a provider ran itself, as each wire leaves it.
hosted: dict[str, Some[tuple[Any, ...]]] = {
    "messages": _hosted(
        {"messages": {"~": {"type": "server_tool_use"}}}, {"messages": {"~": {"type": "web_search_tool_result"}}}
    ),
    "responses": st.just(
        (HostedCall(id="ws_1", name="web_search_call", payload={"status": "completed", "action": {"query": "npm"}}),)
    ),
    "none": _hosted(None, None),
}
additions = st.builds(ToolsChange, add=st.just((Tool(name="late", parameters={"type": "object", "properties": {}}),)))
tools_named = st.one_of(
    st.builds(ToolsChange, names=st.just(("write",))), st.builds(ToolsChange, remove=st.just(("read",)))
)
hosted_tools = st.sampled_from(
    [
        HostedTool(
            wire="messages", kind="web_search_20260318", payload={"type": "web_search_20260318", "name": "web_search"}
        ),
        HostedTool(wire="responses", kind="web_search", payload={"type": "web_search"}),
        HostedTool(wire="chat", kind="browser", payload={"type": "browser"}),
    ]
)
foreigners = st.sampled_from(
    [
        Foreign(wire="messages", kind="container_upload", payload={"type": "container_upload", "file_id": "file_1"}),
        Foreign(wire="responses", kind="compaction", payload={"type": "compaction", "encrypted_content": "eHg="}),
        Foreign(wire="chat", kind="sticker", payload={"type": "sticker", "sticker": {"id": 7}}),
    ]
)

# Citations in each wire's own form.
citations: dict[str, Any] = {
    "chat": {
        "type": "url_citation",
        "url_citation": {"url": "https://example.org/天气", "start_index": 0, "end_index": 1},
    },
    "messages": {
        "type": "char_location",
        "cited_text": "天",
        "document_index": 0,
        "start_char_index": 0,
        "end_char_index": 1,
    },
    "responses": {"type": "url_citation", "url": "https://example.org", "title": "t", "start_index": 0, "end_index": 1},
}
