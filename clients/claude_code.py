"""Claude Code, a coding agent on the messages wire."""

from __future__ import annotations

import json

from msgspec.structs import replace

from clients.client import Call, Client, Fault, Local, Place, Ran
from clients.node import npm

PINS = npm("claude-code", "@anthropic-ai/claude-code@2.1.332")
QUIET = {
    "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
    "DISABLE_TELEMETRY": "1",
    "DISABLE_ERROR_REPORTING": "1",
    "DISABLE_AUTOUPDATER": "1",
    "CLAUDE_CODE_MAX_RETRIES": "0",
    "API_TIMEOUT_MS": "1200000",  # a model on one thread reads long before its first word
}
CALLS = (
    Call("Bash", {"command": "echo first 你好", "description": "Print a word"}),
    Call("Bash", {"command": "echo second", "description": "Print another"}),
)


def _run(place: Place, model: str | None = None) -> Ran:
    """`model`: the name that it asks for, or its own choice."""
    env = {**QUIET, "ANTHROPIC_BASE_URL": place.url, "ANTHROPIC_API_KEY": "none"}
    named = [] if model is None else ["--model", model]
    argv = ["claude", "-p", "--output-format", "json", *named, place.prompt, "--allowedTools", "Bash"]
    return _read(place.run(argv, env))


def _read(ran: Ran) -> Ran:
    """The last object that it prints says how it ended."""
    lines = [line for line in ran.out.splitlines() if line.startswith("{")]
    said = json.loads(lines[-1]) if lines else {}
    if not said or said.get("is_error"):
        kind = said.get("api_error_type") or said.get("subtype") or f"exit {ran.code}"
        return replace(ran, fault=Fault(kind=str(kind), message=str(said.get("result") or ran.err)[:400]))
    return replace(ran, answer=said.get("result"))


CLIENTS = (
    Client(
        name="claude-code",
        wire="messages",
        pins=(PINS,),
        run=_run,
        calls=CALLS,
        agent=True,
        local=Local(model="bigger", prompt="Say hello.", calls=False),
    ),
)
