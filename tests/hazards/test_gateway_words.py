"""Guards what whoever runs the gateway is told of a line that failed: all that helps to mend it, and never what a service or a
proxy sent, whichever library reads it and however that library quotes."""

from __future__ import annotations

import socket
from collections.abc import Callable, Generator
from contextlib import contextmanager, suppress
from threading import Thread

import pytest
from aiohttp import client_proto, http_parser

from dragoman.catalog.target import Target
from dragoman.dialect.model import BASE
from dragoman.errors import DragomanError, TransportError
from dragoman.gateway import behind, faults
from dragoman.gateway.alarm import Alarm
from dragoman.gateway.known import told
from dragoman.types.events import Failure
from dragoman.wire import LIBRARY, find
from gate import Gate
from odds import EXCHANGE, odd_replies, odd_streams

SAID = "Quoth the raven"
AT = "http://127.0.0.1:9/v1"
URL = f"{AT}/chat/completions"
START, CHUNKED = "HTTP/1.1 200 OK\r\n", "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n"
SENT = {
    "no HTTP": f"{SAID}\r\n\r\n",
    "a status that is none": f"HTTP/1.1 {SAID}\r\n\r\n",
    "a status of four digits": f"HTTP/1.1 2000 {SAID}\r\n\r\n",
    "another version": f"HTTP/7.7 200 {SAID}\r\n\r\n",
    "a header without a colon": f"{START}{SAID}\r\n\r\n",
    "a header with a blank": f"{START}x y: {SAID}\r\n\r\n",
    "a header with a zero": f"{START}x: {SAID}\0\r\n\r\n",
    "a length that is none": f"{START}content-length: {SAID}\r\n\r\n",
    "two lengths": f"{START}content-length: 1\r\ncontent-length: {SAID}\r\n\r\n",
    "another encoding": f"{START}transfer-encoding: {SAID}\r\n\r\n",
    "a compression that is none": f"{START}content-encoding: gzip\r\ncontent-length: {len(SAID)}\r\n\r\n{SAID}",
    "a head that is too long": f"{START}x: {SAID * 9000}\r\n\r\n",
    "half a head": f"{START}x: {SAID}\r\n",
    "half a body": f"{START}content-length: 99\r\n\r\n{SAID}",
    "half a chunk": f"{CHUNKED}63\r\n{SAID}",
    "a chunk that is none": f"{CHUNKED}{SAID}\r\n",
    "a chunk that is too long": f"{CHUNKED}1\r\n{{{SAID}\r\n",
    "a trailer that is none": f"{CHUNKED}1\r\n{{\r\n0\r\n{SAID}\r\n\r\n",
    "a quote": f"""'{SAID}' b'{SAID}' "{SAID}"\r\n\r\n""",
    "our own words": f"cannot connect to {AT}: {SAID}\r\n\r\n",
    "words of TLS": f"[SSL: X] {SAID} (_ssl.c:1)\r\n\r\n",
    "nothing": "",
}
# All that is told of any of them, behind the address.
TOLD = {
    " broke: what was sent is no HTTP",
    " broke: Server disconnected",
    " broke: Server disconnected without sending a response",
    " broke: peer closed connection without sending complete message body",
    " broke: Response payload is not completed",
    " broke: ReadError",
    " broke: Connection reset by peer",
    " broke",
}
READERS: dict[str, Callable[[pytest.MonkeyPatch], None]] = {
    "aiohttp": lambda patch: None,
    "aiohttp without its C": lambda patch: patch.setattr(
        client_proto, "HttpResponseParser", http_parser.HttpResponseParserPy
    ),
    "httpx2": lambda patch: patch.setattr("gate.transport", lambda: None),
}


@contextmanager
def service(answer: bytes, times: int = 1) -> Generator[str]:
    """Where somebody says just that, and hangs up."""
    with socket.create_server(("127.0.0.1", 0)) as listening:
        listening.settimeout(5)

        def talk() -> None:
            for _ in range(times):
                with suppress(OSError):
                    line, _ = listening.accept()
                    with line:
                        line.recv(65536)
                        line.sendall(answer)

        thread = Thread(target=talk)
        thread.start()
        yield f"127.0.0.1:{listening.getsockname()[1]}"
        thread.join()


