"""The recordings lie beside the project, not in it: where they are absent, what reads them is skipped."""

from __future__ import annotations

from importlib.util import find_spec

import pytest

from matrix import recordings


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Skip what is marked `corpus` where there is no corpus, and what asks for a codec that has not landed."""
    for item in items:
        if item.get_closest_marker("corpus") and not recordings.present():
            item.add_marker(pytest.mark.skip(reason="the recordings are not beside this checkout"))
        missing = [
            name for name in recordings.WIRES if name in item.name and find_spec(f"dragoman.wire.{name}") is None
        ]
        if missing and "oracle" not in item.name:
            item.add_marker(pytest.mark.skip(reason=f"no codec for {missing[0]} yet"))
