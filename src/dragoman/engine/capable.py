"""What a chat template knows, found by asking it: small conversations are rendered, and what came of them is read.

Templates say nothing of themselves. Reading their source for words (`tools`, `system`) is wrong in both directions:
one mentions tools to refuse them, another handles the system prompt without naming it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from itertools import product
from typing import Any, Literal, TypeAlias, get_args

from dragoman.engine.template import Template, Turn
from dragoman.errors import ApiError
from dragoman.types.base import Value

Arguments: TypeAlias = Literal["object", "text"]
Empty: TypeAlias = Literal["text", "null"]
Ids: TypeAlias = Literal["any", "short", "named"]
Form: TypeAlias = tuple[Arguments, Empty, Ids]

SWITCHES = ("enable_thinking", "thinking")
EFFORT = "reasoning_effort"
SYSTEM, ASKED, SAID, NAME, KEY, CITY, SECOND, RESULT, THOUGHT = (
    "Sysword", "Askword", "Saidword", "probe_tool", "probekey", "Cityword", "Townword", "Resultword", "Thoughtword"
)  # fmt: skip
PROBE = 2_000_000  # steps: a template that needs more for two messages runs away
NEW_YEAR = datetime(2026, 1, 1)  # what a probe is told; nothing is read off it
IDS: dict[Ids, str] = {"any": "call_probe_0001", "short": "prb000001", "named": f"functions.{NAME}:0"}

TOOL: Turn = {
    "type": "function",
    "function": {
        "name": NAME,
        "description": "A probe.",
        "parameters": {"type": "object", "properties": {KEY: {"type": "string"}}, "required": [KEY]},
    },
}
USER: Turn = {"role": "user", "content": ASKED}
ANSWER: Turn = {"role": "assistant", "content": SAID}


class Capabilities(Value, frozen=True, kw_only=True):
    """What can be put into a template so that the model sees it.

    `arguments`: as an object, or as JSON text where an object comes out as something else. `empty`: how an assistant's
    turn of calls alone has its content. `ids` of calls are free, must be nine letters and digits, or are all that tells
    the name (`functions.NAME:NUMBER`). `alternates`: turns of user and assistant must alternate. `switch`: the variable
    that turns reasoning on and off. `parts`: content is read as a list of parts only. `parallel`: a turn may hold
    several calls. `answered`: results must be answered before the user speaks again.
    """

    tools: bool = False
    calls: bool = False
    results: bool = False
    system: bool = False
    late_system: bool = False
    alternates: bool = False
    arguments: Arguments = "object"
    empty: Empty = "text"
    ids: Ids = "any"
    parts: bool = False
    parallel: bool = False
    answered: bool = False
    reasoning: bool = False
    switch: str | None = None
    effort: bool = False

    @property
    def taught(self) -> bool:
        """Whether the model was taught to call tools: its template lists them, or at least writes calls of the past."""
        return self.tools or self.calls


def capabilities(template: Template) -> Capabilities:
    """What `template` knows. A template that renders nothing at all knows nothing."""
    parts = not _shows(template, [USER], ASKED) and _shows(template, [_parted(USER)], ASKED)
    say = _parted if parts else _same
    user, answer = say(USER), say(ANSWER)
    system = say({"role": "system", "content": SYSTEM})
    form = _form_of_calls(template, user, say)
    arguments, empty, ids = form or ("object", "text", "any")
    talk = [] if form is None else [user, *_call(form, say)]
    both = [] if form is None else [user, *_call(form, say, (CITY, SECOND))]
    results = _shows(template, talk, RESULT, tools=[TOOL])
    return Capabilities(
        tools=_shows(template, [user], NAME, tools=[TOOL]),
        calls=form is not None,
        results=results,
        system=_shows(template, [system, user], SYSTEM),
        late_system=_shows(template, [user, answer, system, user], SYSTEM),
        alternates=_shows(template, [user], ASKED) and not _shows(template, [user, user], ASKED),
        arguments=arguments,
        empty=empty,
        ids=ids,
        parts=parts,
        parallel=_shows(template, both, CITY, tools=[TOOL]) and _shows(template, both, SECOND, tools=[TOOL]),
        answered=results and not _shows(template, [*talk, user], ASKED, tools=[TOOL]),
        reasoning=_shows(template, [user, {**answer, **thought(THOUGHT)}], THOUGHT),
        switch=next((name for name in SWITCHES if name in template.reads), None),
        effort=EFFORT in template.reads,
    )


def thought(text: str) -> Mapping[str, str]:
    """An assistant's reasoning under each of the names that templates read."""
    return {"reasoning_content": text, "reasoning": text, "thinking": text}


def as_parts(text: str) -> list[Mapping[str, str]]:
    """A text as the list of one part."""
    return [{"type": "text", "text": text}]


def _form_of_calls(template: Template, user: Turn, say: Any) -> Form | None:
    """The first form of a call that comes out whole, the usual one first."""
    listed = (_rendered(template, [user], [TOOL]) or "").count(NAME)
    for ids, empty, arguments in product(get_args(Ids), get_args(Empty), get_args(Arguments)):
        form: Form = (arguments, empty, ids)
        prompt = _rendered(template, [user, *_call(form, say)], [TOOL])
        # Name and value are there, and neither as Python's own spelling of an object nor as a text within a text.
        spoilt = ("'" + KEY, '\\"' + KEY)
        if prompt and prompt.count(NAME) > listed and CITY in prompt and not any(bad in prompt for bad in spoilt):
            return form
    return None


def _call(form: Form, say: Any, cities: Sequence[str] = (CITY,)) -> list[Turn]:
    """A turn of one call a city, and the results."""
    arguments, empty, ids = form
    calls: list[Turn] = []
    results: list[Turn] = []
    for place, city in enumerate(cities):
        call_id = f"{IDS[ids][:-1]}{place}"
        said: Any = {KEY: city} if arguments == "object" else f'{{"{KEY}": "{city}"}}'
        calls.append({"id": call_id, "type": "function", "function": {"name": NAME, "arguments": said}})
        results.append(say({"role": "tool", "name": NAME, "tool_call_id": call_id, "content": RESULT}))
    return [{"role": "assistant", "content": "" if empty == "text" else None, "tool_calls": calls}, *results]


def _shows(template: Template, messages: Sequence[Turn], word: str, tools: Sequence[Turn] | None = None) -> bool:
    """Whether `word` is in what comes out: as often as it went in, in messages. Nothing is asked of no messages."""
    prompt = _rendered(template, messages, tools) if messages else None
    return prompt is not None and prompt.count(word) >= max(1, sum(word == _words(turn) for turn in messages))


def _words(turn: Turn) -> str | None:
    content = turn["content"]
    return content if isinstance(content, str) or content is None else content[0]["text"]


def _rendered(template: Template, messages: Sequence[Turn], tools: Sequence[Turn] | None) -> str | None:
    try:
        return template.render(messages, tools, now=NEW_YEAR, work=PROBE)
    except ApiError:
        return None


def _parted(turn: Turn) -> Turn:
    return {**turn, "content": as_parts(turn["content"])}


def _same(turn: Turn) -> Turn:
    return turn
