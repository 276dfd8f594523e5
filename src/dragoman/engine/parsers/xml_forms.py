"""Formats whose calls are written in tags, each value as bare text: the tool's schema says what it is."""

from __future__ import annotations

import re
from collections.abc import Generator
from typing import Any

from dragoman.engine.parsers.json_forms import Form
from dragoman.engine.parsers.scan import Call, Cut, Reading, Said, Scan, between, gathered, told
from dragoman.engine.parsers.values import Tools, arguments, decoded, plain, typed
from dragoman.types.tool import Tool

ATTRIBUTE = re.compile(r"""(\w+)\s*=\s*(?:"([^"]*)"|'([^']*)'|([^\s>]+))""")


def functions(opening: str, closing: str) -> Form:
    """`<function=NAME><parameter=KEY>VALUE</parameter></function>` between `opening` and `closing`: Qwen3-Coder, Seed.

    The opening mark may be missing; models forget it. A value has exactly one line break on each side that is not its own
    (TPA-011). A parameter without a name is left out, whole (TPA-010).
    """

    def form(scan: Scan, tools: Tools) -> Reading:
        while (mark := (yield from told(scan.until(opening, FUNCTION), Said))) is not None:
            if mark == opening:
                scan.keep(opening)
                yield from scan.space()
                if not (yield from scan.starts(FUNCTION)):
                    yield Said(scan.kept())
                    continue
                scan.kept()
            yield from _function(scan, tools)
            yield from scan.space()
            yield from scan.starts(closing)

    return form


FUNCTION, PARAMETER = "<function=", "<parameter="
FUNCTION_END, PARAMETER_END = "</function>", "</parameter>"


def _function(scan: Scan, tools: Tools) -> Reading:
    name, closed = yield from gathered(scan.until(">", "\n"))
    name = name.strip().strip("\"'")
    if closed is None:
        yield Cut(name, "")
        return
    values: dict[str, Any] = {}
    mark = (yield from gathered(scan.until(PARAMETER, FUNCTION_END)))[1]
    while mark == PARAMETER:
        key, closed = yield from gathered(scan.until(">", "\n"))
        if closed != ">":  # no name: its value is read and forgotten
            mark = (yield from gathered(scan.until(PARAMETER_END, FUNCTION_END)))[1]
        else:
            text, mark = yield from _value(scan)
            key = key.strip().strip("\"'")
            values[key] = text if mark is None else typed(text, key, tools.get(name))
        if mark == PARAMETER_END:
            mark = (yield from gathered(scan.until(PARAMETER, FUNCTION_END)))[1]
    yield Call(name, arguments(values)) if mark is not None else Cut(name, arguments(values))


def _value(scan: Scan) -> Generator[None, None, tuple[str, str | None]]:
    """The value, and the mark that ends it. A value on lines of its own ends on a line of its own: its text may well
    speak of `</parameter>`."""
    if (yield from scan.looks()) != "\n":
        return (yield from gathered(scan.until(PARAMETER_END, FUNCTION_END)))
    text, mark = yield from gathered(scan.until(f"\n{PARAMETER_END}", f"\n{PARAMETER}", f"\n{FUNCTION_END}"))
    return text.removeprefix("\n"), None if mark is None else mark.strip()


def glm(scan: Scan, tools: Tools) -> Reading:
    """GLM 4.5 and later: `<tool_call>NAME`, then pairs of `<arg_key>` and `<arg_value>`; pairs may be none (TPA-019)."""
    while (yield from told(scan.until("<tool_call>"), Said)) is not None:
        scan.keep("<tool_call>")
        name, mark = yield from gathered(scan.until("<arg_key>", "</tool_call>"))
        name = name.strip()
        if not name or "\n" in name or name.startswith("{"):
            if mark == "<arg_key>":
                yield from gathered(scan.until("</tool_call>"))
            yield Said(scan.kept())
            continue
        scan.kept()
        values: dict[str, Any] = {}
        while mark == "<arg_key>":
            key, _ = yield from gathered(scan.until("</arg_key>"))
            yield from gathered(scan.until("<arg_value>"))
            text, mark = yield from gathered(scan.until("</arg_value>"))
            values[key.strip()] = text if mark is None else typed(text, key.strip(), tools.get(name))
            if mark is not None:
                _, mark = yield from gathered(scan.until("<arg_key>", "</tool_call>"))
        yield Call(name, arguments(values)) if mark is not None else Cut(name, arguments(values))


def invokes(opening: str, closing: str, prefix: str = "") -> Form:
    """`<invoke name="…"><parameter name="…">VALUE</parameter></invoke>`, several in one wrapper (TPA-023): MiniMax M2
    and, with a prefix in each tag, DeepSeek V3.2, whose attribute `string` says what a value is (TPA-021)."""
    invoke, invoke_end = f"<{prefix}invoke", f"</{prefix}invoke>"

    def form(scan: Scan, tools: Tools) -> Reading:
        while (yield from told(scan.until(opening), Said)) is not None:
            while (yield from between(scan.until(invoke, closing))) == invoke:
                head, mark = yield from gathered(scan.until(">"))
                name = _attributes(head).get("name", "")
                values: dict[str, Any] = {}
                mark = mark and (yield from _parameters(scan, prefix, invoke_end, tools.get(name), values))
                yield Call(name, arguments(values)) if mark is not None else Cut(name, arguments(values))

    return form


def _parameters(
    scan: Scan, prefix: str, end: str, tool: Tool | None, values: dict[str, Any]
) -> Generator[None, None, str | None]:
    """Fills `values`; returns the mark that ended the call, or None where the text ended first."""
    opening, closing = f"<{prefix}parameter", f"</{prefix}parameter>"
    while (mark := (yield from gathered(scan.until(opening, end)))[1]) == opening:
        head, _ = yield from gathered(scan.until(">"))
        text, mark = yield from gathered(scan.until(closing))
        said = _attributes(head)
        key = said.get("name")
        if mark is None:
            values |= {key: text} if key else {}
            return None
        if key:
            values[key] = _stated(text, said["string"]) if "string" in said else typed(_bare(text), key, tool)
    return mark


def _stated(text: str, is_string: str) -> Any:
    value = text if is_string == "true" else plain(decoded(text))
    return text if value is ... else value


def _attributes(head: str) -> dict[str, str]:
    return {found[1]: found[2] or found[3] or found[4] or "" for found in ATTRIBUTE.finditer(head)}


def _bare(text: str) -> str:
    """A value without the one line break that the template writes on each side."""
    return text.removeprefix("\n").removesuffix("\n")
