"""A server of HTTP/2 on loopback, over TLS, with a certificate of its own: it answers on the chat wire, all streams at once."""

from __future__ import annotations

import json
import shutil
import socket
import ssl
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from threading import Event, Thread
from typing import Any

CHUNK = {"id": "c", "object": "chat.completion.chunk", "created": 1, "model": "m"}
REPLY = {"id": "c", "object": "chat.completion", "created": 1, "model": "m"}
USAGE = {"prompt_tokens": 3, "completion_tokens": 2, "total_tokens": 5}


@dataclass
class Origin:
    """`spec` is the model to ask for, `env` holds whom to trust; `streams` are the ids of what came, a list a connection;
    `gone` is set when a client closed one."""

    spec: str
    env: dict[str, str]
    streams: list[list[int]] = field(default_factory=list)
    gone: Event = field(default_factory=Event)


def certificate(folder: Path) -> Path | None:
    """A certificate for 127.0.0.1 and its key, in one file; None where there is no openssl to make one."""
    if shutil.which("openssl") is None:
        return None
    key, cert = folder / "key.pem", folder / "cert.pem"
    command = ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"]
    command += ["-days", "2", "-subj", "/CN=127.0.0.1", "-addext", "subjectAltName=IP:127.0.0.1"]
    subprocess.run([*command, "-keyout", str(key), "-out", str(cert)], check=True, capture_output=True)
    both = folder / "both.pem"
    both.write_bytes(key.read_bytes() + cert.read_bytes())
    return both


@contextmanager
def serving(pem: Path) -> Iterator[Origin]:
    """The server, while in this context. A request whose last message is "hold" gets its first word and no more."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(pem)
    context.set_alpn_protocols(["h2", "http/1.1"])
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
        origin = Origin(f"https://127.0.0.1:{port}/v1#chat:m", {"SSL_CERT_FILE": str(pem)})
        open_now: list[Any] = []
        threads: list[Thread] = []

        def accept() -> None:
            while True:
                try:
                    raw, _ = listener.accept()
                except OSError:
                    return
                with suppress(OSError):
                    connection = context.wrap_socket(raw, server_side=True)
                    open_now.append(connection)
                    threads.append(Thread(target=_talk, args=(connection, origin), daemon=True))
                    threads[-1].start()

        waiting = Thread(target=accept, daemon=True)
        waiting.start()
        try:
            yield origin
        finally:
            listener.shutdown(socket.SHUT_RDWR)
            waiting.join()
            for connection in open_now:
                with suppress(OSError):
                    connection.shutdown(socket.SHUT_RDWR)
            for thread in threads:
                thread.join()


def _talk(connection: Any, origin: Origin) -> None:
    from h2.config import H2Configuration
    from h2.connection import H2Connection
    from h2.events import DataReceived, StreamEnded

    assert connection.selected_alpn_protocol() == "h2"
    talk = H2Connection(config=H2Configuration(client_side=False))
    talk.initiate_connection()
    seen: list[int] = []
    origin.streams.append(seen)
    bodies: dict[int, bytes] = {}
    with suppress(OSError), connection:
        connection.sendall(talk.data_to_send())
        while data := connection.recv(65536):
            for event in talk.receive_data(data):
                match event:
                    case DataReceived():
                        bodies[event.stream_id] = bodies.get(event.stream_id, b"") + event.data
                        talk.acknowledge_received_data(event.flow_controlled_length or 0, event.stream_id)
                    case StreamEnded():
                        seen.append(event.stream_id)
                        _answer(talk, event.stream_id, json.loads(bodies[event.stream_id]))
                    case _:
                        pass
            connection.sendall(talk.data_to_send())
    origin.gone.set()


def _answer(talk: Any, stream: int, asked: dict[str, Any]) -> None:
    said = asked["messages"][-1]["content"]
    kind = "text/event-stream" if asked.get("stream") else "application/json"
    talk.send_headers(stream, [(":status", "200"), ("content-type", kind)])
    if not asked.get("stream"):
        choice = {"index": 0, "message": {"role": "assistant", "content": said}, "finish_reason": "stop"}
        talk.send_data(stream, json.dumps({**REPLY, "choices": [choice], "usage": USAGE}).encode(), end_stream=True)
        return
    word = {"index": 0, "delta": {"role": "assistant", "content": said}, "finish_reason": None}
    end = {"index": 0, "delta": {}, "finish_reason": "stop"}
    talk.send_data(stream, b"data: " + json.dumps({**CHUNK, "choices": [word]}).encode() + b"\n\n")
    if said != "hold":
        last = b"data: " + json.dumps({**CHUNK, "choices": [end]}).encode() + b"\n\ndata: [DONE]\n\n"
        talk.send_data(stream, last, end_stream=True)
