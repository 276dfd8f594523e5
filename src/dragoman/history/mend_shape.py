"""Turns put in order: who speaks when, and what is offered."""

from __future__ import annotations

import msgspec

from dragoman.history.draft import Draft, Placed, Turn
from dragoman.history.mend_pairs import drop_calls
from dragoman.history.shape import NEEDS_TOOLS, NEEDS_TURNS, WANTS_TOOLS, holds_images, is_silent
from dragoman.history.unfinished import finished, why_unfinished
from dragoman.history.view import INSTRUCTIONS, SPOKEN, View, leftovers
from dragoman.types.content import Text, ToolCall, ToolResult
from dragoman.types.message import Role
from dragoman.types.tool import HostedTool, Tool, ToolChoice


def mend_unfinished(draft: Draft, *, keep_text: bool) -> None:
    """Turns that broke off go, with the results of their calls; their text stays where that is asked for."""
    broken = {at: turn for at, turn in enumerate(draft.turns) if why_unfinished(turn.message) is not None}
    if not broken:
        return
    spots = {
        (at, inner)
        for at, turn in broken.items()
        for inner, block in enumerate(turn.content)
        if not (keep_text and isinstance(block, Text) and block.text.strip())
    }
    held = {id(turn) for turn in draft.turns if turn.content}
    drop_calls(draft, spots)
    for turn in broken.values():
        turn.message = finished(turn.message)
        if id(turn) not in held:
            draft.notes.add(turn.path, "dropped", "a turn that was not finished, and said nothing", loss=False)
    emptied = held | {id(turn) for turn in broken.values()}
    draft.turns = [turn for turn in draft.turns if turn.content or id(turn) not in emptied]


def mend_places(draft: Draft) -> None:
    """Results stand in tool messages: a user's message that holds some becomes one, out of any other they are taken."""
    out: list[Turn] = []
    for turn in draft.turns:
        out.append(turn)
        results = [placed for placed in turn.blocks if isinstance(placed[1], ToolResult)]
        if not results or turn.role == "tool":
            continue
        rest = [placed for placed in turn.blocks if not isinstance(placed[1], ToolResult)]
        if turn.role == "user":
            turn.changes["role"] = "tool"
            turn.blocks = [*results, *rest]
            draft.notes.add((*turn.path, "role"), "renamed", "results stand in tool messages", loss=False)
            continue
        turn.blocks = rest
        for path, _ in results:
            draft.notes.add(path, "moved", "results stand in tool messages", loss=False)
        out[-1:] = [turn, Turn.of("tool", results)] if rest else [Turn.of("tool", results)]
    draft.turns = out


def mend_split_turns(draft: Draft) -> None:
    """On the chat wire a turn with calls is one message: what follows it in another joins it."""
    if draft.wire != "chat":
        return
    out: list[Turn] = []
    for turn in draft.turns:
        before = out[-1] if out else None
        calls = before is not None and any(isinstance(block, ToolCall) for block in before.content)
        if before is not None and calls and turn.role == before.role == "assistant":
            _join(draft, before, turn)
        else:
            out.append(turn)
    draft.turns = out


def mend_roles(draft: Draft) -> None:
    """User and assistant take turns, the user first (S4-19, C-05).

    Neighbours of one role become one message where nothing but what they say would change; otherwise, and before an
    assistant that begins, the placeholder stands between them.
    """
    if not draft.dialect.alternate_roles:
        return
    out: list[Turn] = []
    last: Turn | None = None  # the last turn that is not instructions
    place, images = 0, False
    for turn in _speaking_apart(draft):
        if turn.role in INSTRUCTIONS:
            out.append(turn)
            continue
        if turn.role == "tool":
            images = images or (draft.wire == "chat" and holds_images(turn))
        elif last is None:
            if turn.role == "assistant":
                out.append(_filler(draft, "user", turn))
        elif last.role == turn.role and _may_join(last, turn):
            _instructions_first(draft, out, place)
            place = len(out) - 1
            _join(draft, last, turn)
            continue
        elif last.role == turn.role or (last.role == "tool" and images and turn.role == "user"):
            out.append(_filler(draft, "user" if turn.role == "assistant" else "assistant", turn))
        images = images and turn.role == "tool"
        place = len(out)
        out.append(turn)
        last = turn
    draft.turns = out


def mend_silence(draft: Draft) -> None:
    """Somebody asks."""
    view = View(draft.done(), draft.wire, draft.dialect)
    if draft.wire in NEEDS_TURNS and not draft.kept and is_silent(view):
        draft.turns.append(Turn.of("user", [(("messages",), Text(text=draft.placeholder))], ("messages",)))
        draft.notes.add(("messages",), "synthesised", "a request in which nobody asks got the placeholder", loss=False)


def mend_last(draft: Draft) -> None:
    """Where the server continues marked messages only, a last assistant message is marked."""
    last = draft.turns[-1] if draft.turns else None
    if draft.dialect.prefill == "marked" and last is not None and last.role == "assistant" and not last.done().prefill:
        last.changes["prefill"] = True
        reason = "this server continues a last message only when it is marked"
        draft.notes.add((*last.path, "prefill"), "synthesised", reason, loss=False)


