"""Small JSON Schemas for property tests, with the values that probe them."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st

NAMES = ("a", "b", "名/~", "type")
TEXTS = ("", "a", "ab", "名字")
scalars = st.sampled_from([*TEXTS, 0, 1, 2, 1.5, True, False, None])
names = st.sampled_from(NAMES)


def objects(schemas: st.SearchStrategy[Any]) -> st.SearchStrategy[dict[str, Any]]:
    return st.fixed_dictionaries(
        {"type": st.just("object")},
        optional={
            "properties": st.dictionaries(names, schemas, max_size=3),
            "required": st.lists(names, max_size=2, unique=True),
            "additionalProperties": st.one_of(st.booleans(), schemas),
            "minProperties": st.integers(0, 2),
            "description": st.just("words"),
        },
    )


def arrays(schemas: st.SearchStrategy[Any]) -> st.SearchStrategy[dict[str, Any]]:
    return st.fixed_dictionaries(
        {"type": st.just("array")},
        optional={
            "items": schemas,
            "prefixItems": st.lists(schemas, min_size=1, max_size=2),
            "minItems": st.integers(0, 2),
            "maxItems": st.integers(0, 2),
            "uniqueItems": st.booleans(),
        },
    )


def unions(schemas: st.SearchStrategy[Any]) -> st.SearchStrategy[dict[str, Any]]:
    branches = st.lists(schemas, min_size=1, max_size=3)
    return st.one_of(
        st.fixed_dictionaries({"anyOf": branches}, optional={"type": types, "description": st.just("words")}),
        st.fixed_dictionaries({"oneOf": branches}, optional={"required": st.lists(names, max_size=1)}),
        st.fixed_dictionaries(
            {"allOf": branches}, optional={"properties": st.dictionaries(names, schemas, max_size=2)}
        ),
    )


types = st.sampled_from(
    ["object", "array", "string", "number", "integer", "boolean", "null", ["string", "null"], ["object", "string"]]
)
leaves = st.one_of(
    st.booleans(),
    st.just({}),
    st.builds(lambda name: {"$ref": f"#/$defs/{name}"}, st.sampled_from(["one", "two"])),
    st.fixed_dictionaries(
        {"$ref": st.just("#/$defs/one")}, optional={"description": st.just("d"), "minLength": st.just(1)}
    ),
    st.fixed_dictionaries({"type": types}, optional={"title": st.just("t"), "default": st.just("a")}),
    st.fixed_dictionaries(
        {"type": st.just("string")},
        optional={"minLength": st.integers(0, 2), "pattern": st.just("^a"), "enum": st.just(["a", "ab"])},
    ),
    st.fixed_dictionaries(
        {"type": st.sampled_from(["integer", "number"])},
        optional={"minimum": st.integers(0, 2), "exclusiveMaximum": st.integers(0, 3), "multipleOf": st.just(2)},
    ),
    st.builds(lambda values: {"enum": values}, st.lists(scalars, min_size=1, max_size=3)),
    st.builds(lambda value: {"const": value}, scalars),
)
schemas = st.recursive(
    leaves, lambda inner: st.one_of(objects(inner), arrays(inner), unions(inner), unions(objects(inner))), max_leaves=8
)


@st.composite
def documents(draw: st.DrawFn) -> dict[str, Any]:
    """A schema with two definitions, which its references, and theirs, lead to."""
    root = draw(st.one_of(objects(schemas), objects(schemas), schemas.filter(lambda schema: isinstance(schema, dict))))
    return {**root, "$defs": {"one": draw(schemas), "two": draw(schemas)}}


values = st.recursive(
    scalars,
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(names, inner, max_size=3)),
    max_leaves=8,
)


def fitting(draw: st.DrawFn, node: Any, root: dict[str, Any], depth: int = 0) -> Any:
    """A value that fits a compiled schema more often than chance would have it; not always."""
    if depth > 6 or not isinstance(node, dict):
        return draw(scalars)
    if "$ref" in node:
        target: Any = root
        for step in node["$ref"].split("/")[1:]:
            target = target[step.replace("~1", "/").replace("~0", "~")]
        return fitting(draw, target, root, depth + 1)
    if "anyOf" in node:
        return fitting(draw, draw(st.sampled_from(node["anyOf"])), root, depth + 1)
    if "const" in node:
        return node["const"]
    if "enum" in node:
        return draw(st.sampled_from(node["enum"]))
    said = node.get("type")
    name = draw(st.sampled_from(said)) if isinstance(said, list) else said
    if name == "object":
        properties = node.get("properties", {})
        wanted = [key for key in properties if key in node.get("required", ()) or draw(st.booleans())]
        return {key: fitting(draw, properties[key], root, depth + 1) for key in wanted}
    if name == "array":
        count = draw(
            st.integers(node.get("minItems", 0), max(node.get("minItems", 0), min(node.get("maxItems", 2), 3)))
        )
        prefix = node.get("prefixItems", [])
        kinds = [prefix[at] if at < len(prefix) else node.get("items", {}) for at in range(count)]
        return [fitting(draw, kind, root, depth + 1) for kind in kinds]
    simple = {"string": st.sampled_from(TEXTS), "number": st.sampled_from([0, 1, 1.5]), "integer": st.integers(0, 2)}
    return draw(simple.get(name, st.booleans() if name == "boolean" else st.none()))
