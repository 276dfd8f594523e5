"""The vendors' SDKs: a script for each, run in its own environment."""

from __future__ import annotations

from pathlib import Path

from clients.client import Call, Client, Local, Pins

SCRIPTS = Path(__file__).parent / "sdk"
OPENAI = Pins(folder="openai", packages=("openai==3.57.0",))
ANTHROPIC = Pins(folder="anthropic", packages=("anthropic==2.14.0",))
MISTRALAI = Pins(folder="mistralai", packages=("mistralai==3.7.0",))
OLLAMA = Pins(folder="ollama", packages=("ollama==0.6.3",))
CALLS = (Call("get_weather", {"city": "Zürich"}), Call("get_time", {"city": "東京"}))


def _sdk(name: str, wire: str, pins: Pins) -> Client:
    script = SCRIPTS / f"{name.replace('-', '_')}.py"
    calls = () if wire == "completions" else CALLS
    return Client(
        name=name,
        wire=wire,
        pins=(pins,),
        run=lambda place: place.script(script),
        calls=calls,
        local=Local(calls=bool(calls)),
        shows_wait=pins is not OLLAMA,  # whose error has a status and a sentence
    )


CLIENTS = (
    _sdk("openai-chat", "chat", OPENAI),
    _sdk("openai-responses", "responses", OPENAI),
    _sdk("openai-completions", "completions", OPENAI),
    _sdk("anthropic-messages", "messages", ANTHROPIC),
    _sdk("mistralai-chat", "chat", MISTRALAI),
    _sdk("ollama-chat", "ollama", OLLAMA),
)
