"""Guards the way from a model's name to its address and key: wrong host, doubled slashes, keys that leak or lack."""

from __future__ import annotations

import copy
import pickle

import msgspec
import pytest

from dragoman.catalog.find import find, is_loopback
from dragoman.catalog.provider import WIRES, load, providers
from dragoman.catalog.target import Secret, Target
from dragoman.dialect.find import find as find_dialect
from dragoman.dialect.find import rows as dialect_rows
from dragoman.dialect.model import BASE, Dialect, override
from dragoman.errors import UsageError

KEYS = {"OPENAI_API_KEY": "sk-o", "ANTHROPIC_API_KEY": "sk-a", "ZAI_API_KEY": "sk-z"}


def refused(spec: str, env: dict[str, str] | None = None) -> tuple[str, str]:
    with pytest.raises(UsageError) as caught:
        find(spec, env or {})
    return caught.value.code, caught.value.message


def test_a_provider_and_a_model() -> None:
    assert find("openai/gpt-5", KEYS) == Target(
        provider="openai",
        label="OpenAI",
        wire="chat",
        model="gpt-5",
        base_url="https://api.openai.com/v1",
        key=Secret("sk-o"),
        dialect=find_dialect("openai", "chat", "gpt-5"),
        key_env="OPENAI_API_KEY",
        base_env="OPENAI_BASE_URL",
    )


def test_the_messages_wire_has_its_own_way_of_sending_a_key() -> None:
    found = find("anthropic/claude-sonnet-5", KEYS)
    assert (found.wire, found.base_url, found.auth) == ("messages", "https://api.anthropic.com/v1", "x-api-key")
    assert found.headers == (("anthropic-version", "2023-06-01"),)


@pytest.mark.req("S0-07")
@pytest.mark.req("S0-08")
@pytest.mark.parametrize("name", ["z.ai/glm-5", "zai/glm-5", "Z.AI/glm-5"])
def test_a_vendor_that_reuses_chat_is_a_row_of_data(name: str) -> None:
    found = find(name, KEYS)
    assert (found.provider, found.label, found.wire) == ("z.ai", "Z.ai", "chat")
    assert found.base_url == "https://api.z.ai/api/paas/v4"
    assert found.key == Secret("sk-z")


def test_the_rest_of_a_name_is_the_model_whatever_it_holds() -> None:
    env = {"OPENROUTER_API_KEY": "k"}
    assert find("openrouter/anthropic/claude-sonnet-5:free", env).model == "anthropic/claude-sonnet-5:free"
    assert find("http://127.0.0.1:8080/v1#chat:qwen3:8b/q4", {}).model == "qwen3:8b/q4"


def test_the_wire_can_be_said() -> None:
    assert find("openai/gpt-5#responses", KEYS).wire == "responses"
    assert find("llama.cpp/any#messages", {}).wire == "messages"
    assert refused("anthropic/claude#chat", KEYS) == (
        "unknown_wire",
        "Anthropic does not speak chat: it speaks messages",
    )
    assert refused("openai/gpt-5#soap", KEYS) == (
        "unknown_wire",
        "openai/gpt-5#soap: unknown wire 'soap': one of chat, responses, messages, completions, ollama",
    )


def test_an_address_is_a_model_of_its_own() -> None:
    assert find("http://127.0.0.1:9999/v1#chat:m", {}) == Target(
        provider="127.0.0.1:9999",
        label="127.0.0.1:9999",
        wire="chat",
        model="m",
        base_url="http://127.0.0.1:9999/v1",
        dialect=Dialect(name="127.0.0.1:9999", source="the address given"),
        key_env="DRAGOMAN_API_KEY",
    )


def test_the_address_of_a_known_provider_is_that_provider() -> None:
    found = find("https://api.openai.com/v1#chat:gpt-5", KEYS)
    assert found == msgspec.structs.replace(find("openai/gpt-5", KEYS), base_env="")


def test_no_vendors_key_goes_to_an_address_that_is_not_the_vendors() -> None:
    spec = "https://models.example/v1#chat:m"
    assert refused(spec, KEYS) == ("missing_key", "no key for models.example: set DRAGOMAN_API_KEY")
    assert find(spec, {**KEYS, "DRAGOMAN_API_KEY": "d"}).key == Secret("d")
    assert find("http://127.0.0.1:9999/v1#chat:m", KEYS).key is None


@pytest.mark.req("S0-70")
def test_a_missing_key_names_its_variable_and_an_empty_one_is_missing() -> None:
    said = ("missing_key", "no key for OpenAI: set OPENAI_API_KEY")
    assert refused("openai/gpt-5") == said
    assert refused("openai/gpt-5", {"OPENAI_API_KEY": " "}) == said


