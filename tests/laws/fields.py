"""What the edit law must know of a wire: the fields that its bodies never say, and those that show in an own way."""

from __future__ import annotations

from laws.edits import Name, modelled

# Fields that no body of a wire can say: a value that has them is noted when written (laws L1 and L8).
UNSAID: dict[str, dict[Name, str]] = {
    "chat": {
        ("ServerState", "previous_id"): "this wire keeps no conversation on the server",
        ("ServerState", "conversation"): "this wire keeps no conversation on the server",
        ("ServerState", "cached_content"): "this wire keeps no conversation on the server",
        ("Text", "phase"): "commentary and answer are not told apart",
        ("Json", "value"): "a result is text",
        ("Media", "text"): "a text document is a text",
        ("Reasoning", "summary"): "reasoning is one text",
        ("ToolCall", "namespace"): "names are flat",
        ("Tool", "namespace"): "names are flat",
        ("ToolResult", "is_error"): "a result has no flag (S0-49)",
        ("HostedCall", "id"): "what the provider ran is not told",
        ("HostedCall", "name"): "what the provider ran is not told",
        ("HostedCall", "arguments"): "what the provider ran is not told",
        ("HostedCall", "payload"): "what the provider ran is not told",
        ("HostedResult", "call_id"): "what the provider ran is not told",
        ("HostedResult", "name"): "what the provider ran is not told",
        ("HostedResult", "payload"): "what the provider ran is not told",
        ("ToolsChange", "names"): "tools stand for the whole conversation",
        ("ToolsChange", "remove"): "tools stand for the whole conversation",
        ("Stop", "sequence"): "which stop sequence matched is not told",
        ("Stop", "detail"): "a stop is one word",
        ("Usage", "cache_write_1h"): "no such figure",
        ("Usage", "hosted_calls"): "no such figure",
        ("Usage", "tier"): "it stands on the reply",
    },
    "messages": {
        ("Message", "name"): "speakers have no names",
        ("Text", "phase"): "commentary and answer are not told apart",
        ("Json", "value"): "a result is text",
        ("Media", "detail"): "an image has no detail",
        ("Media", "transcript"): "no sounds",
        ("Reasoning", "summary"): "thinking is one text",
        ("Refusal", "text"): "a refusal is a stop",
        ("ToolCall", "namespace"): "names are flat",
        ("Tool", "namespace"): "names are flat",
        ("ToolResult", "name"): "a result is named by its call",
        ("HostedCall", "payload"): "a call and its result are two blocks",
        ("ServerState", "previous_id"): "this wire keeps no conversation on the server",
        ("ServerState", "conversation"): "this wire keeps no conversation on the server",
        ("ServerState", "cached_content"): "this wire keeps no conversation on the server",
        ("Output", "name"): "a schema has no name",
        ("Output", "strict"): "a schema is always held to",
        ("Output", "description"): "a schema has no description",
        ("Request", "store"): "no such parameter",
        ("Request", "cache_key"): "no such parameter",
        ("Request", "metadata"): "no such parameter",
        ("Request", "verbosity"): "no such parameter",
        ("Request", "logprobs"): "no such parameter",
        ("Request", "top_logprobs"): "no such parameter",
        ("Request", "n"): "no such parameter",
        ("Sampling", "seed"): "no such parameter",
        ("Sampling", "presence_penalty"): "no such parameter",
        ("Sampling", "frequency_penalty"): "no such parameter",
        ("Reply", "created"): "a reply does not say when it was made",
        ("Usage", "input_audio"): "no such figure",
        ("Usage", "output_audio"): "no such figure",
        ("Usage", "output_image"): "no such figure",
    },
    "responses": {
        ("Message", "name"): "speakers have no names",
        ("Message", "prefill"): "a begun answer cannot be continued",
        ("Json", "value"): "a result is text",
        ("Media", "text"): "a text document is a text",
        ("Media", "transcript"): "a sound has no transcript",
        ("ToolResult", "name"): "a result is named by its call",
        ("ToolResult", "is_error"): "a result has no flag",
        ("HostedResult", "call_id"): "a call and its result are one item",
        ("HostedResult", "name"): "a call and its result are one item",
        ("HostedResult", "payload"): "a call and its result are one item",
        ("ToolsChange", "names"): "tools are added by their definition",
        ("ToolsChange", "remove"): "tools are never taken away",
        ("ServerState", "cached_content"): "no such state",
        ("Request", "budget"): "an effort, not a budget",
        ("Request", "stop"): "no such parameter",
        ("Request", "logprobs"): "asked for by their number",
        ("Request", "n"): "no such parameter",
        ("Sampling", "top_k"): "no such parameter",
        ("Sampling", "seed"): "no such parameter",
        ("Sampling", "presence_penalty"): "no such parameter",
        ("Sampling", "frequency_penalty"): "no such parameter",
        ("Stop", "sequence"): "which stop sequence matched is not told",
        ("Stop", "detail"): "the words it knows are reasons",
        ("Usage", "cache_write_1h"): "no such figure",
        ("Usage", "hosted_calls"): "no such figure",
        ("Usage", "tier"): "it stands on the response",
    },
}

