"""Guards the count of tokens: each once, totals whole, subsets within them, nonsense told and never a crash."""

from __future__ import annotations

import json
from typing import Any

import pytest

from dragoman.dialect.model import BASE, override
from dragoman.types import Reasoning, Reply, Stop, Text, Usage, assistant
from dragoman.types.request import Request
from dragoman.types.save import Conversation, dumps, loads
from dragoman.wire import find
from dragoman.wire.base import Decoded, Exchange
from hazards.cases import DONE, WIRES, chunk, data, event, read, read_however_cut, said

TOTALS = ("input", "output", "cache_read", "cache_write", "reasoning")


def body(wire: str, usage: Any) -> bytes:
    """A whole reply that reports `usage`."""
    bodies: dict[str, dict[str, Any]] = {
        "chat": {"choices": [{"index": 0, "message": {"role": "assistant", "content": "x"}, "finish_reason": "stop"}]},
        "messages": {
            "type": "message",
            "role": "assistant",
            "content": [{"type": "text", "text": "x"}],
            "stop_reason": "end_turn",
        },
        "responses": {"id": "r", "status": "completed", "output": []},
    }
    return json.dumps({**bodies[wire], "usage": usage}).encode()


def decoded(wire: str, usage: Any) -> Decoded[Reply]:
    return find(wire).decode_reply(body(wire, usage), BASE, Exchange())


def figures(usage: Usage | None) -> dict[str, int]:
    """The totals that were reported."""
    return {name: value for name in TOTALS if (value := getattr(usage, name)) is not None} if usage else {}


def cost(usage: Usage, per_million: dict[str, float]) -> float:
    """What is to be paid: each token once."""
    parts = {"input": usage.uncached, "cache_read": usage.cache_read, "output": usage.output}
    return sum((parts[name] or 0) * price / 1_000_000 for name, price in per_million.items())


PRICES = {"input": 0.5, "cache_read": 0.05, "output": 3.0}
CACHED: dict[str, dict[str, Any]] = {
    "chat": {
        "prompt_tokens": 20212,
        "completion_tokens": 931,
        "total_tokens": 21143,
        "prompt_tokens_details": {"cached_tokens": 16298},
    },
    "responses": {
        "input_tokens": 20212,
        "output_tokens": 931,
        "total_tokens": 21143,
        "input_tokens_details": {"cached_tokens": 16298},
    },
    "messages": {"input_tokens": 3914, "cache_read_input_tokens": 16298, "output_tokens": 931},
}


@pytest.mark.case("USE-001")
@pytest.mark.parametrize("wire", WIRES)
def test_cached_tokens_are_paid_for_once_whichever_side_of_the_total_they_stand(wire: str) -> None:
    usage = decoded(wire, CACHED[wire]).value.usage
    assert usage is not None
    assert (usage.input, usage.uncached, usage.cache_read, usage.output) == (20212, 3914, 16298, 931)
    assert cost(usage, PRICES) == pytest.approx(0.0055649)


@pytest.mark.case("USE-001")
@pytest.mark.parametrize("place", ["prompt_cache_hit_tokens", "cached_tokens", "cache_read_input_tokens"])
def test_relatives_of_the_chat_wire_say_it_elsewhere(place: str) -> None:
    usage = {"prompt_tokens": 20212, "completion_tokens": 931, "total_tokens": 21143, place: 16298}
    assert figures(decoded("chat", usage).value.usage) == {"input": 20212, "output": 931, "cache_read": 16298}


ADDED = {
    "input_tokens": 19,
    "cache_creation_input_tokens": 1000,
    "cache_read_input_tokens": 38000,
    "output_tokens": 50,
}


@pytest.mark.case("USE-002")
def test_input_that_leaves_out_the_cache_is_made_whole_and_written_back_as_it_was() -> None:
    reply = decoded("messages", ADDED).value
    usage = reply.usage
    assert usage is not None
    assert (usage.input, usage.uncached, usage.cache_read, usage.cache_write, usage.output) == (
        39019,
        19,
        38000,
        1000,
        50,
    )
    shown = json.loads(find("chat").encode_reply(reply, BASE, Exchange()).body)["usage"]
    assert (shown["prompt_tokens"], shown["completion_tokens"], shown["total_tokens"]) == (39019, 50, 39069)
    assert shown["prompt_tokens_details"] == {"cached_tokens": 38000, "cache_write_tokens": 1000}
    again = find("chat").decode_reply(json.dumps({**json.loads(body("chat", shown))}).encode(), BASE, Exchange()).value
    back = json.loads(find("messages").encode_reply(again, BASE, Exchange()).body)["usage"]
    assert {key: back[key] for key in ADDED} == ADDED


