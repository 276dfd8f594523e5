"""Anthropic Messages by hand: every modelled field said, every variant spelled."""

from __future__ import annotations

from typing import Any

from laws.bodies.sse import stream

PNG = "iVBORw0KGgo="
HINT = {"type": "ephemeral"}
CITATION = {
    "type": "char_location",
    "cited_text": "run dev",
    "document_index": 0,
    "start_char_index": 5,
    "end_char_index": 12,
}

RICH: dict[str, Any] = {
    "model": "some-model",
    "max_tokens": 4096,
    "system": [
        {"type": "text", "text": "根据项目文件回答用户的问题。", "cache_control": {"type": "ephemeral", "ttl": "1h"}}
    ],
    "messages": [
        {
            "role": "user",
            "content": [
                {"type": "text", "text": "Look.", "cache_control": HINT},
                {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": PNG, "size": 3}},
                {"type": "image", "source": {"type": "url", "url": "https://example.org/猫.png"}},
                {
                    "type": "document",
                    "source": {"type": "file", "file_id": "file_1"},
                    "title": "报告.pdf",
                    "context": "x",
                },
                {
                    "type": "document",
                    "source": {"type": "text", "media_type": "text/plain", "data": "plain"},
                    "title": "a",
                },
                {"type": "container_upload", "file_id": "file_2"},
            ],
        },
        {
            "role": "assistant",
            "content": [
                {"type": "thinking", "thinking": "They want the README.", "signature": "c2ln"},
                {"type": "redacted_thinking", "data": "cmVk"},
                {"type": "server_tool_use", "id": "srvtoolu_1", "name": "web_search", "input": {"query": "npm"}},
                {
                    "type": "web_search_tool_result",
                    "tool_use_id": "srvtoolu_1",
                    "content": [{"type": "web_search_result", "url": "u"}],
                },
                {"type": "text", "text": "I will read it.", "citations": [CITATION]},
                {
                    "type": "tool_use",
                    "id": "t1",
                    "name": "read",
                    "input": {"path": "README.md"},
                    "caller": {"type": "direct"},
                },
                {"type": "tool_use", "id": "t2", "name": "read", "input": {}, "cache_control": HINT},
            ],
        },
        {
            "role": "user",
            "content": [
                {"type": "tool_result", "tool_use_id": "t1", "content": "启动命令:npm run dev", "is_error": False},
                {
                    "type": "tool_result",
                    "tool_use_id": "t2",
                    "content": [
                        {"type": "text", "text": "Read image file [image/png]"},
                        {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": PNG}},
                    ],
                    "cache_control": HINT,
                },
                {"type": "text", "text": "Go on."},
            ],
        },
        {
            "role": "system",
            "content": [
                {"type": "tool_addition", "tool": {"type": "tool_reference", "name": "write"}},
                {"type": "tool_removal", "tool": {"type": "tool_reference", "name": "read"}},
                {"type": "text", "text": "Be brief."},
            ],
        },
        {"role": "assistant", "content": "It is"},
    ],
    "tools": [
        {
            "name": "read",
            "description": "读取文件",
            "input_schema": {"type": "object", "properties": {"path": {"type": "string"}}, "required": ["path"]},
            "strict": True,
            "cache_control": HINT,
            "defer_loading": False,
        },
        {"type": "custom", "name": "write", "input_schema": {"type": "object"}},
        {"type": "web_search_20260318", "name": "web_search", "max_uses": 3},
    ],
    "tool_choice": {"type": "tool", "name": "read", "disable_parallel_tool_use": True},
    "temperature": 0,
    "top_p": 0.5,
    "top_k": 40,
    "stop_sequences": ["END", "完"],
    "thinking": {"type": "enabled", "budget_tokens": 2048, "display": "summarized"},
    "output_config": {
        "effort": "low",
        "format": {"type": "json_schema", "schema": {"type": "object"}},
        "task_budget": 5,
    },
    "service_tier": "auto",
    "metadata": {"user_id": "u-1", "team": "x"},
    "cache_control": HINT,
    "stream": True,
    "container": "c_1",
}

REQUESTS: dict[str, dict[str, Any]] = {
    "rich": RICH,
    "spelled": {
        "model": "m",
        "max_tokens": 1,
        "system": "plain",
        "messages": [
            {"role": "user", "content": [{"type": "text", "text": "one block"}]},
            {"role": "assistant", "content": [{"type": "text", "text": ""}, {"type": "text", "text": " "}]},
            {"role": "user", "content": ""},
            {"role": "user", "content": []},
            {"role": "user"},
            {
                "role": "assistant",
                "content": [
                    {"type": "tool_use", "name": "f", "input": {"a": 1e5}},
                    {"type": "tool_use", "id": "", "name": "g"},
                ],
            },
            {
                "role": "user",
                "content": [
                    {"type": "text", "text": "before"},
                    {"type": "tool_result", "tool_use_id": "x"},
                    {"type": "tool_result", "tool_use_id": "y", "content": ""},
                    {"type": "tool_result", "content": []},
                ],
            },
            {
                "role": "assistant",
                "content": [{"type": "thinking", "thinking": ""}, {"type": "thinking", "signature": "s"}],
            },
            {"role": "user", "content": "go"},
        ],
        "thinking": {"type": "disabled"},
        "tool_choice": {"type": "any"},
        "tools": [{"name": "f"}],
    },
    "adaptive": {
        "model": "m",
        "max_tokens": 5,
        "messages": [{"role": "user", "content": "hi"}],
        "thinking": {"type": "adaptive", "display": "omitted"},
        "output_config": {},
        "output_format": {"type": "json_schema", "schema": {"type": "object"}},
        "tool_choice": {"type": "auto", "disable_parallel_tool_use": False},
        "tools": [{"name": "f", "input_schema": {"type": "object"}}],
    },
    "nulls": {
        "model": "m",
        "max_tokens": None,
        "system": None,
        "messages": [
            {"role": "user", "content": None},
            {"role": "user", "content": [{"type": "text", "text": "a", "citations": None, "cache_control": None}]},
            {"role": "assistant", "content": [{"type": "tool_use", "id": "t", "name": "f", "input": None}]},
            {
                "role": "user",
                "content": [{"type": "tool_result", "tool_use_id": "t", "content": None, "is_error": None}],
            },
        ],
        "tools": [],
        "tool_choice": None,
        "temperature": None,
        "thinking": None,
        "metadata": None,
        "stop_sequences": None,
        "stream": None,
    },
    "wrong types": {
        "model": 5,
        "max_tokens": "many",
        "system": [],
        "messages": [
            {
                "role": "user",
                "content": [
                    {"type": "image", "source": {"type": "base64", "data": 7}},
                    {"type": "text", "text": 1},
                    {"type": 7},
                ],
            },
            {
                "role": "assistant",
                "content": [
                    {"type": "thinking", "thinking": 1, "signature": 2},
                    {"type": "redacted_thinking", "data": 3},
                ],
            },
        ],
        "tools": [{"name": "f", "input_schema": True, "strict": "no", "description": 1}],
        "temperature": "hot",
        "stop_sequences": "END",
        "service_tier": "fast",
        "metadata": {"user_id": 7},
        "stream": "yes",
        "thinking": {"type": "enabled", "budget_tokens": "many"},
        "tool_choice": {"type": "weird"},
        "cache_control": {"type": "forever"},
    },
}

USAGE: dict[str, Any] = {
    "input_tokens": 39,
    "cache_read_input_tokens": 890,
    "cache_creation_input_tokens": 6,
    "cache_creation": {"ephemeral_1h_input_tokens": 4, "ephemeral_5m_input_tokens": 2},
    "output_tokens": 60,
    "output_tokens_details": {"thinking_tokens": 20},
    "server_tool_use": {"web_search_requests": 1, "other": 2},
    "service_tier": "standard",
    "cost": 0.0015,
    "inference_geo": "eu",
}

REPLY: dict[str, Any] = {
    "id": "msg_1",
    "type": "message",
    "role": "assistant",
    "model": "some-model",
    "content": [
        {"type": "thinking", "thinking": "Think.", "signature": "c2ln"},
        {"type": "redacted_thinking", "data": "cmVk"},
        {"type": "server_tool_use", "id": "srvtoolu_1", "name": "web_search", "input": {"query": "npm"}},
        {"type": "web_search_tool_result", "tool_use_id": "srvtoolu_1", "content": []},
        {"type": "text", "text": "好的。", "citations": [CITATION]},
        {"type": "tool_use", "id": "t1", "name": "read", "input": {"a": 1}},
    ],
    "stop_reason": "tool_use",
    "stop_sequence": None,
    "usage": USAGE,
    "container": {"id": "c_1"},
}

REPLIES: dict[str, dict[str, Any]] = {
    "rich": REPLY,
    "sequence": {
        "id": "msg_2",
        "content": [{"type": "text", "text": "a"}],
        "stop_reason": "stop_sequence",
        "stop_sequence": "END",
        "usage": {"input_tokens": 1, "output_tokens": 1},
    },
    "refused": {
        "id": "msg_3",
        "type": "message",
        "role": "assistant",
        "content": [],
        "stop_reason": "refusal",
        "stop_sequence": None,
        "stop_details": {"type": "refusal", "category": "cyber", "explanation": "no"},
        "usage": {"input_tokens": 1, "output_tokens": 0, "cache_creation": None},
    },
    "bare": {"content": [{"type": "text", "text": "hi"}]},
    "wrong types": {
        "id": 7,
        "type": "message",
        "role": "robot",
        "model": 1,
        "content": [{"type": "text", "text": "x"}],
        "stop_reason": 3,
        "usage": "none",
    },
}


def _start(**more: Any) -> dict[str, Any]:
    message = {"id": "msg_1", "type": "message", "role": "assistant", "model": "m", "content": [], "stop_reason": None}
    return {"type": "message_start", "message": {**message, "stop_sequence": None, **more}}


def _block(index: int, block: dict[str, Any], *deltas: dict[str, Any]) -> list[dict[str, Any]]:
    return [
        {"type": "content_block_start", "index": index, "content_block": block},
        *({"type": "content_block_delta", "index": index, "delta": delta} for delta in deltas),
        {"type": "content_block_stop", "index": index},
    ]


def _end(reason: str, **more: Any) -> list[dict[str, Any]]:
    delta = {"stop_reason": reason, "stop_sequence": None}
    return [{"type": "message_delta", "delta": delta, **more}, {"type": "message_stop"}]


def _json(text: str) -> dict[str, Any]:
    return {"type": "input_json_delta", "partial_json": text}


TEXT = _block(
    0, {"type": "text", "text": ""}, *({"type": "text_delta", "text": text} for text in ("启动\u2028", "命令 👩🏽‍💻"))
)
CALLS = [
    *_block(
        0,
        {"type": "thinking", "thinking": "", "signature": ""},
        {"type": "thinking_delta", "thinking": "Both."},
        {"type": "signature_delta", "signature": "c2ln"},
    ),
    *_block(
        1,
        {"type": "server_tool_use", "id": "s1", "name": "web_search", "input": {}},
        _json('{"query":'),
        _json('"npm"}'),
    ),
    *_block(2, {"type": "web_search_tool_result", "tool_use_id": "s1", "content": []}),
    *_block(
        3,
        {"type": "text", "text": "", "citations": []},
        {"type": "citations_delta", "citation": CITATION},
        {"type": "text_delta", "text": "so"},
    ),
    *_block(
        4, {"type": "tool_use", "id": "t1", "name": "read", "input": {}}, _json(""), _json('{"path": '), _json('"a"}')
    ),
    *_block(5, {"type": "tool_use", "id": "t2", "name": "list", "input": {}}),
]

STREAMS: dict[str, bytes] = {
    "text": stream(
        _start(usage={"input_tokens": 1, "output_tokens": 1}),
        {"type": "ping"},
        *TEXT,
        *_end("end_turn", usage={"output_tokens": 9}),
        named=True,
    ),
    "calls": stream(_start(usage=USAGE), *CALLS, *_end("tool_use", usage={"output_tokens": 60}), named=True),
    "failed": stream(
        _start(), TEXT[0], {"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}}, named=True
    ),
    "cut": stream(_start(), *TEXT[:2], named=True),
    "no names": stream(_start(), *TEXT, *_end("max_tokens")),
    "unknown": stream(
        _start(),
        {"type": "new_event", "x": 1},
        *_block(0, {"type": "new_block", "y": []}, {"type": "new_delta", "z": 1}),
        *_end("end_turn"),
        named=True,
    ),
    "whole": b'{"type":"message","role":"assistant","content":[{"type":"text","text":"not streamed"}],"stop_reason":"end_turn"}',
}

# A whole reply and the stream that says the same.
PAIRS: dict[str, tuple[dict[str, Any], bytes]] = {
    "text": (
        {
            "id": "msg_1",
            "type": "message",
            "role": "assistant",
            "model": "m",
            "content": [{"type": "text", "text": "启动\u2028命令 👩🏽‍💻"}],
            "stop_reason": "end_turn",
            "stop_sequence": None,
            "usage": {"input_tokens": 1, "output_tokens": 9},
        },
        STREAMS["text"],
    ),
    "calls": (
        {
            "id": "msg_1",
            "type": "message",
            "role": "assistant",
            "model": "m",
            "content": [
                {"type": "thinking", "thinking": "Both.", "signature": "c2ln"},
                {"type": "server_tool_use", "id": "s1", "name": "web_search", "input": {"query": "npm"}},
                {"type": "web_search_tool_result", "tool_use_id": "s1", "content": []},
                {"type": "text", "text": "so", "citations": [CITATION]},
                {"type": "tool_use", "id": "t1", "name": "read", "input": {"path": "a"}},
                {"type": "tool_use", "id": "t2", "name": "list", "input": {}},
            ],
            "stop_reason": "tool_use",
            "stop_sequence": None,
            "usage": USAGE,
        },
        STREAMS["calls"],
    ),
}