@pytest.mark.parametrize("reader", READERS)
@pytest.mark.parametrize("sent", SENT)
def test_nothing_that_a_service_sent_is_told(sent: str, reader: str, monkeypatch: pytest.MonkeyPatch) -> None:
    READERS[reader](monkeypatch)
    lines: list[str] = []
    with service(SENT[sent].encode(), 2) as at, Gate(f"http://{at}/v1#chat:m", alarm=Alarm(lines.append)) as gate:
        got = [gate.say("chat", stream=stream) for stream in (False, True)]
    found = [line.removeprefix(f"{at}: the connection to http://{at}/v1/chat/completions") for line in lines]
    read = f"{at}: the answer of http://{at}/v1 broke off or cannot be read ("  # where the library took it for HTTP
    assert [line for line in found if line not in TOLD and not line.startswith((read, "1 more like"))] == []
    assert found
    assert [text for text in (*lines, *(each.body.decode() for each in got)) if "raven" in text] == []


@pytest.mark.parametrize("reader", READERS)
def test_nor_what_a_proxy_sent(reader: str, monkeypatch: pytest.MonkeyPatch) -> None:
    READERS[reader](monkeypatch)
    lines: list[str] = []
    refusal = f"HTTP/1.1 403 {SAID}\r\nx: {SAID}\r\ncontent-length: 0\r\n\r\n"
    target = Target(provider="p", label="P", wire="chat", model="m", base_url="https://service.invalid/v1")
    with (
        service(refusal.encode()) as at,
        Gate(target, env={"HTTPS_PROXY": f"http://{at}"}, alarm=Alarm(lines.append)) as gate,
    ):
        got = gate.say("chat")
    url = "https://service.invalid/v1/chat/completions"
    assert lines == [f"P: the proxy on the way to {url} refused: 403; check HTTPS_PROXY"]
    assert (got.status, SAID in got.body.decode()) == (502, False)


@pytest.mark.parametrize("reader", READERS)
def test_why_there_is_no_connection_is_told(reader: str, monkeypatch: pytest.MonkeyPatch) -> None:
    READERS[reader](monkeypatch)
    lines: list[str] = []
    with service(f"{SAID}\r\n\r\n".encode()) as plain, socket.create_server(("127.0.0.1", 0)) as free:
        nobody = f"127.0.0.1:{free.getsockname()[1]}"
        free.close()
        for url in (f"https://{plain}", f"http://{nobody}"):
            with Gate(f"{url}/v1#chat:m", alarm=Alarm(lines.append)) as gate:
                assert gate.say("chat").status == 502
    advice = "; check that the server runs and that the base address is right"
    assert [line.endswith(advice) for line in lines] == [True] * 2
    secured, refused = (line.removesuffix(advice).partition("/v1/chat/completions: ")[2] for line in lines)
    assert secured.startswith("[SSL: WRONG_VERSION_NUMBER] wrong version number (_ssl.c:")
    host, _, port = nobody.partition(":")
    assert refused in (f"Connect call failed {(host, int(port))}", "All connection attempts failed")


