"""Guards keys: one is planted wherever keys are given, calls go every way they can, and no byte of what is left shows it."""

from __future__ import annotations

import asyncio
import io
import logging
import os
import pickle
import traceback
from base64 import b64encode
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import quote

import msgspec
import pytest
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from awaited import TRANSPORTS, made
from dragoman.catalog.find import find
from dragoman.catalog.target import Secret, Target
from dragoman.cli.main import COMMANDS
from dragoman.cli.main import run as command_line
from dragoman.client import AsyncModel, Model
from dragoman.errors import DragomanError, TransportError, UsageError
from dragoman.money.ledger import Ledger
from dragoman.telemetry import Spans
from dragoman.testing import FakeClock, FakeProvider
from dragoman.testing.plan import Plan
from dragoman.transport.base import Limits
from dragoman.transport.cancel import CancelToken
from dragoman.types import Delta, Request, user
from dragoman.types.save import Conversation, dumps
from dragoman.wire.base import Http

WIRES = ("chat", "messages", "responses")
KEY = 'planted/key+"0123456789abcdef'
QUOTED = (KEY, msgspec.json.encode(KEY)[1:-1].decode(), quote(KEY), quote(KEY, safe=""), "0123456789abcdef")
FORMS = (*(form.encode() for form in QUOTED), b64encode(KEY.encode()))
TRANSPORT = os.path.join("dragoman", "transport", "")
PLACES = ("env", "argument", "query", "header")
WAYS = (
    "echo",
    "auth",
    "bad-request-text",
    "bad-request-detail",
    "html",
    "rate-limit:1",
    "error-503",
    "error-in-200",
    "error-at-start",
    "error-in-stream",
    "cut-in-stream",
    "no-answer",
    "silence",
    "garbage",
    "html-200",
)
FEW = ("echo", "auth", "error-503", "error-in-stream", "cut-in-stream", "no-answer")


class Quoting(FakeProvider):
    """A provider whose refusals and failures quote the key they were sent, and the whole address."""

    def _answered(self, http: Http, turn: Any) -> Plan:
        self.asked = http
        return super()._answered(http, turn)

    def plan(self, http: Http) -> Plan:
        made = super().plan(http)
        key = next(
            (value for name, value in http.headers if name.lower() in ("authorization", "x-api-key", "x-key")), ""
        )
        said = f"{key.removeprefix('Bearer ')} at {http.path} is no key "
        quoted = msgspec.json.encode(said)[1:-1]
        made.parts = [
            part.replace(b'"message":"', b'"message":"' + quoted).replace(b"<html>", b"<html>" + said.encode())
            if isinstance(part, bytes)
            else part
            for part in made.parts
        ]
        if made.status == 400 and made.headers.get("content-type", "").startswith("text/plain"):
            made.parts.append(said.encode())
        return made


