"""Prompts: their four forms as messages, and a conversation as one prompt."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from dragoman.types.content import Foreign, Text
from dragoman.types.message import Message, Role
from dragoman.types.opaque import bag, marks
from dragoman.wire import jsonio
from dragoman.wire.base import Fields, Notes
from dragoman.wire.completions.parts import WIRE, text_of
from dragoman.wire.jsonio import refuse

TOKENS = "tokens"  # the kind of a block that holds token ids
MORE = "prompt"  # the leftover of the one message that holds the prompts after the first
BETWEEN, CUE = "\n\n", "Assistant:"  # what stands between two turns, and what the model goes on from
LABELS: dict[Role, str] = {"system": "System", "developer": "System", "user": "User", "assistant": CUE[:-1]}


def take_prompt(fields: Fields) -> tuple[Message, ...]:
    """The prompt as one user message: a text, or token ids as a block of this wire's own.

    Of several prompts the first is the message, the others its leftovers: they are other requests, not further turns,
    and a wire that has no such list notes them (CMP-002). Raises RemoteError with the place for any other form.
    """
    prompt = fields.left.get("prompt")
    if prompt is None or prompt == []:
        return ()
    del fields.left["prompt"]
    if isinstance(prompt, str) or _is_tokens(prompt):
        return (Message(role="user", content=(block_of(prompt),)),)
    if not isinstance(prompt, list):
        refuse(f"expected a text, token ids or a list of either, got {jsonio.kind(prompt)}", "prompt")
    for at, item in enumerate(prompt):
        if not (isinstance(item, str) or item == [] or _is_tokens(item)):
            refuse(f"expected a text or a list of token ids, got {jsonio.kind(item)}", "prompt", at)
    left: dict[str, Any] = {"~": {"prompt": "list"}}
    if len(prompt) > 1:
        left[MORE] = prompt[1:]
    return (Message(role="user", content=(block_of(prompt[0]),), opaque={WIRE: left}),)


def put_prompt(out: dict[str, Any], messages: Sequence[Message], notes: Notes) -> None:
    """Write the prompt: what one user message says, as it stands; a conversation with its roles in plain words, which is
    noted as a loss: no server knows them again for certain."""
    if len(messages) == 1 and messages[0].role == "user":
        _put_one(out, messages[0], notes)
        return
    turns = [(message, text) for at, message in enumerate(messages) if (text := _turn(message, notes, at)).strip("\n")]
    if len(turns) == 1 and turns[0][0].role == "user":
        out["prompt"] = turns[0][1]
    elif turns:
        lines = [f"{LABELS[message.role]}: {text.strip(chr(10))}" for message, text in turns]
        if turns[-1][0].role != "assistant":
            lines.append(CUE)
        out["prompt"] = BETWEEN.join(lines)
        notes.add(("messages",), "substituted", "a prompt has no roles: each turn says its own in plain words")
    elif messages:
        out["prompt"] = ""


def _put_one(out: dict[str, Any], message: Message, notes: Notes) -> None:
    path = ("messages", 0)
    notes.leftovers(message.opaque, WIRE, path)
    if message.name is not None:
        notes.add((*path, "name"), "dropped", "a prompt has no author")
    lone = message.content[0] if len(message.content) == 1 else None
    said: Any = lone.payload if isinstance(lone, Foreign) and lone.wire == WIRE else text_of(message, notes, path)
    if marks(message.opaque, WIRE).get("prompt") == "list":
        said = [said, *bag(message.opaque, WIRE).get(MORE, [])]
    out["prompt"] = said


def _turn(message: Message, notes: Notes, at: int) -> str:
    path = ("messages", at)
    notes.leftovers(message.opaque, WIRE, path)
    if message.name is not None:
        notes.add((*path, "name"), "dropped", "a prompt has no author")
    if message.role == "tool":
        for inner in range(len(message.content)):
            notes.add((*path, "content", inner), "dropped", "a text completion has no tools and no results")
        return ""
    if message.prefill is not None:
        notes.add((*path, "prefill"), "dropped", "a prompt that ends in an answer is gone on with anyway")
    return text_of(message, notes, path)


def block_of(prompt: Any) -> Text | Foreign:
    return Text(text=prompt) if isinstance(prompt, str) else Foreign(wire=WIRE, kind=TOKENS, payload=prompt)


def _is_tokens(value: Any) -> bool:
    return isinstance(value, list) and bool(value) and all(type(item) is int for item in value)
