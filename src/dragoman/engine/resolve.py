"""From what a user writes to a local model: `local` is the installed one, `local:PATH.gguf` any file."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from dragoman.engine.model import LocalModel
from dragoman.engine.store import DEFAULT, KNOWN, Known, find_installed
from dragoman.errors import UsageError


def find(spec: str, env: Mapping[str, str]) -> LocalModel:
    """The model of `local`, `local:NAME` (a known one) or `local:PATH.gguf`; it is not loaded yet.

    Raises UsageError with what to do when it is not there.
    """
    said = spec.partition(":")[2]
    for model in KNOWN:
        if said in ("", model.name):
            return _known(model, env)
    path = Path(said).expanduser()
    if not path.is_file():
        raise UsageError("unknown_model", f"{spec}: there is no file {path}")
    return LocalModel(path, name=path.stem)


def _known(model: Known, env: Mapping[str, str]) -> LocalModel:
    found = find_installed(model, env)
    if found is None:
        named = "" if model is DEFAULT else f" {model.name}"
        raise UsageError("unknown_model", f"the local model is not installed: dragoman local install{named}")
    return LocalModel(found.path, name=model.name, context=model.context)
