"""Tool calls under constraint: a JSON Schema that a model of any size can only fill in validly.

A small model does not end what it need not end: without bounds a string runs until the tokens are used up and the JSON
is cut off (9 of 10 calls valid, 10 of 10 with bounds). So every string and every array is bounded, and what a grammar
engine may not know of a schema is left out: the result is a stricter or a simpler schema of the same tool.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from dragoman.engine.parsers.scan import Scan
from dragoman.errors import ApiDetail, ApiError
from dragoman.types.content import ToolCall, ToolsChange
from dragoman.types.opaque import JSON
from dragoman.types.request import Request
from dragoman.types.tool import Tool

STRING_MAX, STRING_MAX_SMALL = 1000, 120
ARRAY_MAX = 8
LIST_MAX = 64  # items of a list in an answer
LEAST_MAX = (
    1000  # whoever wants a string of a million letters gets an error of the tool's, not a grammar of a million rules
)
LEVELS_MAX, PARTS_MAX = 64, 10_000  # of a schema
FINE = 64  # letters of a value, or names of a list, that weigh as much as one part
JOINED: dict[str, type] = {"properties": dict, "required": list}  # keys of which all parts of an allOf have their say
SAYS_LENGTH = ("maxLength", "pattern", "format", "enum", "const")
DEPTH_MAX = 6
NUMBER_MAX = 2**53 - 1
CUSTOM_KEY = "input"
# Without it a model may write white space for ever between two tokens of valid JSON.
COMPACT = {"whitespace_flexible": False, "item_separator": ", ", "key_separator": ": "}
BOUNDS = ("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum")

Schema = dict[str, Any]
REFUSED = ApiDetail(status=400, retryable=False)


def offered(request: Request) -> tuple[Tool, ...]:
    """The tools that this request lets the model call, those that came in mid-conversation too: none, those its
    tool_choice names, or all of ours.

    Hosted tools are not among them: nobody hosts anything here.
    """
    choice = request.tool_choice
    if choice is not None and choice.mode == "none":
        return ()
    tools = {tool.name: tool for tool in request.tools or () if isinstance(tool, Tool)}
    for message in request.messages:
        for block in message.content:
            if isinstance(block, ToolsChange):
                tools |= {tool.name: tool for tool in block.add or () if isinstance(tool, Tool)}
                for name in block.remove or ():
                    tools.pop(name, None)
    if choice is None or choice.names is None:
        return tuple(tools.values())
    named = frozenset(choice.names)
    return tuple(tool for name, tool in tools.items() if name in named)


def must_call(request: Request) -> bool:
    """Whether the answer has to be a call."""
    return request.tool_choice is not None and request.tool_choice.mode == "required"


def calls_schema(tools: Sequence[Tool], *, small: bool = True) -> Schema:
    """The schema of one call: `{"name": …, "arguments": {…}}` of one of `tools`, compactly written. For a `small` model
    strings are short: what it need not end it does not end."""
    longest = STRING_MAX_SMALL if small else STRING_MAX
    forms = [_object({"name": {"const": tool.name}, "arguments": _arguments(tool, longest)}) for tool in tools]
    schema = forms[0] if len(forms) == 1 else {"anyOf": forms}
    return {**schema, "x-guidance": COMPACT}


def output_schema(request: Request) -> Schema | None:
    """The schema of an answer that must be JSON, None where it need not be: the one that was said, with an end to each
    string and each list that has none.

    Raises ApiError invalid_request for one that is deeper or larger than a grammar is made of.
    """
    output = request.output
    if output is None or output.kind == "text":
        return None
    return {**_Ended().of(output.schema or {"type": "object"}), "x-guidance": COMPACT}


def read_call(text: str, tools: Mapping[str, Tool], call_id: str) -> ToolCall | None:
    """The call that a constrained answer holds; None for a text that was cut off or is no call of `tools`."""
    try:
        said = msgspec.json.decode(_first_object(text))
    except (msgspec.DecodeError, UnicodeError, RecursionError):
        return None
    if not isinstance(said, dict) or not isinstance(said.get("arguments"), dict):
        return None
    tool = tools.get(said["name"]) if isinstance(said.get("name"), str) else None
    if tool is None:
        return None
    arguments: dict[str, Any] = said["arguments"]
    if tool.kind == "custom":
        text = str(arguments.get(CUSTOM_KEY, ""))
        return ToolCall(id=call_id, name=tool.name, arguments=text, kind="custom", namespace=tool.namespace)
    call = ToolCall.of(call_id, tool.name, arguments)
    return msgspec.structs.replace(call, namespace=tool.namespace)


def bounded(schema: JSON, longest: int = STRING_MAX_SMALL) -> Schema:
    """A schema with bounded strings and arrays, of known keywords only, whose every value is also one of `schema`.

    Where `schema` says more than can be kept (a pattern, a format) its values may still be refused by the tool itself.
    Optional properties are left out where there are required ones: a small model fills in whatever it is shown. Raises
    ApiError invalid_request for a schema whose references unfold beyond what a grammar is made of.
    """
    return _Bounded(schema if isinstance(schema, dict) else {}, longest).of(schema, 0)


class _Bounded:
    """The parts of one schema, each bounded; `root` is where references begin."""

    def __init__(self, root: Mapping[str, Any], longest: int) -> None:
        self._root, self._longest, self._left = root, longest, PARTS_MAX

    def of(self, schema: JSON, depth: int) -> Schema:
        """One part."""
        self._spend()
        if not isinstance(schema, dict):
            return self._string({})
        if depth > DEPTH_MAX:
            return _object({})
        schema = self._merged(schema)
        if "const" in schema:
            return {"const": self._weighed(schema["const"])}
        if isinstance(schema.get("enum"), list) and schema["enum"]:
            return {"enum": self._weighed(schema["enum"])}
        options = schema.get("anyOf") or schema.get("oneOf")
        if isinstance(options, list) and options:
            return {"anyOf": [self.of(option, depth + 1) for option in options]}
        kind = schema.get("type")
        if isinstance(kind, list) and kind:
            return {"anyOf": [self.of({**schema, "type": one}, depth + 1) for one in kind]}
        if kind == "object" or (kind is None and "properties" in schema):
            return self._object(schema, depth)
        if kind == "array" or (kind is None and "items" in schema):
            return self._array(schema, depth)
        if kind in ("integer", "number"):
            return {"type": kind, **_range(schema)}
        return {"type": kind} if kind in ("boolean", "null") else self._string(schema)

    def _object(self, schema: Mapping[str, Any], depth: int) -> Schema:
        properties = schema.get("properties")
        if not isinstance(properties, dict):
            return _object({})
        said = schema.get("required")
        required = [name for name in said if _is_name(name) and name in properties] if isinstance(said, list) else []
        kept = required or list(properties)
        return _object({name: self.of(properties[name], depth + 1) for name in kept}, required=required)

    def _array(self, schema: Mapping[str, Any], depth: int) -> Schema:
        least = min(_count(schema.get("minItems"), 0), LEAST_MAX)
        most = max(least, min(_count(schema.get("maxItems"), ARRAY_MAX), ARRAY_MAX))
        return {"type": "array", "items": self.of(schema.get("items"), depth + 1), "minItems": least, "maxItems": most}

    def _string(self, schema: Mapping[str, Any]) -> Schema:
        least = min(_count(schema.get("minLength"), 0), LEAST_MAX)
        most = max(least, min(_count(schema.get("maxLength"), self._longest), self._longest))
        return {"type": "string", **({"minLength": least} if least else {}), "maxLength": most}

    def _merged(self, schema: Mapping[str, Any]) -> dict[str, Any]:
        """`schema` with its local $ref and its allOf put in place; references that go in circles end as they are. It is
        done anew wherever a reference leads here, so each part has its price."""
        merged = dict(schema)
        for _ in range(DEPTH_MAX):
            reference, parts = merged.pop("$ref", None), merged.pop("allOf", None)
            found = [_at(self._weighed(reference), self._root)] if isinstance(reference, str) else []
            found += [part for part in parts if isinstance(part, dict)] if isinstance(parts, list) else []
            if not found:
                break
            for part in found:
                self._spend(1 + (_names(merged) + _names(part)) // FINE)
                merged = _joined(merged, part)
        return merged

    def _weighed(self, value: Any) -> Any:
        """A value that is taken as it is. Raises ApiError for one that is too deep to be written."""
        try:
            self._spend(len(msgspec.json.encode(value)) // FINE)
        except RecursionError:
            raise ApiError("invalid_request", "a schema has a value that goes too deep", REFUSED) from None
        return value

    def _spend(self, parts: int = 1) -> None:
        self._left = _spent(self._left, parts)


class _Ended:
    """The parts of a schema as they were said, with an end to each string and list that has none."""

    def __init__(self) -> None:
        self._left = PARTS_MAX

    def of(self, schema: JSON, depth: int = 0) -> JSON:
        """One part."""
        self._left = _spent(self._left)
        if depth > LEVELS_MAX:
            raise ApiError("invalid_request", f"output: the schema is deeper than {LEVELS_MAX} levels", REFUSED)
        if not isinstance(schema, dict):
            return schema
        made = {key: self._inner(key, value, depth) for key, value in schema.items()}
        kinds = made.get("type")
        kinds = kinds if isinstance(kinds, list) else [kinds]
        if "string" in kinds and not any(key in made for key in SAYS_LENGTH):
            made["maxLength"] = STRING_MAX
        if "array" in kinds and "maxItems" not in made and "prefixItems" not in made:
            made["maxItems"] = LIST_MAX
        return made

    def _inner(self, key: str, value: JSON, depth: int) -> JSON:
        if key in ("properties", "$defs", "definitions") and isinstance(value, dict):
            return {name: self.of(one, depth + 1) for name, one in value.items()}
        if key in ("anyOf", "oneOf", "allOf", "prefixItems") and isinstance(value, list):
            return [self.of(one, depth + 1) for one in value]
        return self.of(value, depth + 1) if key in ("items", "additionalProperties", "not") else value


def _spent(left: int, parts: int = 1) -> int:
    if left < parts:
        raise ApiError("invalid_request", f"a schema has more than {PARTS_MAX} parts, its references unfolded", REFUSED)
    return left - parts


def _arguments(tool: Tool, longest: int) -> Schema:
    if tool.kind == "custom":
        return _object({CUSTOM_KEY: {"type": "string", "maxLength": longest}})
    return bounded({"type": "object", **(tool.parameters or {})}, longest)


def _first_object(text: str) -> str:
    """The JSON object at the beginning of a text: a server that holds to no form says more behind it."""
    scan = Scan()
    scan.add(text.lstrip())
    scan.done = True
    reading = scan.json()
    try:
        while True:
            next(reading)
    except StopIteration as end:
        return end.value[0] or text


def _object(properties: Schema, required: list[str] | None = None) -> Schema:
    names = list(properties) if required is None else required
    return {"type": "object", "properties": properties, "required": names, "additionalProperties": False}


def _range(schema: Mapping[str, Any]) -> Schema:
    said = {key: schema[key] for key in BOUNDS if isinstance(schema.get(key), (int, float))}
    low = {} if "minimum" in said or "exclusiveMinimum" in said else {"minimum": -NUMBER_MAX}
    high = {} if "maximum" in said or "exclusiveMaximum" in said else {"maximum": NUMBER_MAX}
    return {**said, **low, **high}


def _count(value: Any, otherwise: int) -> int:
    return value if type(value) is int and value >= 0 else otherwise


def _joined(one: dict[str, Any], other: Mapping[str, Any]) -> dict[str, Any]:
    joined = {**other, **one}
    for key, kind in JOINED.items():
        both = [part[key] for part in (other, one) if isinstance(part.get(key), kind)]
        if len(both) == 2:
            joined[key] = (
                {**both[0], **both[1]} if kind is dict else list(dict.fromkeys(filter(_is_name, both[0] + both[1])))
            )
    return joined


def _names(part: Mapping[str, Any]) -> int:
    return sum(len(part[key]) for key, kind in JOINED.items() if isinstance(part.get(key), kind))


def _is_name(said: Any) -> bool:
    return isinstance(said, str)


def _at(reference: str, root: Mapping[str, Any]) -> dict[str, Any]:
    place: Any = root
    for step in reference.removeprefix("#").strip("/").split("/"):
        key = step.replace("~1", "/").replace("~0", "~")
        place = place.get(key) if isinstance(place, dict) and step else place
    return place if isinstance(place, dict) else {}
