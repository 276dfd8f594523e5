"""Chat Completions by hand: every modelled field said, every variant spelled."""

from __future__ import annotations

from typing import Any

from laws.bodies.sse import stream

PNG = "data:image/png;base64,iVBORw0KGgo="

RICH: dict[str, Any] = {
    "model": "some-model",
    "messages": [
        {"role": "system", "content": "根据项目文件回答用户的问题。", "name": "house"},
        {
            "role": "developer",
            "content": [{"type": "text", "text": "Be brief.", "cache_control": {"type": "ephemeral"}}],
        },
        {
            "role": "user",
            "name": "ada",
            "content": [
                {"type": "text", "text": "Look.", "cache_control": {"type": "ephemeral", "ttl": "1h"}},
                {"type": "image_url", "image_url": {"url": PNG, "detail": "low", "size": 3}},
                {
                    "type": "image_url",
                    "image_url": {"url": "https://example.org/a.png"},
                    "cache_control": {"type": "ephemeral"},
                },
                {"type": "input_audio", "input_audio": {"data": "UklGRg==", "format": "wav"}},
                {"type": "video_url", "video_url": {"url": "https://example.org/a.mp4"}},
                {"type": "file", "file": {"file_data": "data:application/pdf;base64,JVBERg==", "filename": "报告.pdf"}},
                {"type": "file", "file": {"file_id": "file-1"}},
                {"type": "sticker", "sticker": {"id": 7}},
            ],
        },
        {
            "role": "assistant",
            "reasoning_content": "They want the README.",
            "content": "I will read it.",
            "refusal": "Not all of it.",
            "name": "helper",
            "annotations": [{"type": "url_citation", "url_citation": {"url": "https://example.org", "start_index": 0}}],
            "tool_calls": [
                {"id": "t1", "type": "function", "function": {"name": "read", "arguments": '{"path":"README.md"}'}},
                {"id": "t2", "type": "custom", "custom": {"name": "shell", "input": "ls -l"}},
            ],
            "vendor_key": {"kept": True},
        },
        {"role": "tool", "tool_call_id": "t1", "content": "启动命令:npm run dev", "name": "read"},
        {"role": "tool", "tool_call_id": "t2", "content": [{"type": "text", "text": "README.md"}]},
        {"role": "assistant", "content": "It is", "prefix": True},
    ],
    "tools": [
        {
            "type": "function",
            "function": {
                "name": "read",
                "description": "读取文件",
                "parameters": {"type": "object", "properties": {"path": {"type": "string"}}, "required": ["path"]},
                "strict": True,
                "returns": "text",
            },
            "cache_control": {"type": "ephemeral"},
        },
        {"type": "custom", "custom": {"name": "shell", "description": "Runs a line."}},
        {"type": "browser", "browser": {"headless": True}},
    ],
    "tool_choice": {"type": "function", "function": {"name": "read"}},
    "parallel_tool_calls": True,
    "max_tokens": 512,
    "temperature": 0,
    "top_p": 0.5,
    "top_k": 40,
    "seed": 7,
    "presence_penalty": 0.25,
    "frequency_penalty": -0.5,
    "stop": ["END", "完"],
    "reasoning_effort": "low",
    "response_format": {
        "type": "json_schema",
        "json_schema": {"name": "answer", "schema": {"type": "object"}, "strict": True, "description": "The answer."},
    },
    "service_tier": "auto",
    "store": False,
    "user": "u-1",
    "prompt_cache_key": "k-1",
    "metadata": {"run": "1"},
    "verbosity": "low",
    "logprobs": True,
    "top_logprobs": 2,
    "n": 2,
    "stream": True,
    "stream_options": {"include_usage": True},
    "vendor_option": [1, 2],
}

