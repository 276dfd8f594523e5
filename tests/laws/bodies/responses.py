"""OpenAI Responses by hand: every modelled field said, every variant spelled."""

from __future__ import annotations

from typing import Any

from laws.bodies.sse import stream

PNG = "data:image/png;base64,iVBORw0KGgo="
HINT = {"mode": "explicit"}
CITATION = {"type": "url_citation", "url": "https://example.org", "title": "t", "start_index": 0, "end_index": 2}

RICH: dict[str, Any] = {
    "model": "some-model",
    "instructions": "根据项目文件回答用户的问题。",
    "input": [
        {"type": "message", "role": "developer", "content": "Be brief."},
        {
            "role": "user",
            "content": [
                {"type": "input_text", "text": "Look.", "prompt_cache_breakpoint": {"mode": "explicit", "ttl": "30m"}},
                {"type": "input_image", "image_url": PNG, "detail": "low", "size": 3},
                {"type": "input_image", "image_url": "https://example.org/猫.png", "prompt_cache_breakpoint": HINT},
                {"type": "input_file", "file_data": "data:application/pdf;base64,JVBERg==", "filename": "报告.pdf"},
                {"type": "input_file", "file_id": "file_1"},
                {"type": "input_audio", "input_audio": {"data": "UklGRg==", "format": "wav"}},
                {"type": "sticker", "id": 7},
            ],
        },
        {
            "type": "reasoning",
            "id": "rs_1",
            "summary": [
                {"type": "summary_text", "text": "They want it."},
                {"type": "summary_text", "text": "So do I."},
            ],
            "content": [{"type": "reasoning_text", "text": "The README."}],
            "encrypted_content": "Y2lwaGVy",
        },
        {"type": "web_search_call", "id": "ws_1", "status": "completed", "action": {"type": "search", "query": "npm"}},
        {"type": "mcp_call", "id": "mcp_1", "arguments": "{}", "name": "look", "server_label": "s", "output": "x"},
        {
            "type": "message",
            "id": "msg_1",
            "status": "completed",
            "role": "assistant",
            "phase": "commentary",
            "content": [
                {"type": "output_text", "text": "I will read it.", "annotations": [CITATION], "logprobs": []},
                {"type": "refusal", "refusal": "Not all of it."},
            ],
        },
        {
            "type": "function_call",
            "id": "fc_1",
            "call_id": "t1",
            "name": "read",
            "arguments": '{"path":"README.md"}',
            "namespace": "files",
        },
        {"type": "custom_tool_call", "call_id": "t2", "name": "shell", "input": "ls -l"},
        {"type": "function_call_output", "call_id": "t1", "output": "启动命令:npm run dev"},
        {
            "type": "custom_tool_call_output",
            "call_id": "t2",
            "output": [{"type": "input_text", "text": "a"}, {"type": "input_image", "image_url": PNG}],
        },
        {
            "type": "additional_tools",
            "role": "developer",
            "tools": [{"type": "function", "name": "late", "parameters": {}, "strict": False}],
        },
        {"type": "compaction", "id": "cmp_1", "encrypted_content": "eHg="},
        {"role": "assistant", "content": "It is"},
        {"role": "user", "content": "Go on."},
    ],
    "tools": [
        {
            "type": "function",
            "name": "read",
            "description": "读取文件",
            "parameters": {"type": "object", "properties": {"path": {"type": "string"}}, "required": ["path"]},
            "strict": True,
            "defer_loading": False,
        },
        {"type": "custom", "name": "shell", "description": "Runs a line."},
        {
            "type": "namespace",
            "name": "files",
            "description": "d",
            "tools": [{"type": "function", "name": "write", "parameters": None}],
        },
        {"type": "web_search", "search_context_size": "low"},
    ],
    "tool_choice": {"type": "function", "name": "read"},
    "parallel_tool_calls": True,
    "max_output_tokens": 512,
    "temperature": 0,
    "top_p": 0.5,
    "reasoning": {"effort": "low", "summary": "auto"},
    "text": {
        "format": {
            "type": "json_schema",
            "name": "answer",
            "schema": {"type": "object"},
            "strict": True,
            "description": "d",
        },
        "verbosity": "low",
        "more": 1,
    },
    "previous_response_id": "resp_0",
    "conversation": {"id": "conv_1"},
    "service_tier": "auto",
    "store": False,
    "user": "u-1",
    "prompt_cache_key": "k-1",
    "metadata": {"run": "1"},
    "top_logprobs": 2,
    "stream": True,
    "include": ["reasoning.encrypted_content"],
    "truncation": "disabled",
}

