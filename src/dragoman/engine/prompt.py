"""A request as the prompt of one model: through its own template, which sees only what it knows (pure functions).

The wire of Chat Completions says arguments as text, knows five roles and lets anybody speak at any time; most templates
want an object, know three or four roles, and some refuse two user turns in a row. So the turns are fitted to what the
template was found to know (`engine.capable`), never to its name; what a template knows is not touched.
"""

from __future__ import annotations

import hashlib
import string
from collections import deque
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any

import msgspec

from dragoman.engine.capable import EFFORT, Capabilities, as_parts, thought
from dragoman.engine.template import Template, Turn
from dragoman.types.base import Value
from dragoman.types.content import (
    Content,
    Foreign,
    HostedCall,
    HostedResult,
    Json,
    Media,
    Reasoning,
    Refusal,
    Text,
    ToolCall,
    ToolResult,
    ToolsChange,
    Valid,
)
from dragoman.types.message import Message
from dragoman.types.note import Action, Note, Path
from dragoman.types.opaque import JSON
from dragoman.types.request import Request
from dragoman.types.tool import Tool

Said = dict[str, Any]

KWARGS = "chat_template_kwargs"  # where vLLM, SGLang and llama.cpp take a template's own variables
CUSTOM_KEY = "input"
ANSWERED = "OK."
FOLDED = "~instructions"  # a turn of instructions that the user's next one is joined to
END = "\N{INVISIBLE SEPARATOR}the turn goes on here\N{INVISIBLE SEPARATOR}"
BASE62 = string.digits + string.ascii_letters


class Prompt(Value, frozen=True, kw_only=True):
    """`text` is what the model reads, to the last character; `turns` are the messages that its template was given."""

    text: str
    turns: tuple[JSON, ...]
    notes: tuple[Note, ...] = ()


def prompt(template: Template, can: Capabilities, request: Request, now: datetime, *, open_turn: bool = True) -> Prompt:
    """The prompt of `request`, told by the template that it is `now`.

    The last message is continued when it is a prefill; else, with `open_turn`, the assistant's turn is opened. Raises ApiError
    invalid_request where the template refuses the conversation, with its words and the place.
    """
    fitted = _Fitting(can)
    for at, message in enumerate(request.messages):
        fitted.add(message, ("messages", at))
    turns = _one_by_one(_joined(fitted.turns, can), can)
    tools = _tools(request, fitted) if can.tools else []
    goes_on = bool(request.messages) and request.messages[-1].prefill is True and turns[-1]["role"] == "assistant"
    shown = [
        {**turn, "content": as_parts(turn["content"])} if can.parts and turn["content"] else turn for turn in turns
    ]
    switches = variables(request, can)
    if open_turn:
        text = written(template, shown, tools, now=now, variables=switches, goes_on=goes_on)
    else:
        text = template.render(shown, tools, now=now, variables=switches, open_turn=False)
    return Prompt(text=text, turns=tuple(shown), notes=tuple(fitted.notes))


def written(
    template: Template,
    turns: Sequence[Turn],
    tools: Sequence[Turn] = (),
    *,
    now: datetime,
    variables: Mapping[str, Any] | None = None,
    goes_on: bool = False,
) -> str:
    """The prompt of ready turns. `goes_on`: the last turn, the assistant's own, is left open where its text ends."""
    if not goes_on:
        return template.render(turns, tools, now=now, variables=variables)
    last = turns[-1]
    content = last["content"] or ""
    marked = (
        content + END
        if isinstance(content, str)
        else [*content[:-1], {**content[-1], "text": content[-1]["text"] + END}]
    )
    text = template.render(
        [*turns[:-1], {**last, "content": marked}], tools, now=now, variables=variables, open_turn=False
    )
    return text[: text.rindex(END)] if END in text else text


def variables(request: Request, can: Capabilities) -> Mapping[str, Any]:
    """The template's own variables: those that `chat_template_kwargs` says, and the effort where it knows a switch."""
    bag = (request.opaque or {}).get("chat") or {}
    said = bag.get(KWARGS)
    given: Said = dict(said) if isinstance(said, dict) else {}
    if request.effort is not None and can.switch is not None:
        given.setdefault(can.switch, request.effort != "none")
    if request.effort is not None and can.effort:
        given.setdefault(EFFORT, request.effort)
    return given


def tool(offered: Tool) -> Said:
    """A tool in the form that templates print; a custom tool takes its text as the one property of an object."""
    one = {"type": "object", "properties": {CUSTOM_KEY: {"type": "string"}}, "required": [CUSTOM_KEY]}
    parameters = one if offered.kind == "custom" else offered.parameters or {"type": "object", "properties": {}}
    said = {"name": offered.name, "description": offered.description or "", "parameters": parameters}
    return {"type": "function", "function": said}


