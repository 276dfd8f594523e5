"""Guards the one place that leans on the insides of httpx2: where they change, this fails, and users are told what to do."""

from __future__ import annotations

from types import SimpleNamespace

import httpx2
import pytest

from dragoman.errors import UsageError
from dragoman.testing import FakeProvider
from dragoman.transport.line import Line
from dragoman.transport.sockets import held_by, watch

CHANGED = f"httpx2 {httpx2.__version__} has other insides than sockets.watch leans on: mend it there"


def test_each_socket_is_held_while_it_is_waited_for() -> None:
    held: list[object] = []

    class Noting(Line):
        def hold(self, waited_for: object) -> None:
            held.append(waited_for)

    with FakeProvider("chat") as fake, httpx2.Client() as client:
        watch(client)
        with held_by(Noting()):
            client.get(f"{fake.url}/v1/models")
    assert held and all(hasattr(each, "shutdown") for each in held), CHANGED


def test_the_ways_through_proxies_are_watched_too() -> None:
    with httpx2.Client(
        mounts={"all://": httpx2.HTTPTransport(proxy="http://127.0.0.1:1"), "all://here": None}
    ) as client:
        before = [transport._pool._network_backend for transport in client._mounts.values() if transport]
        watch(client)
        after = [transport._pool._network_backend for transport in client._mounts.values() if transport]
    assert [each._inner for each in after] == before, CHANGED


def test_a_library_of_other_insides_is_told() -> None:
    with pytest.raises(UsageError, match=r"built otherwise .* pass transport='stdlib'"):
        watch(SimpleNamespace(_transport=object(), _mounts={}))
