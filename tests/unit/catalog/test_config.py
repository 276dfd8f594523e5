"""Guards dragoman.toml: read where it was asked for and nowhere else, its faults told with file, line and key, and no key
of a vendor sent to an address that a file made up (S0-08)."""

from __future__ import annotations

from pathlib import Path

import pytest

from dragoman.catalog.find import find
from dragoman.catalog.provider import Provider, providers
from dragoman.catalog.target import Secret, Target
from dragoman.client import Model
from dragoman.client.named import settle
from dragoman.config import Config, folder, load, read
from dragoman.dialect.find import find as find_dialect
from dragoman.dialect.model import override
from dragoman.errors import UsageError
from dragoman.testing.fake import FakeProvider

AT = Path("dragoman.toml")
ACME = """
model = "acme/m1"

[aliases]
fast = "openai/gpt-5-mini"

[providers.acme]
wires = ["chat"]
base_url = "https://api.acme.example/v1"
key_env = ["ACME_KEY"]
like = "vllm"

[providers.acme.dialect.chat]
max_stop = 2
"""


def written(tmp_path: Path, text: str) -> dict[str, str]:
    path = tmp_path / "some.toml"
    path.write_text(text, encoding="utf-8")
    return {"DRAGOMAN_CONFIG": str(path)}


def wrong(text: str) -> str:
    with pytest.raises(UsageError) as caught:
        read(text, AT)
    assert caught.value.code in ("usage", "unknown_wire")
    return caught.value.message


def test_what_a_file_says() -> None:
    assert read(ACME, AT) == Config(
        path=AT,
        model="acme/m1",
        aliases={"fast": "openai/gpt-5-mini"},
        providers={
            "acme": Provider(
                name="acme",
                label="acme",
                wires=("chat",),
                base_url="https://api.acme.example/v1",
                key_env=("ACME_KEY",),
                like="vllm",
                dialect={"chat": {"max_stop": 2}},
                source="your dragoman.toml",
            )
        },
    )
    assert read("", AT) == Config(path=AT)


def test_a_model_of_a_provider_that_a_file_adds(tmp_path: Path) -> None:
    env = {**written(tmp_path, ACME), "ACME_KEY": "k", "OPENAI_API_KEY": "o"}
    facts = {"name": "acme", "max_stop": 2}
    assert settle("acme/m1", env) == Target(
        provider="acme",
        label="acme",
        wire="chat",
        model="m1",
        base_url="https://api.acme.example/v1",
        key=Secret("k"),
        dialect=override(find_dialect("vllm", "chat", "m1"), facts),
        key_env="ACME_KEY",
    )
    assert settle("fast", env) == find("openai/gpt-5-mini", env)


@pytest.mark.parametrize(
    ("env", "system", "path"),
    [
        ({"HOME": "/home/me"}, "linux", "/home/me/.config/dragoman"),
        ({"HOME": "/home/me", "XDG_CONFIG_HOME": "/etc/me"}, "linux", "/etc/me/dragoman"),
        ({"HOME": "/home/me", "XDG_CONFIG_HOME": "."}, "linux", "/home/me/.config/dragoman"),
        ({"HOME": "."}, "linux", None),
        ({"XDG_CONFIG_HOME": "conf"}, "linux", None),
        ({}, "linux", None),
        ({"HOME": "/Users/me"}, "darwin", "/Users/me/Library/Application Support/dragoman"),
        ({"APPDATA": "/me/Roaming", "XDG_CONFIG_HOME": "/x"}, "win32", "/me/Roaming/dragoman"),
        ({"USERPROFILE": "/me"}, "win32", "/me/AppData/Roaming/dragoman"),
    ],
)
def test_the_folder_is_the_systems_and_never_one_of_the_working_directory(
    env: dict[str, str], system: str, path: str | None
) -> None:
    assert folder(env, system) == (None if path is None else Path(path))


def test_the_file_that_is_named_wins_over_the_one_in_the_folder(tmp_path: Path) -> None:
    own = tmp_path / "dragoman"
    own.mkdir()
    (own / "dragoman.toml").write_text('model = "of/folder"')
    env = {"XDG_CONFIG_HOME": str(tmp_path)}
    assert load(env).model == "of/folder"
    assert load({**env, **written(tmp_path, 'model = "of/name"')}).model == "of/name"
    assert load({}) == Config()


def test_a_file_in_the_working_directory_is_not_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "dragoman.toml").write_text('[providers.openai]\nbase_url = "https://evil.example"')
    (tmp_path / ".config" / "dragoman").mkdir(parents=True)
    (tmp_path / ".config" / "dragoman" / "dragoman.toml").write_text("this is no TOML")
    monkeypatch.chdir(tmp_path)
    for env in ({}, {"HOME": ""}, {"HOME": "."}, {"XDG_CONFIG_HOME": "."}, {"DRAGOMAN_CONFIG": " "}):
        assert load(env) == Config()
    assert load({"DRAGOMAN_CONFIG": "dragoman.toml"}).path == Path("dragoman.toml")  # asked for by name


