"""Conversations, replies and streams that a property test draws: valid, and as odd as real ones."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from hypothesis import strategies as st

from dragoman.types import (
    Cache,
    Choice,
    Content,
    Json,
    Message,
    Origin,
    Output,
    Refusal,
    Reply,
    Request,
    Sampling,
    Stop,
    Text,
    Tool,
    ToolCall,
    ToolChoice,
    ToolResult,
    Usage,
)
from dragoman.types.reply import StopReason
from ingredients import (
    FIELDS,
    SAMPLING,
    Some,
    broken_arguments,
    citations,
    foreigners,
    hosted,
    hosted_tools,
    names,
    objects,
    schemas,
    spoken,
    tokens,
    visible,
    words,
)
from says import ANYTHING, Can


def maybe(draw: Any, strategy: Some[Any], *, when: bool = True) -> Any:
    """A value, or None ("not said")."""
    return draw(strategy) if when and draw(st.booleans()) else None


@st.composite
def texts(draw: Any, can: Can, most: int | None = None) -> tuple[Text, ...]:
    """One text or several; an empty one now and then where it is alone."""
    count = draw(st.integers(1, most or can.texts))
    said = words if can.blank and count == 1 else spoken if can.blank else visible
    return tuple(Text(text=draw(said), cache=_cache(draw, can)) for _ in range(count))


@st.composite
def messages(draw: Any, can: Can = ANYTHING) -> tuple[Message, ...]:
    """A conversation in order: instructions, then turns; every call answered in the tool message after it."""
    out: list[Message] = []
    if not can.turns:
        return (_said(draw, can, "user"),)
    if draw(st.booleans()):
        out.append(Message(role="system", content=draw(texts(can, 1))))
    used = 0
    for _ in range(draw(st.integers(1, can.turns))):
        role = draw(st.sampled_from(can.roles)) if out else "user"
        out.append(_said(draw, can, role if role == "user" or draw(st.booleans()) else "user"))
        if draw(st.integers(0, 3)) == 0:
            continue
        turn = draw(answers(can, used))
        out.append(turn)
        calls = [block for block in turn.content if isinstance(block, ToolCall)]
        used += len(calls)
        if calls:
            out.append(draw(results(can, tuple(calls))))
            if draw(st.booleans()):
                out.append(draw(answers(replace(can, kinds=()), used)))
    if out[-1].role == "assistant":
        goes_on = Message(role="assistant", content=(Text(text=draw(visible)),), prefill=True)
        out.append(
            goes_on if can.prefill and draw(st.booleans()) else Message(role="user", content=draw(texts(can, 1)))
        )
    return tuple(out)


def _said(draw: Any, can: Can, role: Any) -> Message:
    content: tuple[Content, ...] = draw(texts(can))
    if role == "user" and can.media:
        content += tuple(draw(st.lists(st.one_of(*can.media), max_size=2)))
        if can.foreign and draw(st.integers(0, 5)) == 0:
            content += (draw(foreigners.filter(lambda block: block.wire in can.foreign)),)
        if len(content) > 1:
            content = tuple(block for block in content if not isinstance(block, Text) or block.text)
    elif can.tools_change and draw(st.integers(0, 5)) == 0:
        content = (*(() if can.change_alone else content), draw(st.one_of(*can.tools_change)))
    return Message(role=role, content=content, name=maybe(draw, names, when=can.author_names))


@st.composite
def answers(draw: Any, can: Can = ANYTHING, used: int = 0) -> Message:
    """An assistant's turn: reasoning, hosted work, text, then calls; never nothing at all."""
    content: list[Content] = []
    if can.thoughts:
        content += draw(st.lists(st.one_of(*can.thoughts), max_size=can.reasonings))
    if can.hosted and draw(st.integers(0, 3)) == 0:
        content += draw(st.one_of(*(hosted[wire] for wire in can.hosted)))
    count = draw(st.integers(0, 3)) if can.kinds else 0
    if draw(st.booleans()) or not (count or content):
        phase = draw(st.sampled_from([None, None, "commentary", "final"])) if can.phases else None
        said = [Text(text=text.text, cache=text.cache, phase=phase) for text in draw(texts(can)) if text.text]
        if len(said) == 1 and can.citations and draw(st.integers(0, 3)) == 0:
            cited = citations[draw(st.sampled_from(can.citations))]
            said = [Text(text=said[0].text, citations=(cited,), phase=phase)]
        content += said
    if can.refusals and draw(st.integers(0, 5)) == 0:
        content.append(Refusal(text=draw(spoken)))
    content += [draw(calls(can, used + at)) for at in range(count)]
    return Message(role="assistant", content=tuple(content or (Text(text="…"),)))


@st.composite
def calls(draw: Any, can: Can, at: int) -> ToolCall:
    """A call with an id of its own; its arguments are an object's text, or broken."""
    kind = draw(st.sampled_from(can.kinds))
    written = objects.map(_object_text)
    text = draw(st.one_of(written, broken_arguments) if can.broken else written) if kind == "function" else draw(words)
    id = draw(st.sampled_from(can.ids)).format(at)
    namespace = maybe(draw, names, when=can.namespaces)
    return ToolCall(id=id, name=draw(names), arguments=text, kind=kind, namespace=namespace)


def _object_text(value: dict[str, Any]) -> str:
    return ToolCall.of("", "", value).arguments


