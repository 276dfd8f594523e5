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
URL, MODEL, SCENE, PROMPT = sys.argv[1:5]
BROKEN = SCENE != "turns"


def called(name: str, arguments: str | dict[str, Any]) -> str:
    """What a tool returns. Raises for a call that the client cannot have meant."""
    said = json.loads(arguments) if isinstance(arguments, str) else arguments
    return {"get_weather": "21 °C in ", "get_time": "noon in "}[name] + said["city"]


def say(answers: Iterable[str]) -> None:
    """The last line: the answer, if all ways of asking got the same one."""
    said = list(answers)
    same = len(set(said)) == 1
    print(json.dumps({"answer": said[0]} if same else {"fault": {"kind": "differ", "message": json.dumps(said)}}))


def main(ways: Iterable[Callable[[], str]]) -> None:
    """Ask in each of the ways, and say what came of it: an answer, or the error that the last of them raised."""
    ways = list(ways)
    if not BROKEN:
        say([way() for way in ways])
        return
    for way in ways:
        try:
            print(json.dumps({"answer": way()}))
        except Exception as error:  # noqa: BLE001  whatever the SDK raises is what is wanted
            print(json.dumps({"fault": fault(error)}))


def fault(error: Exception) -> dict[str, Any]:
    """An SDK's error as its user sees it."""
    response = getattr(error, "response", None) or getattr(error, "raw_response", None)
    headers = getattr(response, "headers", None) or {}
    return {"kind": type(error).__name__, "message": str(error)[:300], "retry_after": headers.get("retry-after")}


def pause() -> None:
    """Wait to be killed."""
    time.sleep(30)
