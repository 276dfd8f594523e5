"""`make clients`: every client before every back end, in a table. Exit code 0 only when every cell is as it should be."""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Sequence
from contextlib import ExitStack
from pathlib import Path

import msgspec

from clients import check, llm, sdks
from clients.backend import SCENES, backend
from clients.check import Cell, Seen
from clients.client import Client, Place
from clients.install import install
from clients.serving import serving
from clients.tee import Exchanged, tee
from dragoman.testing import FakeProvider

CLIENTS: tuple[Client, ...] = (*sdks.CLIENTS, *llm.CLIENTS)
WIRES = ("chat", "responses", "messages")
PATIENCE = 60.0


def main(argv: Sequence[str]) -> int:
    """The command."""
    options = _options(argv)
    clients = [client for client in CLIENTS if not options.client or _named(client, options.client)]
    cells: list[Cell] = []
    for client in clients:
        bins = tuple(each for pins in client.pins for each in install(pins))
        for wire in options.wire or WIRES:
            for scene in options.scene or SCENES:
                cell = skipped(client, wire, scene) or one(client, wire, scene, bins, options.serve or ())
                cells.append(cell)
                _show(cell, as_json=options.json)
    return 0 if cells and all(cell.outcome in ("done", "skipped") for cell in cells) else 1


def skipped(client: Client, wire: str, scene: str) -> Cell | None:
    """The cell of a scene that makes no sense with this client."""
    why = client.skips.get(scene) or client.skips.get(f"{scene}/{wire}")
    if why is None:
        return None
    return Cell(client=client.name, speaks=client.wire, wire=wire, scene=scene, outcome="skipped", told=(why,))


def one(client: Client, wire: str, scene: str, bins: tuple[Path, ...], options: Sequence[str]) -> Cell:
    """One client before one back end, in one scene. `options` are more of `dragoman serve`."""
    with ExitStack() as held:
        folder = Path(held.enter_context(tempfile.TemporaryDirectory(prefix="dragoman-clients-")))
        fake = held.enter_context(backend(wire, client.calls, scene))
        url = held.enter_context(serving(fake.spec, *options))
        leaves = scene.startswith("leave")
        said: list[Exchanged] = []
        if not leaves:
            url, said = held.enter_context(tee(url))
        (folder / "home").mkdir()
        (folder / "work").mkdir()
        place = Place(
            url=url,
            bins=bins,
            home=folder / "home",
            work=folder / "work",
            scene=scene,
            patience=PATIENCE,
            leave=(lambda runs: _asked(fake, runs)) if leaves else None,
        )
        ran = client.run(place)
        gone = time.monotonic()
        left = time.monotonic() - gone if leaves and fake.left.wait(check.SOON) else None
        return check.cell(
            Seen(client=client, wire=wire, scene=scene, ran=ran, said=said, got=list(fake.seen), left=left)
        )


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
    told = [f"told: {each}" for each in cell.told]
    said = "; ".join((*cell.faults, *told))
    print(f"{cell.client:20} {cell.wire:10} {cell.scene:12} {cell.outcome:9} {cell.seconds:5.1f} s  {said}", flush=True)


def _options(argv: Sequence[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m clients.run", description=__doc__)
    parser.add_argument("client", nargs="*", help="a client, or the beginning of several: openai, openai-chat")
    parser.add_argument("--wire", action="append", choices=WIRES, help="only before this back end")
    parser.add_argument("--scene", action="append", choices=SCENES, help="only this scene")
    parser.add_argument("--serve", action="append", metavar="OPTION", help="more for dragoman serve: --serve=--strict")
    parser.add_argument("--json", action="store_true", help="an object a cell")
    return parser.parse_args(argv)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
