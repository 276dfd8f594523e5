"""Requests out of what is on disk: a recording, bodies a line, or a saved conversation."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import msgspec

from dragoman.dialect.model import BASE
from dragoman.doctor.sent import Sent
from dragoman.errors import DragomanError, RemoteError
from dragoman.transport.recording import Recorded, read
from dragoman.types.collect import Collector
from dragoman.types.message import Message
from dragoman.types.reply import Usage
from dragoman.types.save import Conversation, is_saved, loads
from dragoman.wire import find, jsonio
from dragoman.wire.base import Exchange
from dragoman.wire.chat.usage import decode_usage as chat
from dragoman.wire.messages.usage import decode_usage as messages
from dragoman.wire.responses.usage import decode_usage as responses

READERS: dict[str, Callable[[Mapping[str, Any]], Usage]] = {
    "chat": lambda raw: chat(raw, BASE),
    "messages": lambda raw: messages(raw, BASE),
    "responses": lambda raw: responses(raw, BASE),
}


def load(path: Path) -> list[Sent]:
    """The requests in `path`: a folder that `record=` filled, or a file.

    Raises UsageError for a folder that holds no recording, RemoteError with the line for a file that holds something else,
    OSError for what cannot be read.
    """
    if path.is_dir():
        return [sent for each in read(path) if (sent := recorded(each)) is not None]
    return parse(path.read_bytes())


def recorded(each: Recorded) -> Sent | None:
    """An exchange of a recording; None where its body is no request to a model."""
    body = each.asked
    if not isinstance(body, dict) or not ("messages" in body or "input" in body):
        return None
    return Sent(name=f"{each.number:06}", body=body, usage=_answered(each))


def parse(data: bytes) -> list[Sent]:
    """The requests in a file: JSON or a JSON object a line, each a body, or an object that holds one as `body` or `request`,
    with the `usage` or the `response` of its answer beside it; or a saved conversation, as the requests of its turns.

    Raises RemoteError with the line.
    """
    try:
        whole, _ = jsonio.decode(data)
    except RemoteError:
        whole = None
    if is_saved(whole):
        return list(_saved(loads(data)))
    if isinstance(whole, list):
        return [_line(item, at) for at, item in enumerate(whole, 1)]
    if isinstance(whole, dict):
        return [_line(whole, 1)]
    return [_line(_json(line, at), at) for at, line in enumerate(data.splitlines(), 1) if line.strip()]


def _json(line: bytes, number: int) -> Any:
    try:
        return jsonio.decode(line)[0]
    except RemoteError as error:
        raise RemoteError(error.code, f"line {number}: {error.message}") from None


def _line(item: Any, number: int) -> Sent:
    said = item if isinstance(item, dict) else {}
    body: Any = next((said[key] for key in ("body", "request") if isinstance(said.get(key), dict)), said)
    if not ("messages" in body or "input" in body):
        raise RemoteError("bad_shape", f"line {number}: no request to a model: it has neither `messages` nor `input`")
    usage = None if body is said else said.get("usage")
    answer = said.get("response")
    if usage is None and isinstance(answer, dict):
        usage = answer.get("usage")
    return Sent(name=f"line {number}", body=body, usage=_usage(usage, body) if isinstance(usage, dict) else None)


def _usage(raw: Mapping[str, Any], body: Mapping[str, Any]) -> Usage:
    """A usage in the words of its wire: they tell which it is, but for two that begin alike."""
    if "prompt_tokens" in raw:
        wire = "chat"
    elif "input" in body or "input_tokens_details" in raw:
        wire = "responses"
    else:
        wire = "messages"
    return READERS[wire](raw)


def _answered(each: Recorded) -> Usage | None:
    """The usage of an answer; None where it has none, or is none."""
    if each.wire is None or each.status != 200 or not each.body:
        return None
    wire, exchange = find(each.wire), Exchange()
    try:
        if each.body.lstrip()[:1] == b"{":
            return wire.decode_reply(each.body, BASE, exchange).value.usage
        decoder, collector = wire.stream_decoder(BASE, exchange), Collector()
        for event in (*decoder.feed(each.body), *decoder.close()):
            collector.feed(event)
        return collector.reply.usage
    except DragomanError:  # an answer that cannot be read says nothing of its request
        return None


def _saved(talk: Conversation) -> Iterator[Sent]:
    """The turns of a saved conversation as its requests were: everything before each answer."""
    request, history = talk.request, talk.request.messages
    answers = [at for at, message in enumerate(history) if message.role == "assistant"]
    begun = len(answers) - len(talk.replies)
    for turn, at in enumerate(answers):
        usage = talk.replies[turn - begun].usage if turn >= begun else None
        before: tuple[Message, ...] = history[:at]
        if before:
            cut = msgspec.structs.replace(request, messages=before)
            body = find("chat").encode_request(cut, BASE, Exchange()).http.body
            yield Sent(name=f"turn {turn + 1}", body=msgspec.json.decode(body), usage=usage)
