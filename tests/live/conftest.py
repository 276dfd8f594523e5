"""What the tests over sockets share: the HTTP libraries and the certificates are loaded before a time limit is short."""

from __future__ import annotations

import pytest

from awaited import made
from dragoman.testing import FakeProvider


@pytest.fixture(scope="session", autouse=True)
def warm() -> None:
    """They are loaded with the first call, which on a busy machine takes longer than the limits of some tests."""
    with FakeProvider("chat") as fake:
        for transport in ("httpx2", "aiohttp"):
            with made(fake.spec, env={}, transport=transport) as model:
                model.chat("hi")
