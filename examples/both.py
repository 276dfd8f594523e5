"""Two files at once: the model calls `read` twice in one reply, both run side by side, and one request answers both.

    python examples/both.py MODEL

Results are stored in the order of the calls, whichever came first.
"""

from __future__ import annotations

import sys
from pathlib import Path

from dragoman import Model
from dragoman.agent import Agent, AgentEvent, RunResult, ToolEnd, ToolStart
from dragoman.tools import AnyTool, read_tool

PROJECT = Path(__file__).resolve().parent / "dateparse"
TASK = "Read dateparse.py and test_dateparse.py. Call read for BOTH files in the same reply (two calls at once), then stop."


def both(model: Model, read: AnyTool, task: str = TASK) -> tuple[RunResult, list[str]]:
    """How the run ended, and when each call began and ended."""
    seen: list[str] = []

    def watch(event: AgentEvent) -> None:
        if isinstance(event, ToolStart | ToolEnd):
            seen.append(f"{'begin' if isinstance(event, ToolStart) else 'end'} {event.call.arguments}")

    return Agent(model, [read]).run(task, on_event=watch), seen


if __name__ == "__main__":
    with Model(sys.argv[1]) as chosen:
        ended, told = both(chosen, read_tool(PROJECT))
    print("\n".join(told))
    print(f"{ended.steps} requests; {ended.text or ended.detail}")