@pytest.mark.case("USE-002")
@pytest.mark.parametrize("target", WIRES)
@pytest.mark.parametrize("source", WIRES)
def test_totals_survive_every_pair_of_wires(source: str, target: str) -> None:
    usages = {**CACHED, "messages": ADDED}
    reply = decoded(source, usages[source]).value
    written = find(target).encode_reply(reply, BASE, Exchange(seed="s")).body
    again = find(target).decode_reply(written, BASE, Exchange()).value
    # the responses wire always says its details: a zero equals not reported
    assert {name: value for name, value in figures(again.usage).items() if value} == figures(reply.usage)


@pytest.mark.case("USE-001")
@pytest.mark.case("USE-002")
def test_a_server_that_counts_the_other_way_is_told_apart_by_its_dialect() -> None:
    usage = {"prompt_tokens": 19, "completion_tokens": 5, "prompt_tokens_details": {"cached_tokens": 100}}
    outside = override(BASE, {"usage_cached": "outside"})
    reply = find("chat").decode_reply(body("chat", usage), outside, Exchange()).value
    assert figures(reply.usage) == {"input": 119, "output": 5, "cache_read": 100}
    messages = {"input_tokens": 39, "cache_read_input_tokens": 20, "output_tokens": 5}
    inside = override(BASE, {"usage_cached": "inside"})
    reply = find("messages").decode_reply(body("messages", messages), inside, Exchange()).value
    assert figures(reply.usage) == {"input": 39, "output": 5, "cache_read": 20}


START = {"input_tokens": 27, "cache_creation_input_tokens": 0, "cache_read_input_tokens": 5, "output_tokens": 1}
LAST = {"input_tokens": 40, "cache_creation_input_tokens": 0, "cache_read_input_tokens": 5, "output_tokens": 15}
# usage at the start, in each message_delta → what is counted
GROWING: dict[str, tuple[dict[str, Any], list[Any], dict[str, int]]] = {
    "as met": (START, [{"output_tokens": 9}, LAST], {"input": 45, "output": 15, "cache_read": 5, "cache_write": 0}),
    "output alone": (START, [{"output_tokens": 9}], {"input": 32, "output": 9, "cache_read": 5, "cache_write": 0}),
    "thrice": (
        START,
        [{"output_tokens": 5}] * 2 + [{"output_tokens": 9}],
        {"input": 32, "output": 9, "cache_read": 5, "cache_write": 0},
    ),
    "nulls": (
        START,
        [{"input_tokens": None, "cache_read_input_tokens": None, "output_tokens": 9}],
        {"input": 32, "output": 9, "cache_read": 5, "cache_write": 0},
    ),
    "no usage": (START, [None], {"input": 32, "output": 1, "cache_read": 5, "cache_write": 0}),
    "zero at the start": (
        {"input_tokens": 0, "output_tokens": 0},
        [{"input_tokens": 7, "output_tokens": 9}],
        {"input": 7, "output": 9},
    ),
    "none at the start": ({}, [{"input_tokens": 7, "output_tokens": 9}], {"input": 7, "output": 9}),
}


@pytest.mark.case("USE-003")
@pytest.mark.parametrize("name", GROWING)
def test_usage_of_a_message_grows_and_is_never_added_up(name: str) -> None:
    start, deltas, wanted = GROWING[name]
    head = {
        "id": "msg_t1",
        "type": "message",
        "role": "assistant",
        "model": "test-model",
        "content": [],
        "usage": start,
    }
    events = said("messages", Text(text="ok"))
    first = event({"type": "message_start", "message": head})
    last = [
        event(
            {
                "type": "message_delta",
                "delta": {"stop_reason": "end_turn" if at == len(deltas) - 1 else None, "stop_sequence": None},
                **({} if usage is None else {"usage": usage}),
            }
        )
        for at, usage in enumerate(deltas)
    ]
    seen = read_however_cut("messages", b"".join([first, *events[1:-2], *last, events[-1]]))
    assert figures(seen.reply.usage) == wanted
    assert (seen.reply.stop, seen.notes) == (Stop(reason="end", raw="end_turn"), ())


