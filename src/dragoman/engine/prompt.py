"""A request as the prompt of one model: through its own template, which sees only what it knows (pure functions).

The wire of Chat Completions says arguments as text, knows five roles and lets anybody speak at any time; most templates
want an object, know three or four roles, and some refuse two user turns in a row. So the turns are fitted to what the
template was found to know (`engine.capable`), never to its name; what a template knows is not touched.
"""

from __future__ import annotations

import hashlib
import re
import string
from collections import deque
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any

import msgspec

from dragoman.engine.capable import EFFORT, Capabilities, as_parts, thought
from dragoman.engine.constrain import CUSTOM_KEY, offered
from dragoman.engine.template import Template, Turn
from dragoman.engine.unsaid import KWARGS, tell_message, tell_request
from dragoman.types.base import Value
from dragoman.types.content import (
    Content,
    Foreign,
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
from dragoman.wire.base import Notes

Said = dict[str, Any]

INSTRUCTIONS = ("system", "developer")
ANSWERED = "OK."
LISTED = "You may call these tools:"
FOLDED = "~instructions"  # a turn of instructions that the user's next one is joined to
END = "\N{INVISIBLE SEPARATOR}the turn goes on here\N{INVISIBLE SEPARATOR}"
BETWEEN = re.compile(r"[\n\r<>|\[\]]")  # lines, and the marks that templates put around thoughts
BASE62 = string.digits + string.ascii_letters
# What templates with `reasoning_effort` were taught: low, medium and high. Source: OpenAI's harmony format, "System message".
EFFORTS = {"none": "low", "minimal": "low", "xhigh": "high", "max": "high"}


class Prompt(Value, frozen=True, kw_only=True):
    """`text` is what the model reads, to the last character; `turns` are the messages that its template was given."""

    text: str
    turns: tuple[JSON, ...]
    notes: tuple[Note, ...] = ()


def prompt(
    template: Template,
    can: Capabilities,
    request: Request,
    now: datetime,
    *,
    open_turn: bool = True,
    own_system: bool = True,
) -> Prompt:
    """The prompt of `request`, told by the template that it is `now`; what the model is not told of it is noted.

    The last message is continued when it is a prefill; else, with `open_turn`, the assistant's turn is opened. Without
    `own_system` an empty system message stands where none was said: templates put words of their own in its place, that
    nobody said. Raises ApiError invalid_request where the template refuses the conversation, with its words and the place.
    """
    fitted = _Fitting(can)
    if can.system and not own_system and not (request.messages and request.messages[0].role in INSTRUCTIONS):
        fitted.turns.append({"role": "system", "content": ""})
    tell_request(request, can, fitted.notes)
    for at, message in enumerate(request.messages):
        tell_message(message, fitted.notes, ("messages", at))
        fitted.add(message, ("messages", at))
    if can.calls and not can.tools and (told := offered(request)):
        fitted.tell_tools(told)
    turns = _one_by_one(_joined(fitted.turns, can), can)
    tools = [tool(one) for one in offered(request)] if can.tools else []
    goes_on = bool(request.messages) and request.messages[-1].prefill is True and turns[-1]["role"] == "assistant"
    shown = [
        {**turn, "content": as_parts(turn["content"])} if can.parts and turn["content"] else turn for turn in turns
    ]
    switches = variables(request, can, fitted.notes)
    if open_turn:
        text = written(template, shown, tools, now=now, variables=switches, goes_on=goes_on)
    else:
        text = template.render(shown, tools, now=now, variables=switches, open_turn=False)
    fitted.tell_thoughts(text)
    return Prompt(text=text, turns=tuple(shown), notes=fitted.notes.done())


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


def variables(request: Request, can: Capabilities, notes: Notes) -> Mapping[str, Any]:
    """The template's own variables: those that `chat_template_kwargs` says, and the effort where it knows a switch."""
    bag = (request.opaque or {}).get("chat") or {}
    said = bag.get(KWARGS)
    given: Said = dict(said) if isinstance(said, dict) else {}
    if request.effort is None:
        return given
    if can.effort and EFFORT not in given:
        given[EFFORT] = EFFORTS.get(request.effort, request.effort)
        if given[EFFORT] != request.effort and not (request.effort == "none" and can.switch):
            notes.add(("effort",), "clamped", f"the template takes low, medium, high: {given[EFFORT]!r}")
    if can.switch is not None and can.switch not in given:
        given[can.switch] = request.effort != "none"
        if not can.effort and request.effort != "none":
            notes.add(("effort",), "clamped", "the template turns reasoning on or off: it is on", loss=False)
    if can.switch is None and not can.effort and (request.effort != "none" or can.reasoning):
        notes.add(("effort",), "dropped", "the template has no switch for reasoning")
    return given


def tool(one: Tool) -> Said:
    """A tool in the form that templates print; a custom tool takes its text as the one property of an object."""
    text = {"type": "object", "properties": {CUSTOM_KEY: {"type": "string"}}, "required": [CUSTOM_KEY]}
    parameters = text if one.kind == "custom" else one.parameters or {"type": "object", "properties": {}}
    said = {"name": one.name, "description": one.description or "", "parameters": parameters}
    return {"type": "function", "function": said}


class _Fitting:
    """Messages become turns one by one; what a template cannot be told is said in words, and noted."""

    def __init__(self, can: Capabilities) -> None:
        self.can = can
        self.turns: list[Said] = []
        self.notes = Notes()
        self.thoughts: list[tuple[Path, str]] = []
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

    def tell_tools(self, tools: Sequence[Tool]) -> None:
        """The tools in the system message: this template knows how they are called, and has no list of them."""
        said = "\n".join((LISTED, *(msgspec.json.encode(tool(one)).decode() for one in tools)))
        first = self.turns[0] if self.turns else None
        if first is not None and first["role"] == "system":
            first["content"] = f"{first['content']}\n\n{said}".lstrip()
        else:
            head: Said = {"role": "system"} if self.can.system else {"role": "user", FOLDED: True}
            self.turns.insert(0, {**head, "content": said})

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
        calls = [(at, block) for at, block in enumerate(message.content) if isinstance(block, ToolCall)]
        text = self._text(message.content, path)
        turn: Said = {"role": "assistant", "content": text}
        if thoughts := self._thoughts(message, path):
            turn |= thought("\n".join(thoughts))
        if calls and not self.can.calls:
            self._note(path, "substituted", "the template knows no calls: they are said as text", loss=False)
            said = [f"<tool_call>\n{_as_json(call)}\n</tool_call>" for _, call in calls]
            turn["content"] = "\n".join([text, *said] if text else said)
        elif calls:
            if text and self.can.empty == "null":  # such a template looks at calls only where there is no text
                self.turns.append(turn)
                turn = {"role": "assistant"}
            turn["content"] = text if self.can.empty == "text" else None
            turn["tool_calls"] = [self._call(call, (*path, "content", at)) for at, call in calls]
        self._calls.update((call.id, call) for _, call in calls)
        self.turns.append(turn)

    def _thoughts(self, message: Message, path: Path) -> list[str]:
        """What can be read of a message's reasoning; a summary where there is nothing else."""
        found: list[str] = []
        for at, block in enumerate(message.content):
            if not isinstance(block, Reasoning):
                continue
            here, text = (*path, "content", at), block.text or "\n".join(block.summary or ())
            if text:
                found.append(text)
                self.thoughts.append((here, text))
            if block.redacted or not text:
                self._note(here, "dropped", "sealed reasoning is read by the service that made it, and by nobody else")
            elif not block.text:
                self._note(here, "substituted", "the summary of a thought stands for the thought", loss=False)
        return found

    def tell_thoughts(self, prompt: str) -> None:
        """Note the thoughts that the template did not put into `prompt`: some have no place for any, most leave out those
        of earlier turns, as the model was taught."""
        shown = _pieces(prompt) if self.thoughts else frozenset[str]()
        for path, text in self.thoughts:
            if not self.can.reasoning or not _pieces(text) <= shown:
                said = "leaves out the reasoning of an earlier turn" if self.can.reasoning else "shows no reasoning"
                self._note(path, "dropped", f"the template {said}", loss=not self.can.reasoning)

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
                case ToolsChange():
                    self._note(here, "moved", "a template has one list of tools, at its head", loss=False)
                case _:
                    pass  # reasoning, calls and results have turns and keys of their own; `unsaid` tells of the rest
        return "\n".join(said)

    def _note(self, path: Path, action: Action, reason: str, loss: bool = True) -> None:
        self.notes.add(path, action, reason, loss=loss)


def _joined(turns: Sequence[Said], can: Capabilities) -> list[Said]:
    """Instructions with the user's turn behind them, and neighbours of one role as one turn where a template refuses
    them (TPL-004); else the turns as they are."""
    runs: list[list[Said]] = []
    for turn in turns:
        last = runs[-1][-1] if runs else None
        follows = last is not None and last["role"] == turn["role"] and turn["role"] != "tool"
        if last is not None and follows and (can.alternates or FOLDED in last):
            runs[-1].append(turn)
        else:
            runs.append([turn])
    return [_as_one(run) for run in runs]


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


def _as_one(run: Sequence[Said]) -> Said:
    merged = {key: value for turn in run for key, value in turn.items() if key != FOLDED}
    if len(run) > 1:
        merged["content"] = "\n\n".join(filter(None, (turn["content"] for turn in run)))
        if calls := [call for turn in run for call in turn.get("tool_calls", ())]:
            merged["tool_calls"] = calls
    return merged


def _as_json(call: ToolCall) -> str:
    found = call.parsed()
    arguments: Any = found.arguments if isinstance(found, Valid) else call.arguments
    return msgspec.json.encode({"name": call.name, "arguments": arguments}).decode()


def _pieces(text: str) -> frozenset[str]:
    """What stands between line breaks and marks: a text that holds another one has all of its pieces, so nobody searches."""
    return frozenset(filter(None, map(str.strip, BETWEEN.split(text))))


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
