"""`make clients`: every client before every back end, in a table. Exit code 0 only when every cell is as it should be."""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path

import msgspec

from clients import check, claude_code, codex, llm, model, opencode, page, pi, sdks
from clients.backend import SCENES, backend
from clients.check import Cell, Seen
from clients.client import Client, Place
from clients.install import InstallError, install
from clients.serving import serving
from clients.tee import tee
from dragoman.testing import FakeProvider

AGENTS = (*pi.CLIENTS, *codex.CLIENTS, *claude_code.CLIENTS, *opencode.CLIENTS)
CLIENTS: tuple[Client, ...] = (*sdks.CLIENTS, *llm.CLIENTS, *AGENTS)
WIRES = ("chat", "responses", "messages")
LOCAL = "local"
PATIENCE = 60.0
READS = 1200.0  # a small model on a busy machine reads the 12,000 tokens of a coding agent for minutes
JOBS = 2
GOOD = ("done", "skipped")


def main(argv: Sequence[str]) -> int:
    """The command."""
    options = _options(argv)
    clients = [client for client in CLIENTS if not options.client or _named(client, options.client)]
    try:
        bins = {client.name: tuple(each for pins in client.pins for each in install(pins)) for client in clients}
    except InstallError as error:
        print(error, file=sys.stderr)
        return 2
    wanted = [
        (client, wire, scene)
        for client in clients
        for wire in options.wire or (*WIRES, LOCAL)
        for scene in _scenes(client, wire, options.scene)
    ]
    known = _known(options.resume)
    cells = [known[where] for where in (_where(*each) for each in wanted) if where in known]
    with ThreadPoolExecutor(options.jobs) as pool:
        left = [each for each in wanted if _where(*each) not in known]
        runs = [pool.submit(one, *each, bins[each[0].name], options.serve or ()) for each in left]
        for cell in (run.result() for run in runs):
            cells.append(cell)
            _show(cell, as_json=options.json)
            _keep(cell, options.resume)
    counts = Counter(cell.outcome for cell in cells)
    print(", ".join(f"{count} {outcome}" for outcome, count in counts.items()), file=sys.stderr)
    if options.write:
        options.write.write_text(page.written(clients, cells), "utf-8")
    return 0 if cells and all(cell.outcome in GOOD for cell in cells) else 1


def _where(client: Client, wire: str, scene: str) -> tuple[str, str, str]:
    return client.name, wire, scene


def _known(kept: Path | None) -> dict[tuple[str, str, str], Cell]:
    """The good cells of a run that came to no end."""
    lines = kept.read_bytes().splitlines() if kept is not None and kept.exists() else []
    cells = [msgspec.json.decode(line, type=Cell) for line in lines]
    return {(cell.client, cell.wire, cell.scene): cell for cell in cells if cell.outcome in GOOD}


def _keep(cell: Cell, kept: Path | None) -> None:
    if kept is not None:
        with kept.open("ab") as file:
            file.write(msgspec.json.encode(cell) + b"\n")


def _scenes(client: Client, wire: str, only: Sequence[str] | None) -> Iterator[str]:
    """The scenes that there are before a back end; before the local model one, its own."""
    for scene in (LOCAL,) if wire == LOCAL else SCENES:
        there = {"anew": client.wire == wire, "demand": client.agent and wire == "chat"}
        if (not only or scene in only) and there.get(scene, True):
            yield scene


def one(client: Client, wire: str, scene: str, bins: tuple[Path, ...], options: Sequence[str]) -> Cell:
    """One client before one back end, in one scene. `options` are more of `dragoman serve`."""
    why = client.skips.get(scene) or client.skips.get(f"{scene}/{wire}")
    if why is not None:
        return Cell(client=client.name, speaks=client.wire, wire=wire, scene=scene, outcome="skipped", told=(why,))
    with ExitStack() as held:
        folder = Path(held.enter_context(tempfile.TemporaryDirectory(prefix="dragoman-clients-")))
        for name in ("home", "work"):
            (folder / name).mkdir()
        place = Place(url="", bins=bins, home=folder / "home", work=folder / "work", scene=scene, patience=PATIENCE)
        if scene == LOCAL:
            spec, env = model.spec(client.local)
            first = ("--call-first",) if client.local.calls else ()
            url = held.enter_context(serving(spec, *first, *options, env=env))
            place = msgspec.structs.replace(place, prompt=client.local.prompt, patience=READS)
            return _watched(client, wire, place, url)
        fake = held.enter_context(backend(wire, client.calls, scene))
        anew = ("--no-passthrough",) if scene == "anew" else ()
        url = held.enter_context(serving(fake.spec, *anew, *options))
        return _watched(client, wire, place, url, fake)


def _watched(client: Client, wire: str, place: Place, url: str, fake: FakeProvider | None = None) -> Cell:
    """The run itself, and what is seen of it from both sides."""
    seen = Seen(client=client, wire=wire, scene=place.scene, got=() if fake is None else fake.seen)
    if fake is not None and place.scene.startswith("leave"):
        ran = client.run(msgspec.structs.replace(place, url=url, leave=lambda runs: _asked(fake, runs)))
        gone = time.monotonic()
        left = time.monotonic() - gone if fake.left.wait(check.SOON) else None
        return check.cell(msgspec.structs.replace(seen, ran=ran, left=left))
    with tee(url) as (between, said):
        ran = client.run(msgspec.structs.replace(place, url=between, scene=ACTED.get(place.scene, place.scene)))
    return check.cell(msgspec.structs.replace(seen, ran=ran, said=said))


ACTED = {"anew": "turns"}  # what the client does there


def _asked(fake: FakeProvider, runs: Callable[[], bool]) -> None:
    """Returns a moment after the back end has a request: its answer has begun then, or is waited for."""
    end = time.monotonic() + PATIENCE
    while not fake.seen and runs() and time.monotonic() < end:
        time.sleep(0.02)
    time.sleep(0.5)


def _named(client: Client, wanted: Iterable[str]) -> bool:
    return any(client.name == name or client.name.startswith(f"{name}-") for name in wanted)


def _show(cell: Cell, *, as_json: bool) -> None:
    if as_json:
        print(msgspec.json.encode(cell).decode(), flush=True)
        return
    said = "; ".join((*cell.faults, *(f"told: {each}" for each in cell.told)))
    print(f"{cell.client:20} {cell.wire:10} {cell.scene:12} {cell.outcome:9} {cell.seconds:5.1f} s  {said}", flush=True)


def _options(argv: Sequence[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m clients.run", description=__doc__)
    parser.add_argument("client", nargs="*", help="a client, or the beginning of several: openai, openai-chat")
    parser.add_argument("--wire", action="append", choices=(*WIRES, LOCAL), help="only before this back end")
    parser.add_argument("--scene", action="append", choices=(*SCENES, LOCAL), help="only this scene")
    parser.add_argument("--serve", action="append", metavar="OPTION", help="more for dragoman serve: --serve=--strict")
    parser.add_argument("--jobs", type=int, default=JOBS, help="runs at a time")
    parser.add_argument("--json", action="store_true", help="an object a cell")
    parser.add_argument(
        "--resume", type=Path, metavar="FILE", help="keep the cells there, and run none that is good there"
    )
    parser.add_argument("--write", type=Path, metavar="FILE", help="the page of this run")
    return parser.parse_args(argv)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
