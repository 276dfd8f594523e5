"""What a name stands for: a Target over a wire, a model in this process, or one behind litellm."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

from msgspec.structs import replace

from dragoman import config
from dragoman.catalog import responses_only
from dragoman.catalog.find import find
from dragoman.catalog.provider import providers
from dragoman.catalog.target import Target
from dragoman.client.call import Producer
from dragoman.client.compose import TEXT
from dragoman.config import Taught
from dragoman.dialect.model import Dialect
from dragoman.errors import UsageError
from dragoman.wire.base import Wire

Facts: TypeAlias = Dialect | Mapping[str, Any]
NO_TEMPLATE = (
    "{spec}: a server of text is sent prompts, and they need the model's chat template: --template FILE (a GGUF file, a "
    'tokenizer_config.json or the template itself), or "{model}" = "FILE" under [templates] in dragoman.toml'
)


class Texted(NamedTuple):
    """A model behind a server of text, and the codec that knows its template."""

    target: Target
    wire: Wire


def settle(
    spec: str,
    env: Mapping[str, str],
    dialect: Facts | None = None,
    *,
    template: Path | str | None = None,
    keyless: bool = False,
) -> Target | Producer | Texted:
    """Where calls of this name go, by `env` and the dragoman.toml it leads to; both are read here and never again (S0-13).

    An alias is what it stands for. `local` and an address go where they say; a PROVIDER/MODEL goes to litellm where that
    is switched on. A wire `text` is a server that goes on with prompts, which are made here by `template`, or the one that
    dragoman.toml has for the model. `keyless` gives a Target without a key where there is none. Raises UsageError as
    `catalog.find` and `config.load` do, and for a template where none can be used.
    """
    said = config.load(env)
    spec = said.named(spec)
    if is_local(spec):
        return _local(spec, env, said.template(spec, template))
    if is_text(spec):
        return _text(spec, env, dialect, said, template, keyless=keyless)
    if template is not None:
        raise UsageError("usage", f"{spec}: a service has its own chat template; one is for local and URL#text:MODEL")
    if said.mode == responses_only.MODE:
        spec = responses_only.held(spec, {**providers(), **said.providers})
    if said.provider == config.LITELLM and not spec.startswith(("http://", "https://")):
        from dragoman.client.litellm import LiteLLM

        return LiteLLM(spec.partition("#")[0])
    return find(spec, env, rows=said.rows, dialect=dialect, keyless=keyless)


def is_text(spec: str) -> bool:
    """Whether a model is behind a server of text, and its prompts are made here."""
    return spec.partition("#")[2].partition(":")[0] == TEXT


def is_local(spec: str) -> bool:
    """Whether a model runs on this machine, in this process."""
    return spec.partition(":")[0] == "local"


def _local(spec: str, env: Mapping[str, str], taught: Taught | None) -> Producer:
    producer: Producer = _engine(spec, "resolve").find(spec, env, taught)
    return producer


def _text(
    spec: str,
    env: Mapping[str, str],
    dialect: Facts | None,
    said: config.Config,
    template: Path | str | None,
    *,
    keyless: bool,
) -> Texted:
    head, _, tail = spec.partition("#")
    target = find(f"{head}#completions{tail[len(TEXT) :]}", env, rows=said.rows, dialect=dialect, keyless=keyless)
    taught = said.template(target.model, template)
    if taught is None:
        raise UsageError("usage", NO_TEMPLATE.format(spec=spec, model=target.model))
    wire: Wire = _engine(spec, "resolve").text_wire(target.model, taught)
    return Texted(replace(target, wire=TEXT), wire)


def _engine(spec: str, module: str) -> Any:
    try:
        return import_module(f"dragoman.engine.{module}")
    except ModuleNotFoundError as error:
        said = f"{spec}: local models need the extra: pip install 'dragoman[local]' ({error.name} is missing)"
        raise UsageError("missing_extra", said) from None
