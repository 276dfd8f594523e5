"""gpt-oss's channels: each message has a header that says for whom it is, and headers come in any order and shape."""

from __future__ import annotations

import re

from dragoman.engine.parsers.json_forms import name_in
from dragoman.engine.parsers.scan import Cut, Out, Reading, Said, Scan, Thought, gathered, told
from dragoman.engine.parsers.values import Tools, call, named

CHANNEL, MESSAGE = "<|channel|>", "<|message|>"
ENDS = ("<|end|>", "<|call|>", "<|return|>", "<|start|>")
RECIPIENT = re.compile(r"\bto=([^\s<]+)")


def harmony(scan: Scan, tools: Tools) -> Reading:
    """`analysis` is reasoning; what has a recipient is a call; all else is for the user, a preamble too (TPA-029).

    A header that nobody can make sense of (TPA-027) loses no word of its message.
    """
    header = ""
    while True:
        more, mark = yield from gathered(scan.until(MESSAGE, *ENDS))
        header += more
        if mark == MESSAGE:
            yield from _message(scan, header, tools)
        elif "{" in header and RECIPIENT.search(header):  # the mark between header and message was forgotten
            head, _, body = header.partition("{")
            yield _called(head, "{" + body, mark is not None, tools)
        elif (
            header.strip() and header.strip() != "assistant" and CHANNEL not in header and not RECIPIENT.search(header)
        ):
            yield Said(header)
        if mark is None:
            return
        header = ""


def _message(scan: Scan, header: str, tools: Tools) -> Reading:
    """The body of a message, up to its end."""
    if recipient := RECIPIENT.search(header):
        body, mark = yield from gathered(scan.until(*ENDS, CHANNEL))
        yield _called(recipient[0], body, mark is not None, tools)
    else:
        kind: type[Out] = Thought if _channel(header).startswith("analysis") else Said
        mark = yield from told(scan.until(*ENDS, CHANNEL), kind)
    if mark == CHANNEL:  # the next header begins without an end of this message
        scan.unread(CHANNEL)


def _called(header: str, body: str, ended: bool, tools: Tools) -> Out:
    found = RECIPIENT.search(header)
    name = named(found[1], tools) if found else name_in(body)
    made = call(name, body) if ended or body.rstrip().endswith("}") else None
    return made if made is not None else Cut(name, body)


def _channel(header: str) -> str:
    return header.partition(CHANNEL)[2].strip()