class Traces:
    """What is left of a call, wherever it is left."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.said: list[str] = []
        self._spans = InMemorySpanExporter()
        self.tracer = TracerProvider(shutdown_on_exit=False)
        self.tracer.add_span_processor(SimpleSpanProcessor(self._spans))

    def tell(self, *values: object) -> None:
        for value in values:
            self.said.append(repr(value))
            if type(value).__str__ is not object.__str__:
                self.said.append(str(value))

    def fail(self, error: BaseException) -> None:
        """An error as it is shown, logged and reported. Crash reporters show the variables of each function too: those of the
        transport hold no key, unless a service quoted it in what they have just read.
        """
        self.tell(error, error.args, vars(error), getattr(error, "__notes__", ()))
        self.said += traceback.format_exception(error)
        for frame, _ in traceback.walk_tb(error.__traceback__):
            if TRANSPORT in frame.f_code.co_filename and isinstance(error, TransportError | UsageError):
                self.tell(*frame.f_locals.values())
        detail = getattr(error, "detail", None)
        if detail is not None:
            self.said.append(msgspec.json.encode(detail).decode())

    def everything(self) -> bytes:
        files = [path for path in self.folder.rglob("*") if path.is_file()]
        self.said += [span.to_json() for span in self._spans.get_finished_spans()]
        names = "\n".join(str(path.relative_to(self.folder)) for path in files)
        return "\n".join([names, *self.said]).encode() + b"".join(path.read_bytes() for path in files)


@pytest.fixture
def traces(tmp_path: Path) -> Iterator[Traces]:
    """All that is left; every logger at DEBUG meanwhile. At the end, no key in it."""
    kept, log = Traces(tmp_path), io.StringIO()
    root, handler = logging.getLogger(), logging.StreamHandler(log)
    handler.setFormatter(logging.Formatter("%(name)s %(message)s %(args)s %(pathname)s"))
    level = root.level
    root.addHandler(handler)
    root.setLevel(logging.DEBUG)
    try:
        yield kept
    finally:
        root.removeHandler(handler)
        root.setLevel(level)
    found = kept.everything() + log.getvalue().encode()
    shown = [found[max(found.index(form) - 300, 0) : found.index(form) + 100] for form in FORMS if form in found]
    assert shown == []


class Given(NamedTuple):
    """A model as it is asked for, with a key in it."""

    spec: str | Target
    env: Mapping[str, str]


def given(place: str, fake: FakeProvider) -> Given:
    """The key, at its place."""
    wire, base = fake.wire.id, f"{fake.url}/v1"
    plain = f"{base}#{wire}:m"
    if place == "env":
        vendor, name = ("anthropic", "ANTHROPIC") if wire == "messages" else ("openai", "OPENAI")
        url = fake.url if wire == "messages" else base
        return Given(f"{vendor}/m#{wire}", {f"{name}_API_KEY": KEY, f"{name}_BASE_URL": url})
    if place == "argument":
        return Given(msgspec.structs.replace(find(plain, {}), key=Secret(KEY)), {})
    if place == "query":
        return Given(f"{base}?api-version=1&key={quote(KEY, safe='')}#{wire}:m", {})
    return Given(msgspec.structs.replace(find(plain, {}), headers=(("x-key", KEY),)), {})


def options(traces: Traces, ledger: Ledger | None = None) -> dict[str, Any]:
    spans = Spans(traces.tracer, contents=True)
    return {
        "limits": Limits(idle=0.05, progress=0.05),
        "retry": 1,
        "clock": FakeClock(),
        "record": traces.folder / "record",
        "observers": [traces.tell, spans, *([ledger] if ledger else [])],
    }


@contextmanager
def failing(traces: Traces) -> Iterator[None]:
    try:
        yield
    except DragomanError as error:
        traces.fail(error)


def ask(model: Model, traces: Traces) -> None:
    """A whole reply, a stream, and one that is cancelled; all that can be looked at is kept."""
    request = Request(messages=(user("Hello there"),))
    traces.tell(model, model.target, model.plan(request), model.plan(request, stream=True))
    with failing(traces):
        outcome = model.outcome(request)
        traces.tell(outcome)
        saved = Conversation(request=request, replies=(outcome.reply,), notes=outcome.notes)
        (traces.folder / "saved.json").write_bytes(dumps(saved))
    stream = model.stream(request)
    with failing(traces):
        for event in stream:
            traces.tell(event)
    traces.tell(stream, stream.reply, stream.notes, stream.attempts)
    token = CancelToken()
    with failing(traces):
        for event in model.stream(request, cancel=token):
            if isinstance(event, Delta):
                token.cancel()
    token.cancel()
    with failing(traces):
        model.chat(request, cancel=token)


@pytest.mark.parametrize(
    ("wire", "place", "transport", "ways"),
    [
        *((wire, "env", "httpx2", WAYS) for wire in WIRES),
        *(("chat", place, "httpx2", FEW) for place in PLACES),
        *((wire, place, "stdlib", FEW) for wire, place in zip(WIRES, PLACES[1:], strict=True)),
    ],
)
def test_a_planted_key_is_nowhere(wire: str, place: str, transport: str, ways: tuple[str, ...], traces: Traces) -> None:
    ledger = Ledger(traces.folder / "ledger.db")
    for way in ways:
        with Quoting(wire, quirks=[] if way == "echo" else [way], log=traces.tell) as fake:
            spec, env = given(place, fake)
            with Model(spec, env=env, transport=transport, **options(traces, ledger)) as model:
                ask(model, traces)
        assert fake.seen
        sent = f"{fake.asked.path} {dict(fake.asked.headers)}"
        assert KEY in sent or quote(KEY, safe="") in sent, "the key was never sent: nothing is shown by its absence"
    ledger.close()


@pytest.mark.parametrize("transport", ["httpx2", "aiohttp"])
@pytest.mark.parametrize("place", PLACES)
def test_a_planted_key_is_nowhere_when_it_is_awaited(place: str, transport: str, traces: Traces) -> None:
    async def go(spec: str | Target, env: Mapping[str, str]) -> None:
        async with AsyncModel(spec, env=env, transport=transport, **options(traces)) as model:
            traces.tell(model)
            with failing(traces):
                traces.tell(await model.outcome("Hello there"))
            with failing(traces):
                async for event in model.stream("Hello there"):
                    traces.tell(event)
            task = asyncio.ensure_future(model.chat("Hello there"))
            await asyncio.sleep(0)
            task.cancel()
            with pytest.raises(asyncio.CancelledError) as caught:
                await task
            traces.said += traceback.format_exception(caught.value)

    for way in FEW:
        with Quoting("chat", quirks=[] if way == "echo" else [way], log=traces.tell) as fake:
            asyncio.run(go(*given(place, fake)))


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("transport", TRANSPORTS)
def test_nobody_there(place: str, transport: str, traces: Traces) -> None:
    with Quoting("chat") as fake:
        spec, env = given(place, fake)
    once = {**options(traces), "retry": 0, "limits": Limits()}  # the error of the transport itself, with its frames
    with made(spec, env=env, transport=transport, **once) as model, failing(traces):
        model.chat("Hello")
    assert "cannot connect" in "".join(traces.said)


@pytest.mark.parametrize("transport", TRANSPORTS)
def test_a_key_that_no_header_can_hold(transport: str, traces: Traces) -> None:
    with Quoting("chat") as fake:
        target = msgspec.structs.replace(find(fake.spec, {}), key=Secret(f"{KEY}\n{KEY}"))
        with made(target, transport=transport, **options(traces)) as model, failing(traces):
            model.chat("Hello")
        with failing(traces):
            Model("openai/m", env={"OPENAI_API_KEY": f"{KEY}\n{KEY}"})
    assert "a header that HTTP does not allow" in "".join(traces.said)


def test_an_address_with_a_password_is_refused_without_it(traces: Traces) -> None:
    for spec in (
        f"http://me:{quote(KEY, safe='')}@127.0.0.1:1/v1#chat:m",
        f"http://me:{quote(KEY, safe='')}@127.0.0.1:1/v1",
    ):
        with pytest.raises(DragomanError) as caught:
            Model(spec, env={})
        traces.tell(caught.value)
        traces.said += traceback.TracebackException.from_exception(caught.value).format()


def test_a_target_is_not_written_down() -> None:
    target = Target(provider="p", label="P", wire="chat", model="m", base_url="http://h", key=Secret(KEY))
    for write in (pickle.dumps, msgspec.json.encode, msgspec.to_builtins):
        with pytest.raises(TypeError):
            write(target)  # type: ignore[operator]


def command_lines(folder: Path) -> list[list[str]]:
    kept, saved = str(folder / "record"), str(folder / "saved.json")
    talk = ["run", "Hello there", "--model", "openai/m#chat", "--tools", "none", "--record", kept]
    return [
        [*talk, "--json", "--save", saved],
        talk,
        ["check", "openai/m#chat", "--json"],
        ["check", "openai/m#chat"],
        ["providers", "--json"],
        ["models", "--json", "--search", "gpt-5"],
        ["doctor", kept],
        ["replay", kept, "1"],
        ["replay", kept, "--json"],
        ["cost", "--json"],
    ]


@pytest.mark.parametrize("way", ["echo", "auth", "error-in-stream"])
def test_no_command_shows_a_key(
    way: str, traces: Traces, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    """Every command that meets a key, a record or a ledger, in one environment."""
    with Quoting("chat", quirks=[] if way == "echo" else [way], log=traces.tell) as fake:
        monkeypatch.setenv("OPENAI_API_KEY", KEY)
        monkeypatch.setenv("OPENAI_BASE_URL", f"{fake.url}/v1")
        monkeypatch.setenv("DRAGOMAN_HOME", str(traces.folder / "home"))
        for line in command_lines(traces.folder):
            assert line[0] in COMMANDS
            assert command_line(line) in (0, 1)
    out = capfd.readouterr()
    traces.said += [out.out, out.err]
    assert len(fake.seen) > 1 and ("***" in out.out + out.err or way == "echo")