REQUESTS: dict[str, dict[str, Any]] = {
    "rich": RICH,
    "router": {
        "model": "m",
        "messages": [{"role": "user", "content": "hi"}],
        "reasoning": {"effort": "high", "max_tokens": 2048, "exclude": False},
        "tool_choice": {
            "type": "allowed_tools",
            "allowed_tools": {"mode": "auto", "tools": [{"type": "function", "function": {"name": "a"}}]},
        },
        "max_completion_tokens": 9,
        "stop": "END",
        "response_format": {"type": "json_object"},
    },
    "legacy": {
        "model": "m",
        "messages": [
            {"role": "user", "content": "weather?"},
            {"role": "assistant", "content": None, "function_call": {"name": "get_weather", "arguments": "{}"}},
            {"role": "function", "name": "get_weather", "content": "rain"},
        ],
        "functions": [{"name": "get_weather", "parameters": {"type": "object"}}],
        "function_call": {"name": "get_weather"},
    },
    "nulls": {
        "model": "m",
        "messages": [
            {"role": "user", "content": "hi", "name": None},
            {"role": "assistant", "content": None, "tool_calls": None, "refusal": None, "audio": None},
            {"role": "assistant", "content": "", "tool_calls": []},
            {
                "role": "assistant",
                "tool_calls": [{"id": "t", "type": "function", "function": {"name": "f", "arguments": ""}}],
            },
            {"role": "tool", "tool_call_id": "t", "content": ""},
        ],
        "tools": [],
        "tool_choice": None,
        "temperature": None,
        "stop": None,
        "metadata": None,
        "response_format": None,
        "stream": None,
    },
    "wrong types": {
        "model": 5,
        "messages": [
            {"role": "user", "content": "hi", "name": 7},
            {"role": "assistant", "content": "x", "refusal": 1, "prefix": "yes", "reasoning_content": ["a"]},
        ],
        "tools": [
            {"type": "function", "function": {"name": "f", "parameters": "none", "strict": "no", "description": 1}}
        ],
        "temperature": "hot",
        "max_tokens": "many",
        "seed": 1.5,
        "stop": [1],
        "metadata": {"a": 1},
        "stream": "yes",
        "n": True,
        "reasoning_effort": 3,
        "response_format": "json",
        "tool_choice": {"type": "weird"},
        "parallel_tool_calls": 1,
    },
    "spelled": {
        "model": "m",
        "messages": [
            {"role": "user", "content": [{"type": "text", "text": "one part"}]},
            {"role": "user", "content": []},
            {"role": "user", "content": [{"type": "image_url", "image_url": "https://example.org/bare"}]},
            {"role": "user"},
            {
                "role": "assistant",
                "content": [{"type": "text", "text": "a"}, {"type": "refusal", "refusal": "b"}],
                "reasoning": "thought",
                "reasoning_details": [{"type": "reasoning.encrypted", "data": "eHg=", "index": 0}],
                "tool_calls": [
                    {"index": 0, "id": "", "function": {"name": "f", "arguments": {"a": 1}}},
                    {"function": {"name": "g"}, "type": "function"},
                    {"id": "t3", "type": "function", "function": {"name": "h", "arguments": None}},
                ],
            },
            {"role": "tool", "content": "no id"},
        ],
    },
}

USAGE = {
    "prompt_tokens": 929,
    "completion_tokens": 60,
    "total_tokens": 989,
    "prompt_tokens_details": {"cached_tokens": 890, "cache_write_tokens": 5, "audio_tokens": 3, "film_tokens": 0},
    "completion_tokens_details": {"reasoning_tokens": 20, "audio_tokens": 2, "image_tokens": 1},
    "cost": 0.0015,
    "cost_details": {"upstream": 0.001},
}

REPLY: dict[str, Any] = {
    "id": "c-1",
    "object": "chat.completion",
    "created": 1700000000,
    "model": "some-model",
    "choices": [
        {
            "index": 0,
            "message": {
                "role": "assistant",
                "content": "好的。",
                "reasoning_content": "Think.",
                "refusal": "No more.",
                "annotations": [{"type": "url_citation", "url_citation": {"url": "https://example.org"}}],
                "tool_calls": [{"id": "t1", "type": "function", "function": {"name": "read", "arguments": '{"a": 1}'}}],
            },
            "finish_reason": "tool_calls",
            "logprobs": None,
        },
        {"index": 1, "message": {"role": "assistant", "content": "另一个"}, "finish_reason": "length"},
    ],
    "usage": USAGE,
    "system_fingerprint": "fp_1",
    "service_tier": "default",
}