def _tools(request: Request, fitted: _Fitting) -> list[Said]:
    """All tools that are offered at the end of the conversation: a template has one list, at its head."""
    choice = request.tool_choice
    if choice is not None and choice.mode == "none":
        return []
    offered = {one.name: one for one in (*(request.tools or ()), *fitted.added) if isinstance(one, Tool)}
    names = choice.names if choice is not None and choice.names else tuple(offered)
    kept = (offered[name] for name in names if name in offered and name not in fitted.removed)
    return [tool(one) for one in kept]


class _Fitting:
    """Messages become turns one by one; what a template cannot be told is said in words, and noted."""

    def __init__(self, can: Capabilities) -> None:
        self.can = can
        self.turns: list[Said] = []
        self.notes: list[Note] = []
        self.added: list[Any] = []
        self.removed: set[str] = set()
        self._calls: dict[str, ToolCall] = {}
        self._ids: dict[str, str] = {}

    def add(self, message: Message, path: Path) -> None:
        """The turns of one message."""
        match message.role:
            case "system" | "developer":
                self._instructions(message, path)
            case "assistant":
                self._assistant(message, path)
            case _:
                self._others(message, path)

    def _instructions(self, message: Message, path: Path) -> None:
        text = self._text(message.content, path)
        is_first = all(turn["role"] == "system" for turn in self.turns)
        if self.can.system and is_first and self.turns and not self.can.late_system:
            self.turns[-1]["content"] += f"\n\n{text}"
        elif self.can.system and (is_first or self.can.late_system):
            self.turns.append({"role": "system", "content": text})
        elif text:
            self._note(path, "moved", "the template knows no system message here: it is said by the user", loss=False)
            self.turns.append({"role": "user", "content": text, FOLDED: True})

    def _assistant(self, message: Message, path: Path) -> None:
        calls = [block for block in message.content if isinstance(block, ToolCall)]
        text = self._text(message.content, path)
        turn: Said = {"role": "assistant", "content": text}
        if thoughts := [block.text for block in message.content if isinstance(block, Reasoning) and block.text]:
            turn |= thought("\n".join(thoughts))
        if calls and not self.can.calls:
            self._note(path, "substituted", "the template knows no calls: they are said as text", loss=False)
            said = [f"<tool_call>\n{_as_json(call)}\n</tool_call>" for call in calls]
            turn["content"] = "\n".join([text, *said] if text else said)
        elif calls:
            if text and self.can.empty == "null":  # such a template looks at calls only where there is no text
                self.turns.append(turn)
                turn = {"role": "assistant"}
            turn["content"] = text if self.can.empty == "text" else None
            turn["tool_calls"] = [self._call(call, (*path, "content", message.content.index(call))) for call in calls]
        self._calls |= {call.id: call for call in calls}
        self.turns.append(turn)

    def _call(self, call: ToolCall, path: Path) -> Said:
        found = call.parsed()
        arguments: Any = found.arguments if isinstance(found, Valid) else {}
        if call.kind == "custom":
            arguments = {CUSTOM_KEY: call.arguments}
        elif not isinstance(found, Valid):
            self._note((*path, "arguments"), "substituted", f"{found.why}: the template is given an empty object")
        if self.can.arguments == "text":
            arguments = call.arguments if isinstance(found, Valid) else msgspec.json.encode(arguments).decode()
        return {
            "id": self._id(call.id, call.name),
            "type": "function",
            "function": {"name": call.name, "arguments": arguments},
        }

    def _others(self, message: Message, path: Path) -> None:
        """A user's turn, or results and what else stands beside them."""
        for at, block in enumerate(message.content):
            if isinstance(block, ToolResult):
                self.turns.append(self._result(block, (*path, "content", at)))
        rest = [block for block in message.content if not isinstance(block, ToolResult)]
        if not rest and message.role == "tool":
            return
        if self.can.answered and self.turns and self.turns[-1]["role"] == "tool":
            self._note(
                path, "synthesised", f"the template wants an answer before the user speaks: {ANSWERED!r}", loss=False
            )
            self.turns.append({"role": "assistant", "content": ANSWERED})
        self.turns.append({"role": "user", "content": self._text(message.content, path)})

    def _result(self, block: ToolResult, path: Path) -> Said:
        call = self._calls.get(block.call_id)
        name = call.name if call is not None else block.name or "unknown"
        text = self._text(block.content, path)
        if self.can.results:
            return {"role": "tool", "name": name, "tool_call_id": self._id(block.call_id, name), "content": text}
        self._note(path, "substituted", "the template knows no results: they are said by the user", loss=False)
        return {"role": "user", "content": f"<tool_response>\n{text}\n</tool_response>"}

    def _id(self, said: str, name: str) -> str:
        if self.can.ids == "any":
            return said
        if said not in self._ids:
            short = _short(said)
            self._ids[said] = short if self.can.ids == "short" else f"functions.{name}:{len(self._ids)}"
        return self._ids[said]

    def _text(self, content: Iterable[Content], path: Path) -> str:
        """The words of a message or a result; what is no text has a placeholder, and what nobody can say a note."""
        said: list[str] = []
        for at, block in enumerate(content):
            here = (*path, "content", at)
            match block:
                case Text(text=text) | Refusal(text=text):
                    said.append(text)
                case Json(value=value):
                    said.append(value)
                case Media(text=str(text)):
                    said.append(text)
                case Media(kind=kind):
                    self._note(here, "substituted", f"this model reads text only: the {kind} is left out")
                    said.append(f"[{kind}: {block.name}]" if block.name else f"[{kind}]")
                case Foreign(kind=kind, payload=payload):
                    self._note(here, "substituted", f"{kind} is shown by its name only")
                    said.append(f"[{kind}{_named(payload)}]")
                case HostedCall() | HostedResult():
                    self._note(here, "dropped", "a tool that another provider ran itself has no place in a template")
                case ToolsChange(add=add, remove=remove):
                    self._note(here, "moved", "a template has one list of tools, at its head", loss=False)
                    self.added += add or ()
                    self.removed |= set(remove or ())
                case _:
                    pass  # reasoning, calls and results have turns and keys of their own
        return "\n".join(said)

    def _note(self, path: Path, action: Action, reason: str, loss: bool = True) -> None:
        self.notes.append(Note(path=path, action=action, reason=reason, loss=loss))