@st.composite
def results(draw: Any, can: Can, answered: tuple[ToolCall, ...]) -> Message:
    """The tool message that answers a batch, in its order."""
    blocks: list[Content] = []
    for call in answered:
        content: list[Any] = [
            Text(text=draw(spoken if can.blank else visible)) for _ in range(draw(st.integers(1, can.results)))
        ]
        if can.json and draw(st.integers(0, 3)) == 0:
            content.append(Json(value=_object_text(draw(objects))))
        if can.result_media and draw(st.integers(0, 2)) == 0:
            content.append(draw(st.one_of(*can.result_media)))
        blocks.append(
            ToolResult(
                call_id=call.id,
                content=tuple(content),
                name=call.name if can.result_names and draw(st.booleans()) else None,
                is_error=maybe(draw, st.booleans(), when=can.errors),
                kind=call.kind,
            )
        )
    if can.after_results and draw(st.integers(0, 4)) == 0:
        blocks.append(Text(text=draw(visible)))
    return Message(role="tool", content=tuple(blocks))


@st.composite
def tools(draw: Any, can: Can = ANYTHING) -> Tool:
    """A tool's definition."""
    kind = draw(st.sampled_from(can.kinds or ("function",)))
    function = kind == "function"
    return Tool(
        name=draw(names),
        description=maybe(draw, words),
        parameters=draw(schemas) if function else None,
        strict=maybe(draw, st.booleans(), when=can.strict_tools and function),
        kind=kind,
        namespace=maybe(draw, names, when=can.namespaces and function),
        cache=_cache(draw, can),
    )


def _cache(draw: Any, can: Can) -> Cache | None:
    return draw(FIELDS["cache"]) if can.cache and draw(st.integers(0, 7)) == 0 else None


@st.composite
def requests(draw: Any, can: Can = ANYTHING) -> Request:
    """A request with a handful of its fields said."""
    offered: list[Any] = draw(st.lists(tools(can), max_size=can.offers, unique_by=lambda tool: tool.name))
    if can.hosted_tools and draw(st.integers(0, 3)) == 0:
        offered.append(draw(hosted_tools.filter(lambda tool: tool.wire in can.hosted_tools)))
    said = {*can.always, *draw(st.lists(st.sampled_from(can.fields), max_size=6, unique=True))}
    values = {name: draw(FIELDS[name]) for name in sorted(said)}
    sampling = Sampling(**{name: value for name, value in values.items() if name in SAMPLING})
    own = {name: value for name, value in values.items() if name not in SAMPLING}
    return Request(
        messages=draw(messages(can)),
        tools=tuple(offered) or None,
        tool_choice=_choice(draw, can, [tool.name for tool in offered if isinstance(tool, Tool)]),
        output=_output(draw, can),
        sampling=sampling,
        **own,
    )


def _choice(draw: Any, can: Can, offered: list[str]) -> ToolChoice | None:
    if not offered or not can.choice or draw(st.booleans()):
        return None
    mode = draw(st.sampled_from(["auto", "none", "required"]))
    chosen = tuple(offered[: min(can.choice_names, draw(st.integers(0, 2)))]) if mode != "none" else ()
    if len(chosen) == 1:
        mode = "required"
    return ToolChoice(mode=mode, names=chosen or None)


def _output(draw: Any, can: Can) -> Output | None:
    kind = draw(st.sampled_from((None, None, *can.outputs)))
    if kind != "schema":
        return None if kind is None else Output(kind=kind)
    more = can.output_details
    name, described = (draw(names), maybe(draw, words)) if more else (None, None)
    strict = maybe(draw, st.booleans(), when=more)
    return Output(kind="schema", name=name, schema=draw(schemas), strict=strict, description=described)


@st.composite
def usages(draw: Any, can: Can = ANYTHING) -> Usage:
    """Totals with their subsets inside."""
    read, written, fresh, thought, spoken_tokens = (draw(tokens) for _ in range(5))
    values: dict[str, Any] = {"input": read + written + fresh, "output": thought + spoken_tokens}
    optional = {
        "cache_read": read,
        "cache_write": written,
        "cache_write_1h": written // 2,
        "reasoning": thought,
        "input_audio": min(7, fresh),
        "output_audio": min(7, spoken_tokens),
        "output_image": min(3, spoken_tokens),
        "hosted_calls": {"web_search": 2},
        "tier": "standard",
        "cost": 1_500_000,
    }
    values |= {name: value for name, value in optional.items() if name in can.usage and draw(st.booleans())}
    return Usage(**values)


@st.composite
def choices(draw: Any, can: Can) -> tuple[Choice, ...]:
    """More answers to the same request."""
    plain = replace(can, kinds=(), thoughts=(), hosted=())
    said = draw(st.lists(answers(plain), min_size=1, max_size=2))
    return tuple(Choice(message=message, stop=Stop(reason="end")) for message in said)


@st.composite
def replies(draw: Any, can: Can = ANYTHING, origin: Origin | None = None) -> Reply:
    """A whole reply with its bookkeeping."""
    can = replace(can, cache=False)
    message = draw(answers(can))
    calls = any(isinstance(block, ToolCall) for block in message.content)
    reason: StopReason = "tool_calls" if calls else draw(st.sampled_from(can.stops))
    sequence = draw(spoken) if reason == "stop_sequence" and can.sequences else None
    return Reply(
        message=Message(role="assistant", content=message.content, origin=origin),
        stop=Stop(reason=reason, sequence=sequence),
        usage=draw(usages(can)),
        id=draw(st.sampled_from(["resp_1", "回复-2"])) if can.reply_id else None,
        model="some-model",
        created=draw(st.integers(0, 2**33)) if can.created else None,
        others=draw(choices(can)) if can.others and draw(st.integers(0, 5)) == 0 else None,
    )


@st.composite
def pieces(draw: Any, whole: bytes, most: int = 8) -> list[bytes]:
    """Any split of `whole`, empty pieces among them."""
    cuts = sorted(draw(st.lists(st.integers(0, len(whole)), max_size=most)))
    return [whole[start:end] for start, end in zip([0, *cuts], [*cuts, len(whole)], strict=True)]
