"""pi, a coding agent that speaks each of the three wires, with thinking asked for."""

from __future__ import annotations

import json

from msgspec.structs import replace

from clients.client import Call, Client, Fault, Local, Place, Ran
from clients.node import npm

PINS = npm("pi", "@earendil-works/pi-coding-agent@1.6.0")
QUIET = {"PI_OFFLINE": "1", "PI_TELEMETRY": "0", "PI_SKIP_VERSION_CHECK": "1"}
APIS = {
    "chat": ("openai-completions", "/v1"),
    "responses": ("openai-responses", "/v1"),
    "messages": ("anthropic-messages", ""),
}
CALLS = (Call("bash", {"command": "echo first 你好"}), Call("bash", {"command": "echo second"}))
LOCAL = Local(prompt="Use the bash tool to run: echo heliotrope. Then say what it printed.")
SMALL = ("--system-prompt", "You are a helpful assistant with tools.", "--tools", "bash")  # what a small model can read


def _run(place: Place, wire: str) -> Ran:
    api, path = APIS[wire]
    model = {"id": place.model, "reasoning": place.scene != "local", "contextWindow": 16_384, "maxTokens": 4096}
    known = {"providers": {"served": {"baseUrl": place.url + path, "api": api, "apiKey": "none", "models": [model]}}}
    config = place.home / ".pi" / "agent" / "models.json"
    config.parent.mkdir(parents=True, exist_ok=True)
    config.write_text(json.dumps(known), "utf-8")
    config.with_name("settings.json").write_text('{"retry": {"enabled": false}}', "utf-8")
    argv = ["pi", "-p", "--no-session", "--mode", "json", "--provider", "served", "--model", place.model]
    more = SMALL if place.scene == "local" else ("--thinking", "high")
    return _read(place.run([*argv, *more, place.prompt], QUIET))


def _read(ran: Ran) -> Ran:
    """The last message of the model: its text is the answer, its error the fault."""
    last: dict[str, object] = {}
    for line in ran.out.splitlines():
        event = json.loads(line) if line.startswith("{") else {}
        if event.get("type") == "message_end" and event["message"]["role"] == "assistant":
            last = event["message"]
    error = last.get("errorMessage")
    if error or ran.code != 0:
        return replace(ran, fault=Fault(kind=str(last.get("stopReason")), message=str(error or ran.err)[:400]))
    content = last.get("content")
    texts = [part["text"] for part in content if part["type"] == "text"] if isinstance(content, list) else []
    return replace(ran, answer="".join(texts) or None)


def _client(wire: str) -> Client:
    return Client(
        name=f"pi-{wire}",
        wire=wire,
        pins=(PINS,),
        run=lambda place: _run(place, wire),
        calls=CALLS,
        agent=True,
        local=LOCAL,
    )


CLIENTS = tuple(_client(wire) for wire in APIS)
