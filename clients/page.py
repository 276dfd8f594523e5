"""docs/clients.md, written by a run: who was asked, before which back end, and what became of it."""

from __future__ import annotations

import platform
import re
from collections.abc import Iterator, Sequence

from clients.check import Cell
from clients.client import Client
from clients.install import versions
from clients.model import NAMES

HEAD = """# Real clients

    $ make clients
    $ .venv/bin/python -m clients.run --write docs/clients.md

installs these clients at these versions below `.clients/`, starts a `dragoman serve` for each run, and lets each client do one task
before a scripted back end of each wire: a system text, tools, two parallel calls with reasoning before them, their results, an
answer. The second command writes this page as well. Neither is part of `make test`; how a client is added is told in
[clients/README.md](../clients/README.md).

**done** means: the client showed the answer, and every request that it made reached the back end with all that was in it, compared
word by word: system and user texts, tools and their schemas, calls with their arguments, results and ids, the reasoning with its
signature or ciphertext, cache marks, output limit, the wish for reasoning. What a back end's wire has no place for is told in the
header `dragoman-lost`, and listed below. **degraded**: an answer, but something was dropped, invented or weakened in silence.
**WRONG**: calls, arguments, results, ids, tools or texts lost or spoiled.
"""
NONE = "–"
SOME = ("anew", "demand")  # scenes that are played before one back end only
SCENES = {
    "limit": "a 429 with `retry-after: 2` is the client's own rate-limit error, and the wait reaches it",
    "cut": "an answer that breaks off is an error, never an end",
    "leave": "the client is killed in mid-stream: the back end is let go within 2 s",
    "leave-early": "the client is killed before the first token: the same",
    "demand": "three turns before a chat back end that refuses a call without the reasoning that stood before it, as DeepSeek does",
    "anew": "same wire on both sides, `--no-passthrough`: everything is read and written anew",
}


def written(clients: Sequence[Client], cells: Sequence[Cell]) -> str:
    """The page."""
    return "\n".join((HEAD, *_turns(clients, cells), *_others(clients, cells), *_told(cells), *_versions(clients), ""))


def _turns(clients: Sequence[Client], cells: Sequence[Cell]) -> Iterator[str]:
    yield "## Call, result, answer\n"
    yield "| client | it speaks | chat | responses | messages | local model |"
    yield "|---|---|---|---|---|---|"
    for client in clients:
        found = [_outcome(cells, client, wire, "turns") for wire in ("chat", "responses", "messages")]
        found.append(_outcome(cells, client, "local", "local"))
        kind = f"{found[-1]}: {'call, result, answer' if client.local.calls else 'an answer'} ({client.local.model})"
        kind = NONE if found[-1] == NONE else kind
        yield f"| {client.name} | {client.wire} | {' | '.join(found[:-1])} | {kind} |"
    models = ", ".join(f"{key} is {name}" for key, name in NAMES.items())
    yield f"\nThe local models: {models}. Where a call is wanted it is served with `--call-first`."
    wrong = [cell for cell in cells if cell.faults]
    if wrong:
        yield "\nWhat was found:\n"
    for cell in wrong:
        yield from (f"- {cell.client} before {cell.wire}, {cell.scene}: {fault}" for fault in cell.faults)


def _others(clients: Sequence[Client], cells: Sequence[Cell]) -> Iterator[str]:
    yield "\n## When things go wrong\n"
    yield f"Each cell: before a chat / responses / messages back end.\n\n| client | {' | '.join(SCENES)} |"
    yield "|---|" + "---|" * len(SCENES)
    for client in clients:
        row: list[str] = []
        for scene in SCENES:
            found = [_outcome(cells, client, wire, scene) for wire in ("chat", "responses", "messages")]
            if scene in SOME:
                found = [each for each in found if each != NONE] or [NONE]
            row.append(found[0] if len({*found}) == 1 else " / ".join(found))
        yield f"| {client.name} | {' | '.join(row)} |"
    yield ""
    yield from (f"- **{scene}**: {what}" for scene, what in SCENES.items())


def _told(cells: Sequence[Cell]) -> Iterator[str]:
    """What has no place, once for each client and wire; what was not tried, with its reason."""
    told = {(cell.client, cell.wire): cell.told for cell in cells if cell.told and cell.scene == "turns"}
    if told:
        yield "\n## Told, since the back end's wire has no place for it\n"
    for (client, wire), headers in told.items():
        lost = [re.sub(r"\[\d+\]", "[]", each) for header in headers for each in header.split("; ")]
        yield f"- {client} before {wire}: {'; '.join(dict.fromkeys(lost))}"
    skipped: dict[tuple[str, str, tuple[str, ...]], list[str]] = {}
    for cell in cells:
        if cell.outcome == "skipped":
            skipped.setdefault((cell.client, cell.scene, cell.told), []).append(cell.wire)
    if skipped:
        yield "\n## Not tried\n"
    for (client, scene, why), wires in skipped.items():
        yield f"- {client}, {scene} ({', '.join(wires)}): {'; '.join(why)}"


def _versions(clients: Sequence[Client]) -> Iterator[str]:
    pins = {pin.folder: pin for client in clients for each in client.pins for pin in (each, *each.after)}
    installed = sorted({version for each in pins.values() for version in versions(each)})
    yield f"\n## Versions\n\n{', '.join(installed)}; Python {platform.python_version()}."


def _outcome(cells: Sequence[Cell], client: Client, wire: str, scene: str) -> str:
    found = [cell.outcome for cell in cells if (cell.client, cell.wire, cell.scene) == (client.name, wire, scene)]
    return NONE if not found or found[0] == "skipped" else f"**{found[0]}**" if found[0] == "WRONG" else found[0]
