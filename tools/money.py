"""Writes what docs/money.md and docs/caching.md show: outputs and figures, computed from the scenes. --check compares."""

from __future__ import annotations

import json
import re
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tests"))

from dragoman.caching import cached  # noqa: E402
from dragoman.cli.cost import remarks, table  # noqa: E402
from dragoman.cli.doctor import lines as doctor_lines  # noqa: E402
from dragoman.dialect.find import find, rows  # noqa: E402
from dragoman.dialect.model import BASE  # noqa: E402
from dragoman.doctor import Exam, examine  # noqa: E402
from dragoman.doctor.causes import ADVICE  # noqa: E402
from dragoman.doctor.load import parse  # noqa: E402
from dragoman.money import Ledger, bill  # noqa: E402
from dragoman.money.bill import KINDS  # noqa: E402
from dragoman.money.show import dollars, percent, times  # noqa: E402
from dragoman.types import Request, Tool, Usage, assistant, system, user  # noqa: E402
from dragoman.wire import find as find_wire  # noqa: E402
from dragoman.wire.base import Exchange  # noqa: E402
from scenes import price, scene, write  # noqa: E402

PAGES = (ROOT / "docs" / "money.md", ROOT / "docs" / "caching.md")
BLOCK = re.compile(r"(<!-- shown: (\w+) -->\n)```\n.*?```\n", re.DOTALL)
PRICED = ("T5", "pd-v2-unlimited-s3")


def ledger(folder: str) -> Ledger:
    """A ledger that holds the scenes with a price."""
    made = Ledger(Path(folder) / "ledger.db")
    for name in PRICED:
        write(made, name)
    return made


def cost() -> list[str]:
    """What `dragoman cost --by session` prints of the scenes."""
    with tempfile.TemporaryDirectory() as folder, ledger(folder) as made:
        whole = made.totals()[0]
        return [*table(made.totals("session"), whole), "", *remarks(whole, alone=False)]


def turn() -> list[str]:
    """The recorded turn on three wires, and its bill."""
    from dragoman.wire.chat.usage import decode_usage as chat
    from dragoman.wire.messages.usage import decode_usage as messages
    from dragoman.wire.responses.usage import decode_usage as responses

    said: list[tuple[str, dict[str, object], Callable[..., Usage]]] = [
        (
            "chat",
            {"prompt_tokens": 929, "completion_tokens": 31, "prompt_tokens_details": {"cached_tokens": 890}},
            chat,
        ),
        (
            "responses",
            {"input_tokens": 929, "output_tokens": 31, "input_tokens_details": {"cached_tokens": 890}},
            responses,
        ),
        ("messages", {"input_tokens": 39, "output_tokens": 31, "cache_read_input_tokens": 890}, messages),
    ]
    usages = [read(raw, BASE) for _, raw, read in said]
    made = [bill(usage, price("T5")) for usage in usages]
    assert made[0] == made[1] == made[2]
    lines = [f"{wire:<10} {json.dumps(raw)}" for wire, raw, _ in said]
    counts = {segment.kind: segment.tokens for segment in made[0].segments}
    lines.append("")
    lines += [f"{kind:<12} {counts[kind]:>4} tokens  {dollars(made[0].of(kind) or 0):>9}" for kind in KINDS]
    lines.append(f"{'':<12} {'':>11}  {dollars(made[0].cost or 0):>9} {made[0].label}")
    lines.append(f"{'uncached':<12} {'':>11}  {dollars(made[0].full or 0):>9}")
    return lines


def scenes() -> list[str]:
    """The figures of the three scenes."""
    with tempfile.TemporaryDirectory() as folder, ledger(folder) as made:
        t5, thinking = made.totals("session")
    (finding,) = examined().findings
    hit = finding.hit or (0, 0)
    return [
        f"T5                  {t5.calls} turns, {t5.input:,} tokens of input in all, {t5.last_input:,} in the last:"
        f" {times(t5.resent_ratio or 0, 1)}",
        f"                    {dollars(t5.cost)}; at full price {dollars(t5.full)}: {times(t5.full_ratio or 0)}",
        f"T10                 turn {finding.turn}, {finding.cause}: the hit went from {hit[0]:,} to {hit[1]:,}",
        f"pd-v2-unlimited-s3  output is {percent(thinking.output_share or 0)} of the cost",
    ]


def examined() -> Exam:
    """The exam of scene T10."""
    return examine(parse(b"\n".join(json.dumps(each).encode() for each in scene("T10")["turns"])))


def doctor() -> list[str]:
    """What `dragoman doctor` prints of scene T10."""
    return doctor_lines(examined())


def causes() -> list[str]:
    """Every cause and what to do."""
    width = max(map(len, ADVICE))
    return [f"{name:<{width}}  {advice}" for name, advice in ADVICE.items()]


def body() -> list[str]:
    """A marked body of the messages wire."""
    request = Request(
        model="m",
        max_output=512,
        tools=(Tool(name="read", parameters={"type": "object"}),),
        messages=(system("Be brief."), user("One."), assistant("Two."), user("Three.")),
    )
    sent = find_wire("messages").encode_request(cached(request, "messages", BASE), BASE, Exchange()).http.body
    read = json.loads(sent)
    return (
        ["{", *(f"  {json.dumps(name)}: {json.dumps(read[name])}," for name in ("tools", "system")), '  "messages": [']
        + [f"    {json.dumps(each)}," for each in read["messages"]]
        + ["  ], …", "}"]
    )


def who() -> list[str]:
    """Which servers take breakpoints, and which a key."""
    marked = [f"{name} ({wire})" for name, wire in rows() if find(name, wire).cache_style is not None]
    keyed = [f"{name} ({wire})" for name, wire in rows() if find(name, wire).cache_key]
    return [f"breakpoints: all of the messages wire, {', '.join(marked)}", f"a key: {', '.join(keyed)}"]


SHOWN: dict[str, Callable[[], list[str]]] = {
    "cost": cost,
    "turn": turn,
    "scenes": scenes,
    "doctor": doctor,
    "causes": causes,
    "body": body,
    "who": who,
}


def written(text: str) -> str:
    """A page with everything in it that is shown."""

    def block(found: re.Match[str]) -> str:
        lines = "\n".join(line.rstrip() for line in SHOWN[found[2]]())
        return f"{found[1]}```\n{lines}\n```\n"

    return BLOCK.sub(block, text)


def main(arguments: list[str]) -> int:
    """Write, or only compare."""
    stale: list[str] = []
    for page in PAGES:
        text = page.read_text(encoding="utf-8")
        fresh = written(text)
        if arguments == ["--check"]:
            stale += [f"docs/{page.name} is stale: run `python tools/money.py`"] if fresh != text else []
        else:
            page.write_text(fresh, encoding="utf-8")
    print(*stale, sep="\n", end="\n" if stale else "", file=sys.stderr)
    return 1 if stale else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
