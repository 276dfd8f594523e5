"""Guards S0-01: the loop speaks the middle format alone; it imports no wire module and names no vendor and no protocol."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

import dragoman.agent

FILES = sorted(Path(dragoman.agent.__file__).parent.glob("*.py"))
NAMES = re.compile(r"openai|anthropic|claude|gpt|gemini|z\.?ai|completions|converse|ollama|llama|httpx?2?|sse\b", re.I)


@pytest.mark.req("S0-01")
@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_the_loop_knows_no_wire_and_no_vendor(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    assert NAMES.findall(text) == []
    imported = [
        node.module or ""
        for node in ast.walk(ast.parse(text))
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("dragoman.")
    ]
    parts = (
        "agent",
        "tools",
        "types",
        "errors",
        "passed",
        "history",
        "client.completion",
        "transport.cancel",
        "transport.clock",
    )
    allowed = tuple(f"dragoman.{name}" for name in parts)
    assert [name for name in imported if not name.startswith(allowed)] == []
