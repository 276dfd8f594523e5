"""How do I start this project? An agent with one tool reads the file that knows: two requests, one call between them.

    python examples/start.py [MODEL] [FOLDER]

MODEL is a name as everywhere (`openai/gpt-5.2`, `local`, which is the usual one), FOLDER the project: `examples/hello`.
"""

from __future__ import annotations

import sys
from pathlib import Path

from dragoman import Model
from dragoman.agent import Agent, RunResult
from dragoman.tools import read_tool
from dragoman.types import ToolChoice

HELLO = Path(__file__).resolve().parent / "hello"
RULES = "Answer the user's question from the files of the project."
QUESTION = "Read README.md and tell me how to start this project."
LOOK_FIRST = ToolChoice(mode="required")  # a small model would rather guess


def start(
    model: Model, folder: Path, question: str = QUESTION, rules: str = RULES, *, first: ToolChoice | None = None
) -> RunResult:
    """The answer to `question`, of what stands in `folder`; `first` is the choice of tool of the first request."""
    return Agent(model, [read_tool(folder)], system=rules, first_choice=first).run(question)


if __name__ == "__main__":
    name, place = sys.argv[1] if sys.argv[1:] else "local", sys.argv[2] if sys.argv[2:] else HELLO
    with Model(name) as chosen:
        result = start(chosen, Path(place), first=LOOK_FIRST if name == "local" else None)
    for message in result.history:
        print(f"{message.role}: {message.content}")
