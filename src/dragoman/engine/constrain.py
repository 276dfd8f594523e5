"""Tool calls under constraint: a JSON Schema that a model of any size can only fill in validly.

A small model does not end what it need not end: without bounds a string runs until the tokens are used up and the JSON
is cut off (9 of 10 calls valid, 10 of 10 with bounds). So every string and every array is bounded, and what a grammar
engine may not know of a schema is left out: the result is a stricter or a simpler schema of the same tool.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from dragoman.types.content import ToolCall
from dragoman.types.opaque import JSON
from dragoman.types.request import Request
from dragoman.types.tool import Tool

STRING_MAX = 120
ARRAY_MAX = 8
DEPTH_MAX = 6
NUMBER_MAX = 2**53 - 1
CUSTOM_KEY = "input"
# Without it a model may write white space for ever between two tokens of valid JSON.
COMPACT = {"whitespace_flexible": False, "item_separator": ", ", "key_separator": ": "}
BOUNDS = ("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum")

Schema = dict[str, Any]


def offered(request: Request) -> tuple[Tool, ...]:
    """The tools that this request lets the model call: none, those its tool_choice names, or all of ours.

    Hosted tools are not among them: nobody hosts anything here.
    """
    choice = request.tool_choice
    if choice is not None and choice.mode == "none":
        return ()
    tools = tuple(tool for tool in request.tools or () if isinstance(tool, Tool))
    names = choice.names if choice is not None else None
    return tools if names is None else tuple(tool for tool in tools if tool.name in names)


def must_call(request: Request) -> bool:
    """Whether the answer has to be a call."""
    return request.tool_choice is not None and request.tool_choice.mode == "required"


def calls_schema(tools: Sequence[Tool]) -> Schema:
    """The schema of one call: `{"name": …, "arguments": {…}}` of one of `tools`, compactly written."""
    forms = [_object({"name": {"const": tool.name}, "arguments": _arguments(tool)}) for tool in tools]
    schema = forms[0] if len(forms) == 1 else {"anyOf": forms}
    return {**schema, "x-guidance": COMPACT}


def read_call(text: str, tools: Sequence[Tool], call_id: str) -> ToolCall | None:
    """The call that a constrained answer holds; None for a text that was cut off or is no call of `tools`."""
    try:
        said = msgspec.json.decode(text)
    except (msgspec.DecodeError, UnicodeError):
        return None
    if not isinstance(said, dict) or not isinstance(said.get("arguments"), dict):
        return None
    tool = next((tool for tool in tools if tool.name == said.get("name")), None)
    if tool is None:
        return None
    arguments: dict[str, Any] = said["arguments"]
    if tool.kind == "custom":
        text = str(arguments.get(CUSTOM_KEY, ""))
        return ToolCall(id=call_id, name=tool.name, arguments=text, kind="custom", namespace=tool.namespace)
    call = ToolCall.of(call_id, tool.name, arguments)
    return msgspec.structs.replace(call, namespace=tool.namespace)


def bounded(schema: JSON, root: Mapping[str, Any] | None = None, depth: int = 0) -> Schema:
    """A schema with bounded strings and arrays, of known keywords only, whose every value is also one of `schema`.

    Where `schema` says more than can be kept (a pattern, a format) its values may still be refused by the tool itself.
    Optional properties are left out where there are required ones: a small model fills in whatever it is shown.
    """
    if not isinstance(schema, dict):
        return _string({})
    root = schema if root is None else root
    if depth > DEPTH_MAX:
        return _object({})
    schema = _merged(schema, root)
    if "const" in schema:
        return {"const": schema["const"]}
    if isinstance(schema.get("enum"), list) and schema["enum"]:
        return {"enum": schema["enum"]}
    options = schema.get("anyOf") or schema.get("oneOf")
    if isinstance(options, list) and options:
        return {"anyOf": [bounded(option, root, depth + 1) for option in options]}
    kind = schema.get("type")
    if isinstance(kind, list) and kind:
        return {"anyOf": [bounded({**schema, "type": one}, root, depth + 1) for one in kind]}
    if kind == "object" or (kind is None and "properties" in schema):
        return _bounded_object(schema, root, depth)
    if kind == "array" or (kind is None and "items" in schema):
        return _bounded_array(schema, root, depth)
    if kind in ("integer", "number"):
        return {"type": kind, **_range(schema)}
    if kind in ("boolean", "null"):
        return {"type": kind}
    return _string(schema)


def _arguments(tool: Tool) -> Schema:
    if tool.kind == "custom":
        return _object({CUSTOM_KEY: _string({})})
    return bounded({"type": "object", **(tool.parameters or {})})


def _bounded_object(schema: Mapping[str, Any], root: Mapping[str, Any], depth: int) -> Schema:
    properties = schema.get("properties")
    if not isinstance(properties, dict):
        return _object({})
    said = schema.get("required")
    required = [name for name in said if name in properties] if isinstance(said, list) else []
    kept = required or list(properties)
    inner = {name: bounded(properties[name], root, depth + 1) for name in kept}
    return _object(inner, required=required)


def _bounded_array(schema: Mapping[str, Any], root: Mapping[str, Any], depth: int) -> Schema:
    least = _count(schema.get("minItems"), 0)
    most = max(least, min(_count(schema.get("maxItems"), ARRAY_MAX), ARRAY_MAX))
    items = bounded(schema.get("items"), root, depth + 1)
    return {"type": "array", "items": items, "minItems": least, "maxItems": most}


def _object(properties: Schema, required: list[str] | None = None) -> Schema:
    names = list(properties) if required is None else required
    return {"type": "object", "properties": properties, "required": names, "additionalProperties": False}


def _string(schema: Mapping[str, Any]) -> Schema:
    least = _count(schema.get("minLength"), 0)
    most = max(least, min(_count(schema.get("maxLength"), STRING_MAX), STRING_MAX))
    return {"type": "string", **({"minLength": least} if least else {}), "maxLength": most}


def _range(schema: Mapping[str, Any]) -> Schema:
    said = {key: schema[key] for key in BOUNDS if isinstance(schema.get(key), (int, float))}
    low = {} if "minimum" in said or "exclusiveMinimum" in said else {"minimum": -NUMBER_MAX}
    high = {} if "maximum" in said or "exclusiveMaximum" in said else {"maximum": NUMBER_MAX}
    return {**said, **low, **high}


def _count(value: Any, otherwise: int) -> int:
    return value if type(value) is int and value >= 0 else otherwise


def _merged(schema: Mapping[str, Any], root: Mapping[str, Any]) -> dict[str, Any]:
    """`schema` with its local $ref and its allOf put in place; references that go in circles end as they are."""
    merged = dict(schema)
    for _ in range(DEPTH_MAX):
        reference, parts = merged.pop("$ref", None), merged.pop("allOf", None)
        found = [_at(reference, root)] if isinstance(reference, str) else []
        found += [part for part in parts if isinstance(part, dict)] if isinstance(parts, list) else []
        if not found:
            break
        for part in found:
            merged = _joined(merged, part)
    return merged


def _joined(one: dict[str, Any], other: Mapping[str, Any]) -> dict[str, Any]:
    joined = {**other, **one}
    for key, empty in (("properties", {}), ("required", [])):
        both = [part[key] for part in (other, one) if isinstance(part.get(key), type(empty))]
        if len(both) == 2:
            joined[key] = {**both[0], **both[1]} if isinstance(empty, dict) else list(dict.fromkeys(both[0] + both[1]))
    return joined


def _at(reference: str, root: Mapping[str, Any]) -> dict[str, Any]:
    place: Any = root
    for step in reference.removeprefix("#").strip("/").split("/"):
        key = step.replace("~1", "/").replace("~0", "~")
        place = place.get(key) if isinstance(place, dict) and step else place
    return place if isinstance(place, dict) else {}