def test_an_address_on_this_machine_needs_no_key() -> None:
    assert find("ollama/qwen3", {}).key is None
    assert find("openai/m", {"OPENAI_BASE_URL": "http://localhost:1234/v1"}).key is None
    assert find("http://[::1]:8080/v1#chat:m", {}).key is None
    assert refused("openai/m", {"OPENAI_BASE_URL": "http://10.0.0.5:8000/v1"})[0] == "missing_key"
    assert [
        is_loopback(url) for url in ("http://127.8.8.8", "http://127.0.0.1.evil.example", "http://localhost.evil")
    ] == [
        True,
        False,
        False,
    ]


@pytest.mark.parametrize("name", ["OPENAI_BASE_URL", "OPENAI_API_BASE"])
def test_both_spellings_of_the_base_are_read(name: str) -> None:
    found = find("openai/m", {**KEYS, name: "https://proxy.example/openai/v1/"})
    assert (found.base_url, found.base_env) == ("https://proxy.example/openai/v1", name)


@pytest.mark.req("S0-14")
@pytest.mark.parametrize(
    ("given", "base"),
    [
        ("https://p.example", "https://p.example"),
        ("https://p.example/", "https://p.example"),
        ("https://p.example/v1//", "https://p.example/v1"),
        ("https://p.example/v1/?api-version=7", "https://p.example/v1?api-version=7"),
    ],
)
def test_a_base_has_one_form(given: str, base: str) -> None:
    assert find("openai/m", {**KEYS, "OPENAI_BASE_URL": given}).base_url == base


@pytest.mark.parametrize(
    "given",
    ["https://p.example", "https://p.example/", "https://p.example/v1", "https://p.example/v1/"],
)
def test_the_base_of_the_messages_wire_with_and_without_its_version(given: str) -> None:
    assert find("anthropic/m", {**KEYS, "ANTHROPIC_BASE_URL": given}).base_url == "https://p.example/v1"


@pytest.mark.parametrize(
    "spec",
    [
        "",
        "gpt-5",
        "openai/",
        "/gpt-5",
        "openai/gpt-5#",
        "http://127.0.0.1:1/v1",
        "http://127.0.0.1:1/v1#chat",
        "nobody/m",
    ],
)
def test_an_unknown_name_tells_the_forms(spec: str) -> None:
    code, message = refused(spec, KEYS)
    assert code == "unknown_model"
    assert "MODEL" in message
    assert "\n" not in message


def test_an_address_that_is_none_is_refused_without_what_may_be_a_secret() -> None:
    assert refused("openai/m", {**KEYS, "OPENAI_BASE_URL": "ftp://p.example/v1"}) == (
        "usage",
        "OPENAI_BASE_URL: 'ftp://p.example/v1' is not an http or https address",
    )
    for broken in ("http://[::1/v1", "http://127.0.0.1:99999/v1", "http://"):
        assert refused(f"{broken}#chat:m")[1].endswith(f"{broken!r} is not an http or https address")
    code, message = refused("http://me:hunter2@127.0.0.1:1/v1#chat:m")
    assert code == "usage"
    assert "hunter2" not in message
    assert "hunter2" not in refused("http://me:hunter2@127.0.0.1:1/v1")[1]


@pytest.mark.parametrize("key", ["sk-1\nx: y", "sk 1", "ключ"])
def test_a_key_that_is_none_is_refused_unseen(key: str) -> None:
    code, message = refused("openai/m", {"OPENAI_API_KEY": key})
    assert (code, message) == (
        "missing_key",
        "OPENAI_API_KEY holds a space, a line break or a letter that no key has",
    )
    assert find("openai/m", {"OPENAI_API_KEY": " sk-1\n"}).key == Secret("sk-1")


def test_a_key_is_never_shown() -> None:
    found = find("openai/m", {"OPENAI_API_KEY": "sk-very-secret"})
    shown = f"{found} {found!r} {found.key} {found.key!r} {found.key!s:>40} {vars(Secret)}"
    assert "very-secret" not in shown
    for write in (msgspec.json.encode, pickle.dumps, copy.deepcopy):
        with pytest.raises(TypeError):
            write(found)


def test_the_dialect_of_a_call_changes_facts_or_replaces_all() -> None:
    row = find("openai/m", KEYS).dialect
    assert find("openai/m", KEYS, dialect={"done_marker": False}).dialect == override(row, {"done_marker": False})
    assert find("openai/m", KEYS, dialect=BASE).dialect == BASE
    with pytest.raises(UsageError, match="unknown dialect fact"):
        find("openai/m", KEYS, dialect={"colour": 1})


ROW = """
[acme]
label = "Acme"
aliases = ["ac"]
wires = ["chat"]
base_url = "https://api.acme.example/v2"
key_env = ["ACME_KEY"]
headers = { "x-team" = "blue" }
source = "https://acme.example/docs"

[acme.dialect.chat]
reasoning_out = "thinking"
"""


