"""`llm`, the command line: chat, responses and text completions, each streamed and whole."""

from __future__ import annotations

import json
from pathlib import Path

from msgspec.structs import replace

from clients.client import Call, Client, Fault, Local, Pins, Place, Ran

PINS = Pins(folder="llm", packages=("llm==0.36",))
FUNCTIONS = '''
def get_weather(city: str) -> str:
    """What the weather is like in a city"""
    return f"21 °C in {city}"


def get_time(city: str) -> str:
    """What time it is in a city"""
    return f"noon in {city}"
'''
CALLS = (Call("get_weather", {"city": "Zürich"}), Call("get_time", {"city": "東京"}))
SORTS = {"chat": {"supports_tools": True}, "responses": {"responses": True, "supports_tools": True}}
SORTS["completions"] = {"completion": True}


def _run(place: Place, wire: str) -> Ran:
    config = place.home / "llm"
    config.mkdir(exist_ok=True)
    model = {"model_id": "gw", "model_name": place.model, "api_base": f"{place.url}/v1", "api_key_name": "gw"}
    (config / "extra-openai-models.yaml").write_text(json.dumps([{**model, **SORTS[wire]}]), "utf-8")
    (config / "keys.json").write_text('{"gw": "sk-dummy"}', "utf-8")
    functions = place.work / "tools.py"
    functions.write_text(FUNCTIONS, "utf-8")
    argv = ["llm", "prompt", "-m", "gw", place.prompt]
    if wire != "completions":
        argv += ["-s", "Be brief. 简短回答。", "--functions", str(functions)]
    streamed = _read(place.run(argv, _env(config)))
    if place.scene != "turns":
        return streamed
    whole = _read(place.run([*argv, "--no-stream"], _env(config)))
    return whole if whole.answer != streamed.answer else streamed


def _env(config: Path) -> dict[str, str]:
    return {"LLM_USER_PATH": str(config)}


def _read(ran: Ran) -> Ran:
    """What it prints is the answer; what it says on standard error, with a code that is not 0, the error."""
    if ran.code == 0:
        return replace(ran, answer=ran.out.strip())
    kind, _, message = ran.err.strip().rpartition("\n")[2].partition(":")
    return replace(ran, fault=Fault(kind=kind, message=message.strip()[:400]))


def _client(wire: str) -> Client:
    calls = () if wire == "completions" else CALLS
    return Client(
        name=f"llm-{wire}",
        wire=wire,
        pins=(PINS,),
        run=lambda place: _run(place, wire),
        calls=calls,
        local=Local(calls=bool(calls)),
    )


CLIENTS = tuple(_client(wire) for wire in SORTS)
