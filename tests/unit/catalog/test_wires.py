"""Guards the register of wires: ten known ids, any other, those of other packages, and no id taken twice (S3-22, I-17)."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from dragoman.catalog import Convention, Provider, register_provider, register_wire
from dragoman.catalog.find import find
from dragoman.catalog.provider import plugged, providers, signature
from dragoman.catalog.target import Secret, Target
from dragoman.catalog.wires import PROTOCOLS
from dragoman.client import Model
from dragoman.dialect.model import Dialect
from dragoman.errors import UsageError
from dragoman.wire import find as find_codec
from origin import Answer, Origin

PLUGIN = str(Path(__file__).parent / "plugin")
ACME = Provider(
    name="acme", label="Acme", wires=("acme-talk",), base_url="http://127.0.0.1:9/v3", source="https://acme.example"
)


class Codec:
    """As much of a wire as a register needs."""

    id = "acme-talk"


@pytest.mark.req("S3-22")
def test_the_ten_protocols_are_known_and_those_that_are_not_built_say_so_before_anything_is_sent() -> None:
    assert {name: protocol.wire for name, protocol in PROTOCOLS.items()} == {
        "openai-completions": "chat",
        "mistral-conversations": None,
        "openai-responses": "responses",
        "azure-openai-responses": "responses",
        "openai-codex-responses": None,
        "anthropic-messages": "messages",
        "bedrock-converse-stream": None,
        "google-generative-ai": None,
        "google-vertex": None,
        "pi-messages": None,
    }
    for name, protocol in PROTOCOLS.items():
        spec = f"http://127.0.0.1:9/v1#{name}:m"
        if protocol.wire is not None:
            assert find(spec, {}).wire == protocol.wire
            continue
        with pytest.raises(UsageError) as caught:
            Model(spec, env={})
        assert caught.value.code == "unknown_wire"
        assert caught.value.message == f"{spec}: {name} is known but not built: {protocol.instead}"
        assert "\n" not in caught.value.message
        assert len(caught.value.message) < 180


@pytest.mark.req("S3-22")
def test_a_provider_is_asked_for_by_the_protocol_of_another_system() -> None:
    env = {"OPENAI_API_KEY": "k"}
    assert find("openai/m#openai-responses", env) == find("openai/m#responses", env)
    with pytest.raises(UsageError, match="Anthropic does not speak chat"):
        find("anthropic/m#openai-completions", {})


@pytest.mark.req("S3-22", "I-17")
def test_any_id_may_stand_in_a_row_and_works_once_somebody_brings_its_codec(registry: pytest.MonkeyPatch) -> None:
    rows = {"acme": ACME}
    with pytest.raises(
        UsageError, match="unknown wire 'acme-talk': one of chat, responses, messages, completions, ollama"
    ):
        find("acme/m", {}, rows=rows)
    register_wire("acme-talk", Codec(), Convention(auth="x-acme: {}", headers={"x-v": "7"}))  # type: ignore[arg-type]
    assert find("acme/m", {}, rows=rows) == Target(
        provider="acme",
        label="Acme",
        wire="acme-talk",
        model="m",
        base_url="http://127.0.0.1:9/v3",
        auth="x-acme: {}",
        headers=(("x-v", "7"),),
        dialect=Dialect(name="acme", source="https://acme.example"),
    )


@pytest.mark.req("I-17")
def test_an_id_and_a_name_are_taken_once(registry: pytest.MonkeyPatch) -> None:
    codec = Codec()
    register_wire("acme-talk", codec)  # type: ignore[arg-type]
    register_wire("acme-talk", codec)  # type: ignore[arg-type]
    for name in ("acme-talk", "chat", "openai-responses", "Acme", "a b", ""):
        with pytest.raises(UsageError):
            register_wire(name, Codec())  # type: ignore[arg-type]
    register_provider(ACME)
    register_provider(ACME)
    for name in ("openai", "acme", "qwen"):
        with pytest.raises(UsageError, match="answers to"):
            register_provider(msgspec.structs.replace(ACME, name=name, label="Other"))
    with pytest.raises(UsageError, match="openai answers to openai"):
        register_provider(msgspec.structs.replace(ACME, name="mine", aliases=("openai",)))


@pytest.mark.req("I-17", "S3-22")
def test_an_installed_package_brings_a_wire_and_providers_by_its_entry_points(registry: pytest.MonkeyPatch) -> None:
    registry.syspath_prepend(PLUGIN)
    found = find("acme-eu/m", {"ACME_KEY": "k"})
    assert found == Target(
        provider="acme-eu",
        label="Acme-Eu",
        wire="acme-talk",
        model="m",
        base_url="https://acme-eu.example/v3",
        key=Secret("k"),
        auth="x-acme: {}",
        headers=(("x-acme-version", "7"),),
        dialect=Dialect(name="acme-eu", source="https://acme-eu.example/docs"),
        key_env="ACME_KEY",
    )
    assert find_codec("acme-talk").id == "acme-talk"
    assert {"acme", "acme-eu"} <= set(providers())


@pytest.mark.req("I-17")
def test_a_wire_of_a_package_carries_a_real_call(registry: pytest.MonkeyPatch) -> None:
    registry.syspath_prepend(PLUGIN)
    reply = '{"choices":[{"message":{"role":"assistant","content":"hi"},"finish_reason":"stop"}]}'
    with Origin(Answer(body=reply.encode())) as origin, Model(f"{origin.url}/v3#acme-talk:m", env={}) as model:
        assert model.chat("?").text == "hi"
    assert (origin.seen[0].path, origin.seen[0].headers["x-acme-version"]) == ("/v3/talk", "7")


def test_a_package_that_cannot_be_loaded_spoils_nothing_but_itself(registry: pytest.MonkeyPatch) -> None:
    registry.syspath_prepend(PLUGIN)
    assert plugged() == ("the providers of acme_wire.missing:providers: No module named 'acme_wire.missing'",)
    assert find("acme/m", {"ACME_KEY": "k"}).provider == "acme"
    with pytest.raises(UsageError, match=r"unknown provider 'acm': did you mean acme.*acme_wire.missing"):
        find("acm/m", {})
    with pytest.raises(UsageError, match=r"acme-lost: the package that brings it .*has no attribute 'nothing'"):
        find("http://127.0.0.1:9/v1#acme-lost:m", {})


def test_a_key_is_sent_in_the_header_that_a_row_names() -> None:
    assert signature("bearer") == ("authorization", "Bearer {}")
    assert signature("x-api-key") == ("x-api-key", "{}")
    assert signature("Cf-Aig-Authorization: Bearer {}") == ("cf-aig-authorization", "Bearer {}")
    with Origin(Answer(body=b"{}", status=500)) as origin:
        env = {"AZURE_OPENAI_BASE_URL": f"{origin.url}/openai/v1", "AZURE_OPENAI_API_KEY": "k"}
        with Model("azure/m#responses", env=env, retry=0) as model, pytest.raises(Exception, match="500"):
            model.chat("?")
    seen = origin.seen[0]
    assert (seen.path, seen.headers["api-key"], "authorization" in seen.headers) == (
        "/openai/v1/responses",
        "k",
        False,
    )
