"""Guards the four roads to a model (S3-19): one direct wire, protocols by providers, a library of others, one wire alone."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from dragoman.catalog.responses_only import wire_api
from dragoman.catalog.target import Target
from dragoman.client import AsyncModel, Model
from dragoman.client.named import settle
from dragoman.config import load, read
from dragoman.errors import ApiError, UsageError
from dragoman.testing.fake import FakeProvider
from dragoman.types import Text, Tool

KEYS = {"OPENAI_API_KEY": "k"}
MORE = "More info: https://github.com/openai/codex/discussions/7782"
CHUNKS: list[dict[str, Any]] = [
    {"id": "c1", "model": "m", "choices": [{"index": 0, "delta": {"role": "assistant", "content": "Hel"}}]},
    {"id": "c1", "model": "m", "choices": [{"index": 0, "delta": {"content": "lo"}}]},
    {"id": "c1", "model": "m", "choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]},
    {"id": "c1", "model": "m", "choices": [], "usage": {"prompt_tokens": 5, "completion_tokens": 2}},
]


class Dumped:
    """A chunk as litellm gives it: an object of a class of its own."""

    def __init__(self, said: dict[str, Any]) -> None:
        self._said = said

    def model_dump(self, *, mode: str, exclude_none: bool) -> dict[str, Any]:
        assert (mode, exclude_none) == ("json", True)
        return self._said


class Refused(Exception):
    status_code = 429


class Stub(ModuleType):
    """As much of litellm as is used, and what it was asked."""

    def __init__(self, *chunks: Any) -> None:
        super().__init__("litellm")
        self.asked: list[dict[str, Any]] = []
        self._chunks = chunks

    def completion(self, **body: Any) -> Iterator[Any]:
        self.asked.append(body)
        for chunk in self._chunks:
            if isinstance(chunk, Exception):
                raise chunk
            yield Dumped(chunk)


def stub(monkeypatch: pytest.MonkeyPatch, *chunks: Any) -> Stub:
    module = Stub(*chunks)
    monkeypatch.setitem(sys.modules, "litellm", module)
    return module


@pytest.mark.req("S3-19", "S3-20")
def test_the_first_road_one_wire_directly() -> None:
    with FakeProvider("chat") as fake, Model(fake.spec, env={}) as model:
        assert model.chat("hi").text == "hi"


@pytest.mark.req("S3-19", "S3-21")
@pytest.mark.parametrize("wire", ["chat", "messages", "responses"])
def test_the_second_road_a_provider_says_which_protocol_and_nothing_more(wire: str, tmp_path: Path) -> None:
    with FakeProvider(wire) as fake:
        path = tmp_path / "d.toml"
        path.write_text(f'[providers.acme]\nwires = ["{wire}"]\nbase_url = "{fake.url}/v1"')
        with Model("acme/m", env={"DRAGOMAN_CONFIG": str(path)}) as model:
            assert model.chat("hi").text == "hi"


@pytest.mark.req("S3-19", "S3-20")
def test_the_third_road_a_call_is_handed_to_litellm(monkeypatch: pytest.MonkeyPatch) -> None:
    module = stub(monkeypatch, *CHUNKS)
    tools = [Tool(name="read", parameters={"type": "object"})]
    with Model("vertex_ai/gemini-3", env={"DRAGOMAN_PROVIDER": "litellm"}) as model:
        reply = model.chat("hi", tools=tools, temperature=0.5)
    assert (reply.text, reply.stop.reason) == ("Hello", "end")
    assert reply.usage is not None
    assert (reply.usage.input, reply.usage.output) == (5, 2)
    assert module.asked == [
        {
            "model": "vertex_ai/gemini-3",
            "messages": [{"role": "user", "content": "hi"}],
            "tools": [{"type": "function", "function": {"name": "read", "parameters": {"type": "object"}}}],
            "temperature": 0.5,
            "stream": True,
            "stream_options": {"include_usage": True},
        }
    ]


@pytest.mark.req("S3-20")
def test_a_stream_through_litellm_and_its_end() -> None:
    with pytest.MonkeyPatch.context() as patch:
        stub(patch, *CHUNKS)
        with Model("a/b", env={"DRAGOMAN_PROVIDER": "litellm"}) as model, model.stream("hi") as stream:
            kinds = [type(event).__name__ for event in stream]
    assert kinds[0] == "Start"
    assert kinds[-1] == "Finish"
    assert stream.reply.message.content == (Text(text="Hello"),)


@pytest.mark.req("S3-20")
@pytest.mark.anyio
async def test_litellm_from_async_code(monkeypatch: pytest.MonkeyPatch) -> None:
    stub(monkeypatch, *CHUNKS)
    async with AsyncModel("a/b", env={"DRAGOMAN_PROVIDER": "litellm"}) as model:
        assert (await model.chat("hi")).text == "Hello"


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.mark.req("S3-20")
def test_without_litellm_it_says_what_to_do(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "litellm", None)
    with pytest.raises(UsageError) as caught:
        Model("a/b", env={"DRAGOMAN_PROVIDER": "litellm"})
    assert caught.value.code == "missing_extra"
    assert caught.value.message.startswith("DRAGOMAN_PROVIDER=litellm: litellm cannot be loaded (")
    assert caught.value.message.endswith("): pip install litellm, or unset it")


@pytest.mark.parametrize(
    ("chunks", "code", "said"),
    [
        ([Refused("slow down")], "rate_limit", "litellm: Refused: slow down"),
        ([CHUNKS[0], ValueError("odd")], "server_error", "litellm: ValueError: odd"),
        ([CHUNKS[0]], "incomplete", ""),
    ],
)
def test_what_litellm_raises_is_one_of_our_errors(
    monkeypatch: pytest.MonkeyPatch, chunks: list[Any], code: str, said: str
) -> None:
    stub(monkeypatch, *chunks)
    with Model("a/b", env={"DRAGOMAN_PROVIDER": "litellm"}) as model, pytest.raises(ApiError) as caught:
        model.chat("hi")
    assert caught.value.code == code
    assert said in caught.value.message


def test_litellm_is_switched_on_by_a_file_and_off_by_a_variable(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    stub(monkeypatch)
    path = tmp_path / "d.toml"
    path.write_text('provider = "litellm"')
    env = {"DRAGOMAN_CONFIG": str(path), **KEYS}
    assert repr(settle("openai/m#chat", env)) == "LiteLLM(openai/m)"
    assert isinstance(settle("openai/m", {**env, "DRAGOMAN_PROVIDER": "direct"}), Target)
    assert isinstance(settle("http://127.0.0.1:9/v1#chat:m", env), Target)  # an address says where it goes
    with pytest.raises(UsageError, match="DRAGOMAN_PROVIDER is 'aisuite': litellm, direct, or not set"):
        load({"DRAGOMAN_PROVIDER": "aisuite"})


def only(tmp_path: Path, rows: str = "") -> dict[str, str]:
    path = tmp_path / "only.toml"
    path.write_text(f'mode = "responses_only"\n{rows}')
    return {"DRAGOMAN_CONFIG": str(path), **KEYS}


@pytest.mark.req("S3-19", "S3-25")
def test_the_fourth_road_one_wire_alone_reaches_local_services_too(tmp_path: Path) -> None:
    env = only(tmp_path)
    for name in ("openai/m", "ollama/m", "lmstudio/m", "llama.cpp/m"):
        found = settle(name, env)
        assert isinstance(found, Target)
        assert found.wire == "responses"
    with FakeProvider("responses") as fake:
        env = only(tmp_path, f'[providers.mine]\nbase_url = "{fake.url}/v1"')
        with Model("mine/m", env=env) as model:
            assert model.chat("hi").text == "hi"
    assert [seen.path for seen in fake.seen] == ["/v1/responses"]


@pytest.mark.req("S3-26")
def test_the_three_outcomes_of_wire_api(tmp_path: Path) -> None:
    with pytest.raises(UsageError) as caught:
        wire_api("chat")
    assert caught.value.message == (
        '`wire_api = "chat"` is no longer supported.\n'
        f'How to fix: set `wire_api = "responses"` in your provider config.\n{MORE}'
    )
    for word in ("Chat", "Responses", "completions", ""):
        with pytest.raises(UsageError) as caught:
            wire_api(word)
        assert caught.value.message == f"unknown variant `{word}`, expected `responses`"
    assert (wire_api(), wire_api("responses")) == ("responses", "responses")


@pytest.mark.req("S3-26")
def test_the_three_outcomes_in_a_file() -> None:
    row = 'mode = "responses_only"\n[providers.acme]\nbase_url = "https://a"\n'
    at = Path("d.toml")
    assert read(row, at).providers["acme"].wires == ("responses",)
    assert read(f'{row}wire_api = "responses"', at).providers["acme"].wires == ("responses",)
    with pytest.raises(UsageError, match=r'^`wire_api = "chat"` is no longer supported\.\nHow to fix: set'):
        read(f'{row}wire_api = "chat"', at)
    with pytest.raises(UsageError) as caught:
        read(f'{row}wire_api = "grpc"', at)
    assert caught.value.message == "d.toml:4: providers.acme.wire_api: unknown variant `grpc`, expected `responses`"


@pytest.mark.req("S3-27")
def test_the_provider_that_was_removed_points_to_the_one_that_stays(tmp_path: Path) -> None:
    with pytest.raises(UsageError) as caught:
        Model("ollama-chat/qwen3", env=only(tmp_path))
    assert caught.value.message == (
        "`ollama-chat` is no longer supported.\n"
        "How to fix: replace `ollama-chat` with `ollama` in `model_provider`, `oss_provider`, or `--local-provider`.\n"
        f"{MORE}"
    )


@pytest.mark.req("S3-25", "S3-28")
def test_the_mode_refuses_what_it_cannot_reach_and_chat_stays_a_wire_like_any_other_without_it(tmp_path: Path) -> None:
    env = only(tmp_path)
    for spec, said in [
        ("openai/m#chat", "the mode responses_only speaks responses and no other wire"),
        ("http://127.0.0.1:9/v1#chat:m", "the mode responses_only speaks responses and no other wire"),
        ("anthropic/m", "Anthropic does not speak responses, the one wire of responses_only: it speaks messages"),
    ]:
        with pytest.raises(UsageError, match=said):
            settle(spec, env)
    found = settle("openai/m#chat", KEYS)
    assert isinstance(found, Target)
    assert found.wire == "chat"
