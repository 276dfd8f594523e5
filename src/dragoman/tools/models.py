"""pydantic models as the types of parameters and results, where pydantic is installed. It is never imported here."""

from __future__ import annotations

from typing import Any


def is_model(kind: Any) -> bool:
    """Whether `kind` is a pydantic model, told by what it can do."""
    return (
        isinstance(kind, type) and callable(getattr(kind, "model_json_schema", None)) and hasattr(kind, "model_fields")
    )


def schema_of(kind: Any) -> dict[str, Any]:
    """The JSON Schema of a model; NotImplementedError, as msgspec asks, for any other type.

    Its definitions stay within, under names of their own: `lifted` brings them to the top.
    """
    if not is_model(kind):
        raise NotImplementedError
    said: dict[str, Any] = kind.model_json_schema(ref_template=f"#/$defs/{kind.__name__}.{{model}}")
    if "$defs" in said:
        said["$defs"] = {f"{kind.__name__}.{name}": part for name, part in said["$defs"].items()}
    return said


def lifted(schema: dict[str, Any]) -> dict[str, Any]:
    """`schema` with the definitions that its models brought along at its top, where references look for them."""
    definitions: dict[str, Any] = dict(schema.get("$defs", {}))
    whole = {name: _without(part, definitions) for name, part in schema.items() if name != "$defs"}
    parts: dict[str, Any] = {}
    while found := [name for name in definitions if name not in parts]:  # a definition may bring more of them
        parts |= {name: _without(definitions[name], definitions) for name in found}
    return {**whole, "$defs": parts} if parts else whole


def converted(kind: Any, value: Any) -> Any:
    """`value` as a model of `kind`. Raises ValueError with every fault in one line."""
    if not is_model(kind):
        raise NotImplementedError
    try:
        return kind.model_validate(value)
    except ValueError as error:
        told: Any = getattr(error, "errors", None)
        if told is None:
            raise
        listed = [f"{'.'.join(map(str, item['loc'])) or kind.__name__}: {item['msg']}" for item in told()]
        raise ValueError("; ".join(listed)) from None


def plain(value: Any) -> Any:
    """A model as what JSON can hold; TypeError for anything else."""
    if not is_model(type(value)):
        raise TypeError(f"a {type(value).__name__} has no form in JSON")
    return value.model_dump(mode="json")


def _without(value: Any, definitions: dict[str, Any]) -> Any:
    if isinstance(value, list):
        return [_without(item, definitions) for item in value]
    if not isinstance(value, dict):
        return value
    if isinstance(inner := value.get("$defs"), dict):
        definitions |= inner
    return {key: _without(item, definitions) for key, item in value.items() if key != "$defs"}