ADVICE = "; check that the server runs and that the base address is right"
WHOLE = [
    f"no connection to {URL} within 10 s; check the address, the network and any proxy",
    f"{URL} was silent for 0.5 s; if the model needs longer, raise Limits(idle=…)",
    f"{URL} said nothing within 30 s; if the model needs longer, raise Limits(first=…)",
    f"{URL} sent nothing but signs of life for 1e+02 s; if the model needs longer, raise Limits(progress=…)",
    f"{URL} did not end its answer within 60 s; if the model needs longer, raise Limits(request=…)",
    f"{URL} did not answer within 600 s in all; if the model needs longer, raise Limits(total=…) (after 3 attempts)",
    *(
        f"cannot connect to {URL}: {why}{ADVICE}"
        for why in (
            "Connection refused",
            "[Errno 113] No route to host",
            "[Errno -2] Name or service not known",
            "Connect call failed ('127.0.0.1', 9)",
            "Connect call failed ('::1', 9, 0, 0)",
            "Multiple exceptions: [Errno 111] Connect call failed ('::1', 9, 0, 0), [Errno 101] Network is unreachable",
            "[SSL: CERTIFICATE_VERIFY_FAILED] certificate verify failed: self-signed certificate in certificate chain (_ssl.c:1006)",
            "[SSL: CERTIFICATE_VERIFY_FAILED] certificate verify failed: Hostname mismatch, certificate is not valid for 'a-b.example'. (_ssl.c:1006)",
            "[SSL: TLSV1_ALERT_PROTOCOL_VERSION] tlsv1 alert protocol version (_ssl.c:1000)",
            "EOF occurred in violation of protocol (_ssl.c:1006)",
        )
    ),
    f"the connection to {URL} broke: Connection reset by peer",
    f"the connection to {URL} broke: Server disconnected (after 4 attempts)",
    f"the proxy on the way to {URL} refused: Connection refused; check HTTPS_PROXY",
    f"the proxy on the way to {URL} refused: 407; check HTTPS_PROXY",
]
CUT = {
    f"cannot connect to {URL}: {SAID}{ADVICE}": f"cannot connect to {URL}{ADVICE}",
    f"cannot connect to {URL}: Connection refused by {SAID}{ADVICE}": f"cannot connect to {URL}: Connection refused{ADVICE}",
    f"the connection to {URL} broke: 403 {SAID}": f"the connection to {URL} broke",
    f"the connection to {URL} broke: Server disconnected — {SAID}: {SAID} (after 2 attempts)": f"the connection to {URL} broke: Server disconnected (after 2 attempts)",
    f"the proxy on the way to {URL} refused: 407 {SAID}; check HTTPS_PROXY": f"the proxy on the way to {URL} refused: 407; check HTTPS_PROXY",
    f"{URL} was silent for 3 s; {SAID}": f"{URL} was silent for 3 s",
}


@pytest.mark.parametrize("message", WHOLE)
def test_our_own_words_and_the_systems_are_told_whole(message: str) -> None:
    assert told(message, AT) == message


@pytest.mark.parametrize("message", CUT)
def test_others_are_cut(message: str) -> None:
    assert told(message, AT) == CUT[message]


@pytest.mark.parametrize(
    "message",
    [
        SAID,
        "",
        f"cannot connect to http://{SAID}: x",
        f"cannot connect to {URL} {SAID}",
        f"{SAID}: cannot connect to {URL}",
    ],
)
def test_what_is_no_sentence_of_ours_is_told_by_its_kind_alone(message: str) -> None:
    target = Target(provider="p", label="P", wire="chat", model="m", base_url=AT)
    assert told(message, AT) is None
    assert behind.reason(TransportError("network", message), target) == f"the connection to {AT} broke"
    assert behind.reason(TransportError("timeout", message), target) == f"{AT} was silent for too long"
    assert behind.reason(TransportError("network", message), None) == "the connection broke"


MADE_UP = ({SAID: 7}, {SAID: {SAID: []}}, [{SAID: None}], {"type": SAID, SAID: SAID}, SAID)


@pytest.mark.parametrize("wire", LIBRARY)
def test_the_place_of_what_cannot_be_read_holds_no_word_of_it(wire: str) -> None:
    codec = find(wire)
    target = Target(provider="p", label="P", wire="chat", model="m", base_url=AT)
    lines: list[str] = []
    for body in odd_replies(wire, MADE_UP):
        try:
            codec.decode_reply(body, BASE, EXCHANGE)
        except DragomanError as error:
            lines.append(behind.reason(error, target))
    for body in odd_streams(wire, MADE_UP):
        decoder = codec.stream_decoder(BASE, EXCHANGE)
        for event in (*decoder.feed(body), *decoder.close()):
            if isinstance(event, Failure):
                lines.append(behind.reason(faults.raised(event), target))
    assert [line for line in lines if SAID in line] == []
    assert any(" cannot be read (bad_shape at " in line for line in lines)
