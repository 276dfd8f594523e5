"""The conversation of source S3, in its form: a prompt of 895 characters, two files read at once. The words are ours."""

from __future__ import annotations

from typing import NamedTuple

from dragoman.dialect.model import BASE
from dragoman.types import Request, Text, Tool, ToolCall, ToolResult, assistant, system, tool, user
from dragoman.wire import WIRES, find
from dragoman.wire.base import Exchange

PROMPT = """You are a small coding agent that works in one folder.

Work rules:
1. Look before you speak. Read the files that a task names before you say anything about what is in them.
2. Ask for everything you need at once: when two files are wanted, call the tool for both in the same reply.
3. Change as little as possible. Keep the style of the file, its names and its line ends, and leave alone what works.
4. Run the tests after every change. A failing test is told with its first line, not with a guess at its cause.
5. Never invent a path, a function or a result. If a file is not there, say so, and name the folder you looked in.
6. Stay inside the folder. No network, no packages, no settings.
7. Stop when the task is done. Say in two or three sentences what you did, and what you left undone, and why.

Answer in the language of the task. Code, paths and all commands stay as they are written.
"""

FILES = {
    "dateparse.py": 'def parse(text: str) -> tuple[int, int, int]:\n    """Year, month and day of a date like 2026-09-26."""\n'
    '    year, month, day = (int(part) for part in text.split("-"))\n    return year, month, day\n',
    "test_dateparse.py": "from dateparse import parse\n\n\ndef test_a_date() -> None:\n"
    '    assert parse("2026-09-26") == (2026, 9, 26)\n',
}
READ_FILE = Tool(
    name="read_file",
    description="Read a file of the folder.",
    parameters={"type": "object", "properties": {"path": {"type": "string"}}, "required": ["path"]},
)
TASK = (
    "Read dateparse.py and test_dateparse.py. Call read_file for BOTH files in the same reply "
    "(two tool calls at once), then stop."
)
CALLS = tuple(ToolCall.of(f"call_{at}", "read_file", {"path": path}) for at, path in enumerate(FILES, 1))
T5 = Request(
    model="some-model",
    messages=(
        system(PROMPT),
        user(TASK),
        assistant(*CALLS),
        *(
            tool(ToolResult(call_id=call.id, content=(Text(text=text),)))
            for call, text in zip(CALLS, FILES.values(), strict=True)
        ),
    ),
    tools=(READ_FILE,),
    max_output=512,
)


class Form(NamedTuple):
    """The conversation on one wire: recorded from a server, derived from another form, or synthetic (all of it made)."""

    label: str
    server: str | None
    body: bytes


FORMS = {
    wire: Form(
        label="synthetic" if wire == "chat" else "derived",
        server=None,
        body=find(wire).encode_request(T5, BASE, Exchange()).http.body,
    )
    for wire in WIRES
}
