"""The facts by which servers of one wire differ: a closed struct."""

from __future__ import annotations

from typing import Any, Literal

import msgspec

from dragoman.errors import UsageError


class Dialect(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One server's deviations from its wire. Each default is the wire's base: what its own vendor documents.

    `source` names the page, issue or recording that a row rests on.
    """

    name: str = "base"
    source: str = ""

    # --- requests
    max_tokens_key: Literal["max_tokens", "max_completion_tokens"] = "max_tokens"
    instruction_role: Literal["system", "developer"] | None = None  # None: the role that was said
    system_as_item: bool = False  # responses: the system prompt is the first input item, not `instructions` (C-12)
    empty_content: Literal["null", "empty"] = "null"  # chat: content beside calls when there is no text (C-04)
    image_note: str = "Attached image(s) from tool result:"  # S0-41
    default_max_output: int = 8192  # messages: max_tokens is mandatory; used, and noted, when nobody said it
    reasoning_out: str | None = None  # chat: the key that carries reasoning back to the server; None: it is not sent
    replay: Literal["never", "same_model", "same_provider", "required", "always"] = "same_model"
    cache_style: Literal["cache_control", "breakpoint"] | None = (
        None  # chat: how a cache hint is spelled; None: not said
    )
    arguments_style: Literal["compact", "spaced"] = "compact"
    call_id_pattern: str | None = None
    tool_name_pattern: str | None = None

    # --- replies
    reasoning_in: tuple[str, ...] = ("reasoning_content", "reasoning", "reasoning_text")
    reasoning_shown: str | None = "reasoning_content"  # chat: the key under which clients are shown reasoning
    usage_cached: Literal["inside", "outside"] | None = None  # None: the wire's own rule
    usage_reasoning: Literal["inside", "outside", "total_only"] | None = None
    usage_in_stream: Literal["asked", "always"] = "asked"
    done_marker: bool = True  # chat: a stream ends with `data: [DONE]`


BASE = Dialect()


def override(dialect: Dialect, facts: dict[str, Any]) -> Dialect:
    """`dialect` with some facts changed, each checked. Raises UsageError for an unknown fact or a wrong value."""
    unknown = [name for name in facts if name not in Dialect.__struct_fields__]
    if unknown:
        known = ", ".join(Dialect.__struct_fields__)
        raise UsageError("usage", f"unknown dialect fact {unknown[0]!r}; known: {known}")
    try:
        return msgspec.convert({**msgspec.to_builtins(dialect), **facts}, Dialect)
    except msgspec.ValidationError as error:
        raise UsageError("usage", f"dialect: {error}") from None
