"""Rules for who speaks when, and for what is offered to the model."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from dragoman.history.rules import Finding, find
from dragoman.history.unfinished import why_unfinished
from dragoman.history.view import INSTRUCTIONS, SPOKEN, Speaker, View
from dragoman.types.content import Media, Reasoning, ToolCall, ToolResult
from dragoman.types.tool import Tool

NEEDS_TURNS = ("messages", "responses")  # wires that refuse a request of instructions alone
WANTS_TOOLS = ("messages",)  # wires some of whose servers refuse a history of calls without their tools
NEEDS_TOOLS = ("chat", "messages")  # wires that refuse a tool choice without tools


def turns(view: View) -> Iterator[Finding]:
    """Turns that broke off or were split, blocks in messages of the wrong role."""
    before = None
    for at, message in enumerate(view.request.messages):
        why = why_unfinished(message)
        if why is not None:
            text = f"this turn was not finished ({why}): leave it out, with the results of its calls"
            yield find("unfinished-turn", ("messages", at), text)
        if view.wire == "chat" and before is not None and message.role == before.role == "assistant" and _calls(before):
            text = "a turn with calls goes on in a second assistant message: make them one"
            yield find("split-turn", ("messages", at), text)
        before = message
        for inner, block in enumerate(message.content):
            kind = type(block)
            if kind is ToolResult and message.role != "tool":
                text = f"a result stands in a message of the {message.role}: put it in a tool message"
                yield find("misplaced-block", ("messages", at, "content", inner), text)
            elif kind in (ToolCall, Reasoning) and message.role != "assistant":
                text = "only an assistant message holds calls and reasoning: put it there"
                yield find("misplaced-block", ("messages", at, "content", inner), text, fixable=False)


def roles(view: View) -> Iterator[Finding]:
    """Who begins, who follows whom, who speaks last."""
    messages, dialect = view.request.messages, view.dialect
    if view.wire in NEEDS_TURNS and not view.kept and is_silent(view):
        yield find("no-messages", ("messages",), "nobody asks anything: add a user message")
    if dialect.alternate_roles:
        for at in out_of_turn(messages, view.wire):
            text = f"this server wants user and assistant to take turns: a message of the {messages[at].role} is one too many"
            yield find("roles-alternate", ("messages", at), text)
    if messages and messages[-1].role == "assistant" and dialect.prefill != "open":
        marked = dialect.prefill == "marked"
        if not (marked and messages[-1].prefill):
            text = "this server does not continue an assistant's last message" + (
                " that is not marked" if marked else ""
            )
            place = ("messages", len(messages) - 1)
            yield find("assistant-last", place, f"{text}: end with a user message", fixable=marked)


def out_of_turn(messages: Sequence[Speaker], wire: str) -> list[int]:
    """Messages that do not take turns: two of a kind in a row, or an assistant first. Runs of results are exempt."""
    found: list[int] = []
    before, images = "", False
    for at, message in enumerate(messages):
        role = message.role
        if role in INSTRUCTIONS:
            continue
        if role == "tool":
            before = "user" if any(isinstance(block, SPOKEN) for block in message.content) else "tool"
            images = wire == "chat" and (images or holds_images(message))
            continue
        spoke = "user" if before == "tool" and images else before  # images of results become a user message
        if spoke == role or (role == "assistant" and not before):
            found.append(at)
        before, images = role, False
    return found


def holds_images(message: Speaker) -> bool:
    """Whether media are among a message's results."""
    return any(
        isinstance(item, Media) for block in message.content if isinstance(block, ToolResult) for item in block.content
    )


def is_silent(view: View) -> bool:
    """Whether the request is instructions alone, and is neither a prompt of the server's nor asks for no answer."""
    messages = view.request.messages
    if any(message.role not in INSTRUCTIONS for message in messages):
        return False
    own = (view.request.opaque or {}).get(view.wire, {})
    if own.get("prompt") or own.get("generate") is False:
        return False
    return view.wire != "responses" or len(messages) < 2


def systems(view: View) -> Iterator[Finding]:
    """Instructions that this dialect says elsewhere than they stand."""
    lone = view.dialect.one_system_message
    inline = view.wire == "messages" and view.dialect.inline_system != "native"
    if not lone and not inline:
        return
    begun, several = False, False
    for at, message in enumerate(view.request.messages):
        if message.role not in INSTRUCTIONS:
            begun = True
        elif begun:
            text = "this server knows instructions at the start only: say them there, or in a user message"
            yield find("system-in-the-middle", ("messages", at), text)
        elif lone and several:
            text = "this server knows one system message: make them one"
            yield find("several-systems", ("messages", at), text)
        several = several or message.role in INSTRUCTIONS


def offers(view: View) -> Iterator[Finding]:
    """Tools, and what is said of them."""
    request, choice = view.request, view.request.tool_choice
    seen: dict[tuple[str | None, str], tuple[int, Tool]] = {}
    for at, tool in enumerate(request.tools or ()):
        if not isinstance(tool, Tool):
            continue
        first, other = seen.setdefault((tool.namespace, tool.name), (at, tool))
        if first != at:
            text = f"tools[{first}] and tools[{at}] are both named {tool.name!r}: rename one, or leave out the copy"
            yield find("duplicate-tool", ("tools", at), text, fixable=other == tool)
    bare = view.wire in WANTS_TOOLS and not view.offered and bool(view.pairs.calls)
    if bare:
        text = "the history has calls and no tool is offered: some servers want the tools with it"
        yield find("tools-missing", ("tools",), text)
    elif choice is not None and not view.offered:
        if view.wire in NEEDS_TOOLS:
            yield find("choice-without-tools", ("tool_choice",), "no tool is offered: leave the tool choice out")
    elif choice is not None:
        for name in choice.names or ():
            if name not in view.offered:
                known = ", ".join(sorted(view.offered))
                yield find("unknown-tool-choice", ("tool_choice",), f"no tool is named {name!r}: one of {known}")
    if request.parallel_tools is not None and not view.offered and view.wire == "chat":
        text = "no tool is offered: say nothing about parallel calls"
        yield find("parallel-without-tools", ("parallel_tools",), text)


def _calls(message: Speaker) -> bool:
    return any(isinstance(block, ToolCall) for block in message.content)
