"""What the scripts share: two tools, what they return, and the last line that says what came of it.

Plain Python without any package: it runs in the environments of the clients."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable, Iterable
from typing import Any

SYSTEM = "Be brief. 简短回答。"
CITY = {
    "type": "object",
    "properties": {"city": {"type": "string"}},
    "required": ["city"],
    "additionalProperties": False,
}
TOOLS = {"get_weather": "What the weather is like in a city", "get_time": "What time it is in a city"}
FUNCTIONS: list[Any] = [
    {"type": "function", "function": {"name": name, "description": about, "parameters": CITY}}
    for name, about in TOOLS.items()
]
URL, MODEL, SCENE, PROMPT = sys.argv[1:5]


def called(name: str, arguments: Any) -> str:
    """What a tool returns. Raises for a call that the client cannot have meant."""
    said = json.loads(arguments) if isinstance(arguments, str) else arguments
    return {"get_weather": "21 °C in ", "get_time": "noon in "}[name] + said["city"]


def before(*names: str, tokens: int = 10) -> None:
    """What is asked before a talk: the models there are, and how long it would be. Raises for an answer that cannot be."""
    if not all(names) or not names:
        raise RuntimeError(f"the models are {names}")
    if tokens < 10:
        raise RuntimeError(f"{tokens} tokens are too few")


def pieces(stream: Iterable[Any]) -> list[Any]:
    """All of a stream; where the client is going to leave, it stops reading after the first and waits to be killed."""
    if SCENE == "leave":
        for _ in stream:
            time.sleep(30)
    return list(stream)


def main(*ways: Callable[[], str]) -> None:
    """Ask in each of the ways, and say what came of it: the answer that all of them got, or the error that all met."""
    said = [_outcome(way) for way in ways]
    odd = [each for each in said if each != said[0]]
    print(json.dumps(said[0] if not odd else {"fault": {"kind": "differ", "message": json.dumps(said)}}))


def _outcome(way: Callable[[], str]) -> dict[str, Any]:
    try:
        return {"answer": way()}
    except Exception as error:  # noqa: BLE001  whatever the SDK raises is what its user sees
        response = getattr(error, "response", None) or getattr(error, "raw_response", None)
        headers = getattr(response, "headers", None) or {}
        told = {"kind": type(error).__name__, "message": str(error)[:400], "retry_after": headers.get("retry-after")}
        return {"fault": told}
