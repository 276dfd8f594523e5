"""Breaks JSON values and streams at random: a key gone, a type swapped, an element twice, a line cut."""

from __future__ import annotations

import json
from random import Random
from typing import Any

ODD: tuple[Any, ...] = (
    *(None, True, False, 0, -1, 1.5, 10**30, "", "x", "\ud83d", [], {}, [1], ["x"], {"a": 1}, [None], [{}], [[]]),
    *({"type": "text"}, {"type": None}, {"type": "tool_use"}, {"role": "tool"}, {"type": "function_call"}),
)
KEYS = ("type", "role", "content", "id", "name", "~", "input", "arguments", "index", "output", "usage", "error")
DEEPEST = 6


def value(rng: Random, of: Any, depth: int = 0) -> Any:
    """`of` with one thing in it changed; `of` itself is left as it is."""
    if isinstance(of, dict) and of:
        key = rng.choice(list(of))
        here = depth > DEEPEST or rng.random() < 0.25
        return _object(rng, of, key, depth) if here else {**of, key: value(rng, of[key], depth + 1)}
    if isinstance(of, list) and of:
        return _array(rng, of, depth)
    return rng.choice(ODD)


def stream(rng: Random, of: bytes) -> bytes:
    """A stream with one line changed, gone, said twice or cut."""
    lines = of.split(b"\n")
    at = rng.randrange(len(lines))
    line, dice = lines[at], rng.random()
    if line.startswith(b"data:") and dice < 0.7:
        try:
            lines[at] = b"data: " + json.dumps(value(rng, json.loads(line[5:]))).encode()
        except ValueError:
            lines[at] = line + b"}"
    elif dice < 0.8:
        del lines[at]
    elif dice < 0.9:
        lines.insert(at, line)
    else:
        lines[at] = line[: rng.randrange(len(line) + 1)]
    return b"\n".join(lines)


def _object(rng: Random, of: dict[str, Any], key: str, depth: int) -> dict[str, Any]:
    dice = rng.random()
    if dice < 0.3:
        return {name: item for name, item in of.items() if name != key}
    if dice < 0.7:
        return {**of, key: rng.choice(ODD)}
    if dice < 0.8:
        return {**of, rng.choice(KEYS): rng.choice(ODD)}
    return {**of, key: value(rng, of[key], depth + 1)}


def _array(rng: Random, of: list[Any], depth: int) -> list[Any]:
    at, dice = rng.randrange(len(of)), rng.random()
    if dice < 0.1:
        return [*of[:at], *of[at + 1 :]]
    if dice < 0.2:
        return [*of[:at], rng.choice(ODD), *of[at:]]
    if dice < 0.3:
        return [*of, of[at]]
    return [*of[:at], value(rng, of[at], depth + 1), *of[at + 1 :]]