def test_a_row_that_goes_elsewhere_does_not_take_the_vendors_key_along() -> None:
    env = {"OPENAI_API_KEY": "sk-vendor"}
    moved = read('[providers.openai]\nbase_url = "https://proxy.example/v1"', AT)
    with pytest.raises(UsageError, match="no key for OpenAI: set DRAGOMAN_API_KEY"):
        find("openai/m", env, rows=moved.rows)
    assert find("openai/m", {**env, "DRAGOMAN_API_KEY": "d"}, rows=moved.rows).key == Secret("d")
    said = read('[providers.openai]\nbase_url = "https://proxy.example/v1"\nkey_env = ["OPENAI_API_KEY"]', AT)
    assert find("openai/m", env, rows=said.rows).key == Secret("sk-vendor")


@pytest.mark.parametrize(
    "change",
    [
        'base_url = "https://evil.example/v1"',
        'at.chat = { base_url = "https://evil.example/v1" }',
        'base_env = ["PROXY"]',
    ],
)
def test_every_way_to_another_address_leaves_the_key_behind(change: str) -> None:
    row = read(f"[providers.OpenAI]\n{change}", AT).providers["openai"]
    assert row.key_env == ("DRAGOMAN_API_KEY",)
    named = read(f"[providers.qwen]\n{change}", AT).providers
    assert {row.key_env for row in named.values()} == {("DRAGOMAN_API_KEY",)}
    assert set(named) == {"dashscope", "qwen", "alibaba"}


def test_a_row_that_stays_keeps_its_key_and_says_what_it_changes() -> None:
    own = providers()["openai"]
    row = read('[providers.openai]\nlabel = "Ours"\nheaders = { x-team = "blue" }', AT).providers["openai"]
    assert (row.label, row.headers, row.key_env, row.base_url) == (
        "Ours",
        {"x-team": "blue"},
        own.key_env,
        own.base_url,
    )
    assert read(f'[providers.openai]\nbase_url = "{own.base_url}"', AT).providers["openai"].key_env == own.key_env


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("model = ", "dragoman.toml:1: Invalid value"),
        ('a = "b"\n[x', "dragoman.toml:2: Expected ']' at the end of a table declaration"),
        ('\nmodle = "x"', "dragoman.toml:2: modle: unknown; known: model, provider, mode, aliases, providers"),
        ("model = 1", "dragoman.toml:1: model: Expected `str | null`, got `int`"),
        ('mode = "chat_only"', "dragoman.toml:1: mode: Invalid enum value 'chat_only'"),
        ("providers = 1", "dragoman.toml:1: providers: a table of providers is expected"),
        ("[providers]\nacme = 1", "dragoman.toml:2: providers.acme: a table is expected"),
        (
            '[providers.acme]\n# here\nwires = ["so ap"]\nbase_url = "https://a"',
            "dragoman.toml:3: providers.acme.wires[0]: Expected `str` matching regex",
        ),
        ('[providers.acme]\nwires = ["chat"]', "dragoman.toml:1: providers.acme: Object missing required field"),
        ('[providers."a.b"]\nbase = "x"', "dragoman.toml:2: providers.a.b.base: unknown; known: aliases, at, auth"),
        ('[providers.openai]\nauth = "x"', "dragoman.toml:2: providers.openai.auth: Expected `str` matching regex"),
        (
            "[providers.openai]\n[providers.openai.dialect.chat]\nmax_stops = 1",
            "dragoman.toml:2: providers.openai.dialect.chat: unknown dialect fact 'max_stops'",
        ),
        ('[aliases]\n"a/b" = "c/d"', "dragoman.toml:2: aliases.a/b: an alias holds no / and no #"),
        ('[aliases]\nlocal = "c/d"', "dragoman.toml:2: aliases.local: an alias holds no /"),
    ],
)
def test_a_fault_is_told_with_file_line_and_key(text: str, said: str) -> None:
    message = wrong(text)
    assert message.startswith(said)
    assert "\n" not in message


def test_a_key_in_the_file_is_refused_unseen() -> None:
    for name in ("api_key", "token"):
        message = wrong(f'[providers.openai]\n{name} = "sk-very-secret"')
        assert message == (
            f"dragoman.toml:2: providers.openai.{name}: keys are not kept in files: "
            "put yours in a variable and name that in key_env"
        )
    assert "very-secret" not in wrong('api_key = "sk-very-secret"')


def test_two_rows_of_one_name_are_refused() -> None:
    text = '[providers.acme]\nwires = ["chat"]\nbase_url = "https://a"\naliases = ["b"]\n'
    with pytest.raises(UsageError, match="other: acme answers to b already"):
        read(text + text.replace("acme", "other"), AT)


def test_a_file_that_is_named_must_be_there(tmp_path: Path) -> None:
    gone = tmp_path / "gone.toml"
    with pytest.raises(UsageError, match=r"gone\.toml: cannot be read: .* \(DRAGOMAN_CONFIG names it\)"):
        load({"DRAGOMAN_CONFIG": str(gone)})
    gone.write_bytes(b"\xff\xfe")
    with pytest.raises(UsageError, match="it is not UTF-8"):
        Model("openai/m", env={"DRAGOMAN_CONFIG": str(gone), "OPENAI_API_KEY": "k"})


def test_a_call_through_a_provider_of_the_file(tmp_path: Path) -> None:
    with FakeProvider("messages") as fake:
        text = f'[providers.acme]\nwires = ["messages"]\nbase_url = "{fake.url}"\n[aliases]\n"我的" = "acme/m"'
        with Model("我的", env=written(tmp_path, text)) as model:
            assert model.chat("你好").text == "你好"
    assert [(seen.method, seen.path) for seen in fake.seen] == [("POST", "/v1/messages")]
