"""Guards answers under way when the server stops: they come to their end, or to the end of the time they have; nobody new is let
in, and no connection to a service is left open."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from threading import Event, Thread

import pytest

from dragoman.gateway.serving import Bounds
from gate import PATHS, Gate, body_of, refuses
from hazards.cases import chat
from origin import HOLD, Answer, Origin

WIRES = ("chat", "messages", "responses")
SSE = {"content-type": "text/event-stream"}
BEGUN = chat({"content": "so"}).partition(b"\n\n")[0] + b"\n\n"
END = chat({"content": " far"})
SOON = 5.0


class Parts(list[bytes]):
    """The parts of a body, the rest of which waits for an event."""

    def __init__(self, *parts: bytes) -> None:
        super().__init__(parts)
        self.go_on = Event()

    def __iter__(self) -> Iterator[bytes]:
        first, *rest = super().__iter__()
        yield first
        assert self.go_on.wait(SOON)
        yield from rest


def until_said(line: socket.socket, word: bytes) -> bytes:
    heard = b""
    while word not in heard:
        piece = line.recv(65536)
        assert piece
        heard += piece
    return heard


@pytest.mark.parametrize("wire", WIRES)
def test_an_open_stream_comes_to_its_end_and_nobody_new_comes_in(wire: str) -> None:
    parts = Parts(BEGUN, END)
    with Origin(Answer(200, SSE, parts)) as origin:
        gate = Gate(f"{origin.url}/v1#chat:m", bounds=Bounds(drain=SOON))
        gate.__enter__()
        with gate.knock(PATHS[wire], body_of(wire, stream=True)) as line:
            until_said(line, b"so")
            stopping = Thread(target=gate.__exit__)
            stopping.start()
            assert refuses(gate.port, SOON)
            parts.go_on.set()
            rest = b"".join(iter(lambda: line.recv(65536), b""))
            stopping.join(SOON)
    assert not stopping.is_alive()
    assert b" far" in rest
    assert {"chat": b"[DONE]", "messages": b"message_stop", "responses": b"response.completed"}[wire] in rest


@pytest.mark.parametrize("wire", WIRES)
def test_what_takes_longer_than_it_has_is_cut_without_an_end_and_the_service_let_go(wire: str) -> None:
    with Origin(Answer(200, SSE, [BEGUN, HOLD])) as origin:
        gate = Gate(f"{origin.url}/v1#chat:m", bounds=Bounds(drain=0.05))
        gate.__enter__()
        with gate.knock(PATHS[wire], body_of(wire, stream=True)) as line:
            heard = until_said(line, b"so")
            gate.__exit__()
            heard += b"".join(iter(lambda: line.recv(65536), b""))
        assert origin.left.wait(SOON)
    for end in (b"[DONE]", b"message_stop", b"response.completed", b"\r\n0\r\n\r\n"):
        assert end not in heard
