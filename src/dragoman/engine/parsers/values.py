"""From the words of a call to its arguments: JSON as it was written, values by the tool's own schema, Python's spelling."""

from __future__ import annotations

import ast
from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias

import msgspec

from dragoman.engine.parsers.scan import Call
from dragoman.types.tool import Tool

Tools: TypeAlias = Mapping[str, Tool]

NAMES = ("name", "tool_name", "function", "function_name")
ARGUMENTS = ("arguments", "parameters", "args", "input", "kwargs")
KINDS: dict[str, tuple[type, ...]] = {
    "integer": (int,),
    "number": (int, float),
    "boolean": (bool,),
    "object": (dict,),
    "array": (list,),
    "null": (type(None),),
}
PYTHON = {"True": "true", "False": "false", "None": "null"}


def calls_of(text: str) -> list[Call] | None:
    """The calls of a JSON object or a list of them; None for anything else. Arguments keep their text."""
    value = decoded(text)
    if isinstance(value, list):
        found = [_call(item) for item in value]
        return None if not found or None in found else [call for call in found if call is not None]
    call = _call(value)
    return None if call is None else [call]


def call(name: str, text: str) -> Call | None:
    """A call of `name` with the object that `text` is; no text is no arguments. None where it is no object."""
    if not text.strip():
        return Call(name, "{}")
    value = decoded(text)
    return Call(name, text_of(value)) if isinstance(value, dict) else None


def decoded(text: str) -> Any:
    """What `text` says as JSON, or as a Python literal (TPA-024); Ellipsis when it is neither.

    Parts keep their own text (msgspec.Raw) one level down, so numbers and spaces stay as the model wrote them.
    """
    try:
        value: Any = msgspec.json.decode(text)
    except (msgspec.DecodeError, RecursionError, UnicodeError):
        return _literal(text)
    if isinstance(value, dict):
        return msgspec.json.decode(text, type=dict[str, msgspec.Raw])
    if isinstance(value, list) and all(isinstance(item, dict) for item in value):
        return msgspec.json.decode(text, type=list[dict[str, msgspec.Raw]])
    return value


def text_of(value: Any) -> str:
    """The JSON text of `value`, compact where it is ours and as it was written where it is the model's."""
    if isinstance(value, msgspec.Raw):
        return bytes(value).decode()
    return msgspec.json.encode(value).decode()


def typed(text: str, name: str, tool: Tool | None) -> Any:
    """A value that was written as bare text, as the tool's schema wants it; the text itself where it does not fit.

    Templates write strings as they are and everything else as JSON, so the schema must say which it is (TPA-020). A
    value that fits nothing is passed on: the loop tells the model what was wrong with it (TPA-008). Without a schema an
    object or a list is taken for one, and all else for text.
    """
    kinds = _kinds(_schema(name, tool))
    if "string" in kinds:
        return None if "null" in kinds and text.strip() == "null" else text
    bare = text.strip()
    value = plain(decoded(PYTHON.get(bare, bare)))
    if not kinds:
        return value if isinstance(value, (dict, list)) else text
    for kind in kinds:
        wanted = KINDS.get(kind, ())
        if isinstance(value, wanted) and (bool in wanted or not isinstance(value, bool)):
            return value
        if kind == "boolean" and bare.lower() in ("true", "false"):
            return bare.lower() == "true"
        if kind == "integer" and isinstance(value, float) and value.is_integer():
            return int(value)
    return text


def arguments(values: Mapping[str, Any]) -> str:
    """The JSON text of an object."""
    return msgspec.json.encode(values).decode()


def plain(value: Any) -> Any:
    """`value` without parts that are still text."""
    if isinstance(value, msgspec.Raw):
        return msgspec.json.decode(value)
    if isinstance(value, dict):
        return {key: plain(inner) for key, inner in value.items()}
    if isinstance(value, list):
        return [plain(inner) for inner in value]
    return value


def named(said: str, tools: Tools) -> str:
    """The offered tool that a header means, whatever prefix and number it has; the header itself where none fits."""
    bare = said.strip()
    if bare in tools:
        return bare
    head, _, number = bare.rpartition(":")
    bare = head if number.isdigit() else bare
    for prefix in ("functions.", "functions_", "functions", "function.", "tools."):
        name = bare.removeprefix(prefix)
        for tried in (name, name.rstrip("0123456789").rstrip("_")):
            if name != bare and tried in tools:
                return tried
    return bare.removeprefix("functions.")


def _call(value: Any) -> Call | None:
    if not isinstance(value, dict):
        return None
    if isinstance(plain(value.get("function")), dict):  # the shape of Chat Completions
        return _call(msgspec.json.decode(text_of(value["function"]), type=dict[str, msgspec.Raw]))
    name = next((plain(value[key]) for key in NAMES if key in value), None)
    said = next((value[key] for key in ARGUMENTS if key in value), None)
    if not isinstance(name, str) or not name:
        return None
    inner = {} if said is None else plain(said)
    if isinstance(inner, str):  # an object written as a text within the object
        within = decoded(inner) if inner.strip() else {}
        return Call(name, text_of(within)) if isinstance(within, dict) else None
    if inner is None:
        return Call(name, "{}")
    return Call(name, "{}" if said is None else text_of(said)) if isinstance(inner, dict) else None


def _literal(text: str) -> Any:
    try:
        value = ast.literal_eval(text.strip())
        msgspec.json.encode(value)  # bytes, sets and numbers without end are no JSON
    except (ValueError, SyntaxError, TypeError, MemoryError, RecursionError, msgspec.MsgspecError, OverflowError):
        return ...
    return value


def _schema(name: str, tool: Tool | None) -> Any:
    properties = (tool.parameters or {}).get("properties") if tool is not None else None
    return properties.get(name) if isinstance(properties, dict) else None


def _kinds(schema: Any) -> Sequence[str]:
    """All types that a schema lets a value have."""
    if not isinstance(schema, dict):
        return ()
    said = schema.get("type")
    kinds = [kind for kind in (said if isinstance(said, list) else [said]) if isinstance(kind, str)]
    for word in ("anyOf", "oneOf", "allOf"):
        options = schema.get(word)
        for option in options if isinstance(options, list) else ():
            kinds += _kinds(option)
    if not kinds and isinstance(schema.get("enum"), list):
        kinds = ["string" for value in schema["enum"] if isinstance(value, str)][:1]
    return kinds
