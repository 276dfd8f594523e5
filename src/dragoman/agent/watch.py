"""What a run has spent, and what it does over and over: whether a limit is reached."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from typing import Any

from dragoman.agent.usage import total
from dragoman.agent.values import Done, Limits, Repeat
from dragoman.types.content import ToolCall, ToolResult
from dragoman.types.reply import Reply


def spent(limits: Limits, replies: Sequence[Reply], seconds: float, charged: int = 0) -> Done | None:
    """The limit that is reached; None while none is. `charged`: what the replies cost, where somebody knows prices."""
    usage = total(reply.usage for reply in replies)
    tokens = 0 if usage is None else (usage.input or 0) + (usage.output or 0)
    cost = charged or (0 if usage is None else usage.cost or 0)
    if len(replies) >= limits.steps:
        return Done(outcome="limit", detail=f"stopped after {limits.steps} steps: the step limit", limit="steps")
    if limits.tokens is not None and tokens >= limits.tokens:
        said = f"stopped after {tokens} tokens: the limit is {limits.tokens}"
        return Done(outcome="limit", detail=said, limit="tokens")
    if limits.cost is not None and cost >= limits.cost:
        said = f"stopped after {cost / 1e9:.4f} dollars: the limit is {limits.cost / 1e9:.4f}"
        return Done(outcome="limit", detail=said, limit="cost")
    if limits.seconds is not None and seconds >= limits.seconds:
        said = f"stopped after {seconds:.0f} seconds: the limit is {limits.seconds:g}"
        return Done(outcome="limit", detail=said, limit="seconds")
    return None


def key_of(call: ToolCall, arguments: dict[str, Any] | None) -> str:
    """What makes two calls the same: their name and their arguments, by value rather than by spelling (AGT-011)."""
    said = call.arguments
    if arguments is not None:
        said = json.dumps(arguments, sort_keys=True)
    return digest(f"{call.namespace}\0{call.name}\0{said}")


def mark_of(result: ToolResult) -> str:
    """What makes two results the same."""
    return digest(repr(result.content))


def digest(text: str) -> str:
    """A short name for a text."""
    return hashlib.blake2b(text.encode("utf-8", "replace"), digest_size=12).hexdigest()


def counted(before: dict[str, Repeat], batch: Sequence[tuple[str, str, bool]]) -> dict[str, Repeat]:
    """How often each call of the last batch gave the same result in a row: a call that is not repeated at once starts
    anew. `batch` holds each call's key, its result's mark, and whether it was refused for being repeated.
    """
    after: dict[str, Repeat] = {}
    for key, mark, refused in batch:
        old = after.get(key) or before.get(key)
        if old is not None and (refused or old.result == mark):
            after[key] = Repeat(old.count + 1, old.result)
        else:
            after[key] = Repeat(1, mark)
    return after