REQUESTS: dict[str, dict[str, Any]] = {
    "rich": RICH,
    "text": {"model": "m", "input": "Hello", "text": {"format": {"type": "json_object"}}, "tool_choice": "required"},
    "builtin": {
        "model": "m",
        "input": [
            {"type": "local_shell_call", "id": "l", "call_id": "t3", "action": {"type": "exec"}, "status": "completed"},
            {"type": "local_shell_call_output", "call_id": "t3", "output": "README.md"},
        ],
    },
    "prompt": {"prompt": {"id": "pmpt_1"}, "include": ["a", "b"], "reasoning": {"summary": "auto"}},
    "items": {
        "model": "m",
        "input": [
            {"role": "system", "content": [{"type": "input_text", "text": "as an item"}]},
            {"role": "user", "content": []},
            {"role": "user", "content": ""},
            {"role": "user"},
            {
                "role": "assistant",
                "content": [{"type": "output_text", "text": "a"}, {"type": "output_text", "text": "b"}],
            },
            {"type": "function_call", "name": "f", "arguments": {"a": 1}},
            {"type": "function_call", "call_id": "", "name": "g"},
            {"type": "function_call", "call_id": "t", "name": "h", "arguments": None},
            {"type": "function_call_output", "output": "no id"},
            {"type": "function_call_output", "call_id": "t", "output": ""},
            {"type": "function_call_output", "call_id": "x"},
            {"type": "function_call_output", "call_id": "y", "output": []},
            {"id": "msg_9"},
            {"type": "item_reference", "id": "msg_8"},
            {"type": "reasoning", "id": "rs_1", "summary": []},
            {
                "type": "reasoning",
                "content": [{"type": "reasoning_text", "text": "a"}, {"type": "reasoning_text", "text": "b"}],
            },
        ],
        "tool_choice": {"type": "allowed_tools", "mode": "auto", "tools": [{"type": "custom", "name": "c"}]},
        "tools": [{"type": "function", "name": "f"}],
    },
    "nulls": {
        "model": "m",
        "instructions": None,
        "input": [
            {"role": "user", "content": [{"type": "input_text", "text": "a", "prompt_cache_breakpoint": None}]},
            {"type": "reasoning", "summary": None, "encrypted_content": None},
            {
                "type": "function_call",
                "call_id": "t",
                "name": "f",
                "arguments": "{}",
                "id": None,
                "status": None,
                "namespace": None,
            },
        ],
        "tools": [],
        "tool_choice": None,
        "temperature": None,
        "reasoning": None,
        "text": None,
        "metadata": None,
        "previous_response_id": None,
        "stream": None,
    },
    "wrong types": {
        "model": 5,
        "instructions": ["a"],
        "input": [
            {
                "role": "user",
                "content": [{"type": "input_text", "text": 1}, {"type": "input_image", "image_url": 7}, {"type": 7}],
            },
            {"type": "reasoning", "summary": "short", "content": [{"type": "reasoning_text", "text": 3}]},
            {"type": 7},
            {},
        ],
        "tools": [{"type": "function", "name": "f", "parameters": "none", "strict": "no", "description": 1}],
        "temperature": "hot",
        "max_output_tokens": "many",
        "reasoning": {"effort": 3},
        "text": {"format": "json", "verbosity": 1},
        "metadata": {"a": 1},
        "stream": "yes",
        "tool_choice": {"type": "weird"},
        "include": "all",
    },
}

USAGE: dict[str, Any] = {
    "input_tokens": 929,
    "input_tokens_details": {"cached_tokens": 890, "cache_write_tokens": 5, "audio_tokens": 3, "film_tokens": 0},
    "output_tokens": 60,
    "output_tokens_details": {"reasoning_tokens": 20, "audio_tokens": 2, "image_tokens": 1},
    "total_tokens": 989,
    "cost": 0.0015,
    "cost_details": {"upstream": 0.001},
}

OUTPUT: list[dict[str, Any]] = [
    {
        "type": "reasoning",
        "id": "rs_1",
        "summary": [{"type": "summary_text", "text": "Both."}],
        "encrypted_content": "Y2lw",
    },
    {"type": "web_search_call", "id": "ws_1", "status": "completed", "action": {"type": "search", "query": "npm"}},
    {
        "type": "message",
        "id": "msg_1",
        "status": "completed",
        "role": "assistant",
        "content": [{"type": "output_text", "text": "启动\u2028命令 👩🏽‍💻", "annotations": [CITATION]}],
    },
    {
        "type": "function_call",
        "id": "fc_1",
        "call_id": "t1",
        "name": "read",
        "arguments": '{"path":"a"}',
        "status": "completed",
    },
    {"type": "custom_tool_call", "id": "ctc_1", "call_id": "t2", "name": "shell", "input": "ls", "status": "completed"},
]
REPLY: dict[str, Any] = {
    "id": "resp_1",
    "object": "response",
    "created_at": 1700000000,
    "model": "some-model",
    "status": "completed",
    "error": None,
    "incomplete_details": None,
    "instructions": None,
    "output": OUTPUT,
    "tools": [],
    "temperature": 1.0,
    "usage": USAGE,
    "billing": {"payer": "you"},
}

