"""Three ways to use a model, which stack: one prompt, a conversation, a loop with tools; and which one a task wants."""

from __future__ import annotations

from typing import Literal

import msgspec

Mode = Literal["completion", "chat", "agent"]

DIMENSIONS = (
    "core product",
    "history",
    "external action",
    "use of context",
    "latency",
    "typical scene",
    "main risk",
)
# The table of S4-30: a row a mode, in the order of DIMENSIONS.
MODES: dict[Mode, tuple[str, ...]] = {
    "completion": (
        "a text",
        "none: each call stands alone",
        "none",
        "one prompt: instruction first, data last",
        "one request",
        "classify, extract, sum up inside a program",
        "a text that is taken for more than it is: check its form",
    ),
    "chat": (
        "a conversation",
        "all of it is sent again, cut and summed up",
        "none",
        "system, summary, recent rounds, the question last",
        "one request a turn, longer with each",
        "an assistant that people talk to",
        "drift: what matters lies in the middle, or was cut",
    ),
    "agent": (
        "decisions, each a call of a tool",
        "calls and results stay pairs",
        "yes, each behind a permission",
        "as chat, and the results of tools",
        "several requests and tools a turn",
        "work that needs data or effects from outside",
        "an action that nobody wanted, or a loop without end",
    ),
}


class Task(msgspec.Struct, frozen=True, kw_only=True):
    """What is known of a task: whether somebody talks on after the answer, and whether it needs the world outside."""

    dialogue: bool = False
    outside: bool = False


def choose(task: Task) -> Mode:
    """The least mode that does (S4-31): data or actions from outside want the loop, a dialogue the conversation, an
    internal one-off neither.
    """
    return "agent" if task.outside else "chat" if task.dialogue else "completion"