@pytest.mark.req("S0-08")
def test_a_new_vendor_is_data_and_no_code() -> None:
    assert find("ac/m1", {"ACME_KEY": "k"}, rows=load(ROW)) == Target(
        provider="acme",
        label="Acme",
        wire="chat",
        model="m1",
        base_url="https://api.acme.example/v2",
        key=Secret("k"),
        headers=(("x-team", "blue"),),
        dialect=Dialect(name="acme", source="https://acme.example/docs", reasoning_out="thinking"),
        key_env="ACME_KEY",
    )


@pytest.mark.parametrize(
    ("row", "said"),
    [
        ("[x", "providers: "),
        ("x = 1", "providers: "),
        ('[x]\nlabel = "X"', "providers: "),
        (ROW.replace('["chat"]', "[]"), "providers: "),
        (ROW.replace('["chat"]', '["so ap"]'), "providers: .*wires"),
        (ROW.replace("label", 'auth = "x-key"\nlabel'), "providers: .*auth"),
        (ROW + ROW.replace("[acme", "[other"), "providers: other: acme answers to ac already"),
        (ROW.replace("label", "lable"), "providers: "),
    ],
)
def test_a_row_that_cannot_be_is_refused(row: str, said: str) -> None:
    with pytest.raises(UsageError, match=said):
        load(row)


VARIABLES = {
    "AZURE_RESOURCE_NAME": "res",
    "AWS_REGION": "us-east-2",
    "CLOUDFLARE_ACCOUNT_ID": "0a1b",
    "CLOUDFLARE_GATEWAY_ID": "gate",
    "DATABRICKS_HOST": "https://adb-1.azuredatabricks.net/",
    "SNOWFLAKE_ACCOUNT": "acc",
}


@pytest.mark.req("S3-21", "S0-08")
@pytest.mark.parametrize("name", sorted(providers()))
def test_every_row_can_be_used(name: str) -> None:
    row = providers()[name]
    env = VARIABLES | dict.fromkeys(row.key_env, "k")
    for wire in row.wires:
        found = find(f"{name}/m#{wire}", env)
        assert (found.provider, found.wire, found.key) == (row.name, wire, Secret("k"))
        assert found.dialect.source
        assert "{" not in found.base_url
    assert set(row.dialect) | set(row.at) <= set(row.wires) <= set(WIRES)
    assert row.like is None or row.like in {name for name, _ in dialect_rows()}
    assert row.source.startswith("https://")


@pytest.mark.req("S3-21")
def test_there_are_more_rows_than_forty_five_and_every_chat_server_with_facts_has_one() -> None:
    rows = {row.name: row for row in providers().values()}
    assert len(rows) >= 45
    served = {row.like or row.name for row in rows.values()}
    assert {name for name, wire in dialect_rows() if wire == "chat"} - served == set()
    assert all(row.key_env for row in rows.values())


def test_a_wire_may_have_an_address_of_its_own_unless_somebody_says_where() -> None:
    env = {"DEEPSEEK_API_KEY": "k"}
    assert find("deepseek/m#messages", env).base_url == "https://api.deepseek.com/anthropic/v1"
    moved = {**env, "DEEPSEEK_BASE_URL": "https://p.example"}
    assert find("deepseek/m#messages", moved).base_url == "https://p.example/v1"
    assert find("moonshot/m#messages", {"MOONSHOT_API_KEY": "k"}).auth == "bearer"
    assert find("https://api.moonshot.ai/anthropic#messages:m", {"MOONSHOT_API_KEY": "k"}).auth == "bearer"


def test_of_two_rows_at_one_host_the_one_whose_path_it_is_counts() -> None:
    env = {"ZAI_API_KEY": "k"}
    assert find("https://api.z.ai/api/coding/paas/v4#chat:m", env).provider == "z.ai-coding"
    assert find("https://api.z.ai/api/paas/v4#chat:m", env).provider == "z.ai"


@pytest.mark.parametrize(
    ("env", "said"),
    [
        ({}, "set AZURE_RESOURCE_NAME, or AZURE_OPENAI_BASE_URL to the whole address"),
        ({"AZURE_RESOURCE_NAME": "evil.example/x"}, "AZURE_RESOURCE_NAME cannot be a part of it"),
        ({"AZURE_RESOURCE_NAME": "evil.example#"}, "AZURE_RESOURCE_NAME cannot be a part of it"),
        ({"AZURE_RESOURCE_NAME": "me@evil.example"}, "AZURE_RESOURCE_NAME cannot be a part of it"),
    ],
)
def test_an_address_that_wants_a_variable_names_it(env: dict[str, str], said: str) -> None:
    code, message = refused("azure/m", {**env, "AZURE_OPENAI_API_KEY": "k"})
    assert code == "usage"
    assert said in message