REPLIES: dict[str, dict[str, Any]] = {
    "rich": REPLY,
    "voice": {
        "id": "c-2",
        "created": 1,
        "model": "m",
        "choices": [
            {
                "message": {
                    "role": "assistant",
                    "content": None,
                    "audio": {"id": "a", "data": "UklG", "transcript": "hi", "expires_at": 9},
                },
                "finish_reason": "stop",
            }
        ],
    },
    "filtered": {"choices": [{"index": 0, "finish_reason": "content_filter", "message": None}], "usage": None},
    "bare": {"choices": [{"message": {"content": "hi"}}], "model": "m"},
    "wrong types": {
        "id": 1,
        "created": "now",
        "model": ["m"],
        "choices": [{"index": "0", "message": {"role": "robot", "content": "x"}, "finish_reason": 7}],
        "usage": {"prompt_tokens": "3"},
    },
    "legacy": {
        "id": "c-3",
        "choices": [
            {
                "message": {"role": "assistant", "content": None, "function_call": {"name": "f", "arguments": "{}"}},
                "finish_reason": "function_call",
            }
        ],
    },
}


def _chunk(delta: dict[str, Any], finish: str | None = None, **more: Any) -> dict[str, Any]:
    choice = {"index": 0, "delta": delta, "finish_reason": finish}
    return {"id": "c-1", "object": "chat.completion.chunk", "created": 1, "model": "m", "choices": [choice], **more}


def _call(index: int, arguments: str, **more: Any) -> dict[str, Any]:
    name = {"name": more.pop("name")} if "name" in more else {}
    return {"tool_calls": [{"index": index, **more, "function": {**name, "arguments": arguments}}]}


STREAMS: dict[str, bytes] = {
    "text": stream(
        _chunk({"role": "assistant", "content": ""}),
        _chunk({"content": "启动\u2028"}),
        _chunk({"content": "命令 👩🏽‍💻"}),
        _chunk({}, "stop"),
        "[DONE]",
    ),
    "two calls, interleaved": stream(
        _chunk({"role": "assistant", "content": None, "reasoning_content": "Both."}),
        _chunk(_call(0, "", id="t1", type="function", name="read")),
        _chunk(_call(1, "", id="t2", type="function", name="read")),
        _chunk(_call(0, '{"path":')),
        _chunk(_call(1, '{"path":"b"}')),
        _chunk(_call(0, '"a"}')),
        _chunk({}, "tool_calls"),
        {"id": "c-1", "choices": [], "usage": USAGE},
        "[DONE]",
    ),
    "failed": stream(
        _chunk({"content": "so"}), {"error": {"message": "overloaded", "type": "server_error", "code": 503}}
    ),
    "cut": stream(_chunk({"content": "half"})),
    "no marker": stream(_chunk({"content": "all"}, "stop")),
    "whole": b' {"id":"c","choices":[{"message":{"role":"assistant","content":"not streamed"},"finish_reason":"stop"}]}',
    "refusal": stream(
        _chunk({"refusal": "I "}), _chunk({"refusal": "will not."}), _chunk({}, "content_filter"), "[DONE]"
    ),
    "others": stream(
        _chunk({"content": "a"}),
        {"id": "c-1", "choices": [{"index": 1, "delta": {"content": "b"}}]},
        _chunk({}, "length"),
        "[DONE]",
    ),
    "noise": b'\xef\xbb\xbf: hello\r\n\r\nevent: x\r\ndata:{}\r\n\r\nid: 7\nretry: 5\ndata: {"choices":\ndata: []}\n\n'
    + stream(_chunk({"content": "x"}, "stop")),
}

# A whole reply and the stream that says the same.
PAIRS: dict[str, tuple[dict[str, Any], bytes]] = {
    "calls": (
        {
            "id": "c-1",
            "created": 1,
            "model": "m",
            "choices": [
                {
                    "index": 0,
                    "message": {
                        "role": "assistant",
                        "content": None,
                        "reasoning_content": "Both.",
                        "tool_calls": [
                            {"id": "t1", "type": "function", "function": {"name": "read", "arguments": '{"path":"a"}'}},
                            {"id": "t2", "type": "function", "function": {"name": "read", "arguments": '{"path":"b"}'}},
                        ],
                    },
                    "finish_reason": "tool_calls",
                }
            ],
            "usage": USAGE,
        },
        STREAMS["two calls, interleaved"],
    ),
    "text": (
        {
            "id": "c-1",
            "created": 1,
            "model": "m",
            "choices": [
                {
                    "index": 0,
                    "message": {"role": "assistant", "content": "启动\u2028命令 👩🏽‍💻"},
                    "finish_reason": "stop",
                }
            ],
        },
        STREAMS["text"],
    ),
}
