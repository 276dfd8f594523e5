"""Text completions by hand: every modelled field said, every form of prompt spelled."""

from __future__ import annotations

from typing import Any

from laws.bodies.sse import stream

REQUESTS: dict[str, dict[str, Any]] = {
    "rich": {
        "model": "some-model",
        "prompt": "从前有座山",
        "suffix": "故事完。",
        "echo": True,
        "best_of": 3,
        "logprobs": 2,
        "logit_bias": {"50256": -100},
        "max_tokens": 16,
        "temperature": 0,
        "top_p": 0.5,
        "top_k": 40,
        "seed": 7,
        "presence_penalty": 0.25,
        "frequency_penalty": -0.5,
        "stop": ["END", "完"],
        "user": "u-1",
        "n": 2,
        "stream": True,
        "stream_options": {"include_usage": True},
        "vendor_option": [1, 2],
    },
    "several": {"model": "m", "prompt": ["a", "b", ""], "stop": "END"},
    "one in a list": {"prompt": ["a"]},
    "tokens": {"model": "m", "prompt": [1, 2, 3]},
    "several of tokens": {"prompt": [[1, 2], [3], []]},
    "mixed": {"prompt": ["a", [1, 2]]},
    "none": {"prompt": []},
    "empty": {"prompt": ""},
    "absent": {"model": "m"},
    "nulls": {
        "model": "m",
        "prompt": None,
        "suffix": None,
        "max_tokens": None,
        "stop": None,
        "stream": None,
        "logprobs": None,
    },
    "wrong types": {"model": 5, "prompt": "a", "max_tokens": "many", "stop": [1], "stream": "yes", "n": True},
}

USAGE = {
    "prompt_tokens": 29,
    "completion_tokens": 8,
    "total_tokens": 37,
    "prompt_tokens_details": {"cached_tokens": 16, "cache_write_tokens": 5, "audio_tokens": 3},
    "completion_tokens_details": {"reasoning_tokens": 2, "audio_tokens": 2, "image_tokens": 1},
    "cost": 0.0015,
}
LOGPROBS = {"tokens": ["山", "上"], "token_logprobs": [-0.5, None], "top_logprobs": [], "text_offset": [0, 1]}

REPLIES: dict[str, dict[str, Any]] = {
    "rich": {
        "id": "cmpl-1",
        "object": "text_completion",
        "created": 1700000000,
        "model": "some-model",
        "choices": [
            {"text": "山上有座庙。", "index": 0, "logprobs": LOGPROBS, "finish_reason": "stop"},
            {"text": "海", "index": 1, "logprobs": None, "finish_reason": "length", "stop_reason": "x"},
        ],
        "usage": USAGE,
        "system_fingerprint": "fp_1",
    },
    "bare": {"choices": [{"text": "hi"}], "model": "m"},
    "empty": {"id": "c", "choices": [{"text": "", "finish_reason": "content_filter"}], "usage": None},
    "wordless": {"choices": [{"text": None, "index": 0, "finish_reason": None}], "prompt": []},
    "wrong types": {
        "id": 1,
        "created": "now",
        "model": ["m"],
        "choices": [{"index": "0", "text": 7, "finish_reason": 7}],
        "usage": {"prompt_tokens": "3"},
    },
}


def _chunk(text: str, finish: str | None = None, **more: Any) -> dict[str, Any]:
    choice = {"text": text, "index": 0, "logprobs": None, "finish_reason": finish, **more}
    return {"id": "cmpl-1", "object": "text_completion", "created": 1, "model": "m", "choices": [choice]}


STREAMS: dict[str, bytes] = {
    "text": stream(
        _chunk("启动\u2028"),
        _chunk("命令 "),
        _chunk("👩🏽‍💻"),
        _chunk("", "stop"),
        {"id": "cmpl-1", "choices": [], "usage": USAGE},
        "[DONE]",
    ),
    "probabilities": stream(_chunk("a", logprobs=LOGPROBS), _chunk("b", "length"), "[DONE]"),
    "others": stream(_chunk("a"), {"choices": [{"index": 1, "text": "b"}]}, _chunk("", "stop"), "[DONE]"),
    "failed": stream(_chunk("so"), {"error": {"message": "overloaded", "type": "server_error", "code": 503}}),
    "cut": stream(_chunk("half")),
    "no marker": stream(_chunk("all", "stop")),
    "whole": b' {"id":"c","choices":[{"text":"not streamed","finish_reason":"stop"}]}',
    "noise": b'\xef\xbb\xbf: hello\r\n\r\nevent: x\r\ndata:{}\r\n\r\nid: 7\ndata: {"choices":\ndata: []}\n\n'
    + stream(_chunk("x", "stop")),
}

# A whole reply and the stream that says the same.
PAIRS: dict[str, tuple[dict[str, Any], bytes]] = {
    "text": (
        {
            "id": "cmpl-1",
            "created": 1,
            "model": "m",
            "choices": [{"text": "启动\u2028命令 👩🏽‍💻", "index": 0, "finish_reason": "stop"}],
            "usage": USAGE,
        },
        STREAMS["text"],
    ),
}
