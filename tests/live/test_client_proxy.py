"""Guards proxies and own certificates by the usual variables of the environment that is handed in, on every transport."""

from __future__ import annotations

import shutil
import socket
import ssl
import subprocess
from base64 import b64encode
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from pathlib import Path
from threading import Thread

import pytest

from awaited import TRANSPORTS, made
from chat_script import chat_reply, chat_stream
from dragoman.errors import TransportError, UsageError
from dragoman.transport.environ import mounts, proxy
from dragoman.types import Finish
from origin import Origin

SERVICE = "http://service.example/v1#chat:m"
KEY = {"DRAGOMAN_API_KEY": "sk-planted-key"}
each_transport = pytest.mark.parametrize("transport", TRANSPORTS)


@each_transport
@pytest.mark.parametrize("name", ["HTTP_PROXY", "http_proxy", "ALL_PROXY"])
def test_requests_go_through_the_proxy(transport: str, name: str) -> None:
    with (
        Origin(chat_reply(), chat_stream("a")) as proxied,
        made(SERVICE, env={**KEY, name: proxied.url}, transport=transport) as model,
    ):
        assert model.chat("hi").text == "Hello"
        assert isinstance([*model.stream("hi")][-1], Finish)
    assert [seen.path for seen in proxied.seen] == ["http://service.example/v1/chat/completions"] * 2


@each_transport
def test_a_proxy_gets_its_credentials_and_nothing_tells_them(transport: str) -> None:
    with Origin(chat_reply()) as proxied:
        address = proxied.url.replace("//", "//me:p%40ss@")
        with made(SERVICE, env={**KEY, "HTTP_PROXY": address}, transport=transport) as model:
            outcome = model.outcome("hi")
            assert "p%40ss" not in f"{model!r} {outcome!r}"
    assert proxied.seen[0].headers["proxy-authorization"] == f"Basic {b64encode(b'me:p@ss').decode()}"


@each_transport
def test_no_proxy_goes_straight(transport: str) -> None:
    with Origin(chat_reply()) as proxied, Origin(chat_reply()) as service:
        straight = service.url.replace("127.0.0.1", "0.0.0.0")
        env = {**KEY, "HTTP_PROXY": proxied.url, "NO_PROXY": "other.example, 0.0.0.0"}
        with made(f"{straight}/v1#chat:m", env=env, transport=transport) as model:
            assert model.chat("hi").text == "Hello"
        assert (len(proxied.seen), len(service.seen)) == (0, 1)
        with made(f"{straight}/v1#chat:m", env={**KEY, "HTTP_PROXY": proxied.url}, transport=transport) as model:
            assert model.chat("hi").text == "Hello"
        assert (len(proxied.seen), len(service.seen)) == (1, 1)


@each_transport
def test_this_machine_is_never_asked_through_a_proxy(transport: str) -> None:
    env = {"HTTP_PROXY": "http://127.0.0.1:9", "ALL_PROXY": "http://127.0.0.1:9"}
    with Origin(chat_reply()) as origin, made(f"{origin.url}/v1#chat:m", env=env, transport=transport) as model:
        assert model.chat("hi").text == "Hello"


@each_transport
def test_https_is_tunnelled(transport: str) -> None:
    """The proxy is asked for a tunnel; it refuses, and what it said is told."""
    spec = "https://service.example/v1#chat:m"
    with (
        Tunnel() as tunnel,
        made(spec, env={**KEY, "HTTPS_PROXY": tunnel.url}, transport=transport, retry=0) as model,
        pytest.raises(TransportError) as caught,
    ):
        model.chat("hi")
    assert [line.rpartition(" ")[0] for line in tunnel.asked] == ["CONNECT service.example:443"]
    assert caught.value.code == "network" and "403" in caught.value.message


class Tunnel:
    """A proxy that refuses every tunnel."""

    def __init__(self) -> None:
        self.asked: list[str] = []
        self._socket = socket.create_server(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self._socket.getsockname()[1]}"
        self._thread = Thread(target=self._serve, daemon=True)

    def _serve(self) -> None:
        connection, _ = self._socket.accept()
        with connection:
            self.asked.append(connection.recv(65536).decode().split("\r\n")[0])
            connection.sendall(b"HTTP/1.1 403 Forbidden\r\ncontent-length: 0\r\n\r\n")

    def __enter__(self) -> Tunnel:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._thread.join(10)
        self._socket.close()


