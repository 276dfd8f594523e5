"""The wire's other address, /api/generate: a prompt and its continuation, which are a chat of one turn."""

from __future__ import annotations

from typing import Any

from dragoman.dialect.model import Dialect
from dragoman.types.opaque import Bag
from dragoman.types.reply import Reply
from dragoman.wire import jsonio
from dragoman.wire.base import Encoded, Exchange, StreamEncoder
from dragoman.wire.jsonio import refuse
from dragoman.wire.ollama import Ollama
from dragoman.wire.ollama import reply as chat
from dragoman.wire.ollama.emit import OllamaStreamEncoder

PATH = "api/generate"
BESIDE = ("thinking", "tool_calls")  # what a message says beside its text, and this address too
# What goes around the chat template of a model, which a turn of a chat has no place for, and why.
TEMPLATES = {
    "raw": "a prompt that has been through a template already",
    "template": "a template of one's own",
    "context": "the tokens of an earlier answer (send a chat instead)",
    "suffix": "what is to come after the answer",
}


def as_chat(body: bytes) -> bytes:
    """A client's body as one for the chat of this wire: its system prompt, and its prompt as the user's turn; without a prompt
    a chat without turns, which only asks that the model be there. Raises RemoteError for what no chat can ask."""
    value, notes = jsonio.decode_object(body)
    if notes:  # there is nowhere to tell them
        raise jsonio.strict_error(body, ValueError(notes[0].reason))
    for key, why in TEMPLATES.items():
        if value.pop(key, None):
            refuse(f"`{key}`: this server asks its models in turns, not for {why}", key)
    if value.pop("messages", None):
        refuse("`messages`: here one prompt is asked; turns are for /api/chat", "messages")
    messages: list[Bag] = []
    prompt, system, images = value.pop("prompt", None), value.pop("system", None), value.pop("images", None)
    for key, said in (("prompt", prompt), ("system", system)):
        if said is not None and not isinstance(said, str):
            refuse(f"expected text, got {jsonio.kind(said)}", key)
    if prompt or images:
        if system:
            messages.append({"role": "system", "content": system})
        messages.append({"role": "user", "content": prompt or "", **({"images": images} if images else {})})
    return jsonio.encode({**value, "messages": messages})


class Generate(Ollama):
    """The codec towards a client of this address, whose request was read `as_chat`."""

    def encode_reply(self, reply: Reply, dialect: Dialect, exchange: Exchange) -> Encoded:
        encoded = chat.encode_reply(reply, dialect, exchange)
        return Encoded(body=jsonio.encode(_flat(jsonio.decode_object(encoded.body)[0])), notes=encoded.notes)

    def stream_encoder(self, dialect: Dialect, exchange: Exchange) -> StreamEncoder:
        return _Encoder(dialect, exchange)


class _Encoder(OllamaStreamEncoder):
    def written(self, line: Bag) -> bytes:
        return super().written(_flat(line))


def _flat(line: dict[str, Any]) -> dict[str, Any]:
    """A line of a chat, or a whole answer, as this address says it."""
    out: dict[str, Any] = {}
    for key, value in line.items():
        if key != "message":
            out[key] = value
            continue
        out["response"] = value.get("content") or ""
        out |= {name: said for name, said in value.items() if name in BESIDE and said}
    return out


wire = Generate()
