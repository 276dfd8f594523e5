"""What a name stands for: a Target over a wire, a model in this process, or one behind litellm."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from typing import Any, TypeAlias

from dragoman import config
from dragoman.catalog import responses_only
from dragoman.catalog.find import find
from dragoman.catalog.provider import providers
from dragoman.catalog.target import Target
from dragoman.client.call import Producer
from dragoman.dialect.model import Dialect
from dragoman.errors import UsageError

Facts: TypeAlias = Dialect | Mapping[str, Any]


def settle(
    spec: str, env: Mapping[str, str], dialect: Facts | None = None, *, keyless: bool = False
) -> Target | Producer:
    """Where calls of this name go, by `env` and the dragoman.toml it leads to; both are read here and never again (S0-13).

    An alias is what it stands for. `local` and an address go where they say; a PROVIDER/MODEL goes to litellm where that
    is switched on. `keyless` gives a Target without a key where there is none. Raises UsageError as `catalog.find` and
    `config.load` do.
    """
    said = config.load(env)
    spec = said.named(spec)
    if is_local(spec):
        return _local(spec, env)
    if said.mode == responses_only.MODE:
        spec = responses_only.held(spec, {**providers(), **said.providers})
    if said.provider == config.LITELLM and not spec.startswith(("http://", "https://")):
        from dragoman.client.litellm import LiteLLM

        return LiteLLM(spec.partition("#")[0])
    return find(spec, env, rows=said.rows, dialect=dialect, keyless=keyless)


def is_local(spec: str) -> bool:
    """Whether a model runs on this machine, in this process."""
    return spec.partition(":")[0] == "local"


def _local(spec: str, env: Mapping[str, str]) -> Producer:
    try:
        resolve = import_module("dragoman.engine.resolve")
    except ModuleNotFoundError as error:
        said = f"{spec}: local models need the extra: pip install 'dragoman[local]' ({error.name} is missing)"
        raise UsageError("missing_extra", said) from None
    producer: Producer = resolve.find(spec, env)
    return producer
