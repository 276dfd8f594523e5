"""What the tests over sockets share: the HTTP library and the certificates are loaded before a time limit is short."""

from __future__ import annotations

import pytest

from dragoman.client import Model
from dragoman.testing import FakeProvider


@pytest.fixture(scope="session", autouse=True)
def warm() -> None:
    """They are loaded with the first call, which on a busy machine takes longer than the limits of some tests."""
    with FakeProvider("chat") as fake, Model(fake.spec, env={}, transport="httpx2") as model:
        model.chat("hi")
