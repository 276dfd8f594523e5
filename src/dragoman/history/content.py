"""Rules for single blocks: empty texts, arguments, ids, names, what is no Unicode."""

from __future__ import annotations

import re
from collections.abc import Iterator

from dragoman.errors import RemoteError
from dragoman.history.rules import Finding, find
from dragoman.history.view import View, is_blank, leftovers
from dragoman.types.content import (
    Content,
    HostedCall,
    Json,
    Media,
    Reasoning,
    Refusal,
    Text,
    ToolCall,
    ToolResult,
)
from dragoman.types.message import Message
from dragoman.types.note import Path
from dragoman.types.tool import Tool
from dragoman.wire import jsonio
from dragoman.wire.replay import may_replay

# Per wire: what an id and a name must look like, and how long they may be (dialects §8d); any other has no rule.
IDS = {"chat": ("", 40), "responses": ("", 64), "messages": ("[a-zA-Z0-9_-]+", 64)}
NAMES = {"chat": "[a-zA-Z0-9_-]{1,64}", "responses": "[a-zA-Z0-9_-]{1,64}", "messages": "[a-zA-Z0-9_-]{1,128}"}
ANY_ID, ANY_NAME = ("", 2**31), "(?s:.)*"
WRAPPED = frozenset({"messages", "ollama"})  # wires on which the input of a call is an object
REFUSES_BLANK = frozenset({"messages"})


def blanks(view: View) -> Iterator[Finding]:
    """Texts, reasoning and messages that say nothing, where they are refused."""
    strict = view.wire in REFUSES_BLANK
    for at, message in enumerate(view.request.messages):
        path = ("messages", at)
        if strict:
            yield from _blank_blocks(message, path)
        if message.role == "assistant" and view.wire in ("chat", "messages") and says_nothing(message, view.wire):
            yield find("empty-message", path, "an assistant message says nothing: leave it out")
    messages = view.request.messages
    if strict and messages and messages[-1].role == "assistant" and (text := ends_blank(messages[-1].content)):
        place = ("messages", len(messages) - 1, "content", len(messages[-1].content) - 1)
        message = f"the last assistant text ends in white space ({text.text[-10:]!r}): trim it"
        yield find("trailing-whitespace", place, message)


def _blank_blocks(message: Message, path: Path) -> Iterator[Finding]:
    if message.role == "user" and not message.content:
        yield find("empty-text", path, "a user message says nothing: leave it out, or say something")
    for inner, block in enumerate(message.content):
        place = (*path, "content", inner)
        if is_blank(block):
            yield find("empty-text", place, "a text is empty or white space only: leave it out")
        elif isinstance(block, Reasoning) and is_empty_reasoning(block):
            yield find("empty-reasoning", place, "reasoning has neither words nor a state: leave it out")
        elif isinstance(block, ToolResult) and len(block.content) > 1:
            for deep, item in enumerate(block.content):
                if is_blank(item):
                    text = "a text of a result is empty or white space only: leave it out"
                    yield find("empty-text", (*place, "content", deep), text)


def ends_blank(content: tuple[Content, ...] | list[Content]) -> Text | None:
    """The text at the very end when it ends in white space."""
    last = content[-1] if content else None
    return last if isinstance(last, Text) and last.text.strip() and last.text != last.text.rstrip() else None


def says_nothing(message: Message, wire: str) -> bool:
    """Whether nothing of an assistant message is content: texts without a letter where those are refused."""
    if message.prefill or leftovers(message):
        return False
    strict = wire in REFUSES_BLANK
    return all(
        (is_blank(block) if strict else isinstance(block, Text) and not block.text)
        or (strict and isinstance(block, Reasoning) and is_empty_reasoning(block))
        for block in message.content
    )


def is_empty_reasoning(block: Reasoning) -> bool:
    """Neither words nor a signature, a ciphertext or redacted data (S3-24)."""
    words = block.text or "".join(block.summary or ())
    return not words.strip() and not block.redacted and not leftovers(block)