REPLIES: dict[str, dict[str, Any]] = {
    "rich": REPLY,
    "thought": {
        "id": "resp_2",
        "model": "m",
        "status": "incomplete",
        "incomplete_details": {"reason": "max_output_tokens"},
        "output": [
            {"type": "reasoning", "content": [{"type": "reasoning_text", "text": "so"}]},
            {
                "type": "message",
                "role": "assistant",
                "phase": "final_answer",
                "content": [{"type": "refusal", "refusal": "no"}, {"type": "output_text", "text": "x"}],
            },
            {
                "type": "message",
                "role": "assistant",
                "phase": "final_answer",
                "content": [{"type": "output_text", "text": "y"}],
            },
            {"type": "new_item", "x": 1},
        ],
        "output_text": "xy",
    },
    "bare": {"output": [{"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "hi"}]}]},
    "wrong types": {
        "id": 7,
        "created_at": "now",
        "model": 1,
        "status": 3,
        "usage": "none",
        "output": [{"type": "message", "role": "robot", "content": 7}, {}],
    },
}


def _part(item: int, text: str) -> list[dict[str, Any]]:
    place = {"output_index": item, "content_index": 0, "item_id": "msg_1"}
    return [
        {
            "type": "response.content_part.added",
            **place,
            "part": {"type": "output_text", "text": "", "annotations": []},
        },
        *({"type": "response.output_text.delta", **place, "delta": piece} for piece in (text[:3], text[3:])),
        {"type": "response.output_text.annotation.added", **place, "annotation_index": 0, "annotation": CITATION},
        {"type": "response.output_text.done", **place, "text": text},
        {
            "type": "response.content_part.done",
            **place,
            "part": {"type": "output_text", "text": text, "annotations": [CITATION]},
        },
    ]


def _item(index: int, begun: dict[str, Any], *between: dict[str, Any]) -> list[dict[str, Any]]:
    done = OUTPUT[index]
    return [
        {"type": "response.output_item.added", "output_index": index, "item": {**done, **begun}},
        *between,
        {"type": "response.output_item.done", "output_index": index, "item": done},
    ]


def _delta(kind: str, index: int, text: str, **more: Any) -> dict[str, Any]:
    return {"type": f"response.{kind}.delta", "output_index": index, "item_id": "x", "delta": text, **more}


BEGUN = {"type": "response.created", "response": {**REPLY, "status": "in_progress", "output": [], "usage": None}}
ENDED = {"type": "response.completed", "response": REPLY}
SAID = _item(2, {"content": [], "status": "in_progress"}, *_part(2, "启动\u2028命令 👩🏽‍💻"))
ITEMS = [
    *_item(
        0,
        {"summary": []},
        _delta("reasoning_summary_text", 0, "Bo", summary_index=0),
        _delta("reasoning_summary_text", 0, "th.", summary_index=0),
    ),
    *_item(
        1,
        {"status": "in_progress"},
        {"type": "response.web_search_call.searching", "output_index": 1, "item_id": "ws_1"},
    ),
    *SAID,
    *_item(
        3,
        {"arguments": ""},
        _delta("function_call_arguments", 3, '{"path"'),
        _delta("function_call_arguments", 3, ':"a"}'),
    ),
    *_item(4, {"input": ""}, _delta("custom_tool_call_input", 4, "ls")),
]


def _numbered(*events: dict[str, Any]) -> list[dict[str, Any]]:
    return [{**event, "sequence_number": number} for number, event in enumerate(events)]


STREAMS: dict[str, bytes] = {
    "rich": stream(*_numbered(BEGUN, {**BEGUN, "type": "response.in_progress"}, *ITEMS, ENDED), named=True),
    "failed": stream(
        *_numbered(BEGUN, *SAID[:3], {"type": "error", "code": "server_error", "message": "overloaded"}), named=True
    ),
    "failed inside": stream(
        *_numbered(
            BEGUN,
            {
                "type": "response.failed",
                "response": {**REPLY, "status": "failed", "error": {"code": "server_error", "message": "no"}},
            },
        )
    ),
    "cut": stream(*_numbered(BEGUN, *SAID[:4]), named=True),
    "no names": stream(
        BEGUN, *ITEMS, {**ENDED, "type": "response.incomplete", "response": {**REPLY, "status": "incomplete"}}
    ),
    "only the end": stream(ENDED),
    "unknown": stream(
        BEGUN, {"type": "response.new_event", "x": 1}, {"type": "keepalive"}, *ITEMS[:3], ENDED, "[DONE]"
    ),
    "whole": b'{"id":"r","output":[{"type":"message","role":"assistant","content":[{"type":"output_text","text":"not streamed"}]}],"status":"completed"}',
}

# A whole reply and the stream that says the same.
PAIRS: dict[str, tuple[dict[str, Any], bytes]] = {
    "rich": (REPLY, STREAMS["rich"]),
    "end": (REPLY, STREAMS["only the end"]),
}
