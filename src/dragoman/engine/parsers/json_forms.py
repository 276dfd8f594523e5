"""Formats whose calls are JSON between marks."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

from dragoman.engine.parsers.scan import Call, Cut, Reading, Said, Scan, between, gathered, told
from dragoman.engine.parsers.values import Tools, call, calls_of, decoded, named, text_of

Form: TypeAlias = Callable[[Scan, Tools], Reading]


def tagged(opening: str, closing: str | None = None) -> Form:
    """`opening`, one or several JSON values, `closing`: Hermes, Qwen2.5, Granite, Nemotron, Phi, MiniMax-M1 …

    What stands between the marks and is no call is text, marks and all. The last call may lack its closing mark, as vLLM
    allows; one whose JSON did not come to its end is cut.
    """

    def form(scan: Scan, tools: Tools) -> Reading:
        while (yield from told(scan.until(opening), Said)) is not None:
            scan.keep(opening)
            yield from _values(scan, closing)

    return form


def _values(scan: Scan, closing: str | None) -> Reading:
    found = False
    while True:
        yield from scan.space()
        if closing is not None and (yield from scan.starts(closing)):
            break
        text, whole = yield from scan.json()
        calls = calls_of(text) if whole else None
        if calls is not None:
            found = True
            scan.keep()
            yield from calls
        elif text and not whole:
            yield Cut(name_in(text), text)
            return
        elif found and not text:
            break  # the closing mark was forgotten: what follows is text
        else:
            if closing is not None:
                yield from gathered(scan.until(closing))
            break
        if closing is None:
            break
    unread = scan.kept()
    if not found:
        yield Said(unread)
    elif rest := unread.removesuffix(closing or "").strip():  # behind a call, and none itself
        yield Said(rest)


def mistral(scan: Scan, tools: Tools) -> Reading:
    """`[TOOL_CALLS]` and a list, or `name[ARGS]{…}`, or `name{…}`, one or several (TPA-017)."""
    mark = "[TOOL_CALLS]"
    found = yield from told(scan.until(mark), Said)
    while found is not None:
        yield from scan.space()
        text, whole = yield from scan.json()
        if text:
            yield from _calls_or(text, whole, mark)
        else:
            yield from _headed(scan)
        found = yield from told(scan.until(mark), Said)


def _headed(scan: Scan) -> Reading:
    """A name, perhaps an id, and the arguments."""
    header, mark = yield from gathered(scan.until("[ARGS]", "[CALL_ID]", "{"))
    if mark == "[CALL_ID]":
        _, mark = yield from gathered(scan.until("[ARGS]", "{"))
    name = header.strip()
    if mark == "{":
        scan.unread(mark)
    yield from scan.space()
    text, whole = yield from scan.json()
    made = call(name, text) if whole or (mark and not text) else None
    yield made if made is not None else Cut(name, text)


def deepseek(scan: Scan, tools: Tools) -> Reading:
    """DeepSeek R1, V3 and V3.1: each call with a header, the older ones with a fence around the arguments."""
    while (yield from told(scan.until(*DEEPSEEK_ALL), Said)) is not None:
        while (yield from between(scan.until(DEEPSEEK_CALL, DEEPSEEK_ALL_END))) == DEEPSEEK_CALL:
            header, mark = yield from gathered(scan.until(DEEPSEEK_NAME, DEEPSEEK_CALL_END))
            name = header.strip()
            if name == "function" and mark is not None:
                name, _ = yield from gathered(scan.until("\n"))
                yield from scan.space()
                yield from scan.starts("```json")
            yield from scan.space()
            text, whole = yield from scan.json()
            made = call(name.strip(), text) if whole else None
            yield made if made is not None else Cut(name.strip(), text)
            if not whole:
                return
            yield from gathered(scan.until(DEEPSEEK_CALL_END))


DEEPSEEK_ALL = ("<｜tool▁calls▁begin｜>", "<｜tool_calls_begin｜>", "<｜tool▁outputs▁begin｜>")
DEEPSEEK_ALL_END, DEEPSEEK_CALL, DEEPSEEK_CALL_END = (
    "<｜tool▁calls▁end｜>",
    "<｜tool▁call▁begin｜>",
    "<｜tool▁call▁end｜>",
)
DEEPSEEK_NAME = "<｜tool▁sep｜>"
KIMI_ALL, KIMI_ENDS = (
    ("<|tool_calls_section_begin|>", "<|tool_call_section_begin|>"),
    ("<|tool_calls_section_end|>", "<|tool_call_section_end|>"),
)
KIMI_CALL, KIMI_NAME, KIMI_CALL_END = "<|tool_call_begin|>", "<|tool_call_argument_begin|>", "<|tool_call_end|>"
KIMI_TOKENS = (*KIMI_ALL, *KIMI_ENDS, KIMI_CALL, KIMI_NAME, KIMI_CALL_END)


def kimi(scan: Scan, tools: Tools) -> Reading:
    """Kimi K2: the header is an id that holds the name, in whatever form the model took from its history (TPA-025)."""
    while (yield from told(scan.until(*KIMI_ALL), Said)) is not None:
        while (yield from between(scan.until(KIMI_CALL, *KIMI_ENDS))) == KIMI_CALL:
            header, mark = yield from gathered(scan.until(KIMI_NAME, KIMI_CALL_END))
            name = named(header, tools)
            if mark == KIMI_CALL_END:
                yield Call(name, "{}")
                continue
            yield from scan.space()
            text, whole = yield from scan.json()
            made = call(name, text) if whole else None
            yield made if made is not None else Cut(name, text)
            if not whole:
                return
            yield from gathered(scan.until(KIMI_CALL_END))


def apertus(scan: Scan, tools: Tools) -> Reading:
    """Apertus: a list of objects of one key each, the name."""
    while (yield from told(scan.until("<|tools_prefix|>"), Said)) is not None:
        yield from scan.space()
        text, whole = yield from scan.json()
        value = decoded(text) if whole else ...
        items = [item for item in value if isinstance(item, dict)] if isinstance(value, list) else []
        for item in items:
            for name, said in item.items():
                made = call(name, text_of(said))
                yield made if made is not None else Cut(name, text_of(said))
        if not items:
            yield Cut(name_in(text), text)
        yield from scan.space()
        yield from scan.starts("<|tools_suffix|>")


def json_calls(opening: str) -> Form:
    """`opening` and JSON, several parted by `;`: Llama 3. Bare JSON is read by `bare`, as in every format."""

    def form(scan: Scan, tools: Tools) -> Reading:
        while (mark := (yield from told(scan.until(opening), Said))) is not None:
            more: str | None = mark
            while more:
                yield from scan.space()
                text, whole = yield from scan.json()
                yield from _calls_or(text, whole, more)
                yield from scan.space()
                more = yield from scan.starts(";")

    return form


def no_form(scan: Scan, tools: Tools) -> Reading:
    """A model that was taught no format: all that `bare` left is text."""
    yield from told(scan.until(), Said)


JSON_BEGINS = ("{", "[{", "[ ", "[\n")  # a list of calls, and neither `[TOOL_CALLS]` nor Python's `[f(x=1)]`


def bare(scan: Scan, tools: Tools) -> Reading:
    """An answer that begins with a JSON call of an offered tool, in a fence or not, and whatever the model was taught.

    Small models forget the marks of their format (TPA-014). JSON that is no call of an offered tool is the answer itself.
    """
    scan.keep()
    yield from scan.space()
    fence = yield from scan.starts("```json", "```")
    found = False
    while (yield from scan.space()) is None and (yield from scan.looks(2)).startswith(JSON_BEGINS):
        text, whole = yield from scan.json()
        calls = calls_of(text) if whole else None
        if calls is not None and all(call.name in tools for call in calls):
            found = True
            scan.keep()
            yield from calls
        elif not whole and (found or name_in(text) in tools):
            yield Cut(name_in(text), text)
            return
        else:
            break
        yield from scan.space()
        if (yield from scan.starts(";", ",")) is None and fence is not None and (yield from scan.starts("```")):
            fence = None
            scan.keep()
    read = scan.kept()
    if read.strip() or not found:
        yield Said(read)


def _calls_or(text: str, whole: bool, mark: str) -> Reading:
    """The calls of a text; a text that is whole and no call is what was said, one that is not is cut."""
    calls = calls_of(text) if whole else None
    if calls is not None:
        yield from calls
    elif whole or not text:
        yield Said(mark + text)
    else:
        yield Cut(name_in(text), text)


def name_in(text: str) -> str:
    """The name that the beginning of a call says; empty where it does not come to that."""
    for key in ('"name"', '"tool_name"'):
        _, found, rest = text.partition(key)
        rest = rest.lstrip(" \t\r\n:")
        if found and rest.startswith('"'):
            said = rest[1:].partition('"')[0]
            return said
    return ""
