"""A request body as the row of elements that a service reads it in: what stands before a difference is still cached."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Literal, TypeAlias

import msgspec

from dragoman.types.note import Path
from dragoman.wire import jsonio

# In the order in which services read, and hence cache: what is said of the form of the answer counts as the beginning.
Section: TypeAlias = Literal["model", "form", "tools", "system", "settings", "messages"]
SECTIONS: tuple[Section, ...] = ("model", "form", "tools", "system", "settings", "messages")
MARKERS = frozenset({"cache_control", "prompt_cache_breakpoint"})
# Where keys are the caller's own, none of them is a marker.
THEIRS = frozenset({"input", "arguments", "parameters", "input_schema", "schema"})
FORM: tuple[Path, ...] = (("response_format",), ("text", "format"), ("output_config", "format"))
SETTINGS: tuple[Path, ...] = (
    *(("thinking",), ("reasoning",), ("reasoning_effort",), ("output_config", "effort")),
    *(("enable_thinking",), ("chat_template_kwargs",), ("speed",)),
)
INSTRUCTIONS = ("system", "developer")
TEXTS = ("text", "input_text", "output_text")
REASONING_KEYS = ("reasoning_content", "reasoning", "reasoning_text", "reasoning_details")
REASONING_TYPES = ("thinking", "redacted_thinking", "reasoning")


class Element(msgspec.Struct, frozen=True, kw_only=True):
    """One element: where it stands in the body, its value without cache markers, and that value as it is spelled."""

    section: Section
    path: Path
    value: Any
    spelled: str

    @property
    def is_reasoning(self) -> bool:
        """Whether it is what a model thought."""
        value = self.value
        return isinstance(value, dict) and (value.get("type") in REASONING_TYPES or "thought" in value)


def elements(body: Mapping[str, Any]) -> list[Element]:
    """The elements of a request, whatever its wire. What a body has not has no element."""
    found = list(_head(body))
    history = "input" if "input" in body else "messages"
    items = body.get(history)
    said: list[Any] = items if isinstance(items, list) else []
    if isinstance(items, str):
        said = [{"role": "user", "content": items}]
    begun = False
    for at, item in enumerate(said):
        role = item.get("role") if isinstance(item, dict) else None
        begun = begun or role not in INSTRUCTIONS
        parts = list(_parts(item, (history, at)))
        found += [_made("messages" if begun else "system", path, value) for path, value in parts]
    return sorted(found, key=lambda element: SECTIONS.index(element.section))


def _head(body: Mapping[str, Any]) -> Iterator[Element]:
    if "model" in body:
        yield _made("model", ("model",), body["model"])
    for path in FORM:
        if (value := _at(body, path)) is not None:
            yield _made("form", path, value)
    tools = body.get("tools")
    for at, tool in enumerate(tools if isinstance(tools, list) else []):
        yield _made("tools", ("tools", at), unmarked(tool))
    for key in ("system", "instructions"):
        value = body.get(key)
        parts = [value] if isinstance(value, str) else value if isinstance(value, list) else []
        for at, part in enumerate(parts):
            path: Path = (key,) if isinstance(value, str) else (key, at)
            yield _made("system", path, _text(unmarked(part)))
    for path in SETTINGS:
        if (value := _at(body, path)) is not None:
            yield _made("settings", path, value)


def _parts(item: Any, path: Path) -> Iterator[tuple[Path, Any]]:
    """The elements of one message or item; a text alone is the same in either of its two spellings."""
    if not isinstance(item, dict):
        yield path, item
        return
    rest = {key: value for key, value in item.items() if key not in MARKERS}
    role, content = rest.get("role"), rest.pop("content", None)
    if role is None:
        yield path, unmarked(item)
        return
    said = {"role": role} | {key: rest[key] for key in ("tool_call_id", "name") if key in rest}
    for key in REASONING_KEYS:
        if rest.get(key):
            yield (*path, key), {"role": role, "thought": rest[key]}
    if isinstance(content, str) and content:
        yield (*path, "content"), {**said, "text": content}
    for at, part in enumerate(content if isinstance(content, list) else []):
        text = _text(unmarked(part))
        inner = {"text": text} if isinstance(text, str) else text if isinstance(text, dict) else {"part": text}
        yield (*path, "content", at), {**said, **inner}
    calls = rest.get("tool_calls")
    for at, call in enumerate(calls if isinstance(calls, list) else []):
        yield (*path, "tool_calls", at), {"role": role, "call": call}


def unmarked(value: Any) -> Any:
    """A value without cache markers, wherever markers may stand."""
    whole = [value]
    level: list[Any] = [whole]
    while level:  # not by recursion: a body may be as deep as the interpreter's own stack
        below: list[Any] = []
        for held in level:
            ours = (place for place in held if place not in THEIRS) if type(held) is dict else range(len(held))
            for place in list(ours):
                item = held[place]
                if type(item) is dict:
                    item = {key: inner for key, inner in item.items() if key not in MARKERS}
                elif type(item) is list:
                    item = item.copy()
                else:
                    continue
                held[place] = item
                below.append(item)
        level = below
    return whole[0]


def _text(part: Any) -> Any:
    """The text of a part that is nothing but a text."""
    plain = isinstance(part, dict) and set(part) == {"type", "text"} and part["type"] in TEXTS
    return part["text"] if plain else part


def _made(section: Section, path: Path, value: Any) -> Element:
    spelled = value if isinstance(value, str) else jsonio.encode(value).decode()
    return Element(section=section, path=path, value=value, spelled=spelled)


def _at(body: Any, path: Path) -> Any:
    for key in path:
        body = body.get(key) if isinstance(body, dict) else None
    return body