def _joined(turns: Sequence[Said], can: Capabilities) -> list[Said]:
    """Instructions with the user's turn behind them, and neighbours of one role as one turn where a template refuses
    them (TPL-004); else the turns as they are."""
    joined: list[Said] = []
    for turn in turns:
        last = joined[-1] if joined else None
        follows = last is not None and last["role"] == turn["role"] and turn["role"] != "tool"
        if last is not None and follows and (can.alternates or FOLDED in last):
            joined[-1] = _as_one(last, turn)
        else:
            joined.append(turn)
    return [{key: value for key, value in turn.items() if key != FOLDED} for turn in joined]


def _one_by_one(turns: Sequence[Said], can: Capabilities) -> list[Said]:
    """Calls one by one, each with its result behind it, for templates that show one call a turn; else as they are."""
    if can.parallel:
        return list(turns)
    ordered: list[Said] = []
    rest = deque(turns)
    while rest:
        turn = rest.popleft()
        calls = turn.get("tool_calls", ())
        if len(calls) < 2:
            ordered.append(turn)
            continue
        results: list[Said] = []
        while rest and rest[0]["role"] == "tool":
            results.append(rest.popleft())
        for place, call in enumerate(calls):
            said = turn if place == 0 else {"role": "assistant", "content": "" if can.empty == "text" else None}
            ordered.append({**said, "tool_calls": [call]})
            ordered += [result for result in results if result["tool_call_id"] == call["id"]]
        answered = {call["id"] for call in calls}
        ordered += [result for result in results if result["tool_call_id"] not in answered]
    return ordered


def _as_one(one: Said, other: Said) -> Said:
    content = "\n\n".join(filter(None, (one["content"], other["content"])))
    calls = [*one.get("tool_calls", ()), *other.get("tool_calls", ())]
    kept = {key: value for key, value in one.items() if key != FOLDED}
    return {**kept, **other, "content": content, **({"tool_calls": calls} if calls else {})}


def _as_json(call: ToolCall) -> str:
    found = call.parsed()
    arguments: Any = found.arguments if isinstance(found, Valid) else call.arguments
    return msgspec.json.encode({"name": call.name, "arguments": arguments}).decode()


def _named(payload: JSON) -> str:
    """The name that an unknown block gives itself, under any key that says so: `: mcp__x__y`."""
    if not isinstance(payload, dict):
        return ""
    names = (value for key, value in payload.items() if key.endswith("name") and isinstance(value, str))
    name = next(names, None)
    return "" if name is None else f": {name}"


def _short(said: str) -> str:
    """Nine letters and digits, the same for the same id."""
    if len(said) == 9 and said.isalnum() and said.isascii():
        return said
    number = int.from_bytes(hashlib.blake2b(said.encode(errors="replace"), digest_size=8).digest())
    return "".join(BASE62[number // 62**place % 62] for place in range(9))
