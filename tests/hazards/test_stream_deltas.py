"""Guards each delta of a stream: every field of it counts, absent, null and empty are the same, thinking is no text."""

from __future__ import annotations

from itertools import permutations
from typing import Any

import pytest

from dragoman.agent import run
from dragoman.dialect.model import BASE
from dragoman.types import (
    BlockStart,
    Delta,
    Foreign,
    Origin,
    Reasoning,
    Request,
    Stop,
    StreamEvent,
    Text,
    ToolCall,
    Usage,
    user,
)
from hazards.cases import DONE, WIRES, chat, chunk, data, piece, read, read_however_cut, said

KEYS = BASE.reasoning_in
USAGE = {"prompt_tokens": 3, "completion_tokens": 1, "total_tokens": 4}
HEAD = {"id": "chatcmpl-t1", "object": "chat.completion.chunk", "created": 1, "model": "test-model"}


def texts(events: tuple[StreamEvent, ...], kind: type) -> str:
    """The pieces that were told of blocks of one kind."""
    indexes = {event.index for event in events if isinstance(event, BlockStart) and isinstance(event.block, kind)}
    return "".join(event.text for event in events if isinstance(event, Delta) and event.index in indexes)


@pytest.mark.case("STR-017")
@pytest.mark.parametrize(
    "lasts",
    [
        [{"choices": [], "usage": USAGE}],
        [{"usage": USAGE}],
        [{"choices": None, "usage": USAGE}],
        [{"choices": [], "usage": USAGE}, {"usage": USAGE}],
        [{"choices": [], "usage": USAGE}] * 3,
        [{"choices": [{"index": 0, "delta": {}, "finish_reason": None}], "usage": USAGE}],
        [{"choices": [{"index": 0, "delta": None, "finish_reason": None}], "usage": USAGE}],
        [{"choices": [{"index": 0, "finish_reason": "stop", "usage": USAGE}]}],
        [{"choices": [], "usage": {"prompt_tokens": 3}}, {"choices": [], "usage": {**USAGE, "prompt_tokens": 3}}],
        [{"choices": [], "usage": {**USAGE, "completion_tokens": 0}}, {"choices": [], "usage": USAGE}],
    ],
    ids=range(10),
)
@pytest.mark.parametrize("earlier", [{}, {"usage": None}, {"usage": {}}, {"usage": {**USAGE, "completion_tokens": 0}}])
def test_usage_is_counted_once_wherever_it_stands(lasts: list[dict[str, Any]], earlier: dict[str, Any]) -> None:
    stream = chunk({"content": "Hi"}, **earlier) + chunk({}, "stop", **earlier)
    seen = read_however_cut("chat", stream + b"".join(data({**HEAD, **last}) for last in lasts) + DONE)
    assert seen.reply.usage == Usage(input=3, output=1, opaque={"chat": USAGE})
    assert (seen.reply.text, seen.reply.stop) == ("Hi", Stop(reason="end", raw="stop"))


@pytest.mark.case("STR-018")
@pytest.mark.parametrize(
    "first",
    [
        {
            "id": "",
            "object": "",
            "created": 0,
            "model": "",
            "choices": [],
            "prompt_filter_results": [{"prompt_index": 0}],
        },
        {"id": "", "model": "", "choices": None},
        {"id": "", "model": "", "created": None},
        {"id": None, "model": None, "choices": []},
        {"choices": [], "usage": None},
        {},
    ],
    ids=range(6),
)
@pytest.mark.parametrize("times", [1, 2])
def test_a_first_chunk_without_choices_neither_opens_nor_names_the_message(first: dict[str, Any], times: int) -> None:
    rest = [{"role": "assistant", "content": "Yes"}]
    seen = read_however_cut("chat", data(first) * times + chat(*rest))
    whole = read("chat", [chat(*rest)]).reply
    reply = seen.reply
    assert (reply.id, reply.model, reply.created) == ("chatcmpl-t1", "test-model", 1700000000)
    assert (reply.message.content, reply.message.origin, reply.stop) == (
        (Text(text="Yes"),),
        Origin(wire="chat", model="test-model"),
        whole.stop,
    )
    left = {key: value for key, value in first.items() if key == "prompt_filter_results"}
    assert (reply.opaque or {}).get("chat", {}) == left


@pytest.mark.case("STR-030")
@pytest.mark.parametrize("finish", ["stop", "tool_calls", "function_call", "end", "eos", "", "weird", None])
@pytest.mark.parametrize("form", ["tool_calls", "function_call", "custom"])
def test_calls_that_came_decide_and_the_finish_reason_is_a_hint(finish: str | None, form: str) -> None:
    deltas: dict[str, dict[str, Any]] = {
        "tool_calls": {"tool_calls": [piece(index=0, id="a", name="get_weather", arguments='{"city":"Bern"}')]},
        "function_call": {"function_call": {"name": "get_weather", "arguments": '{"city":"Bern"}'}},
        "custom": {"tool_calls": [{"index": 0, "id": "a", "custom": {"name": "get_weather", "input": "Bern"}}]},
    }
    seen = read_however_cut("chat", chat(deltas[form], finish=finish))
    assert [(name, arguments) for _, name, arguments in seen.calls] == [
        ("get_weather", "Bern" if form == "custom" else '{"city":"Bern"}')
    ]
    assert seen.reply.stop == Stop(reason="tool_calls", raw=finish or None)


