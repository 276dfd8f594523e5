"""What is registered in a test is gone after it."""

from __future__ import annotations

import sys
from collections.abc import Iterator

import pytest

from dragoman import wire
from dragoman.catalog import provider, wires


@pytest.fixture
def registry(monkeypatch: pytest.MonkeyPatch) -> Iterator[pytest.MonkeyPatch]:
    """Empty registers, put back afterwards."""
    monkeypatch.setattr(wire, "_added", {})
    monkeypatch.setattr(provider, "_added", [])
    before = dict(wires.WIRES)
    provider.plugged.cache_clear()
    yield monkeypatch
    provider.plugged.cache_clear()
    wires.WIRES.clear()
    wires.WIRES.update(before)
    for name in [name for name in sys.modules if name.partition(".")[0] == "acme_wire"]:
        del sys.modules[name]
