"""Ollama's own chat by hand: every modelled field said, every variant spelled."""

from __future__ import annotations

import json
from typing import Any

PNG = "iVBORw0KGgo="
TIME = "2025-05-19T09:26:59.678947Z"
CALL = {"id": "call_1", "function": {"index": 0, "name": "read", "arguments": {"path": "说明.md", "n": 1}}}

REQUESTS: dict[str, dict[str, Any]] = {
    "rich": {
        "model": "some-model",
        "messages": [
            {"role": "system", "content": "根据项目文件回答用户的问题。"},
            {"role": "user", "content": "Look.", "images": [PNG, "AAAA"], "vendor_key": 1},
            {
                "role": "assistant",
                "content": "I will.",
                "thinking": "They want the README.",
                "tool_calls": [CALL, {"type": "function", "function": {"name": "list", "arguments": {}}}],
            },
            {"role": "tool", "content": "启动命令:npm run dev", "tool_name": "read", "tool_call_id": "call_1"},
            {"role": "tool", "content": "a\nb", "tool_name": "list", "images": [PNG]},
        ],
        "tools": [
            {
                "type": "function",
                "function": {
                    "name": "read",
                    "description": "读取文件",
                    "parameters": {"type": "object", "properties": {"path": {"type": "string"}}},
                    "returns": "text",
                },
            },
            {"type": "browser", "headless": True},
        ],
        "format": {"type": "object", "properties": {"a": {"type": "string"}}},
        "options": {
            "num_predict": 512,
            "temperature": 0,
            "top_p": 0.5,
            "top_k": 40,
            "seed": 7,
            "presence_penalty": 0.25,
            "frequency_penalty": -0.5,
            "stop": ["END", "完"],
            "num_ctx": 2048,
        },
        "think": "low",
        "logprobs": True,
        "top_logprobs": 2,
        "keep_alive": "5m",
        "stream": True,
        "vendor_option": [1, 2],
    },
    "plain": {
        "model": "m",
        "messages": [{"role": "user", "content": "hi", "images": []}],
        "tools": [],
        "format": "json",
        "options": {},
        "think": False,
        "stream": False,
    },
    "spelled": {
        "model": "m",
        "messages": [
            {"role": "user"},
            {"role": "assistant", "tool_calls": [{"function": {"name": "f", "arguments": '{"a": 1}'}}]},
            {
                "role": "assistant",
                "content": "",
                "tool_calls": [{"function": {"name": "g"}}, {"function": {"name": "g", "arguments": [1]}}],
            },
            {"role": "tool", "content": "to g", "tool_name": "g"},
            {"role": "tool", "content": "to f"},
            {"role": "tool", "content": "to nobody", "tool_name": "x"},
        ],
        "think": True,
        "options": {"stop": "END", "num_predict": -1},
    },
    "nulls": {
        "model": "m",
        "messages": [{"role": "user", "content": None}, {"role": "assistant", "content": "x", "tool_calls": None}],
        "tools": None,
        "format": None,
        "options": None,
        "think": None,
        "stream": None,
        "keep_alive": None,
    },
    "wrong types": {
        "model": 5,
        "messages": [{"role": "user", "content": "hi", "images": [7]}],
        "tools": [{"function": {"name": "f", "parameters": "none", "description": 1}}],
        "options": {"temperature": "hot", "num_predict": "many", "stop": [1]},
        "format": 3,
        "think": 7,
        "stream": "yes",
    },
}

COUNTS = {"total_duration": 9, "load_duration": 2, "prompt_eval_count": 29, "eval_count": 8, "eval_duration": 5}


def _reply(message: dict[str, Any], reason: Any = "stop", **more: Any) -> dict[str, Any]:
    return {"model": "m", "created_at": TIME, "message": message, "done_reason": reason, "done": True, **more}


REPLIES: dict[str, dict[str, Any]] = {
    "rich": _reply(
        {"role": "assistant", "content": "好的。", "thinking": "Think.", "tool_calls": [CALL], "images": [PNG]},
        **COUNTS,
    ),
    "length": _reply({"role": "assistant", "content": "half"}, "length", prompt_eval_duration=1),
    "loaded": _reply({"role": "assistant", "content": ""}, "load"),
    "bare": {"message": {"content": "hi"}},
    "wrong types": {
        "model": ["m"],
        "created_at": "now",
        "message": {"role": "robot", "content": "x", "thinking": 1},
        "done": "yes",
        "done_reason": 7,
        "eval_count": "3",
        "prompt_eval_count": -1,
    },
}


def lines(*values: Any) -> bytes:
    """Each value as one line."""
    return b"".join(json.dumps(value, ensure_ascii=False).encode() + b"\n" for value in values)


def _line(**message: Any) -> dict[str, Any]:
    message = {"role": "assistant", "content": "", **message}
    return {"model": "m", "created_at": TIME, "message": message, "done": False}


LAST = _reply({"role": "assistant", "content": ""}, **COUNTS)
STREAMS: dict[str, bytes] = {
    "text": lines(_line(content="启动\u2028"), _line(content="命令 👩🏽‍💻"), LAST),
    "calls": lines(
        _line(thinking="Bo"),
        _line(thinking="th."),
        _line(content="so:"),
        _line(tool_calls=[CALL]),
        _line(tool_calls=[{"function": {"name": "list", "arguments": {}}}]),
        LAST,
    ),
    "failed": lines(_line(content="so"), {"error": "model runner has unexpectedly stopped"}),
    "cut": lines(_line(content="half")),
    "no end of line": lines(_line(content="all"), LAST).rstrip(b"\n"),
    "whole": lines(REPLIES["rich"]),
    "noise": b"\xef\xbb\xbf\r\n \n" + lines(_line(content="x")) + b"\n\r\n" + lines(LAST),
}

# A whole reply and the stream that says the same.
PAIRS: dict[str, tuple[dict[str, Any], bytes]] = {
    "text": (_reply({"role": "assistant", "content": "启动\u2028命令 👩🏽‍💻"}, **COUNTS), STREAMS["text"]),
    "calls": (
        _reply(
            {
                "role": "assistant",
                "content": "so:",
                "thinking": "Both.",
                "tool_calls": [CALL, {"function": {"name": "list", "arguments": {}}}],
            },
            **COUNTS,
        ),
        STREAMS["calls"],
    ),
}
