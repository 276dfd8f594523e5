"""What every test may ask for: the material beside the project, and property tests that repeat themselves in CI."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

SHARED = Path(__file__).resolve().parent.parent.parent / "shared"

# A machine under load is no reason to fail: time is never what a test judges. In CI a run is its own replay.
settings.register_profile("here", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("ci", settings.get_profile("here"), derandomize=True, database=None, print_blob=True)
settings.load_profile("ci" if os.environ.get("CI") else "here")


@pytest.fixture(scope="session")
def shared() -> Path:
    """The folder of recordings, fixtures and cases beside the project; the test skips where it is absent."""
    if not SHARED.is_dir():
        pytest.skip("needs ../shared: recordings and fixtures that are not part of the project")
    return SHARED
