"""Coding agents as they were seen to ask, and to go on after an answer: which of it they send back and in which form.

Source: the captures of claude-code 2.1.332, codex 0.171.0, pi 1.6.0 and opencode 1.18.33; what stands here is written after
them, the words are ours.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any, NamedTuple

from gate import events

Body = dict[str, Any]
SCHEMA: Body = {"type": "object", "properties": {"cmd": {"type": "string"}}, "required": ["cmd"]}
LARK: Body = {"type": "grammar", "syntax": "lark", "definition": 'start: "*** Begin Patch" /.+/'}
HINT: Body = {"cache_control": {"type": "ephemeral"}}
PATCH = "*** Begin Patch\n+ 你好"
RESULTS = ("ok 1", "没有 2")


class Talker(NamedTuple):
    """One client: its wire, its first request, and its next one after it read the stream of an answer.

    `calls` are the two that its model makes, name and arguments; text where the tool takes text.
    """

    wire: str
    first: Body
    again: Callable[[bytes], list[Body]]
    calls: tuple[tuple[str, Any], tuple[str, Any]]
    path: str = ""

    def second(self, stream: bytes) -> Body:
        """The request that follows."""
        key = "input" if self.wire == "responses" else "messages"
        return {**self.first, key: [*self.first[key], *self.again(stream)]}


def _claude(stream: bytes) -> list[Body]:
    """Every block as it came, the last result with a hint."""
    blocks: dict[int, Body] = {}
    for event in events(stream):
        if event["type"] == "content_block_start":
            blocks[event["index"]] = {**event["content_block"], "pieces": ""}
        if event["type"] == "content_block_delta":
            block, delta = blocks[event["index"]], event["delta"]
            match delta["type"]:
                case "input_json_delta":
                    block["pieces"] += delta["partial_json"]
                case "signature_delta":
                    block["signature"] = delta["signature"]
                case kind:
                    block[kind.removesuffix("_delta")] += delta[kind.removesuffix("_delta")]
    content: list[Body] = []
    for block in blocks.values():
        pieces = block.pop("pieces")
        content.append({**block, "input": json.loads(pieces or "{}")} if block["type"] == "tool_use" else block)
    ids = [block["id"] for block in content if block["type"] == "tool_use"]
    told: list[Body] = [
        {"tool_use_id": id, "type": "tool_result", "content": said, "is_error": False}
        for id, said in zip(ids, RESULTS, strict=True)
    ]
    told[-1] |= HINT
    return [{"role": "assistant", "content": content}, {"role": "user", "content": told}]


def _items(stream: bytes) -> list[Body]:
    return [event["item"] for event in events(stream) if event["type"] == "response.output_item.done"]


def _codex(stream: bytes) -> list[Body]:
    """Each item in the fields that this client knows; what reasoning has no content says so."""
    known = {
        "reasoning": ("type", "id", "summary", "content", "encrypted_content"),
        "function_call": ("type", "status", "id", "name", "namespace", "arguments", "call_id"),
        "custom_tool_call": ("type", "status", "id", "name", "input", "call_id"),
    }
    items = [{key: item[key] for key in known[item["type"]] if key in item} for item in _items(stream)]
    items = [{"content": None, **item} if item["type"] == "reasoning" else item for item in items]
    calls = [item for item in items if item["type"] != "reasoning"]
    told = [
        {"type": f"{call['type']}_output", "id": f"fco_{at}", "call_id": call["call_id"], "output": said}
        for at, (call, said) in enumerate(zip(calls, RESULTS, strict=True))
    ]
    return [*items, *told]


def _pi_items(stream: bytes) -> list[Body]:
    known = {
        "reasoning": ("id", "type", "summary", "encrypted_content"),
        "function_call": ("type", "id", "call_id", "name", "arguments"),
    }
    items = [{key: item[key] for key in known[item["type"]] if key in item} for item in _items(stream)]
    calls = [item["call_id"] for item in items if item["type"] == "function_call"]
    told = [
        {"type": "function_call_output", "call_id": id, "output": said} for id, said in zip(calls, RESULTS, strict=True)
    ]
    return [*items, *told]


def _chat(content: Any) -> Callable[[bytes], list[Body]]:
    """A client that keeps the reasoning, and says `content` where there is no text."""

    def again(stream: bytes) -> list[Body]:
        thought, calls = "", dict[int, Body]()
        for event in events(stream):
            for choice in event["choices"]:
                thought += choice["delta"].get("reasoning_content") or ""
                for piece in choice["delta"].get("tool_calls", ()):
                    call = calls.setdefault(piece["index"], {"id": piece.get("id"), "name": "", "arguments": ""})
                    for key, said in piece["function"].items():
                        call[key] += said
        said = [
            {"id": c["id"], "type": "function", "function": {"name": c["name"], "arguments": c["arguments"]}}
            for c in calls.values()
        ]
        turn = {"role": "assistant", "content": content, "reasoning_content": thought, "tool_calls": said}
        told = [
            {"role": "tool", "content": text, "tool_call_id": call["id"]}
            for call, text in zip(said, RESULTS, strict=True)
        ]
        return [turn, *told]

    return again


BASH = ("bash", {"cmd": "a"}), ("bash", {"cmd": "b"})
FLAT: Body = {"type": "function", "name": "bash", "description": "Run.", "parameters": SCHEMA}
NESTED: Body = {"type": "function", "function": {"name": "bash", "description": "Run.", "parameters": SCHEMA}}
DO: Body = {"role": "user", "content": "Do both."}
TALKERS: dict[str, Talker] = {
    "claude-code": Talker(
        wire="messages",
        path="/v1/messages?beta=true",
        first={
            "model": "m",
            "messages": [
                {
                    "role": "user",
                    "content": [{"type": "text", "text": "<reminder>"}, {"type": "text", "text": "Do both."}],
                },
                {"role": "system", "content": "# Environment", "output_config": {"effort": "medium"}},
            ],
            "system": [
                {"type": "text", "text": "billing"},
                {"type": "text", "text": "You are an agent.", **HINT},
                {"type": "text", "text": "Rules: 规则", **HINT},
            ],
            "tools": [
                {"name": "bash", "description": "Run.", "input_schema": SCHEMA},
                {"name": "Later", "description": "Later.", "input_schema": SCHEMA, "defer_loading": True},
            ],
            "metadata": {"user_id": "u"},
            "max_tokens": 128000,
            "thinking": {"type": "adaptive", "display": "omitted"},
            "context_management": {"edits": [{"type": "clear_thinking_20251015", "keep": "all"}]},
            "output_config": {"effort": "medium"},
            "stream": True,
        },
        again=_claude,
        calls=BASH,
    ),
    "codex": Talker(
        wire="responses",
        first={
            "model": "m",
            "input": [
                {
                    "type": "message",
                    "id": "m1",
                    "role": "developer",
                    "content": [{"type": "input_text", "text": "Rules."}],
                },
                {
                    "type": "message",
                    "id": "m2",
                    "role": "user",
                    "content": [{"type": "input_text", "text": "Do both."}],
                },
            ],
            "tools": [
                {**FLAT, "strict": False},
                {
                    "type": "namespace",
                    "name": "agents",
                    "description": "Agents.",
                    "tools": [{**FLAT, "name": "wait_agent", "strict": False}],
                },
                {"type": "custom", "name": "apply_patch", "description": "Patch.", "format": LARK},
                {"type": "web_search", "external_web_access": False},
            ],
            "tool_choice": "auto",
            "parallel_tool_calls": True,
            "reasoning": {"effort": "medium"},
            "store": False,
            "include": ["reasoning.encrypted_content"],
            "prompt_cache_key": "k",
            "text": {"verbosity": "low"},
            "client_metadata": {"session_id": "s"},
            "stream": True,
        },
        again=_codex,
        calls=(("wait_agent", {"cmd": "a"}), ("apply_patch", PATCH)),
    ),
    "pi": Talker(
        wire="chat",
        first={
            "model": "m",
            "messages": [
                {"role": "system", "content": "Rules."},
                {**DO, "content": [{"type": "text", "text": "Do both."}]},
            ],
            "tools": [NESTED],
            "store": False,
            "max_completion_tokens": 16384,
            "stream": True,
            "stream_options": {"include_usage": True},
        },
        again=_chat(None),
        calls=BASH,
    ),
    "opencode": Talker(
        wire="chat",
        first={
            "model": "m",
            "messages": [{"role": "system", "content": "Rules."}, DO],
            "tools": [NESTED],
            "tool_choice": "auto",
            "max_tokens": 8192,
            "stream": True,
            "stream_options": {"include_usage": True},
        },
        again=_chat(""),
        calls=BASH,
    ),
    "pi on responses": Talker(
        wire="responses",
        first={
            "model": "m",
            "input": [
                {"role": "system", "content": "Rules."},
                {"role": "user", "content": [{"type": "input_text", "text": "Do both."}]},
            ],
            "tools": [FLAT],
            "prompt_cache_key": "k",
            "store": False,
            "max_output_tokens": 16384,
            "stream": True,
        },
        again=_pi_items,
        calls=BASH,
    ),
}
