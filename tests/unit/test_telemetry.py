"""Guards the spans (S3-35): one a call by the conventions, 929 of input and 890 of them from the cache; no key ever, and no
word that was said unless asked for."""

from __future__ import annotations

import json
import sys
from typing import Any

import pytest
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.trace import SpanKind, StatusCode

from dragoman.client import Model
from dragoman.errors import ApiError, UsageError
from dragoman.telemetry import Spans
from dragoman.testing import FakeClock, FakeProvider
from dragoman.types import Media, Reasoning, Request, Text, Tool, ToolCall, ToolResult, assistant, system, tool, user

WIRES = ("chat", "responses", "messages")
KEY = "sk-planted-0123456789"
USAGE = {"input": 929, "output": 31, "cache_read": 890}


class Heard:
    """A tracer that keeps its spans."""

    def __init__(self) -> None:
        self._exporter = InMemorySpanExporter()
        self.provider = TracerProvider(shutdown_on_exit=False)
        self.provider.add_span_processor(SimpleSpanProcessor(self._exporter))

    @property
    def spans(self) -> tuple[ReadableSpan, ...]:
        return self._exporter.get_finished_spans()


def watched(spans: Spans, **more: Any) -> dict[str, Any]:
    return {"env": {"DRAGOMAN_API_KEY": KEY}, "observers": [spans], "clock": FakeClock(), "retry": "plain", **more}


@pytest.mark.req("S3-31", "S3-32", "S3-35")
@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("wire", WIRES)
def test_a_call_is_one_span(wire: str, stream: bool) -> None:
    heard = Heard()
    script = [{"text": "Hello", "usage": USAGE}]
    with FakeProvider(wire, script=script) as fake, Model(fake.spec, **watched(Spans(heard.provider))) as model:
        reply = model.chat(Request(messages=(user("hi"),), stream=stream or None), temperature=0.2, max_output=512)
    (span,) = heard.spans
    host, port = fake.url.removeprefix("http://").split(":")
    found = dict(span.attributes or {})
    zeros = ("gen_ai.usage.cache_creation.input_tokens", "gen_ai.usage.reasoning.output_tokens")
    assert {found.pop(name, 0) for name in zeros} == {0}
    assert found == {
        "gen_ai.operation.name": "chat",
        "gen_ai.provider.name": f"{host}:{port}",
        "gen_ai.request.model": "fake",
        "gen_ai.request.max_tokens": 512,
        "gen_ai.request.temperature": 0.2,
        "gen_ai.response.id": reply.id,
        "gen_ai.response.model": "fake",
        "gen_ai.response.finish_reasons": ("stop",),
        "gen_ai.response.time_to_first_chunk": 0.0,
        "gen_ai.usage.input_tokens": 929,
        "gen_ai.usage.output_tokens": 31,
        "gen_ai.usage.cache_read.input_tokens": 890,
        "server.address": host,
        "server.port": int(port),
    }
    assert (span.name, span.kind, span.status.status_code) == ("chat fake", SpanKind.CLIENT, StatusCode.UNSET)


def test_a_call_that_failed_names_its_fault_and_has_its_times() -> None:
    heard = Heard()
    with (
        FakeProvider(quirks=["overloaded"]) as fake,
        Model(fake.spec, **watched(Spans(heard.provider))) as model,
        pytest.raises(ApiError),
    ):
        model.chat("hi")
    (span,) = heard.spans
    assert span.attributes is not None
    assert (span.attributes["error.type"], span.attributes["http.request.resend_count"]) == ("overloaded", 3)
    assert (span.status.status_code, span.status.description) == (StatusCode.ERROR, "overloaded")
    assert span.start_time == 1_800_000_000 * 10**9
    assert span.end_time == span.start_time + 7 * 10**9
    assert span.events == ()


TALK = (
    system("Sei leise, Xylophon."),
    user(
        "Xylophon 你好",
        Media(kind="image", media_type="image/png", data="aGk="),
        Media(kind="image", url="https://a.example/b.png"),
    ),
    assistant(Reasoning(text="hm"), ToolCall.of("c1", "read", {"path": "Xylophon"})),
    tool(ToolResult(call_id="c1", content=(Text(text="Xylophon!"),))),
)


def test_what_was_said_is_in_no_span_unless_asked_for_and_the_key_never_is() -> None:
    quiet, open_ = Heard(), Heard()
    tools = [Tool(name="read", parameters={"type": "object"})]
    observers = [Spans(quiet.provider), Spans(open_.provider, contents=True)]
    said = FakeProvider("chat", script=["Xylophon."])
    with said as fake, Model(fake.spec, **watched(observers[0], observers=observers, vision=True)) as model:
        model.chat(TALK, tools=tools)
    assert "Xylophon" not in quiet.spans[0].to_json()
    assert KEY not in quiet.spans[0].to_json() + open_.spans[0].to_json()
    found = open_.spans[0].attributes or {}
    names = ("system_instructions", "input.messages", "output.messages", "tool.definitions")
    assert {name: json.loads(str(found[f"gen_ai.{name}"])) for name in names} == {
        "system_instructions": [{"type": "text", "content": "Sei leise, Xylophon."}],
        "input.messages": [
            {
                "role": "user",
                "parts": [
                    {"type": "text", "content": "Xylophon 你好"},
                    {"type": "blob", "modality": "image", "mime_type": "image/png"},
                    {"type": "uri", "modality": "image", "mime_type": None, "uri": "https://a.example/b.png"},
                ],
            },
            {
                "role": "assistant",
                "parts": [
                    {"type": "reasoning", "content": "hm"},
                    {"type": "tool_call", "id": "c1", "name": "read", "arguments": '{"path":"Xylophon"}'},
                ],
            },
            {
                "role": "tool",
                "parts": [
                    {"type": "tool_call_response", "id": "c1", "response": [{"type": "text", "content": "Xylophon!"}]}
                ],
            },
        ],
        "output.messages": [
            {"role": "assistant", "parts": [{"type": "text", "content": "Xylophon."}], "finish_reason": "stop"}
        ],
        "tool.definitions": [{"type": "function", "name": "read", "parameters": {"type": "object"}}],
    }


def test_without_the_extra_it_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "opentelemetry.trace", None)
    with pytest.raises(UsageError) as caught:
        Spans()
    assert (caught.value.code, caught.value.message) == (
        "missing_extra",
        "spans need the extra: pip install 'dragoman[otel]'",
    )
