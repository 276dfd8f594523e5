"""dragoman.toml: a default model, aliases, providers of your own and changes to those of the catalogue.

Read from the file that DRAGOMAN_CONFIG names, else from your own folder. Never from the working directory: a folder that
somebody else wrote must not decide where your key is sent.
"""

from __future__ import annotations

import os
import re
import sys
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal

import msgspec

from dragoman.catalog import responses_only
from dragoman.catalog.find import KEY_ENV
from dragoman.catalog.provider import Provider, by_name, providers
from dragoman.dialect.model import BASE, override
from dragoman.errors import UsageError

ENV = "DRAGOMAN_CONFIG"
FILE = "dragoman.toml"
LITELLM, LITELLM_ENV = "litellm", "DRAGOMAN_PROVIDER"
WHERE_KEYS_ARE = "keys are not kept in files: put yours in a variable and name that in key_env"
KEYS = ("key", "api_key", "apikey", "token", "secret")
PLACE = ("base_url", "at", "base_env")  # what says where a provider is


class Taught(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The chat template of a model, and the format of its calls where the template does not give it away.

    `file` is a GGUF file, a tokenizer_config.json, or the template itself.
    """

    file: str
    format: str | None = None


class Config(msgspec.Struct, frozen=True, kw_only=True):
    """What one file says. `providers` are its rows by every name, whole; `provider` litellm hands calls to litellm;
    `mode` responses_only speaks that wire and no other. `templates` are chat templates by the model that reads them."""

    path: Path | None = None
    model: str | None = None
    provider: Literal["direct", "litellm"] = "direct"
    mode: Literal["any", "responses_only"] = "any"
    aliases: dict[str, str] = {}
    providers: dict[str, Provider] = {}
    templates: dict[str, Taught | str] = {}

    def template(self, model: str, said: Path | str | None = None) -> Taught | None:
        """The template of a model: the one that was `said`, else that of the file, whose paths begin where it lies."""
        if said is not None:
            return Taught(file=str(said))
        found = self.templates.get(model)
        if found is None:
            return None
        taught = Taught(file=found) if isinstance(found, str) else found
        home = Path() if self.path is None else self.path.parent
        return msgspec.structs.replace(taught, file=str(home / Path(taught.file).expanduser()))

    def named(self, spec: str) -> str:
        """What an alias stands for; any other name is itself."""
        return self.aliases.get(spec.strip(), spec)

    @property
    def rows(self) -> Mapping[str, Provider]:
        """Every provider by every name: the file's before the catalogue's, and in the one mode those it can reach."""
        known = {**providers(), **self.providers}
        return known if self.mode == "any" else responses_only.narrowed(known)


def folder(env: Mapping[str, str], system: str = sys.platform) -> Path | None:
    """Your configuration folder: XDG_CONFIG_HOME/dragoman, else the usual place of this system; None without a home.

    A relative path would be one of the working directory, and is not taken.
    """
    own = env.get("APPDATA", "") if system == "win32" else env.get("XDG_CONFIG_HOME", "")
    if os.path.isabs(own):
        return Path(own) / "dragoman"
    home = env.get("HOME", "") or (env.get("USERPROFILE", "") if system == "win32" else "")
    if not os.path.isabs(home):
        return None
    parts = {"darwin": ("Library", "Application Support"), "win32": ("AppData", "Roaming")}.get(system, (".config",))
    return Path(home, *parts, "dragoman")


def load(env: Mapping[str, str]) -> Config:
    """The configuration that `env` leads to; an empty one where there is no file.

    Raises UsageError for a file that is named and cannot be read, and with file, line and key for what it says wrong.
    """
    said = env.get(ENV, "").strip()
    own = folder(env)
    path = Path(said) if said else own / FILE if own else None
    try:
        if path is None or not (said or path.is_file()):
            return _switched(Config(), env)
        text = path.read_text("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        why = error.strerror if isinstance(error, OSError) else "it is not UTF-8"
        raise UsageError("usage", f"{path}: cannot be read: {why}{f' ({ENV} names it)' if said else ''}") from None
    return _switched(read(text, path), env)


def read(text: str, path: Path) -> Config:
    """The configuration of a text. Raises UsageError with `path`, the line and the key."""
    try:
        said = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        line = re.search(r" \(at (?:line (\d+), column \d+|end of document)\)$", str(error))
        at = line[1] if line and line[1] else str(text.count("\n") + 1)
        raise UsageError("usage", f"{path}:{at}: {str(error)[: line.start()] if line else error}") from None
    rows = said.pop("providers", {})
    try:
        config = msgspec.convert({**said, "path": None}, Config)
        _known(said)
        if not isinstance(rows, dict):
            raise _Wrong(("providers",), "a table of providers is expected")
        made = by_name(_row(name, row, config.mode) for name, row in rows.items())
    except msgspec.ValidationError as error:
        why, key = _place(error)
        raise UsageError("usage", f"{path}{_line(text, key)}: {'.'.join(key)}: {why}") from None
    except _Wrong as error:
        raise UsageError("usage", f"{path}{_line(text, error.key)}: {'.'.join(error.key)}: {error.why}") from None
    return msgspec.structs.replace(config, path=path, providers=made)


class _Wrong(Exception):
    def __init__(self, key: tuple[str, ...], why: str) -> None:
        super().__init__(why)
        self.key, self.why = key, why


def _known(said: Mapping[str, Any]) -> None:
    known = ("model", "provider", "mode", "aliases", "providers", "templates")
    for key in said:
        if key not in known:
            raise _Wrong((key,), WHERE_KEYS_ARE if key in KEYS else f"unknown; known: {', '.join(known)}")
    for alias in said.get("aliases", {}):
        if "/" in alias or "#" in alias or alias.partition(":")[0] == "local":
            raise _Wrong(("aliases", alias), "an alias holds no / and no #, and local is taken")


def _row(name: str, said: Any, mode: str) -> Provider:
    """A row of the file: a new one, or one of the catalogue with what the file changes.

    One that goes to another address than the catalogue's does not take the catalogue's key along: its own key_env, or
    DRAGOMAN_API_KEY, holds the key that may be sent there.
    """
    at = ("providers", name)
    if not isinstance(said, dict):
        raise _Wrong(at, "a table is expected")
    change: dict[str, Any] = dict(said)
    if mode == responses_only.MODE:
        try:
            change["wires"] = [responses_only.wire_api(change.pop("wire_api", responses_only.WIRE))]
        except UsageError as error:
            if "unknown variant" not in error.message:
                raise
            raise _Wrong((*at, "wire_api"), error.message) from None
    for key in change:
        if key not in Provider.__struct_fields__ or key == "name":
            known = ", ".join(sorted({*Provider.__struct_fields__} - {"name"}))
            raise _Wrong((*at, key), WHERE_KEYS_ARE if key in KEYS else f"unknown; known: {known}")
    own = providers().get(name.lower())
    row: dict[str, Any] = {"name": name, "label": name, "source": "your dragoman.toml"}
    if own is not None:
        row = msgspec.to_builtins(own)
        change.setdefault("source", f"your dragoman.toml; {own.source}")
    if own is None or any(key in change and change[key] != row.get(key) for key in PLACE):
        row["key_env"] = (KEY_ENV,)
    try:
        made = msgspec.convert({**row, **change}, Provider)
    except msgspec.ValidationError as error:
        why, key = _place(error)
        raise _Wrong((*at, *key), why) from None
    for wire, facts in made.dialect.items():
        try:
            override(BASE, facts)
        except UsageError as error:
            raise _Wrong((*at, "dialect", wire), error.message) from None
    return made


def _switched(config: Config, env: Mapping[str, str]) -> Config:
    said = env.get(LITELLM_ENV, "").strip()
    if said in ("", config.provider):
        return config
    if said not in (LITELLM, "direct"):
        raise UsageError("usage", f"{LITELLM_ENV} is {said!r}: {LITELLM}, direct, or not set")
    return msgspec.structs.replace(config, provider=said)


def _place(error: msgspec.ValidationError) -> tuple[str, tuple[str, ...]]:
    """What is wrong, and the keys that lead there: msgspec says `… - at `$.wires[0]``."""
    why, _, at = str(error).partition(" - at `$")
    return why, tuple(part for part in at.rstrip("`").split(".") if part)


HEADER = re.compile(r"\s*\[\[?\s*(.+?)\s*\]\]?\s*(#.*)?$")
KEY = re.compile(r"\s*([^=#\[]+?)\s*=")


def _line(text: str, wanted: tuple[str, ...]) -> str:
    """`:NUMBER` of the line that says `wanted`, or the most of it."""
    clean = [part.partition("[")[0] for part in wanted]
    table: tuple[str, ...] = ()
    best, found = 0, ""
    for number, line in enumerate(text.splitlines(), 1):
        header = HEADER.match(line)
        key = KEY.match(line)
        if header is not None:
            table = _keys(header[1])
        path = table if header is not None else (*table, *_keys(key[1])) if key is not None else ()
        shared = next((at for at, pair in enumerate(zip(path, clean, strict=False)) if pair[0] != pair[1]), None)
        count = min(len(path), len(clean)) if shared is None else shared
        if count > best:
            best, found = count, f":{number}"
    return found


def _keys(dotted: str) -> tuple[str, ...]:
    """The parts of a dotted key, quotes taken off."""
    try:
        value: Any = tomllib.loads(f"{dotted} = 0")
    except tomllib.TOMLDecodeError:
        return ()
    parts: list[str] = []
    while isinstance(value, dict):
        name, value = next(iter(value.items()))
        parts.append(name)
    return tuple(parts)
