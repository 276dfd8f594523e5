"""codex, a coding agent on the responses wire: with its own tools, one that takes text, one of a namespace, as it speaks to its
vendor, and as it speaks to Ollama."""

from __future__ import annotations

import json
from collections.abc import Sequence

from msgspec.structs import replace

from clients.client import Call, Client, Fault, Local, Place, Ran
from clients.node import npm

PINS = npm("codex", "@openai/codex@0.171.0")
FIRST = Call("exec_command", {"cmd": "echo first 你好"})
SECOND = Call("exec_command", {"cmd": "echo second"})
PATCH = Call("apply_patch", "*** Begin Patch\n*** Add File: greeting.txt\n+hello 你好\n*** End Patch\n")
WAIT = Call("wait_agent", {"targets": ["none"], "timeout_ms": 1000})
CODE = Call("exec", 'text(await tools.exec_command({cmd: "echo first 你好"}));\n')
PLAIN = ("check_for_update_on_startup=false", "analytics.enabled=false", 'approval_policy="never"')
OWN = (
    'model_provider="served"',
    'model_providers.served.name="served"',
    'model_providers.served.wire_api="responses"',
    'model_providers.served.env_key="SERVED_KEY"',
    "model_providers.served.request_max_retries=0",
    "model_providers.served.stream_max_retries=0",
    "model_providers.served.stream_idle_timeout_ms=1200000",  # a model on one thread reads long before its first word
)
SAME = {"local": "asks the same as codex does"}
LOCAL = Local(model="bigger", prompt="Say hello.", calls=False)


def _settings(said: Sequence[str]) -> list[str]:
    return [each for setting in said for each in ("-c", setting)]


def _own(place: Place, *more: str) -> Ran:
    """With a provider of the user's own."""
    at = f'model_providers.served.base_url="{place.url}/v1"'
    return _run(place, [*_settings([*OWN, at]), *more], {"SERVED_KEY": "none"})


def _vendor(place: Place) -> Ran:
    """With the built-in provider, told another address: a WebSocket first, and tools in the input."""
    return _run(place, _settings([f'openai_base_url="{place.url}/v1"']), {"CODEX_API_KEY": "none"})


def _ollama(place: Place) -> Ran:
    """With --oss: the version and the models are asked for before a word is said."""
    more = ["--oss", "--local-provider", "ollama", "-m", place.model]
    return _run(place, more, {"CODEX_OSS_BASE_URL": f"{place.url}/v1"})


def _run(place: Place, more: Sequence[str], env: dict[str, str]) -> Ran:
    home = place.home / ".codex"
    home.mkdir(exist_ok=True)
    argv = ["codex", "exec", "--skip-git-repo-check", "--json", "-s", "danger-full-access", *_settings(PLAIN), *more]
    return _read(place.run([*argv, place.prompt], {"CODEX_HOME": str(home), **env}))


def _read(ran: Ran) -> Ran:
    """The last message of the agent, or why its turn failed."""
    answer, fault = None, None
    for line in ran.out.splitlines():
        event = json.loads(line) if line.startswith("{") else {}
        item = event.get("item", {})
        if event.get("type") == "item.completed" and item.get("type") == "agent_message":
            answer = item["text"]
        if event.get("type") == "turn.failed":
            fault = Fault(kind="turn.failed", message=event["error"]["message"][:400])
    return replace(ran, answer=None if fault else answer, fault=fault)


CLIENTS = (
    Client(
        name="codex",
        wire="responses",
        pins=(PINS,),
        run=lambda place: _own(place, "-m", place.model),
        calls=(FIRST, SECOND),
        agent=True,
        local=LOCAL,
    ),
    Client(
        name="codex-patch",  # this model's name gives it the tool that takes text
        wire="responses",
        pins=(PINS,),
        run=lambda place: _own(place, "-m", "gpt-5.5"),
        calls=(PATCH, SECOND),
        agent=True,
        local=LOCAL,
        skips=SAME,
    ),
    Client(
        name="codex-agents",
        wire="responses",
        pins=(PINS,),
        run=lambda place: _own(place, "-m", place.model),
        calls=(WAIT, SECOND),
        agent=True,
        local=LOCAL,
        skips=SAME,
    ),
    Client(
        name="codex-vendor",
        wire="responses",
        pins=(PINS,),
        run=_vendor,
        calls=(CODE,),
        agent=True,
        local=LOCAL,
        skips={
            **SAME,
            "limit": "tries again for longer than anybody waits",
            "cut": "tries again for longer than anybody waits",
        },
    ),
    Client(
        name="codex-ollama",
        wire="responses",
        pins=(PINS,),
        run=_ollama,
        calls=(FIRST, SECOND),
        agent=True,
        local=LOCAL,
        skips={
            **SAME,
            "limit": "tries again for longer than anybody waits",
            "cut": "tries again for longer than anybody waits",
        },
    ),
)