@pytest.mark.case("STR-030")
@pytest.mark.parametrize(("wire", "word"), [("messages", "end_turn"), ("messages", None), ("responses", "completed")])
def test_on_the_other_wires_too(wire: str, word: str | None) -> None:
    call = ToolCall(id="a", name="get_weather", arguments='{"city":"Bern"}')
    stream = b"".join(said(wire, call, stop="tool_calls"))
    stream = stream.replace(
        b'"stop_reason": "tool_use"', b'"stop_reason": ' + (f'"{word}"' if word else "null").encode()
    )
    assert read_however_cut(wire, stream).reply.stop == Stop(reason="tool_calls", raw=word)


FIELDS: dict[str, tuple[dict[str, Any], tuple[str, str]]] = {
    "reasoning": ({"reasoning_content": " done"}, ("reasoning", " done")),
    "text": ({"content": "Hel"}, ("text", "Hel")),
    "call": ({"tool_calls": [piece(index=0, id="a", name="f", arguments="{}")]}, ("call", "{}")),
}


@pytest.mark.case("STR-033")
@pytest.mark.parametrize("key", KEYS)
@pytest.mark.parametrize("order", list(permutations(FIELDS)), ids="-".join)
def test_every_field_of_one_delta_counts_reasoning_first_then_text_then_calls(order: tuple[str, ...], key: str) -> None:
    delta: dict[str, Any] = {}
    for field in order:
        delta |= FIELDS[field][0]
    renamed = {key if field == "reasoning_content" else field: value for field, value in delta.items()}
    seen = read_however_cut("chat", chat(renamed, finish="tool_calls"))
    assert seen.outline == tuple(FIELDS[field][1] for field in ("reasoning", "text", "call"))


@pytest.mark.case("STR-033")
def test_the_first_word_of_the_answer_is_not_lost() -> None:
    stream = chat({"reasoning_content": "think"}, {"reasoning_content": " done", "content": "Hel"}, {"content": "lo"})
    assert read_however_cut("chat", stream).outline == (("reasoning", "think done"), ("text", "Hello"))


@pytest.mark.case("STR-036")
@pytest.mark.parametrize("wire", WIRES)
def test_thinking_is_never_told_as_text(wire: str) -> None:
    stream = b"".join(said(wire, Reasoning(text="secret plan"), Text(text="Hi")))
    seen = read_however_cut(wire, stream)
    assert (texts(seen.events, Text), texts(seen.events, Reasoning)) == ("Hi", "secret plan")
    assert (seen.reply.text, seen.thoughts) == ("Hi", "secret plan")


@pytest.mark.case("STR-036")
@pytest.mark.parametrize("wire", WIRES)
def test_thinking_alone_makes_no_text_either(wire: str) -> None:
    seen = read_however_cut(wire, b"".join(said(wire, Reasoning(text="secret plan"))))
    assert (seen.reply.text, seen.thoughts, seen.reply.stop.reason) == ("", "secret plan", "end")


SILENT: list[dict[str, Any]] = [
    {},
    {"content": None},
    {"content": ""},
    {"content": []},
    {"role": "assistant"},
    {"role": ""},
    {"role": None, "content": None, "refusal": None, "tool_calls": None, "function_call": None},
    {"reasoning_content": None, "reasoning": "", "reasoning_details": None},
    {"tool_calls": []},
    {"reasoning_details": []},
]


@pytest.mark.case("STR-055")
@pytest.mark.parametrize("silent", [*SILENT, None], ids=repr)
def test_absent_null_and_empty_are_the_same(silent: Any) -> None:
    words = [{"reasoning_content": "r"}, {"content": "A"}, {"content": "B"}]
    between = [each for word in words for each in (silent, word, silent)]
    seen = read_however_cut("chat", chat(*between))
    whole = read("chat", [chat(*words)])
    assert seen.outline == (("reasoning", "r"), ("text", "AB"))
    assert (seen.reply, seen.notes) == (whole.reply, ())


@pytest.mark.case("STR-056")
@pytest.mark.parametrize("wire", WIRES)
@pytest.mark.parametrize(
    "blocks", [(Reasoning(text="hmm"),), (), (Text(text=" "),)], ids=["thinking", "nothing", "blank"]
)
def test_a_reply_without_words_or_calls_is_a_reply_with_its_usage_and_the_agent_is_told(
    wire: str, blocks: tuple[Any, ...]
) -> None:
    seen = read_however_cut(wire, b"".join(said(wire, *blocks, usage=(10, 30))))
    reply = seen.reply
    assert (seen.failure, reply.stop.reason, reply.text.strip(), reply.calls) == (None, "end", "", ())
    assert seen.thoughts == ("hmm" if blocks and isinstance(blocks[0], Reasoning) else "")
    assert reply.usage is not None and (reply.usage.input, reply.usage.output) == (10, 30)
    machine = run.Run(Request(messages=(user("x"),)))
    machine.give(reply)
    assert machine.step() == run.Done(outcome="empty", detail="the model answered with nothing")
    assert (machine.history, machine.incomplete) == ([user("x")], reply)
    assert machine.usage is not None and (machine.usage.input, machine.usage.output) == (10, 30)


def test_a_part_that_is_no_text_is_a_block_of_its_own_as_in_a_whole_reply() -> None:
    thinking = {"type": "thinking", "thinking": [{"type": "text", "text": "hm"}]}
    seen = read_however_cut("chat", chat({"content": [thinking, {"type": "text", "text": "Hi"}]}))
    assert seen.reply.message.content == (Foreign(wire="chat", kind="thinking", payload=thinking), Text(text="Hi"))


@pytest.mark.parametrize("key", ["content", "refusal", "tool_calls", "function_call", KEYS[0]])
def test_what_no_field_can_hold_is_told(key: str) -> None:
    seen = read_however_cut("chat", chat({"content": "Hi"}, {key: 5}))
    assert seen.reply.text == "Hi"
    assert [(note.path, note.action, note.loss) for note in seen.notes] == [(("message", key), "dropped", True)]
