"""About how many tokens something has, by its letters, and how far that is off by what services reported."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

import msgspec

from dragoman.types.content import Media, ToolResult
from dragoman.types.message import Message
from dragoman.types.request import Request

LETTERS = 4.0  # of a token, in languages written with Latin letters; others take about one token for each
SIGNS = 1.3
MEDIA = 1500  # tokens of an image or a page, roughly
LONG = 2000  # characters: data in base64 and not text
TURN = 4  # tokens around each message
LEAST, MOST = 0.25, 4.0  # a factor beyond these is no measure of how a text is cut into tokens
LEFT_OUT = ("type", "opaque", "cache", "origin")  # of a block: what is no word of the conversation
SAMPLES = 8  # the last ones are about this conversation


def weight(value: Any) -> float:
    """About how many tokens a value of JSON has, or one of ours as it is saved: its texts and names, by the letters; media
    by the piece."""
    found, left = 0.0, [value]
    while left:
        held = left.pop()
        if isinstance(held, msgspec.Struct):
            held = _saved(held)
        if isinstance(held, dict):
            found += len(held)
            left += held.values()
        elif isinstance(held, list | tuple):
            left += held
        elif not isinstance(held, str):
            found += 1.0
        elif len(held) > LONG and " " not in held[:LONG] and held.isascii():
            found += MEDIA
        else:
            found += weigh_text(held)
    return found


def weigh_text(text: str) -> float:
    """About how many tokens a text has, however long it is."""
    latin = len(text) if text.isascii() else sum(character < "\u0250" for character in text)
    return latin / LETTERS + (len(text) - latin) / SIGNS


def weigh(message: Message) -> float:
    """About how many tokens a message has. What no other service is sent, its leftovers, counts for nothing."""
    return TURN + sum(map(_block, message.content))


def weigh_fixed(request: Request) -> float:
    """About how many tokens go with every request whatever its history: the system prompt and the tools."""
    prompt = weight(request.system or "")
    return prompt + sum(map(weight, request.tools or ()))


def weigh_request(request: Request) -> int:
    """About how many tokens a request has."""
    rest = request.messages[request.system is not None :]
    return math.ceil(weigh_fixed(request) + sum(map(weigh, rest)))


def calibrated(samples: Iterable[tuple[float, int]]) -> float:
    """The factor between an estimate and the truth, of pairs of both for the same requests; 1.0 without any.

    The last SAMPLES count, long requests more than short ones, since the long ones are those that meet a limit.
    """
    known = [(about, told) for about, told in samples if about > 0 and told > 0][-SAMPLES:]
    if not known:
        return 1.0
    factor = sum(told for _, told in known) / sum(about for about, _ in known)
    return min(max(factor, LEAST), MOST)


def _block(block: Any) -> float:
    if isinstance(block, Media):
        return weight(block.text) if block.text else MEDIA
    if isinstance(block, ToolResult):
        return 2 + sum(map(_block, block.content))
    return weight({key: value for key, value in _saved(block).items() if key not in LEFT_OUT})


def _saved(value: msgspec.Struct) -> dict[str, Any]:
    """What is saved of a value of ours: its kind, and the fields that say something."""
    kind, names, unsaid = value.__struct_config__.tag, value.__struct_fields__, value.__struct_defaults__
    always = len(names) - len(unsaid)  # fields without a default stand first
    said = zip(names, (*[msgspec.NODEFAULT] * always, *unsaid), strict=True)
    fields = {name: item for name, default in said if (item := getattr(value, name)) is not default}
    return fields if kind is None else {"type": kind, **fields}
