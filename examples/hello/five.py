"""Five questions about five files, put to the local model: how many does it get right?

    python five.py

It chooses the file and words the answer itself: nothing here tells it a path or corrects one. The one thing that is
decided for it is that its first step calls a tool. A question is right when the first call names the file and the
answer holds the fact, or says that there is no such file.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import NamedTuple

from dragoman.agent import Agent, RunResult
from dragoman.client import Model
from dragoman.errors import DragomanError
from dragoman.tools import read_tool
from dragoman.types import ToolCall, ToolChoice, Valid

HERE = Path(__file__).resolve().parent
ABSENT = ("not exist", "n't exist", "not found", "no such file", "missing", "does not have", "not there")


class Question(NamedTuple):
    """What is asked, the file that answers it, and the words of which one must be in the answer."""

    prompt: str
    path: str
    facts: tuple[str, ...]


QUESTIONS = (
    Question("Read README.md and tell me how to start this project.", "README.md", ("npm run dev",)),
    Question("Read config.toml and tell me the port.", "config.toml", ("8137",)),
    Question("Read docs/deploy.md and tell me on which day we deploy.", "docs/deploy.md", ("Friday",)),
    Question("Read 说明.md and tell me the start command.", "说明.md", ("npm run dev",)),
    Question("Read license.txt and tell me the license.", "license.txt", ABSENT),
)


def main() -> int:
    """Ask all five; the exit code is 0 when every run came to its end, however good the answers."""
    try:
        model = Model("local")
    except DragomanError as error:
        print(f"five.py: {error.message}", file=sys.stderr)
        return 2
    agent = Agent(model, [read_tool(HERE)], first_choice=ToolChoice(mode="required"))
    right = 0
    for question in QUESTIONS:
        result = agent.run(question.prompt)
        path_right, fact_right = judge(question, result)
        right += path_right and fact_right
        print(f"{'right' if path_right and fact_right else 'wrong'}  {question.prompt}")
        print(f"       read {chosen(result) or '(nothing)'}{'' if path_right else ' (not the file)'}")
        print(f"       {' '.join(result.text.split()) or result.outcome}")
    print(f"{right} of {len(QUESTIONS)} right")
    return 0


def judge(question: Question, result: RunResult) -> tuple[bool, bool]:
    """Whether the path and whether the answer is right."""
    answer = result.text.lower()
    return chosen(result) == question.path, any(fact.lower() in answer for fact in question.facts)


def chosen(result: RunResult) -> str | None:
    """The path of the first call."""
    for message in result.history:
        for block in message.content:
            if isinstance(block, ToolCall) and isinstance(found := block.parsed(), Valid):
                return str(found.arguments.get("path"))
    return None


if __name__ == "__main__":
    sys.exit(main())
