"""What a translation costs beside JSON itself: request bytes to bytes across wires, and streams per event, as ratios.

    python benchmarks/codec.py [--peers PYTHON]

The floor is msgspec decoding and encoding the same payload. With `--peers`, the interpreter of a venv that holds
llm-rosetta and litellm, their own translations of the same request are timed in the same run.
"""

from __future__ import annotations

import argparse
import json
import platform
import subprocess
import sys
import timeit
from collections.abc import Callable
from typing import Any

import msgspec

from dragoman import __version__, translate
from dragoman.types import Reply, Stop, Usage, assistant, explode
from dragoman.types.content import Text, ToolCall
from dragoman.types.events import Delta
from dragoman.wire import WIRES, find
from dragoman.wire.base import Exchange, Http

ROUNDS, CALLS = 7, 100
DELTAS = 2_000

# Run in the peers' interpreter: the same body on stdin, microseconds of each on stdout. Parsing and writing JSON counts.
PEERS = """
import json, sys, timeit
body = sys.stdin.buffer.read()
def best(call, calls=20):
    call()
    return min(timeit.repeat(call, number=calls, repeat=5)) / calls * 1e6
said = {}
try:
    from llm_rosetta import AnthropicConverter, OpenAIChatConverter
    chat, messages = OpenAIChatConverter(), AnthropicConverter()
    def rosetta():
        middle = chat.request_from_provider(json.loads(body))
        out = messages.request_to_provider(middle)
        return json.dumps(out[0] if isinstance(out, tuple) else out)
    said["llm-rosetta OpenAIChatConverter.request_from_provider + AnthropicConverter.request_to_provider"] = best(rosetta)
except Exception as error:
    said["llm-rosetta: " + repr(error)[:120]] = None
try:
    from litellm.llms.anthropic.chat.transformation import AnthropicConfig
    config = AnthropicConfig()
    def lite():
        asked = json.loads(body)
        messages, tools = asked.pop("messages"), asked.pop("tools")
        params = config.map_openai_params({"tools": tools, "max_tokens": 1000}, {}, "claude-sonnet-4-5", False)
        return json.dumps(config.transform_request("claude-sonnet-4-5", messages, params, {}, {}))
    said["litellm AnthropicConfig.map_openai_params + transform_request"] = best(lite)
except Exception as error:
    said["litellm: " + repr(error)[:120]] = None
print(json.dumps(said))
"""


def conversation() -> bytes:
    """A chat request of 62 messages and 20 tools, about 87 kB: an agent that reads files."""
    talk: list[dict[str, Any]] = [{"role": "system", "content": "Work by these rules. " * 60}]
    for turn in range(15):
        arguments = json.dumps({"path": f"src/file{turn}.py", "limit": 200})
        call = {"id": f"call_{turn}", "type": "function", "function": {"name": "tool0", "arguments": arguments}}
        talk += [
            {"role": "user", "content": f"Question {turn}: " + "look at this file and explain it. " * 20},
            {"role": "assistant", "content": None, "tool_calls": [call]},
            {"role": "tool", "tool_call_id": f"call_{turn}", "content": "def f():\n    return 1\n" * 120},
            {"role": "assistant", "content": "It returns one." + " That is all it does." * 30},
        ]
    talk.append({"role": "user", "content": "And now?"})
    fields = {name: {"type": "string", "description": "what it is for " * 4} for name in "abcdef"}
    parameters = {"type": "object", "properties": fields, "required": ["a"]}
    tools = [
        {"type": "function", "function": {"name": f"tool{at}", "description": "d" * 200, "parameters": parameters}}
        for at in range(20)
    ]
    return msgspec.json.encode({"model": "m", "messages": talk, "tools": tools, "max_tokens": 1000, "stream": True})


def best(call: Callable[[], Any], calls: int = CALLS) -> float:
    """Microseconds of one call, the best of a few rounds."""
    call()
    return min(timeit.repeat(call, number=calls, repeat=ROUNDS)) / calls * 1e6


def requests(bodies: dict[str, bytes]) -> float:
    """Print each pair as a multiple of its floor; returns the microseconds of chat → messages."""
    taken = 0.0
    print("request bytes → bytes, × the floor of the source body")
    for source, body in bodies.items():
        floor = best(lambda body=body: msgspec.json.encode(msgspec.json.decode(body)))
        cells = []
        for target in WIRES:
            if source == target:
                continue
            http, ends = Http(body=body), (find(source), find(target))
            cost = best(lambda http=http, ends=ends: translate.request(http, *ends))
            taken = cost if (source, target) == ("chat", "messages") else taken
            cells.append(f"{target} {cost / floor:.2f}")
        print(f"  {source:10} floor {floor:6.0f} µs   {'   '.join(cells)}")
    return taken


def streams() -> None:
    """Print each pair as a multiple of its floor: decoding and encoding the JSON of each event."""
    print(f"streams of {DELTAS} text deltas and a call, × the floor per event")
    call = ToolCall.of("call_1", "read", {"path": "README.md"})
    reply = Reply(
        message=assistant(Text(text=""), call), stop=Stop(reason="tool_calls"), usage=Usage(input=9, output=9)
    )
    for source in WIRES:
        encoder = find(source).stream_encoder(translate.BASE, Exchange(include_usage=True))
        out: list[bytes] = []
        for event in explode(reply):
            out.append(encoder.encode(event))  # type: ignore[arg-type]
            if isinstance(event, Delta) and event.index == 0:
                out += [encoder.encode(Delta(index=0, text=f" word{at}")) for at in range(DELTAS)]
        body = b"".join(out)
        data = [line[6:] for line in body.split(b"\n") if line.startswith(b"data: {")]
        floor = best(lambda data=data: [msgspec.json.encode(msgspec.json.decode(line)) for line in data], 3)
        cells = []
        for target in WIRES:
            if source != target:
                cost = best(lambda body=body, ends=(source, target): _through(body, *ends), 3)
                cells.append(f"{target} {cost / floor:.2f}")
        print(f"  {source:10} floor {floor / len(data):6.2f} µs an event   {'   '.join(cells)}")


def _through(body: bytes, source: str, target: str) -> int:
    translator = translate.StreamTranslator(find(source), find(target))
    return len(translator.feed(body)) + len(translator.close())


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--peers", help="the interpreter of a venv with llm-rosetta and litellm")
    options = parser.parse_args()
    print(
        f"dragoman {__version__}, msgspec {msgspec.__version__}, Python {platform.python_version()}, {platform.machine()}"
    )
    chat = conversation()
    bodies = {"chat": chat}
    for wire in WIRES:
        if wire != "chat":
            bodies[wire] = translate.request(Http(body=chat), find("chat"), find(wire)).http.body
    ours = requests(bodies)
    streams()
    if options.peers:
        done = subprocess.run([options.peers, "-c", PEERS], input=chat, capture_output=True, check=False)
        lines = done.stdout.decode().strip().splitlines()
        for name, cost in (json.loads(lines[-1]) if lines else {"peers failed": None}).items():
            print(f"  {name}: {'not measured' if cost is None else f'{cost:.0f} µs, {cost / ours:.1f} × ours'}")


if __name__ == "__main__":
    sys.exit(main())
