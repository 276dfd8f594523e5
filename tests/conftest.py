"""What every test may ask for: the material beside the project, and property tests that repeat themselves in CI."""

from __future__ import annotations

import gc
import os
from collections.abc import Generator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

HERE = Path(__file__).resolve().parent
SHARED = HERE.parent.parent / "shared"

# A machine under load is no reason to fail: time is never what a test judges. In CI a run is its own replay. Each law
# looks at a few examples of each kind here, and at many when it is asked to: `make laws`.
settings.register_profile("here", deadline=None, max_examples=40, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("ci", settings.get_profile("here"), derandomize=True, database=None, print_blob=True)
settings.register_profile("deep", settings.get_profile("here"), max_examples=1000)
settings.load_profile("ci" if os.environ.get("CI") else os.environ.get("DRAGOMAN_TESTS", "here"))


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_auto_num_workers() -> int:
    """Half as many again as there are cores: a test that waits for a socket or a process leaves its core to another."""
    return 3 * (os.cpu_count() or 2) // 2


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """First what looks through the whole tree, and reads it once: workers share what comes last in pieces."""
    items.sort(key=lambda item: item.path.parent != HERE)


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """The tests themselves are no garbage: nobody looks for some among them, while they are read or later."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.collect()
        gc.freeze()
        gc.enable()


@pytest.fixture(scope="session")
def shared() -> Path:
    """The folder of recordings, fixtures and cases beside the project; the test skips where it is absent."""
    if not SHARED.is_dir():
        pytest.skip("needs ../shared: recordings and fixtures that are not part of the project")
    return SHARED
