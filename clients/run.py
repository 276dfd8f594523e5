"""`make clients`: every client before every back end, in a table. Exit code 0 only when every cell is as it should be."""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Iterable, Sequence
from pathlib import Path

import msgspec

from clients import check, sdks
from clients.backend import SCENES, backend
from clients.client import Client, Place
from clients.install import install
from clients.serving import serving

CLIENTS: tuple[Client, ...] = (*sdks.CLIENTS,)
WIRES = ("chat", "responses", "messages")


def main(argv: Sequence[str]) -> int:
    """The command."""
    options = _options(argv)
    clients = [client for client in CLIENTS if not options.client or _named(client, options.client)]
    cells: list[check.Cell] = []
    for client in clients:
        bins = tuple(each for pins in client.pins for each in install(pins))
        for wire in options.wire or WIRES:
            for scene in options.scene or SCENES:
                cell = one(client, wire, scene, bins)
                cells.append(cell)
                _show(cell, as_json=options.json)
    return 0 if cells and all(cell.outcome == "done" for cell in cells) else 1


def one(client: Client, wire: str, scene: str, bins: tuple[Path, ...]) -> check.Cell:
    """One client before one back end, in one scene."""
    with (
        tempfile.TemporaryDirectory(prefix="dragoman-clients-") as folder,
        backend(wire, client.calls, scene) as fake,
        serving(fake.spec) as url,
    ):
        home, work = Path(folder) / "home", Path(folder) / "work"
        home.mkdir()
        work.mkdir()
        ran = client.run(Place(url=url, bins=bins, home=home, work=work, scene=scene))
        return check.cell(client, wire, scene, ran)


def _named(client: Client, wanted: Iterable[str]) -> bool:
    return any(client.name == name or client.name.startswith(f"{name}-") for name in wanted)


def _show(cell: check.Cell, *, as_json: bool) -> None:
    if as_json:
        print(msgspec.json.encode(cell).decode(), flush=True)
        return
    print(f"{cell.client:20} {cell.wire:10} {cell.scene:12} {cell.outcome:9} {'; '.join(cell.faults)}", flush=True)


def _options(argv: Sequence[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m clients.run", description=__doc__)
    parser.add_argument("client", nargs="*", help="a client, or the beginning of several: openai, openai-chat")
    parser.add_argument("--wire", action="append", choices=WIRES, help="only before this back end")
    parser.add_argument("--scene", action="append", choices=SCENES, help="only this scene")
    parser.add_argument("--json", action="store_true", help="an object a cell")
    return parser.parse_args(argv)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