REASONED: dict[str, dict[str, Any]] = {
    "chat": {
        "prompt_tokens": 10,
        "completion_tokens": 120,
        "total_tokens": 130,
        "completion_tokens_details": {"reasoning_tokens": 100},
    },
    "responses": {
        "input_tokens": 10,
        "output_tokens": 120,
        "total_tokens": 130,
        "output_tokens_details": {"reasoning_tokens": 100},
    },
    "messages": {"input_tokens": 10, "output_tokens": 120, "output_tokens_details": {"thinking_tokens": 100}},
}


@pytest.mark.case("USE-006")
@pytest.mark.parametrize("wire", WIRES)
def test_reasoning_is_a_part_of_the_output(wire: str) -> None:
    usage = decoded(wire, REASONED[wire]).value.usage
    assert figures(usage) == {"input": 10, "output": 120, "reasoning": 100}
    assert usage is not None
    assert cost(usage, PRICES) == pytest.approx((10 * 0.5 + 120 * 3) / 1_000_000)


@pytest.mark.case("USE-006")
@pytest.mark.parametrize("wire", ["chat", "responses"])
def test_a_server_that_counts_it_beside_the_output_is_known_by_its_total_and_told(wire: str) -> None:
    key = {"chat": "completion_tokens", "responses": "output_tokens"}[wire]
    read_reply = decoded(wire, {**REASONED[wire], key: 20})
    assert figures(read_reply.value.usage) == {"input": 10, "output": 120, "reasoning": 100}
    assert [(note.path, note.loss) for note in read_reply.notes] == [(("usage", "output"), False)]


@pytest.mark.case("USE-006")
def test_more_reasoning_than_output_breaks_nothing() -> None:
    usage = {**REASONED["chat"], "completion_tokens": 7, "total_tokens": 17}
    assert figures(decoded("chat", usage).value.usage) == {"input": 10, "output": 7, "reasoning": 100}


@pytest.mark.case("USE-009")
@pytest.mark.parametrize("wire", WIRES)
def test_what_was_reported_before_a_stream_was_cancelled_is_kept(wire: str) -> None:
    events = said(wire, *[Text(text="Hello")], usage=(5000, 900))
    kept = read(wire, events[:-2])
    wanted = {"input": 5000, "output": 1} if wire == "messages" else {}  # the wire that reports input at its start
    assert figures(kept.reply.usage) == wanted
    assert kept.reply.text == "Hello"


@pytest.mark.case("USE-009")
def test_on_chat_usage_in_every_chunk_is_kept_as_of_the_last() -> None:
    usages = [{"prompt_tokens": 5000, "completion_tokens": at, "total_tokens": 5000 + at} for at in range(20)]
    stream = [chunk({"content": "x"}, usage=usage) for usage in usages]
    seen = read_however_cut("chat", b"".join(stream))
    assert figures(seen.reply.usage) == {"input": 5000, "output": 19}
    assert seen.failure is not None and seen.failure.usage == seen.reply.usage


ODD: list[Any] = [
    "12",
    " 12 ",
    12.0,
    "12.0",
    "x",
    "",
    None,
    True,
    -1,
    -5.0,
    12.5,
    [],
    {},
    "9" * 5000,
    10**30,
    1e300,
    "١٢",
]
COUNTS = {"12": 12, " 12 ": 12}
KEYS = {
    "chat": ("prompt_tokens", "completion_tokens"),
    "messages": ("input_tokens", "output_tokens"),
    "responses": ("input_tokens", "output_tokens"),
}


def counted(value: Any) -> int | None:
    """What a value counts."""
    if isinstance(value, str):
        return COUNTS.get(value)
    return 12 if value == 12 and not isinstance(value, bool) else None


@pytest.mark.case("USE-010")
@pytest.mark.parametrize("value", ODD, ids=lambda value: repr(value)[:12])
@pytest.mark.parametrize("place", [0, 1])
@pytest.mark.parametrize("wire", WIRES)
def test_a_figure_of_any_kind_counts_or_is_told_and_stays_in_the_vendors_dict(
    wire: str, place: int, value: Any
) -> None:
    usage = dict.fromkeys(KEYS[wire], 7) | {KEYS[wire][place]: value}
    reply = decoded(wire, usage)
    name = ("input", "output")[place]
    number = counted(value)
    assert reply.value.usage is not None
    assert (
        figures(reply.value.usage) == {"input": 7, "output": 7} | {name: number}
        if number
        else {("output", "input")[place]: 7}
    )
    assert reply.value.usage.opaque == {wire: usage}
    told = [note.path for note in reply.notes if not note.loss]
    assert told == ([] if number or value is None else [("usage", name)])
    saved = Conversation(request=Request(), replies=(reply.value,))
    if value != 10**30 and value != 1e300:
        assert loads(dumps(saved)) == saved
    assert json.loads(find(wire).encode_reply(reply.value, BASE, Exchange()).body)["usage"] == usage


