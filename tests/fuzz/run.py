"""One broken input through the codecs: it gives values or our own errors, or it is a find."""

from __future__ import annotations

import json
import traceback
from collections.abc import Iterable, Iterator
from random import Random
from typing import Any, NamedTuple

from dragoman import translate
from dragoman.errors import DragomanError
from dragoman.wire import WIRES, find
from dragoman.wire.base import Http
from fuzz import mutate

LARGEST = 20_000  # bytes of a seed


class Input(NamedTuple):
    """What is put in: a request, reply, stream or error of one wire, on its way to another."""

    op: str
    source: str
    target: str
    body: bytes


class Find(NamedTuple):
    """An input that raised what is not ours, and where."""

    input: Input
    error: str
    place: str


def handmade() -> list[tuple[str, str, Any]]:
    """Seeds of the project's own: (op, wire, JSON value or bytes of a stream)."""
    from laws import bodies

    seeds: list[tuple[str, str, Any]] = []
    for wire in WIRES:
        module = bodies.of(wire)
        seeds += [("request", wire, body) for body in module.REQUESTS.values()]
        seeds += [("reply", wire, body) for body in module.REPLIES.values()]
        seeds += [("stream", wire, body) for body in module.STREAMS.values()]
    return seeds


def recorded() -> list[tuple[str, str, Any]]:
    """Seeds of the recordings, where they are beside the project."""
    from matrix import recordings

    seeds: list[tuple[str, str, Any]] = []
    for wire in WIRES if recordings.present() else ():
        for entry in recordings.entries(wire):
            if isinstance(entry["request"], dict) and len(recordings.request_body(entry)) < LARGEST:
                seeds.append(("request", wire, entry["request"]))
            answer = recordings.body(entry)
            if len(answer) >= LARGEST:
                continue
            if recordings.is_stream(entry):
                seeds.append(("stream", wire, answer))
            else:
                seeds.append(("reply" if entry["status"] < 400 else "error", wire, entry.get("response")))
    return seeds


def broken(rng: Random, seeds: list[tuple[str, str, Any]]) -> Iterator[Input]:
    """Inputs without end; the same seed of `rng` gives the same ones."""
    while True:
        op, wire, body = rng.choice(seeds)
        for _ in range(rng.randrange(1, 4)):
            body = mutate.stream(rng, body) if isinstance(body, bytes) else mutate.value(rng, body)
        yield Input(op, wire, rng.choice(WIRES), body if isinstance(body, bytes) else json.dumps(body).encode())


def check(inputs: Iterable[Input]) -> Iterator[Find]:
    """The finds among `inputs`."""
    for one in inputs:
        try:
            _put(one)
        except DragomanError:
            continue
        except Exception as error:  # noqa: BLE001  whatever is raised is the find
            last = traceback.extract_tb(error.__traceback__)[-1]
            yield Find(
                one, f"{type(error).__name__}: {error}", f"{last.filename.rpartition('dragoman/')[2]}:{last.lineno}"
            )


def _put(one: Input) -> None:
    source, target = find(one.source), find(one.target)
    match one.op:
        case "request":
            json.loads(translate.request(Http(body=one.body), source, target).http.body)
        case "reply":
            json.loads(translate.reply(one.body, source, target).body)
        case "error":
            json.loads(translate.error(400, {}, one.body, source, target)[2])
        case _:
            translator = translate.StreamTranslator(source, target)
            middle = len(one.body) // 2
            translator.feed(one.body[:middle])
            translator.feed(one.body[middle:])
            translator.close()
