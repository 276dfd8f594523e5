"""The vendors' SDKs: a script for each, run in its own environment."""

from __future__ import annotations

from pathlib import Path

from clients.client import Call, Client, Pins

SCRIPTS = Path(__file__).parent / "sdk"
OPENAI = Pins(folder="openai", packages=("openai==3.57.0",))
CALLS = (Call("get_weather", {"city": "Zürich"}), Call("get_time", {"city": "東京"}))


def _sdk(name: str, wire: str, pins: Pins) -> Client:
    script = SCRIPTS / f"{name.replace('-', '_')}.py"
    return Client(name=name, wire=wire, pins=(pins,), run=lambda place: place.script(script), calls=CALLS)


CLIENTS = (_sdk("openai-chat", "chat", OPENAI),)
