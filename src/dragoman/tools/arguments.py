"""From the text a model wrote to arguments that can be executed."""

from __future__ import annotations

import json
from typing import Any

from dragoman.types.content import Invalid, ToolCall, Valid


def load_arguments(call: ToolCall) -> Valid | Invalid:
    """The arguments of `call`; words or a code fence around one whole JSON object are passed over (S4-24).

    Nothing is mended: an object that is cut off or written wrong stays Invalid, as does more than one object (S1-23).
    """
    found = call.parsed()
    if isinstance(found, Valid) or call.kind != "function" or not found.why.startswith("invalid JSON"):
        return found
    start = found.raw.find("{")
    if start < 0:
        return found
    try:
        value, end = _DECODER.raw_decode(found.raw, start)
    except (ValueError, RecursionError):
        return found
    around = found.raw[:start] + found.raw[end:]
    if any(mark in around for mark in '{}[]"'):
        return found
    return Valid(value)


def _refuse(word: str) -> Any:
    raise ValueError(word)


_DECODER = json.JSONDecoder(parse_constant=_refuse)
