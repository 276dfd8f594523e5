"""What the edit law must know of a wire: the fields that its bodies never say, and those that show in an own way."""

from __future__ import annotations

from laws.edits import Name

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
}

# Fields that name what another field of the same value holds: an edit of them alone shows nowhere.
LABELS: frozenset[Name] = frozenset({("Foreign", "kind"), ("HostedTool", "kind")})
INVISIBLE: dict[str, frozenset[Name]] = {
    "chat": LABELS | {("Reasoning", "redacted"), ("ToolResult", "kind")},
}

# Fields that change the form of what holds them: all that differs lies within one element of the body, or, where two
# roots are named, within these.
WIDE: dict[str, dict[Name, tuple[str, ...]]] = {
    "chat": {
        ("Media", "kind"): ("messages", "choices"),
        ("ToolCall", "kind"): ("messages", "choices"),
        ("Tool", "kind"): ("tools", "tool_choice"),
        ("ToolChoice", "mode"): ("tool_choice",),
        ("Output", "kind"): ("response_format",),
        ("Usage", "input"): ("usage",),
        ("Usage", "output"): ("usage",),
    },
}

# A body in an old form that has no place for these: calls have no ids there, and only one kind.
EXEMPT: dict[tuple[str, str], frozenset[Name]] = {
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