@pytest.mark.case("USE-010")
@pytest.mark.parametrize("word", ["NaN", "Infinity", "-Infinity", "1e999"])
@pytest.mark.parametrize("wire", WIRES)
def test_what_is_no_json_number_becomes_null_and_is_told(wire: str, word: str) -> None:
    usage = dict.fromkeys(KEYS[wire], 7) | {KEYS[wire][1]: "?"}
    raw = body(wire, usage).replace(b'"?"', word.encode())
    reply = find(wire).decode_reply(raw, BASE, Exchange())
    assert figures(reply.value.usage) == {"input": 7}
    assert [note.action for note in reply.notes] == ["substituted"]


@pytest.mark.case("USE-010")
def test_the_case_as_it_was_met() -> None:
    usage = {
        "prompt_tokens": None,
        "completion_tokens": "12",
        "total_tokens": 12.0,
        "prompt_tokens_details": None,
        "completion_tokens_details": {"reasoning_tokens": None},
    }
    reply = decoded("chat", usage)
    assert reply.value.usage == Usage(output=12, opaque={"chat": usage})
    assert reply.value.usage is not None and reply.value.usage.uncached is None
    assert reply.notes == ()
    stream = chunk({"content": "x"}) + chunk({}, "stop") + data({"choices": [], "usage": usage}) + DONE
    assert read_however_cut("chat", stream).reply.usage == reply.value.usage


@pytest.mark.case("USE-010")
@pytest.mark.parametrize("details", [None, [], "x", 3, {"cached_tokens": None}, {"cached_tokens": "4"}], ids=repr)
@pytest.mark.parametrize("wire", ["chat", "responses"])
def test_details_of_any_kind_break_nothing(wire: str, details: Any) -> None:
    key = {"chat": "prompt_tokens_details", "responses": "input_tokens_details"}[wire]
    usage = dict.fromkeys(KEYS[wire], 7) | {key: details}
    cached = {"cache_read": 4} if isinstance(details, dict) and details["cached_tokens"] else {}
    assert figures(decoded(wire, usage).value.usage) == {"input": 7, "output": 7} | cached


@pytest.mark.case("USE-010")
@pytest.mark.parametrize("cached", [0, 5, 7, 8, 10**6])
def test_uncached_is_never_negative(cached: int) -> None:
    usage = {"prompt_tokens": 7, "completion_tokens": 1, "prompt_tokens_details": {"cached_tokens": cached}}
    read_usage = decoded("chat", usage).value.usage
    assert read_usage is not None and read_usage.uncached == max(7 - cached, 0)
    assert Usage().uncached is None


@pytest.mark.case("USE-010")
@pytest.mark.parametrize(
    "price", [0.5, "0.5", 1e308, -1, True, "x", None, [], 10**400], ids=lambda value: repr(value)[:8]
)
@pytest.mark.parametrize("wire", WIRES)
def test_a_cost_of_any_kind_breaks_nothing(wire: str, price: Any) -> None:
    usage = decoded(wire, dict.fromkeys(KEYS[wire], 7) | {"cost": price}).value.usage
    assert usage is not None and usage.cost == (500_000_000 if price in (0.5, "0.5") else None)


@pytest.mark.case("USE-010")
@pytest.mark.parametrize("usage", [None, [], "x", 3, {}, {"prompt_tokens": None}], ids=repr)
def test_a_usage_that_says_nothing_is_none(usage: Any) -> None:
    reply = decoded("chat", usage).value
    assert figures(reply.usage) == {}
    stream = chunk({"content": "x"}) + chunk({}, "stop", usage=usage) + DONE
    assert figures(read_however_cut("chat", stream).reply.usage) == {}
    thinking = Reply(message=assistant(Reasoning(text="x")), stop=Stop(reason="end"), usage=Usage())
    assert figures(thinking.usage) == {}
