"""Why an element moved: rows of signs, the first that fits is the cause."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import msgspec

from dragoman.doctor.elements import SECTIONS, Element
from dragoman.doctor.words import Difference, difference
from dragoman.wire import jsonio

# cause → what is the matter with it, and what to do about it.
ADVICE: dict[str, str] = {
    "model": "each model has a cache of its own: change models between conversations",
    "form": "the form of the answer is read before everything: keep it the same for all turns",
    "tools_reordered": "offer tools in one order, for instance sorted by name",
    "tool_added": "offer all tools from the first turn on, or add them at the end of the conversation where the wire can",
    "tool_removed": "keep offering it and forbid it by tool_choice or in words",
    "tool_changed": "build tool definitions once",
    "keys_reordered": "write objects with their keys in one order",
    "timestamp": "take the time out of it, or say it in the latest user turn",
    "id": "take what is new in each request out of it, or say it in the latest user turn",
    "number": "take what counts on out of it, or say it in the latest user turn",
    "system_rebuilt": "build the system prompt once; say what is new in the latest user turn",
    "settings": "keep how much the model thinks the same for all turns",
    "reasoning_stripped": "send back what the model thought as it was, or never",
    "arguments_respelled": "send arguments back as the model spelled them",
    "ids_renamed": "keep the ids of calls",
    "result_changed": "leave results as they were first sent; shorten them before that, or many at once",
    "message_removed": "drop old turns rarely and many at once: each cut is paid for once",
    "message_inserted": "add to the end only",
    "message_edited": "add to the end only",
    "history_replaced": "compact rarely: each time is paid for once",
    "expired": "nothing moved: the cache had expired, or another machine answered; a key or a longer lifetime may help",
}


class Cause(NamedTuple):
    """The name of a cause and what is to be seen of it."""

    name: str
    seen: str


def cause(old: Sequence[Element], new: Sequence[Element], at: int) -> Cause:
    """Why the element `at` is not what it was. `old` and `new` are equal before it, and `old` has one there."""
    was = old[at]
    now = new[at] if at < len(new) else None
    section = was.section
    if now is not None and SECTIONS.index(now.section) < SECTIONS.index(section):
        section = now.section
    if section == "tools":
        return _tools(old, new, at)
    if section == "messages":
        return _messages(old, new, at)
    if now is None or now.section != was.section:
        name = "system_rebuilt" if section == "system" else section
        return Cause(name, f"{_words(section)} {'came' if section != was.section else 'went'}")
    if section == "system":
        return _texts(was, now, "system_rebuilt", "the system prompt")
    return Cause(section, f"{_words(section)} changed: {_cut(was.spelled)} → {_cut(now.spelled)}")


def _words(section: str) -> str:
    return {"form": "the form of the answer", "system": "a part of the system prompt"}.get(section, f"the {section}")


def _tools(old: Sequence[Element], new: Sequence[Element], at: int) -> Cause:
    before = [element for element in old if element.section == "tools"]
    after = [element for element in new if element.section == "tools"]
    names, now = [_name(element) for element in before], [_name(element) for element in after]
    if sorted(element.spelled for element in before) == sorted(element.spelled for element in after):
        return Cause("tools_reordered", f"tools reordered: {', '.join(names[:6])} → {', '.join(now[:6])}")
    if gone := [name for name in names if name not in now]:
        return Cause("tool_removed", f"tool {gone[0]} went{_more(gone)}")
    if came := [name for name in now if name not in names]:
        return Cause("tool_added", f"tool {came[0]} came{_more(came)}")
    if names != now:
        return Cause("tools_reordered", f"tools reordered: {', '.join(names[:6])} → {', '.join(now[:6])}")
    return _texts(old[at], new[at], "tool_changed", f"tool {_name(old[at])}")


def _more(names: Sequence[str]) -> str:
    return f" and {len(names) - 1} more" if len(names) > 1 else ""


def _name(tool: Element) -> str:
    value = _object(tool.value)
    inner = _object(value.get("function")) or value
    return str(inner.get("name") or value.get("type") or "?")


def _object(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _texts(was: Element, now: Element, otherwise: str, what: str) -> Cause:
    """Two values of one element, as texts."""
    if _sorted(was.value) == _sorted(now.value):
        return Cause("keys_reordered", f"{what} has its keys in another order")
    found = difference(_said(was), _said(now))
    if found.manner != "words":
        kinds = {"timestamp": "a time", "id": "an id", "number": "a number"}
        return Cause(found.manner, f"{kinds[found.manner]} in {what} changed{_where(found)}")
    return Cause(otherwise, f"{what} changed{_where(found)}")


def _where(found: Difference) -> str:
    return f" at character {found.at}: {_cut(found.old)} → {_cut(found.new)}"


def _cut(text: str) -> str:
    return jsonio.encode(text if len(text) <= 60 else f"{text[:59]}…").decode()


def _messages(old: Sequence[Element], new: Sequence[Element], at: int) -> Cause:
    was = old[at]
    if at >= len(new):
        return Cause("message_removed", "what was said last went")
    now = new[at]
    for sign in SIGNS:
        if (found := sign(was, now)) is not None:
            return found
    for place in range(at + 1, len(old)):
        if old[place].spelled == now.spelled:
            if all(element.is_reasoning for element in old[at:place]):
                return Cause("reasoning_stripped", "what the model had thought is no longer sent")
            count = place - at
            return Cause("message_removed", f"{count} element{'s' * (count > 1)} before it went")
    if any(was.spelled == element.spelled for element in new[at + 1 :]):
        return Cause("message_inserted", f"something was put before it: {_cut(_said(now))}")
    left = {element.spelled for element in new[at:]}
    if len(old) - at > 2 and not any(element.spelled in left for element in old[at:]):
        return Cause("history_replaced", "nothing of what follows is what was sent before")
    return _texts(was, now, "message_edited", f"what the {_role(was)} said")


def _role(element: Element) -> str:
    value = _object(element.value)
    return str(value.get("role") or "conversation")


def _said(element: Element) -> str:
    """The text of an element, else all of it."""
    text = _object(element.value).get("text")
    return text if isinstance(text, str) else element.spelled


def _thought(was: Element, now: Element) -> Cause | None:
    if was.is_reasoning and now.is_reasoning:
        return Cause("reasoning_stripped", "what the model had thought is sent in another form")
    return None


def _call(was: Element, now: Element) -> Cause | None:
    one, other = _read_call(was), _read_call(now)
    if one is None or other is None or one[:1] != other[:1]:
        return None
    (name, old_id, old), (_, new_id, new) = one, other
    same = _sorted(_parsed(old)) == _sorted(_parsed(new))
    if old_id == new_id and same:
        return Cause("arguments_respelled", f"the arguments of {name} are spelled otherwise")
    if old_id != new_id and same:
        return Cause("ids_renamed", f"the call of {name} has another id: {_cut(old_id)} → {_cut(new_id)}")
    return None


def _result(was: Element, now: Element) -> Cause | None:
    one, other = _result_id(was), _result_id(now)
    if one is None or other is None:
        return None
    if one == other:
        found = difference(_said(was), _said(now))
        return Cause("result_changed", f"the result of call {one} changed{_where(found)}")
    return None


SIGNS: tuple[Callable[[Element, Element], Cause | None], ...] = (_thought, _call, _result)


def _read_call(element: Element) -> tuple[str, str, Any] | None:
    """Name, id and arguments of a call, in the spelling of any wire."""
    value = _object(element.value)
    if chat := _object(value.get("call")):
        inner = _object(chat.get("function"))
        return str(inner.get("name")), str(chat.get("id")), inner.get("arguments")
    if value.get("type") == "tool_use":
        return str(value.get("name")), str(value.get("id")), value.get("input")
    if value.get("type") == "function_call":
        return str(value.get("name")), str(value.get("call_id")), value.get("arguments")
    return None


def _result_id(element: Element) -> str | None:
    value = _object(element.value)
    if value.get("type") in ("tool_result", "function_call_output") or value.get("role") == "tool":
        said = value.get("tool_use_id") or value.get("call_id") or value.get("tool_call_id")
        return str(said) if said else None
    return None


def _parsed(arguments: Any) -> Any:
    if not isinstance(arguments, str):
        return arguments
    try:
        return msgspec.json.decode(arguments)
    except (msgspec.DecodeError, RecursionError, UnicodeError):
        return arguments


def _sorted(value: Any) -> bytes:
    try:
        return msgspec.json.encode(value, order="deterministic")
    except (ValueError, TypeError, RecursionError):
        return jsonio.encode(value)
