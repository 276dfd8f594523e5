"""opencode, a coding agent that speaks each of the three wires through another SDK each."""

from __future__ import annotations

import json

from msgspec.structs import replace

from clients.client import Call, Client, Fault, Local, Place, Ran
from clients.node import npm

PINS = npm("opencode", "opencode-ai@1.18.33")
QUIET = {
    "OPENCODE_DISABLE_AUTOUPDATE": "1",
    "OPENCODE_DISABLE_MODELS_FETCH": "1",
    "OPENCODE_DISABLE_LSP_DOWNLOAD": "1",
    "OPENCODE_DISABLE_DEFAULT_PLUGINS": "1",
}
SDKS = {"chat": "@ai-sdk/openai-compatible", "responses": "@ai-sdk/openai", "messages": "@ai-sdk/anthropic"}
CALLS = (
    Call("bash", {"command": "echo first 你好", "description": "Print a word"}),
    Call("bash", {"command": "echo second", "description": "Print another"}),
)
LONG = "tries again without an end"
SAME = {"local": "asks the same as opencode-chat does"}


def _run(place: Place, wire: str) -> Ran:
    options = {"baseURL": f"{place.url}/v1", "apiKey": "none"}
    provider = {"npm": SDKS[wire], "name": "served", "options": options, "models": {place.model: {}}}
    config = place.home / ".config" / "opencode" / "opencode.json"
    config.parent.mkdir(parents=True, exist_ok=True)
    config.write_text(json.dumps({"provider": {"served": provider}, "permission": "allow"}), "utf-8")
    argv = ["opencode", "run", "--format", "json", "-m", f"served/{place.model}", place.prompt]
    return _read(place.run(argv, QUIET))


def _read(ran: Ran) -> Ran:
    """The last text that it prints, or its error."""
    answer, fault = None, None
    for line in ran.out.splitlines():
        event = json.loads(line) if line.startswith("{") else {}
        match event.get("type"):
            case "text":
                answer = event["part"]["text"]
            case "error":
                error = event["error"]
                fault = Fault(kind=str(error.get("name")), message=str(error.get("data", {}).get("message"))[:400])
            case _:
                pass
    return replace(ran, answer=None if fault else answer, fault=fault)


def _client(wire: str) -> Client:
    return Client(
        name=f"opencode-{wire}",
        wire=wire,
        pins=(PINS,),
        run=lambda place: _run(place, wire),
        calls=CALLS,
        agent=True,
        local=Local(model="bigger", prompt="Say hello.", calls=False),
        skips={"limit": LONG, "cut": LONG, **({} if wire == "chat" else SAME)},
    )


CLIENTS = tuple(_client(wire) for wire in SDKS)