def mend_offers(draft: Draft) -> None:
    """Tools once each, those of the history where the wire wants them, and nothing said about tools that are not there."""
    request = draft.request
    kept = _without_copies(draft)
    if len(kept) != len(request.tools or ()):
        draft.changes["tools"] = tuple(kept)
    view = View(draft.done(), draft.wire, draft.dialect)
    if view.offered:
        return
    if draft.wire in WANTS_TOOLS and (stubs := _stubs(draft)):
        draft.changes |= {"tools": stubs, "tool_choice": ToolChoice(mode="none")}
        draft.notes.add(("tool_choice",), "synthesised", "a request that offered no tool asks for no call", loss=False)
        reason = "the history has calls: their tools are named again, and the choice is to call none (PAR-004)"
        draft.notes.add(("tools",), "synthesised", reason, loss=False)
        return
    choice = request.tool_choice
    if choice is not None and draft.wire in NEEDS_TOOLS:
        draft.changes["tool_choice"] = None
        loss = choice.mode == "required" or bool(choice.names)
        draft.notes.add(("tool_choice",), "dropped", "no tool is offered", loss=loss)
    if request.parallel_tools is not None and draft.wire == "chat":
        draft.changes["parallel_tools"] = None
        draft.notes.add(("parallel_tools",), "dropped", "no tool is offered", loss=False)


def _without_copies(draft: Draft) -> list[Tool | HostedTool]:
    seen: dict[tuple[str | None, str], Tool] = {}
    kept: list[Tool | HostedTool] = []
    for at, tool in enumerate(draft.request.tools or ()):
        if isinstance(tool, Tool):
            if seen.get((tool.namespace, tool.name)) == tool:
                draft.notes.add(("tools", at), "dropped", f"a copy of the tool {tool.name!r}", loss=False)
                continue
            seen.setdefault((tool.namespace, tool.name), tool)
        kept.append(tool)
    return kept


def _stubs(draft: Draft) -> tuple[Tool, ...]:
    """A definition that says nothing but the name, for each tool that the history calls."""
    calls = (block for turn in draft.turns if turn.role == "assistant" for block in turn.content)
    stubs = {
        (call.namespace, call.name): Tool(
            name=call.name,
            namespace=call.namespace,
            kind="custom" if call.kind == "custom" else "function",
            parameters=None if call.kind == "custom" else {"type": "object"},
        )
        for call in calls
        if isinstance(call, ToolCall)
    }
    return tuple(stubs.values())


def _speaking_apart(draft: Draft) -> list[Turn]:
    """The turns with what follows results as a user's own turn."""
    out: list[Turn] = []
    for turn in draft.turns:
        results = [placed for placed in turn.blocks if not isinstance(placed[1], SPOKEN)]
        rest = [placed for placed in turn.blocks if isinstance(placed[1], SPOKEN)]
        if turn.role != "tool" or not rest:
            out.append(turn)
            continue
        draft.notes.add(turn.path, "moved", "what followed the tool results became a user message", loss=False)
        if results:
            turn.blocks = results
            out.append(turn)
        out.append(Turn.of("user", rest))
    return out


def _instructions_first(draft: Draft, turns: list[Turn], place: int) -> None:
    """Put the turn at `place` after the instructions behind it, which would part what is to be joined."""
    for turn in turns[place + 1 :]:
        draft.notes.add(turn.path, "moved", "it stood between two messages that became one", loss=False)
    turns[place:] = [*turns[place + 1 :], turns[place]]


def _may_join(first: Turn, second: Turn) -> bool:
    """Assistants always may: a filler would part calls from their results."""
    one, other = first.message, second.message
    return first.role == "assistant" or (one.name == other.name and not leftovers(other))


def _join(draft: Draft, first: Turn, second: Turn) -> None:
    """The blocks of the second turn at the end of the first; they keep who made them."""
    for key in leftovers(second.message):
        draft.notes.add((*second.path, key), "dropped", "its message became a part of the one before it")
    origin = second.message.origin
    moved: list[Placed] = second.blocks
    if origin is not None and origin != first.message.origin:
        moved = [
            (path, block if block.origin is not None else msgspec.structs.replace(block, origin=origin))
            for path, block in moved
        ]
    first.paths += [path for path, _ in moved]
    first.content += [block for _, block in moved]
    if second.message.prefill is not None:
        first.changes["prefill"] = second.message.prefill
    draft.notes.add(second.path, "merged", "two messages of one role became one", loss=False)


def _filler(draft: Draft, role: Role, before: Turn) -> Turn:
    reason = f"the placeholder as the {role}: this server wants user and assistant to take turns (S4-19, C-05)"
    draft.notes.add(before.path, "synthesised", reason, loss=False)
    return Turn.of(role, [(before.path, Text(text=draft.placeholder))], before.path)
