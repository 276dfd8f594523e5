"""What a translation costs beside JSON itself: request bytes to bytes across wires, and streams per event, as ratios.

    python benchmarks/codec.py [--peers PYTHON] [--write docs/benchmarks.md]

The floor of a request is msgspec decoding and encoding the same body. The floor of a stream is that for each event's
payload, cut out of its frame and framed anew. With `--peers`, the interpreter of a venv that holds llm-rosetta and
litellm, their own translations of the same requests are timed in the same run. Processor time, the best of some rounds.
"""

from __future__ import annotations

import argparse
import json
import platform
import subprocess
import sys
import time
import timeit
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec

from dragoman import __version__, translate
from dragoman.types import Reply, Stop, Usage, assistant, explode
from dragoman.types.content import Text, ToolCall
from dragoman.types.events import Delta
from dragoman.wire import find
from dragoman.wire.base import Exchange, Http

ROUNDS, CALLS = 200, 3
ALONE = {"calls": 2, "rounds": 40}  # as `peers.py` times the others
DELTAS = 2_000
AIM = 20  # times as fast as litellm
WIRES = ("chat", "messages", "responses")
PEERS = Path(__file__).with_name("peers.py")
PAIRS = [(source, target) for source in WIRES for target in WIRES if source != target]
Run = dict[str, Any]


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


def best(call: Callable[[], Any], calls: int = CALLS, rounds: int = 9) -> float:
    """Microseconds of processor time of one call, the best of a few rounds."""
    call()
    return min(timeit.repeat(call, timer=time.process_time, number=calls, repeat=rounds)) / calls * 1e6


def race(*calls: Callable[[], Any]) -> list[float]:
    """The same for several calls that take turns, so that a busy machine is busy for all of them."""
    for call in calls:
        call()
    rounds = [[timeit.timeit(call, timer=time.process_time, number=CALLS) for call in calls] for _ in range(ROUNDS)]
    return [min(times) / CALLS * 1e6 for times in zip(*rounds, strict=True)]


def requests(bodies: dict[str, bytes]) -> list[Run]:
    """Each pair: microseconds, those of a body with a key that no parser expects, those of the floor, and those of the
    pair timed alone, as the peers are."""
    rows: list[Run] = []
    for source, target in PAIRS:
        body, ends = bodies[source], (find(source), find(target))
        http, odd = Http(body=body), Http(body=body[:-1] + b',"x_trace":"4bf92f35"}')
        floor, micros = race(
            lambda body=body: msgspec.json.encode(msgspec.json.decode(body)),
            lambda http=http, ends=ends: translate.request(http, *ends),
        )
        [long_way] = race(lambda odd=odd, ends=ends: translate.request(odd, *ends))
        alone = best(lambda http=http, ends=ends: translate.request(http, *ends), **ALONE)
        costs = {"micros": micros, "long_way": long_way, "floor": floor, "alone": alone}
        rows.append({"source": source, "target": target, **costs})
    return rows


def stream(wire: str) -> bytes:
    """A text of many deltas and a call, as this library writes it."""
    call = ToolCall.of("call_1", "read", {"path": "README.md"})
    usage = Usage(input=9, output=9)
    reply = Reply(message=assistant(Text(text=""), call), stop=Stop(reason="tool_calls"), usage=usage)
    encoder = find(wire).stream_encoder(translate.BASE, Exchange(include_usage=True))
    out: list[bytes] = []
    for event in explode(reply):
        out.append(encoder.encode(event))  # type: ignore[arg-type]
        if isinstance(event, Delta) and event.index == 0:
            out += [encoder.encode(Delta(index=0, text=f" word{at}")) for at in range(DELTAS)]
    return b"".join(out)


def streams() -> list[Run]:
    """Each pair: microseconds an event, beside JSON alone and beside JSON in its frames; fed at once and one by one."""
    rows: list[Run] = []
    for source in WIRES:
        body = stream(source)
        events = [event + b"\n\n" for event in body.split(b"\n\n") if event]
        data = [event.partition(b"data: ")[2] for event in events if b"data: {" in event]
        bare = best(lambda data=data: [msgspec.json.encode(msgspec.json.decode(text)) for text in data], 3)
        framed = best(lambda body=body: _framed(body), 3)
        for target in WIRES:
            if source != target:
                whole = best(lambda body=body, ends=(source, target): _through([body], *ends), 3)
                single = best(lambda events=events, ends=(source, target): _through(events, *ends), 3)
                costs = {"micros": whole, "one_by_one": single, "floor": framed, "json": bare}
                row = {key: value / len(data) for key, value in costs.items()}
                rows.append({"source": source, "target": target, **row})
    return rows


def _framed(body: bytes) -> bytes:
    out: list[bytes] = []
    for event in body.split(b"\n\n"):
        head, found, data = event.partition(b"data: ")
        if data.startswith(b"{"):
            out.append(head + found + msgspec.json.encode(msgspec.json.decode(data)) + b"\n\n")
    return b"".join(out)


def _through(pieces: list[bytes], source: str, target: str) -> int:
    translator = translate.StreamTranslator(find(source), find(target))
    return sum([len(translator.feed(piece)) for piece in pieces]) + len(translator.close())


def peers(python: str, bodies: dict[str, bytes]) -> list[Run]:
    """What the peers' interpreter measured of the same bodies."""
    asked = json.dumps({wire: body.decode() for wire, body in bodies.items()}).encode()
    done = subprocess.run([python, str(PEERS)], input=asked, capture_output=True, check=False)
    lines = done.stdout.decode().strip().splitlines()
    return json.loads(lines[-1]) if lines else []