def arguments(view: View) -> Iterator[Finding]:
    """Arguments that no object can be made of, where the wire wants one."""
    if view.wire not in WRAPPED:
        return
    for call in view.pairs.calls:
        block = view.block(call.path)
        if isinstance(block, ToolCall) and is_invalid(block):
            text = f"the arguments of `{block.name}` are no JSON object: mend them, or send them wrapped in one"
            yield find("invalid-arguments", (*call.path, "arguments"), text)


def is_invalid(call: ToolCall) -> bool:
    """Whether a call's arguments are no object, however leniently read; free text of a custom tool is always right."""
    text = call.arguments.strip()
    if call.kind == "custom" or text in ("", "null"):
        return False
    raw = text.encode("utf-8", "replace")
    if jsonio.is_object(raw):
        return False
    try:
        return not isinstance(jsonio.decode(raw)[0], dict)
    except RemoteError:
        return True


def unicode(view: View) -> Iterator[Finding]:
    """Halves of surrogate pairs: no UTF-8 holds them."""
    for at, message in enumerate(view.request.messages):
        for inner, block in enumerate(message.content):
            if holds_broken(block):
                text = "a text holds half a surrogate pair, which no JSON text may: replace it by U+FFFD"
                yield find("lone-surrogate", ("messages", at, "content", inner), text)


def holds_broken(block: Content) -> bool:
    """Whether a text of a block cannot be written as UTF-8."""
    if type(block) is Text:  # most blocks are
        return is_broken(block.text)
    return any(is_broken(text) for text in strings(block))


def is_broken(text: str) -> bool:
    """Whether a text cannot be written as UTF-8."""
    if text.isascii():
        return False
    try:
        text.encode()
    except UnicodeEncodeError:
        return True
    return False


def strings(block: Content) -> Iterator[str]:
    """The texts of a block, its own leftovers and payloads apart."""
    match block:
        case Text() | Refusal():
            yield block.text
        case ToolCall():
            yield from (block.id, block.name, block.arguments)
        case ToolResult():
            yield from (block.call_id, block.name or "")
            for item in block.content:
                yield from strings(item)
        case Json():
            yield block.value
        case Reasoning():
            yield from (block.text or "", *(block.summary or ()))
        case Media():
            yield from (block.text or "", block.name or "", block.transcript or "", block.url or "")
        case HostedCall():
            yield block.arguments or ""
        case _:
            pass


def forms(view: View) -> Iterator[Finding]:
    """Ids and names of a form that is sent otherwise, images where none may stand, reasoning that stays behind."""
    pattern, longest = IDS.get(view.wire, ANY_ID)
    id_form = re.compile(view.dialect.call_id_pattern or pattern or "(?s:.)+")
    name_form = re.compile(view.dialect.tool_name_pattern or NAMES.get(view.wire, ANY_NAME))
    for at, tool in enumerate(view.request.tools or ()):
        if isinstance(tool, Tool) and not name_form.fullmatch(tool.name):
            text = f"the name {tool.name!r} has a form that servers refuse: use letters, digits, _ and -"
            yield find("tool-name", ("tools", at, "name"), text)
    for path, role, block in view.blocks:
        if isinstance(block, ToolCall):
            if not name_form.fullmatch(block.name):
                text = f"a call names {block.name!r}, a form that servers refuse: use letters, digits, _ and -"
                yield find("tool-name", (*path, "name"), text)
            if not id_form.fullmatch(block.id) or len(block.id) > longest:
                text = f"the call id {block.id!r} has a form or length that servers refuse: use a plain one, or another is sent"
                yield find("call-id", (*path, "id"), text)
        elif isinstance(block, Media) and role == "assistant" and block.kind != "audio":
            text = f"an assistant message holds no {block.kind}: put it in a user message, or it is left out"
            yield find("image-in-assistant", path, text)
        elif isinstance(block, Reasoning) and view.target is not None:
            origin = block.origin or view.request.messages[int(path[1])].origin
            if not may_replay(origin, view.target, view.dialect):
                text = "this reasoning came from another model: it is not sent back"
                yield find("foreign-reasoning", path, text)
