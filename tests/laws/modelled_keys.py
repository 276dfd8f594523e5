"""The keys of each wire that a typed field holds, by what they stand on: what may not be found among the leftovers."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import msgspec

from dragoman.types.note import Path
from dragoman.wire.chat.request import PARAMS as CHAT
from dragoman.wire.completions.request import PARAMS as COMPLETIONS
from dragoman.wire.messages.request import PARAMS as MESSAGES
from dragoman.wire.ollama.request import OPTIONS
from dragoman.wire.ollama.request import PARAMS as OLLAMA
from dragoman.wire.params import Param
from dragoman.wire.responses.request import PARAMS as RESPONSES

Kinds = dict[str, tuple[type, ...]]
NUMBER = (int, float)


def _params(table: tuple[Param, ...]) -> Kinds:
    return {key: NUMBER if kind is float else (kind,) for key, _, kind in table}


TEXT: Kinds = {"text": (str,)}
DEFINITION: Kinds = {"name": (str,), "description": (str,), "strict": (bool,)}
SCHEMA: Kinds = {"name": (str,), "schema": (dict,), "strict": (bool,), "description": (str,)}
REPLY: Kinds = {"id": (str,), "model": (str,)}

# (wire, type of value) or (wire, type of value, nested object) → key → the JSON types that the typed field holds.
MODELLED: dict[tuple[str, ...], Kinds] = {
    ("chat", "Request"): {
        **_params(CHAT),
        "model": (str,),
        "messages": (list,),
        "tools": (list,),
        "functions": (list,),
        "reasoning_effort": (str,),
        "stream": (bool,),
        "max_tokens": (int,),
    },
    ("chat", "Request", "~reasoning"): {"effort": (str,), "max_tokens": (int,)},
    ("chat", "Message"): {
        "content": (str, list),
        "name": (str,),
        "refusal": (str,),
        "prefix": (bool,),
        "tool_calls": (list,),
        "tool_call_id": (str,),
    },
    ("chat", "Text"): TEXT,
    ("chat", "Refusal"): {"refusal": (str,)},
    ("chat", "Reasoning"): {"reasoning_content": (str,), "reasoning": (str,)},
    ("chat", "Media"): {
        "image_url": (dict,),
        "video_url": (dict,),
        "input_audio": (dict,),
        "data": (str,),
        "transcript": (str,),
    },
    ("chat", "Media", "~image_url"): {"url": (str,), "detail": (str,)},
    ("chat", "Media", "~input_audio"): {"data": (str,), "format": (str,)},
    ("chat", "Media", "~file"): {"file_data": (str,), "filename": (str,)},
    ("chat", "ToolCall"): {"id": (str,), "function": (dict,)},  # some servers send an empty `custom` beside it
    ("chat", "ToolCall", "~function"): {"name": (str,), "arguments": (str,)},
    ("chat", "ToolCall", "~custom"): {"name": (str,), "input": (str,)},
    ("chat", "Tool"): {"function": (dict,), "custom": (dict,)},
    ("chat", "Tool", "~function"): {**DEFINITION, "parameters": (dict,)},
    ("chat", "Output", "~json_schema"): SCHEMA,
    ("chat", "Reply"): {**REPLY, "created": NUMBER, "choices": (list,)},
    ("chat", "Reply", "~choice"): {"message": (dict,), "finish_reason": (str,)},
    ("chat", "Choice"): {"message": (dict,), "finish_reason": (str,)},
    ("completions", "Request"): {
        **_params(COMPLETIONS),
        "model": (str,),
        "prompt": (str,),
        "stream": (bool,),
    },
    ("completions", "Message"): {"text": (str,), "finish_reason": (str,)},
    ("completions", "Reply"): {**REPLY, "created": NUMBER, "choices": (list,)},
    ("ollama", "Request"): {
        **_params(OLLAMA),
        "model": (str,),
        "messages": (list,),
        "tools": (list,),
        "stream": (bool,),
    },
    ("ollama", "Request", "~options"): {**_params(OPTIONS[1:]), "stop": (str,)},
    ("ollama", "Message"): {"content": (str,), "thinking": (str,), "tool_calls": (list,), "tool_name": (str,)},
    ("ollama", "ToolCall"): {"id": (str,), "function": (dict,)},
    ("ollama", "ToolCall", "~function"): {"name": (str,), "arguments": (str, dict)},
    ("ollama", "Tool", "~function"): {"name": (str,), "description": (str,), "parameters": (dict,)},
    ("ollama", "Reply"): {"model": (str,), "message": (dict,), "done_reason": (str,)},
    ("messages", "Request"): {
        **_params(MESSAGES),
        "model": (str,),
        "messages": (list,),
        "system": (str, list),
        "tools": (list,),
        "stream": (bool,),
    },
    ("messages", "Request", "~metadata"): {"user_id": (str,)},
    ("messages", "Request", "~output_config"): {"effort": (str,)},
    ("messages", "Request", "~thinking"): {"budget_tokens": (int,)},
    ("messages", "Message"): {"role": (str,), "content": (str, list)},
    ("messages", "Text"): TEXT,
    ("messages", "Reasoning"): {"thinking": (str,)},
    ("messages", "Media"): {"source": (dict,)},
    ("messages", "Media", "~source"): {"data": (str,), "url": (str,), "file_id": (str,), "media_type": (str,)},
    ("messages", "ToolCall"): {"id": (str,), "name": (str,), "input": (dict,)},
    ("messages", "ToolResult"): {"tool_use_id": (str,), "content": (str, list), "is_error": (bool,)},
    ("messages", "HostedCall"): {"id": (str,), "name": (str,), "input": (dict,)},
    ("messages", "HostedResult"): {"tool_use_id": (str,), "content": (str, list, dict)},
    ("messages", "Tool"): {**DEFINITION, "input_schema": (dict,)},
    ("messages", "Output"): {"schema": (dict,)},
    ("messages", "Reply"): {
        **REPLY,
        "content": (list,),
        "stop_reason": (str,),
        "stop_sequence": (str,),
        "usage": (dict,),
    },
    ("responses", "Request"): {
        **_params(RESPONSES),
        "model": (str,),
        "input": (str, list),
        "instructions": (str,),
        "tools": (list,),
        "stream": (bool,),
        "previous_response_id": (str,),
        "conversation": (str, dict),
    },
    ("responses", "Request", "~reasoning"): {"effort": (str,)},
    ("responses", "Request", "~text"): {"verbosity": (str,)},
    ("responses", "Message"): {"role": (str,), "content": (str, list)},
    ("responses", "Text"): TEXT,
    ("responses", "Text", "~item"): {"role": (str,), "content": (str, list)},
    ("responses", "Refusal"): {"refusal": (str,)},
    ("responses", "Media"): {"image_url": (str,), "file_data": (str,), "filename": (str,), "input_audio": (dict,)},
    ("responses", "ToolCall"): {
        "name": (str,),
        "arguments": (str,),
        "input": (str,),
        "call_id": (str,),
        "namespace": (str,),
    },
    ("responses", "ToolResult"): {"call_id": (str,), "output": (str, list)},
    ("responses", "Tool"): {**DEFINITION, "parameters": (dict,)},
    ("responses", "Output"): SCHEMA,
    ("responses", "Reply"): {**REPLY, "created_at": NUMBER, "output": (list,), "status": (str,), "usage": (dict,)},
}


def trespassers(value: Any, path: Path = ()) -> Iterator[str]:
    """Every leftover in a value that a typed field could hold; an empty one says nothing and may stay."""
    if isinstance(value, tuple):
        for at, item in enumerate(value):
            yield from trespassers(item, (*path, at))
    elif isinstance(value, msgspec.Struct):
        for wire, left in (getattr(value, "opaque", None) or {}).items():
            if (
                type(value).__name__ != "Usage"
            ):  # the vendor's own dict, whole: what still says the same is written again
                yield from _in_bag(left, (wire, type(value).__name__), path)
        for name in value.__struct_fields__:
            if name != "opaque":
                yield from trespassers(getattr(value, name), (*path, name))


def _in_bag(left: dict[str, Any], what: tuple[str, ...], path: Path) -> Iterator[str]:
    for key, item in left.items():
        if key.startswith("~") and isinstance(item, dict):
            yield from _in_bag(item, (*what, key), path)
        elif item not in ("", [], {}) and type(item) in MODELLED.get(what, {}).get(key, ()):
            yield f"{'.'.join(what)}.{key} at {path}: {item!r:.80}"