# What a narrow wire says; all else of the middle format is unsaid there.
NARROW: dict[str, frozenset[Name]] = {
    "completions": frozenset(
        {
            ("Text", "text"),
            *(("Foreign", name) for name in ("wire", "kind", "payload")),
            *(("Request", name) for name in ("model", "max_output", "stop", "user", "n", "stream")),
            *(
                ("Sampling", name)
                for name in ("temperature", "top_p", "top_k", "seed", "presence_penalty", "frequency_penalty")
            ),
            *(("Reply", name) for name in ("id", "model", "created")),
            ("Stop", "reason"),
            *(("Usage", name) for name in ("input", "output", "cache_read", "cache_write", "reasoning", "input_audio")),
            *(("Usage", name) for name in ("output_audio", "output_image", "cost")),
        }
    )
}
NARROW["ollama"] = NARROW["completions"].difference(
    (("Request", "user"), ("Request", "n"), ("Reply", "id")),
    (("Usage", name) for name in ("cache_read", "cache_write", "reasoning", "input_audio")),
    (("Usage", name) for name in ("output_audio", "output_image", "cost")),
    (("Foreign", name) for name in ("wire", "kind", "payload")),
) | {
    ("Message", "role"),
    *(("Request", name) for name in ("effort", "logprobs", "top_logprobs")),
    *(("Media", name) for name in ("kind", "media_type", "data")),
    ("Reasoning", "text"),
    ("Reasoning", "redacted"),
    *(("ToolCall", name) for name in ("id", "name", "arguments", "kind")),
    *(("ToolResult", name) for name in ("call_id", "name", "kind")),
    *(("Tool", name) for name in ("name", "description", "parameters", "kind")),
    *(("HostedTool", name) for name in ("wire", "kind", "payload")),
    ("Output", "kind"),
    ("Output", "schema"),
}
for _wire, _said in NARROW.items():
    UNSAID[_wire] = {name: "this wire says less" for name in modelled() if name not in _said}

# Fields that name what another field of the same value holds: an edit of them alone may show nowhere.
LABELS: frozenset[Name] = frozenset({("Foreign", "kind"), ("HostedTool", "kind")})
INVISIBLE: dict[str, frozenset[Name]] = {
    "chat": LABELS | {("Reasoning", "redacted"), ("ToolResult", "kind")},
    "messages": LABELS
    | {("HostedResult", "name"), ("ToolResult", "kind"), ("Reasoning", "redacted"), ("Message", "prefill")},
    "responses": LABELS | {("Reasoning", "redacted"), ("ToolResult", "kind"), ("Stop", "detail")},
    "completions": LABELS,
    "ollama": LABELS | {("Reasoning", "redacted"), ("ToolResult", "kind")},
}

# Fields that change the form of what holds them: all that differs lies within one element of the body, or, where two
# roots are named, within these.
WIDE: dict[str, dict[Name, tuple[str, ...]]] = {
    "completions": {("Usage", "input"): ("usage",), ("Usage", "output"): ("usage",)},
    "ollama": {
        ("Tool", "kind"): ("tools",),
        ("ToolCall", "kind"): ("messages", "message"),
        ("Output", "kind"): ("format",),
        ("Reply", "created"): ("created_at",),
    },
    "chat": {
        ("Media", "kind"): ("messages", "choices"),
        ("ToolCall", "kind"): ("messages", "choices"),
        ("Tool", "kind"): ("tools", "tool_choice"),
        ("ToolChoice", "mode"): ("tool_choice",),
        ("Output", "kind"): ("response_format",),
        ("Usage", "input"): ("usage",),
        ("Usage", "output"): ("usage",),
    },
    "messages": {
        ("Media", "kind"): ("messages",),
        ("Reasoning", "redacted"): ("messages", "content"),
        ("ToolCall", "kind"): ("messages", "content"),
        ("Tool", "kind"): ("tools",),
        ("ToolChoice", "mode"): ("tools", "tool_choice"),
        ("Request", "effort"): ("thinking", "output_config"),
        ("Output", "kind"): ("output_config",),
        ("Usage", "input"): ("usage",),  # said there without what the cache read and wrote
        ("Usage", "cache_read"): ("usage",),
        ("Usage", "cache_write"): ("usage",),
        ("Usage", "cache_write_1h"): ("usage",),
    },
    "responses": {
        ("Message", "role"): ("instructions", "input"),
        ("Media", "kind"): ("input",),
        ("ToolCall", "kind"): ("input", "output"),
        ("ToolResult", "kind"): ("input",),
        ("Tool", "kind"): ("tools", "tool_choice"),
        ("ToolChoice", "mode"): ("tool_choice",),
        ("Output", "kind"): ("text",),
        ("Usage", "input"): ("usage",),
        ("Usage", "output"): ("usage",),
        ("Stop", "reason"): ("status", "incomplete_details", "error"),
    },
}

# A body in a form that has no place of its own for these: the old calls have no ids and only one kind, and the type of a
# vendor's own item hangs on the call it answers.
EXEMPT: dict[tuple[str, str], frozenset[Name]] = {
    ("responses", "builtin"): frozenset({("ToolCall", "id"), ("ToolCall", "name"), ("ToolResult", "call_id")}),
    ("chat", "legacy"): frozenset(
        {
            ("ToolCall", "id"),
            ("ToolCall", "kind"),
            ("ToolResult", "call_id"),
            ("Tool", "kind"),
            ("ToolChoice", "mode"),
        }
    ),
}