ENTRIES = [
    ("", "service.example", True),
    ("*", "service.example", False),
    ("service.example", "service.example", False),
    ("service.example", "eu.service.example", False),
    (".service.example", "eu.service.example", False),
    ("*.service.example", "eu.service.example", False),
    ("service.example", "myservice.example", True),
    ("a.example,b.example", "b.example", False),
    ("10.0.0.0/8", "10.1.2.3", False),
    ("10.0.0.0/8", "11.1.2.3", True),
    ("10.1.2.3", "10.1.2.3", False),
    ("fd00::/8", "[fd00::1]", False),
    ("::2", "[::2]", False),
    ("SERVICE.example", "service.example", False),
    ("not a url://", "service.example", True),
]


@pytest.mark.parametrize(("no", "host", "proxied"), ENTRIES)
@pytest.mark.parametrize("scheme", ["http", "https"])
def test_both_transports_skip_the_same_hosts(no: str, host: str, proxied: bool, scheme: str) -> None:
    env = {"ALL_PROXY": "proxy.example:3128", "NO_PROXY": no}
    found = proxy(env, scheme, host)
    assert (found.geturl() if found else None) == ("http://proxy.example:3128" if proxied else None)
    assert _by_httpx2(mounts(env), f"{scheme}://{host}/") == ("http://proxy.example:3128" if proxied else None)


def _by_httpx2(found: Mapping[str, str | None], url: str) -> str | None:
    import httpx2
    from httpx2._utils import URLPattern

    patterns = sorted(URLPattern(pattern) for pattern in found)
    chosen = next((pattern.pattern for pattern in patterns if pattern.matches(httpx2.URL(url))), None)
    return None if chosen is None else found[chosen]


def test_the_lower_case_wins_and_a_scheme_of_its_own_over_all() -> None:
    env = {"HTTP_PROXY": "http://a", "http_proxy": "http://b", "all_proxy": "http://c"}
    assert mounts(env) == {"http://": "http://b", "all://": "http://c"}
    chosen = [found.geturl() for scheme in ("http", "https") if (found := proxy(env, scheme, "x.example"))]
    assert chosen == ["http://b", "http://c"]


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """A certificate of this machine that nobody trusts unasked, and its key."""
    openssl = shutil.which("openssl")
    if openssl is None:
        pytest.skip("needs the openssl command to make a certificate")
    folder = tmp_path_factory.mktemp("tls")
    made = (folder / "cert.pem", folder / "key.pem")
    asked = "req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2 -subj /CN=here"
    names = ["-addext", "subjectAltName=IP:127.0.0.1", "-out", str(made[0]), "-keyout", str(made[1])]
    subprocess.run([openssl, *asked.split(), *names], check=True, capture_output=True)
    return made


@contextmanager
def secured(certificate: tuple[Path, Path]) -> Generator[str]:
    """An Origin behind TLS, at this address."""
    with Origin(chat_reply()) as origin:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(*certificate)
        server = origin._server  # pyright: ignore[reportPrivateUsage]
        server.socket = context.wrap_socket(server.socket, server_side=True)
        yield origin.url.replace("http:", "https:")


@each_transport
def test_a_certificate_of_ones_own_is_trusted_by_the_usual_variable(
    certificate: tuple[Path, Path], transport: str
) -> None:
    with secured(certificate) as url:
        env = {"SSL_CERT_FILE": str(certificate[0])}
        with made(f"{url}/v1#chat:m", env=env, transport=transport, retry=0) as model:
            assert model.chat("hi").text == "Hello"
    with (
        secured(certificate) as url,
        made(f"{url}/v1#chat:m", env={}, transport=transport, retry=0) as model,
        pytest.raises(TransportError, match="certificate") as caught,
    ):
        model.chat("hi")
    assert caught.value.code == "network"


@each_transport
def test_certificates_that_cannot_be_read_are_told(tmp_path: Path, transport: str) -> None:
    env = {**KEY, "SSL_CERT_FILE": str(tmp_path / "none.pem")}
    said = r"SSL_CERT_FILE=.*none\.pem cannot be read: No such file"
    spec = "https://service.example/v1#chat:m"
    with made(spec, env=env, transport=transport) as model, pytest.raises(UsageError, match=said):
        model.chat("hi")
