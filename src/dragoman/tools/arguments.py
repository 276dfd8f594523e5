"""From the text a model wrote to arguments that can be executed: read with patience, checked without any."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import msgspec

from dragoman.tools.check import Check, checked
from dragoman.tools.words import place
from dragoman.types.content import Invalid, ToolCall, Valid
from dragoman.types.note import Path

# A call does not fail for it: the schema is the tool's own, and so is the harm.
CUT_SHORT = "the tool's schema asks for more work than is done for one call: not all of it was checked"


class Read(msgspec.Struct, frozen=True):
    """Arguments that fit; `did` says, in words, what was done to get them. `mended`: the text was no JSON object."""

    arguments: dict[str, Any]
    did: tuple[str, ...] = ()
    mended: bool = False


class Misfit(msgspec.Struct, frozen=True):
    """An object that does not fit the tool's schema: every fault, with its place."""

    faults: str
    arguments: dict[str, Any]
    mended: bool = False


def load_arguments(call: ToolCall) -> Valid | Invalid:
    """The arguments of `call` as an object: words or a code fence around one whole object are passed over (S4-24), and
    so is a comma before a closing bracket.

    Nothing else is mended: an object that is cut off or written wrong stays Invalid, as does more than one (S1-23).
    """
    found = _load(call)
    return found if isinstance(found, Invalid) else Valid(found.arguments)


def read_arguments(call: ToolCall, parameters: dict[str, Any] | None) -> Read | Misfit | Invalid:
    """The arguments of `call`, fit for a tool of these `parameters`: read, checked, and defaults filled in (S1-28, S1-29).

    A string is read as what it spells only where the schema allows no string and what it spells fits (AGT-005).
    """
    found = _load(call)
    if isinstance(found, Invalid) or not parameters:
        return found
    did: list[str] = []
    value = _coerced(found.arguments, parameters, (), (Check(parameters), Check(parameters)), did)
    wrong, cut_short = checked(value, parameters)
    if wrong:
        return Misfit(_told(wrong), found.arguments, found.mended)
    if cut_short:
        did.append(CUT_SHORT)
    return Read(_filled(value, parameters, Check(parameters)), (*found.did, *did), found.mended)


def _load(call: ToolCall) -> Read | Invalid:
    found = call.parsed()
    if isinstance(found, Valid):
        return Read(found.arguments)
    if call.kind != "function" or not found.why.startswith("invalid JSON"):
        return found
    for text, said in (
        (found.raw, ()),
        (_without_commas(found.raw), ("a comma before a closing bracket was left out",)),
    ):
        start = text.find("{")
        if start < 0:
            return found
        try:
            value, end = _DECODER.raw_decode(text, start)
        except (ValueError, RecursionError):
            continue
        around = text[:start] + text[end:]
        if any(mark in around for mark in '{}[]"'):
            return found
        passed = ("what stood around the object was passed over",) if around.strip() else ()
        return Read(value, (*said, *passed), mended=True)
    return found


def _told(wrong: list[Any]) -> str:
    """All faults in one line; what is missing first, for it is what a model most often forgot."""
    ordered = sorted(wrong, key=lambda fault: not fault.what.startswith("missing"))
    more = f"; and {len(ordered) - 10} more" if len(ordered) > 10 else ""
    return "; ".join(str(fault) for fault in ordered[:10]) + more


def _without_commas(text: str) -> str:
    """`text` without the commas that stand before a closing bracket, outside of strings."""
    out: list[str] = []
    inside = escaped = False
    comma = -1  # the place in `out` of a comma with nothing but white space behind it
    for letter in text:
        if inside:
            inside = escaped or letter != '"'
            escaped = letter == "\\" and not escaped
        elif letter == '"':
            inside, comma = True, -1
        elif letter == ",":
            comma = len(out)
        elif letter in "}]" and comma >= 0:
            out[comma], comma = "", -1
        elif not letter.isspace():
            comma = -1
        out.append(letter)
    return "".join(out)


def _coerced(value: Any, schema: Any, path: Path, checks: tuple[Check, Check], did: list[str]) -> Any:
    """`value` with strings as what they spell. All strings share the work of two checks: of what is allowed, and of what
    fits."""
    allows, fit = checks
    schema = allows.resolved(schema)
    if isinstance(value, str) and not _allows_string(schema, allows):
        spelled = _spelled(value)
        if not isinstance(spelled, str) and fit.fits(spelled, schema):
            did.append(f"`{place(path)}` was a string and is read as the {type(spelled).__name__} it spells")
            return spelled
    if isinstance(value, dict) and len(path) < 64:
        return {name: _coerced(item, part, (*path, name), checks, did) for name, item, part in _members(value, schema)}
    if isinstance(value, list) and isinstance(schema, dict) and len(path) < 64:
        part = schema.get("items", True)
        return [_coerced(item, part, (*path, at), checks, did) for at, item in enumerate(value)]
    return value


def _members(value: dict[str, Any], schema: Any) -> Iterator[tuple[str, Any, Any]]:
    known = schema.get("properties") if isinstance(schema, dict) else None
    more = schema.get("additionalProperties", True) if isinstance(schema, dict) else True
    for name, item in value.items():
        yield name, item, known[name] if isinstance(known, dict) and name in known else more


def _allows_string(schema: Any, check: Check, depth: int = 0) -> bool:
    schema = check.resolved(schema)
    if not isinstance(schema, dict) or depth > 16 or not check.goes_on():
        return True
    if "const" in schema:
        return isinstance(schema["const"], str)
    if isinstance(listed := schema.get("enum"), list):
        return any(isinstance(item, str) for item in listed)
    for word, judged in (("anyOf", any), ("oneOf", any), ("allOf", all)):
        if isinstance(parts := schema.get(word), list) and parts:
            return judged(_allows_string(part, check, depth + 1) for part in parts)
    said = schema.get("type")
    return said is None or said == "string" or (isinstance(said, list) and "string" in said)


def _spelled(text: str) -> Any:
    try:
        return msgspec.json.decode(text)
    except (msgspec.DecodeError, RecursionError, UnicodeError):
        return text


def _filled(value: Any, schema: Any, check: Check, depth: int = 0) -> Any:
    """`value` with the defaults of its schema wherever an object leaves a property out."""
    schema = check.resolved(schema)
    known = schema.get("properties") if isinstance(schema, dict) else None
    if not isinstance(value, dict) or not isinstance(known, dict) or depth > 64:
        return value
    out = {name: _filled(item, known.get(name, True), check, depth + 1) for name, item in value.items()}
    for name, part in known.items():
        if name not in out and isinstance(part, dict) and "default" in part:
            out[name] = part["default"]
    return out


def _refuse(word: str) -> Any:
    raise ValueError(word)


_DECODER = json.JSONDecoder(parse_constant=_refuse)
