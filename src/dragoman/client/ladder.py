"""The ways to ask for a value, best first, and which refusal leads from one to the next.

Native: the service holds the answer to the schema. Tool: a tool that takes the value is offered, and must be called. Json:
the service holds the answer to JSON, the prompt says the schema. Prompt: the prompt says all of it. Order and reasons:
dialects §3, "Fallback ladder".
"""

from __future__ import annotations

import re
from typing import Any

import msgspec
from msgspec.structs import replace

from dragoman.catalog.models import ModelFacts
from dragoman.catalog.target import Target
from dragoman.client.form import Form, Rung
from dragoman.dialect.model import BASE, Dialect
from dragoman.errors import ApiError
from dragoman.types.content import Text
from dragoman.types.message import Message, system
from dragoman.types.request import Output, Request
from dragoman.types.tool import HostedTool, Tool, ToolChoice

ANSWER = "answer"
CALL_IT = "Give your final answer by calling the tool `{name}`, once."
SAY_IT = "Answer with one JSON object that fits this JSON Schema, and with nothing else:\n{schema}"
HOW = {"native": "its schema", "tool": "a tool", "json": "plain JSON", "prompt": "its prompt"}

NO_PLAIN_JSON = frozenset({"messages"})  # wires that know a schema or nothing
REFUSED = frozenset({400, 404, 415, 422, 501})
# What services call the feature that they refuse, in the words of their own bodies and ours of the wire.
FEATURES: dict[Rung, re.Pattern[str]] = {
    "native": re.compile(
        r"response_format|json_schema|text\.format|output_config|output_format|structured.?output|guided|grammar",
        re.IGNORECASE,
    ),
    "tool": re.compile(r"tool|function", re.IGNORECASE),
    "json": re.compile(r"response_format|json_object|text\.format|json.?mode", re.IGNORECASE),
}


def rungs(form: Form, target: Target | None, facts: ModelFacts | None, refused: frozenset[Rung]) -> tuple[Rung, ...]:
    """The ways worth trying for a target, in the order of the form's ladder: without those that its dialect, what is
    known of its model, or an earlier refusal rules out. The last way of the ladder always stays.
    """
    dialect, wire = (BASE, "") if target is None else (target.dialect, target.wire)
    out = set(refused)
    if "schema" not in dialect.json_modes or (facts is not None and facts.schema is False):
        out.add("native")
    if "json" not in dialect.json_modes or wire in NO_PLAIN_JSON:
        out.add("json")
    if facts is not None and facts.tools is False:
        out.add("tool")
    if target is None:  # a model in this process is held to a schema by its engine, and is asked once
        out |= {"tool", "json"}
    ladder = form.wanted.ladder
    return tuple(rung for rung in ladder if rung not in out) or ladder[-1:]


def asked(request: Request, rung: Rung, form: Form, dialect: Dialect) -> Request:
    """The request that asks for the value in this way; `request` is not changed."""
    said = msgspec.json.encode(form.schema).decode()
    match rung:
        case "native":
            strict = True if form.wanted.strict else None
            return replace(request, output=Output(kind="schema", name=form.name, schema=form.schema, strict=strict))
        case "tool":
            return _offered(request, form, dialect)
        case "json":
            return _told(replace(request, output=Output(kind="json")), SAY_IT.format(schema=said))
        case "prompt":
            return _told(replace(request, output=None), SAY_IT.format(schema=said))


def answer_name(tools: tuple[Tool | HostedTool, ...] | None) -> str:
    """The name of the tool that takes the value: one that nobody else has."""
    taken, name = {tool.name for tool in tools or () if isinstance(tool, Tool)}, ANSWER
    while name in taken:
        name += "_"
    return name


def refuses(error: ApiError, rung: Rung) -> bool:
    """Whether a service's refusal is about the way it was asked: a bad request whose own words name the feature."""
    feature, detail = FEATURES.get(rung), error.detail
    if feature is None or error.code not in ("invalid_request", "not_found") or detail.status not in REFUSED:
        return False
    said: Any = (detail.param, detail.vendor_code, detail.body)
    words = msgspec.json.encode(said).decode()
    if feature.search(words):
        return True
    return rung == "native" and "schema" in words.lower() and not FEATURES["tool"].search(words)  # not that of a tool


def _offered(request: Request, form: Form, dialect: Dialect) -> Request:
    name = answer_name(request.tools)
    tool = Tool(name=name, description=form.schema.get("description"), parameters=form.schema)
    made = replace(request, tools=(*(request.tools or ()), tool), output=None)
    choice, takes = None, dialect.tool_choices
    if not _thinks_by_budget(request, dialect):  # a call cannot be forced meanwhile (dialects §1.3)
        if "named" in takes and not request.tools:
            choice = ToolChoice(mode="required", names=(name,))
        elif "required" in takes:
            choice = ToolChoice(mode="required")
    if choice is None:
        made = _told(made, CALL_IT.format(name=name))
    return replace(made, tool_choice=choice)


def _thinks_by_budget(request: Request, dialect: Dialect) -> bool:
    if dialect.thinking_form == "adaptive":
        return False
    by_effort = dialect.effort_budget or dialect.effort_beside
    return request.budget is not None or (by_effort and request.effort not in (None, "none"))


def _told(request: Request, words: str) -> Request:
    """The request with these words at the end of its instructions."""
    first = request.messages[0] if request.messages else None
    if first is None or first.role not in ("system", "developer"):
        return replace(request, messages=(system(words), *request.messages))
    longer: Message = replace(first, content=(*first.content, Text(text=words)))
    return replace(request, messages=(longer, *request.messages[1:]))
