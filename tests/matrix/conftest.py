"""The recordings lie beside the project, not in it: where they are absent, what reads them is skipped."""

from __future__ import annotations

import pytest

from matrix import recordings


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Skip what is marked `corpus` where there is no corpus."""
    if recordings.present():
        return
    for item in items:
        if item.get_closest_marker("corpus"):
            item.add_marker(pytest.mark.skip(reason="the recordings are not beside this checkout"))
