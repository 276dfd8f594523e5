"""The subsets of JSON Schema that servers take, as a table: what each keeps, and how the rest must be said."""

from __future__ import annotations

from typing import Any, Literal, NamedTuple

import msgspec

SubsetName = Literal[
    "plain",
    "object-root",
    "messages-tools",
    "messages",
    "openai-strict",
    "inline-defs",
    "gemini",
    "mfjs",
    "mistral",
]


class Limits(msgspec.Struct, frozen=True, kw_only=True):
    """Sizes beyond which a server refuses a schema that is otherwise right; None: none is known."""

    depth: int | None = None
    properties: int | None = None
    enum_values: int | None = None
    characters: int | None = None  # of all property names, definition names and enum values together
    optional: int | None = None
    unions: int | None = None


class Subset(msgspec.Struct, frozen=True, kw_only=True):
    """One subset. Each default changes nothing; `source` names what a row rests on.

    Every subset but `plain` wants an object at the root: a union of objects there is flattened into one object or
    wrapped in one, any other root is wrapped.
    """

    name: str
    source: str
    whole: bool = False  # the schema goes out as it came
    tools_only: bool = False  # it says nothing of the form of an answer
    root_union: Literal["flatten", "wrap"] = "flatten"
    no_arguments: Literal["object", "omit"] = "object"  # a tool that takes nothing: an empty object, or no schema
    root_names: str | None = None  # the pattern that the root's property names must match; the others are renamed
    keywords: frozenset[str] | None = None  # all that may stand in a schema; None: whatever came
    stripped: frozenset[str] = frozenset()  # what may not stand in one, where `keywords` is None
    formats: frozenset[str] | None = None  # of texts
    number_formats: bool = False  # int64, double and their like may stand
    refs: Literal["keep", "alone", "inline"] = "keep"
    recursion: bool = True
    unions_alone: bool = False  # nothing but words beside anyOf: what stood there goes into each branch
    tuples: Literal["keep", "prefix", "union"] = "keep"  # prefixItems, or one union of all the places
    closed: bool = False  # each object says additionalProperties false; maps become lists of pairs
    all_required: bool = False  # each property is required: an optional one may be null instead
    declared_required: bool = False  # a required name must be a property
    null: Literal["type", "nullable"] = "type"
    type_lists: bool = True
    string_enums: bool = False
    lookaround: bool = True  # in patterns
    max_min_items: int | None = None
    anything: dict[str, Any] = {}  # how "any value" is said
    limits: Limits = Limits()


_CORE = frozenset({"type", "description", "enum", "const", "anyOf", "$ref", "$defs", "properties", "required"})
_NUMBERS = frozenset({"minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"})
_FORMATS = frozenset(
    {"date-time", "time", "date", "duration", "email", "hostname", "ipv4", "ipv6", "uuid"}
)  # the official SDKs and dialects.md §4

SUBSETS: dict[str, Subset] = {
    row.name: row
    for row in (
        Subset(name="plain", source="a server that takes any JSON Schema, or checks none", whole=True),
        Subset(
            name="object-root",
            tools_only=True,
            source="chat and responses tools that are not strict: 'schema must have type object and not have "
            "oneOf/anyOf/allOf/enum/not at the top level' (nspady/google-calendar-mcp#39, langchainjs#9804)",
        ),
        Subset(
            name="messages-tools",
            tools_only=True,
            source="messages tools that are not strict: 'input_schema does not support oneOf, allOf, or anyOf at the "
            "top level' (anthropics/claude-code#5319); property names of the top level only (decocms/studio#6874)",
            root_names=r"[a-zA-Z0-9_.-]{1,64}",
        ),
        Subset(
            name="messages",
            source="messages output_config.format and strict tools: the official SDK's lib/_parse/_transform.py 2.14, "
            "Vercel AI sanitize-json-schema.ts; limits and recursion from the vendor's page (not re-read)",
            root_union="wrap",
            root_names=r"[a-zA-Z0-9_.-]{1,64}",
            keywords=_CORE | {"title", "format", "additionalProperties", "items", "minItems"},
            formats=_FORMATS | {"uri"},
            refs="alone",
            recursion=False,
            unions_alone=True,
            tuples="union",
            closed=True,
            declared_required=True,
            max_min_items=1,
            anything={"anyOf": [{"type": kind} for kind in ("string", "number", "boolean", "null")]},
            limits=Limits(optional=24, unions=16),
        ),
        Subset(
            name="openai-strict",
            source="chat and responses with strict true: the official SDK's lib/_pydantic.py 3.57, pydantic-ai "
            "profiles/openai.py; limits from the vendor's page (not re-read)",
            root_union="wrap",
            keywords=_CORE
            | _NUMBERS
            | {"format", "pattern", "additionalProperties", "items", "prefixItems", "minItems", "maxItems"},
            formats=_FORMATS,
            number_formats=True,
            refs="alone",
            unions_alone=True,
            tuples="prefix",
            closed=True,
            all_required=True,
            lookaround=False,
            anything={"type": ["string", "number", "boolean", "null"]},
            limits=Limits(depth=10, properties=5000, enum_values=1000, characters=120_000),
        ),
        Subset(
            name="inline-defs",
            source="servers that read no $defs (pydantic-ai profiles, dialects.md §4)",
            refs="inline",
            recursion=False,
        ),
        Subset(
            name="gemini",
            source="generateContent `parameters` and `responseSchema`, an OpenAPI 3.0 subset: google-genai types.Schema "
            "3.6.1, pydantic-ai profiles/google.py; nodetool#4761, gemini-cli#13326",
            no_arguments="omit",
            keywords=frozenset(
                {"type", "format", "description", "nullable", "enum", "items", "minItems", "maxItems", "properties"}
                | {"minProperties", "maxProperties", "required", "minLength", "maxLength", "pattern", "example"}
                | {"anyOf", "propertyOrdering", "default", "minimum", "maximum"}
            ),
            formats=frozenset({"enum", "date-time"}),
            number_formats=True,
            refs="inline",
            recursion=False,
            unions_alone=True,
            tuples="union",
            declared_required=True,
            null="nullable",
            type_lists=False,
            string_enums=True,
            anything={"anyOf": [{"type": kind} for kind in ("string", "number", "boolean")], "nullable": True},
        ),
        Subset(
            name="mfjs",
            source="Moonshot-flavoured JSON Schema: Vercel AI normalize-json-schema-for-mfjs.ts, "
            "opencode sanitizeMoonshotToolSchema",
            refs="alone",
            unions_alone=True,
            tuples="prefix",
        ),
        Subset(
            name="mistral",
            tools_only=True,
            source="chat tools: what LiteLLM strips because the server refuses it (dialects.md §4)",
            stripped=frozenset({"$id", "$schema", "additionalProperties", "strict"}),
        ),
    )
}


class Rule(NamedTuple):
    """The subsets that a wire's own vendor wants: for tools, for tools and answers said to be strict, and for answers
    that are not (None: any schema)."""

    tools: SubsetName
    strict: SubsetName
    answer: SubsetName | None


RULES: dict[str, Rule] = {
    "chat": Rule("object-root", "openai-strict", None),
    "responses": Rule("object-root", "openai-strict", None),
    "messages": Rule("messages-tools", "messages", "messages"),
    "ollama": Rule("object-root", "object-root", None),
}
