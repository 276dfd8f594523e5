"""From what a user writes to a local model, or to one behind a server of text: `local` is the installed one,
`local:PATH.gguf` any file."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from pathlib import Path

from dragoman.config import Taught
from dragoman.engine.model import LocalModel
from dragoman.engine.parsers.formats import FORMATS, Format, named, picked
from dragoman.engine.runtime import Room
from dragoman.engine.speaker import Speaker
from dragoman.engine.store import DEFAULT, KNOWN, Known, find_installed
from dragoman.engine.template import Template, of_file
from dragoman.engine.text_wire import TextWire
from dragoman.errors import UsageError
from dragoman.transport.clock import SYSTEM, Clock

CONTEXT_ENV = "DRAGOMAN_CONTEXT"
THREADS_ENV = "DRAGOMAN_THREADS"
TOKENS = range(256, 2**31)  # what llama.cpp can count
DIGITS = 10  # of these; Python does not read a number of thousands
THREADS = range(1, 513)  # with more of them it would end this process


def find(spec: str, env: Mapping[str, str], taught: Taught | None = None) -> LocalModel:
    """The model of `local`, `local:NAME` (a known one) or `local:PATH.gguf`; it is not loaded yet. `taught` is another
    template than its own. `DRAGOMAN_CONTEXT` is how many tokens there is room for, never more than the model knows, and
    `DRAGOMAN_THREADS` how many threads it may take.

    Raises UsageError with what to do when it is not there, and for a number that is none.
    """
    said = spec.partition(":")[2]
    template = None if taught is None else of_file(Path(taught.file))
    format = None if taught is None else taught.format
    for model in KNOWN:
        if said in ("", model.name):
            path = _known(model, env)
            room = _room(env, model.context)
            return LocalModel(path, name=model.name, room=room, template=template, format=format)
    path = Path(said).expanduser()
    if not path.is_file():
        raise UsageError("unknown_model", f"{spec}: there is no file {path}")
    return LocalModel(path, name=path.stem, room=_room(env), template=template, format=format)


def speaker(name: str, taught: Taught) -> Speaker:
    """The template of a file and the format that it teaches, or the one that was said. Raises UsageError for a file that
    holds none, and for an unknown format."""
    template = of_file(Path(taught.file))
    return Speaker(template, _format(template, taught.format), name)


def text_wire(name: str, taught: Taught, clock: Clock = SYSTEM) -> TextWire:
    """The codec of a model behind a server of text. Raises as `speaker`."""
    return TextWire(speaker(name, taught), lambda: datetime.fromtimestamp(clock.date()).astimezone())


def _format(template: Template, said: str | None) -> Format:
    if said is None:
        return picked(template.source)
    found = named(said)
    if found is None:
        raise UsageError("usage", f"unknown format {said!r}: one of {', '.join(sorted(FORMATS))}")
    return found


def _room(env: Mapping[str, str], context: int = Room().context) -> Room:
    context = _number(env, CONTEXT_ENV, "tokens", TOKENS) or context
    return Room(context, _number(env, THREADS_ENV, "threads", THREADS) or Room().threads)


def _number(env: Mapping[str, str], name: str, what: str, allowed: range) -> int | None:
    said = env.get(name, "").strip()
    if not said:
        return None
    if not said.isdecimal() or len(said) > DIGITS or int(said) not in allowed:
        raise UsageError("usage", f"{name}={said}: a number of {what} from {allowed[0]} to {allowed[-1]}")
    return int(said)


def _known(model: Known, env: Mapping[str, str]) -> str:
    found = find_installed(model, env)
    if found is None:
        named = "" if model is DEFAULT else f" {model.name}"
        raise UsageError("unknown_model", f"the local model is not installed: dragoman local install{named}")
    return found.path