def measure(python: str | None) -> Run:
    """One run: versions, machine and all figures."""
    chat = conversation()
    bodies = {"chat": chat}
    for wire in WIRES[1:]:
        bodies[wire] = translate.request(Http(body=chat), find("chat"), find(wire)).http.body
    return {
        "dragoman": __version__,
        "msgspec": msgspec.__version__,
        "python": platform.python_version(),
        "machine": f"{_processor()}, {platform.machine()}, {platform.system()}",
        "bytes": {wire: len(body) for wire, body in bodies.items()},
        "requests": requests(bodies),
        "streams": streams(),
        "peers": [] if python is None else peers(python, bodies),
    }


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return platform.processor() or "unknown processor"
    return next(
        (line.partition(":")[2].strip() for line in lines if line.startswith("model name")), "unknown processor"
    )


def page(run: Run) -> str:
    """The run as the page of the documentation."""
    out = [
        *("# Benchmarks of the codecs", ""),
        "Written by `python benchmarks/codec.py --peers PYTHON --write docs/benchmarks.md`: one run, no figure by hand.",
        *("", f"dragoman {run['dragoman']}, msgspec {run['msgspec']}, Python {run['python']}; {run['machine']}.", ""),
        *("## Requests, bytes to bytes", ""),
        f"A conversation of 62 messages with 20 tools, {run['bytes']['chat'] // 1000} kB. The floor is msgspec decoding and",
        "encoding the same body. Microseconds of processor time, the best of some rounds in which floor and translation",
        "take turns. Nothing is kept from one request to the next. A body whose keys are those that most bodies have is read",
        "at once by a parser that knows its shape; the last columns are of the same body with a key of another kind.",
        "",
        "| from | to | floor | dragoman | × floor | with an unknown key | × floor |",
        "|---|---|---|---|---|---|---|",
    ]
    for row in run["requests"]:
        cells = [row["source"], row["target"], f"{row['floor']:.0f} µs"]
        for key in ("micros", "long_way"):
            cells += [f"{row[key]:.0f} µs", f"{row[key] / row['floor']:.2f}"]
        out.append(f"| {' | '.join(cells)} |")
    out += ["", "## Beside other libraries, the same requests", ""]
    out += [
        "Reading and writing JSON counts on both sides; theirs is the standard library's, as in their own code. Of each",
        "library all steps count that its own calls take with a request's content, and the functions are named. Theirs and",
        "ours are timed in the same way, each alone: above, the floor takes turns with us, and each turn finds its memory cold.",
        *verdicts(run),
        "",
    ]
    out += ["| from | to | library | function | theirs | ours | ÷ ours |", "|---" * 7 + "|"]
    ours = {(row["source"], row["target"]): row["alone"] for row in run["requests"]}
    for row in run["peers"]:
        alone = ours[row["source"], row["target"]]
        said = ["not measured", f"{alone:.0f} µs", row.get("failed", "")]
        if "micros" in row:
            said = [f"{row['micros']:.0f} µs", f"{alone:.0f} µs", f"{row['micros'] / alone:.1f}"]
        cells = (row["source"], row["target"], f"{row['library']} {row['version']}", f"`{row['function']}`", *said)
        out.append(f"| {' | '.join(cells)} |")
    out += ["", "## Streams, an event", ""]
    out += [
        f"{DELTAS} text deltas and a call. The floor cuts each event out of its frame, decodes and encodes its JSON and"
    ]
    out += [
        "frames it anew; beside it, JSON alone. One by one: each event is fed as a chunk of its own, as it comes live.",
        "",
    ]
    out += ["| from | to | JSON alone | floor | dragoman | × floor | × JSON alone | one by one |", "|---" * 8 + "|"]
    for row in run["streams"]:
        micros, floor, bare = row["micros"], row["floor"], row["json"]
        figures = f"{bare:.2f} µs | {floor:.2f} µs | {micros:.2f} µs | {micros / floor:.2f} | {micros / bare:.2f}"
        out.append(f"| {row['source']} | {row['target']} | {figures} | {row['one_by_one']:.2f} µs |")
    return "\n".join(out) + "\n"


def verdicts(run: Run) -> list[str]:
    """What the aims make of the peers' figures, in plain sentences."""
    floors = {(row["source"], row["target"]): row["floor"] for row in run["requests"]}
    ours = {(row["source"], row["target"]): row["alone"] for row in run["requests"]}
    timed: dict[str, list[Run]] = {}
    for row in run["peers"]:
        if "micros" in row and not row.get("whole"):
            timed.setdefault(row["library"], []).append(row)
    out: list[str] = []
    for library, rows in timed.items():
        pairs = [(row["source"], row["target"]) for row in rows]
        times = [row["micros"] / ours[pair] for pair, row in zip(pairs, rows, strict=True)]
        out += ["", f"{library} takes {min(times):.1f} to {max(times):.1f} times as long as dragoman."]
        rest = [row["micros"] / floors[pair] / AIM for pair, row in zip(pairs, rows, strict=True)]
        if library == "litellm" and min(times) < AIM:
            out += [
                f"The aim was {AIM} times, which this body cannot show: a {AIM}th of its time is {min(rest):.2f} to {max(rest):.2f} of the floor,",
                "that is, of JSON read and written with nothing translated.",
            ]
    return out


def main() -> None:
    """Measure, print, and write the page where that is asked for."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--peers", help="the interpreter of a venv with llm-rosetta and litellm")
    parser.add_argument("--write", type=Path, help="the page to write")
    parser.add_argument("--json", type=Path, help="where to keep the run")
    options = parser.parse_args()
    run = measure(options.peers)
    text = page(run)
    print(text)
    if options.json is not None:
        options.json.write_text(json.dumps(run, indent=1) + "\n")
    if options.write is not None:
        options.write.write_text(text)


if __name__ == "__main__":
    sys.exit(main())
