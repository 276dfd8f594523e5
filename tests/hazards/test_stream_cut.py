"""Guards the end of a stream: only the wire's own last signal makes it whole, and a cut call is never run."""

from __future__ import annotations

import json

import pytest

from dragoman.agent import run
from dragoman.types import Failure, Reasoning, Request, Stop, Text, Tool, ToolCall, Usage, assistant, user
from hazards.cases import DONE, WIRES, Seen, chat, chunk, piece, read, read_however_cut, said

CUT = "the stream ended before its last signal"
CALL = ToolCall(id="call_a", name="write_file", arguments='{"path":"a.txt","content":"hello"}')
BLOCKS = (Reasoning(text="hm, so"), Text(text="I write."), CALL)
TOOLS = (Tool(name="write_file"),)


def run_by_agent(seen: Seen) -> run.NeedModel | run.NeedTools | run.Done:
    """What an agent does next."""
    machine = run.Run(Request(messages=(user("x"),), tools=TOOLS))
    machine.give(seen.reply)
    step = machine.step()
    assert isinstance(step, run.NeedTools) or machine.history == [user("x")]
    return step


def ends(wire: str, events: list[bytes]) -> int:
    """How many events at the end are signals of it."""
    return {"chat": 2, "messages": 1, "responses": 1}[wire]


@pytest.mark.req("I-01")
@pytest.mark.case("STR-027")
@pytest.mark.case("STR-050")
@pytest.mark.parametrize("wire", WIRES)
def test_a_stream_cut_at_any_byte_before_its_end_hands_out_no_call(wire: str) -> None:
    events = said(wire, *BLOCKS, stop="tool_calls")
    stream = b"".join(events)
    last = len(b"".join(events[: -ends(wire, events)]))
    for at in range(0, last, 7):
        seen = read(wire, [stream[:at]])
        failure = seen.failure
        assert failure is not None
        assert (failure.code, failure.message, failure.retryable) == ("incomplete", CUT, True)
        assert seen.reply.stop == Stop(reason="error", raw="incomplete", detail=CUT)
        assert run_by_agent(seen) == run.Done(outcome="failed", detail=CUT)


@pytest.mark.case("STR-027")
@pytest.mark.parametrize("wire", WIRES)
def test_what_came_before_the_cut_is_kept_as_it_was_said(wire: str) -> None:
    events = said(wire, *BLOCKS, stop="tool_calls")
    said_so_far, rest = CALL.arguments[: len(CALL.arguments) // 2], CALL.arguments[len(CALL.arguments) // 2 :]
    second = next(at for at, event in enumerate(events) if json.dumps(rest).encode() in event)
    seen = read_however_cut(wire, b"".join(events[:second]))
    assert seen.outline == (("reasoning", "hm, so"), ("text", "I write."), ("call", said_so_far))
    assert seen.reply.calls[0].parsed() != CALL.parsed()


@pytest.mark.case("STR-027")
@pytest.mark.parametrize("arguments", ["", "{}", '{"path":"a.txt"}', '{"path":"a.txt","content":"hel'])
@pytest.mark.parametrize("end", [b"", b"data: {", b"data: ", b": bye\n\n", b"\n\n"], ids=repr)
def test_a_call_whose_text_happens_to_parse_is_no_more_whole_than_another(arguments: str, end: bytes) -> None:
    call = piece(index=0, id="call_a", type="function", name="write_file", arguments=arguments)
    seen = read_however_cut("chat", chat({"tool_calls": [call]}, finish=None, end=end))
    assert seen.calls == (("call_a", "write_file", arguments),)
    assert (seen.failure and seen.failure.code, seen.reply.stop.reason) == ("incomplete", "error")
    assert isinstance(run_by_agent(seen), run.Done)


@pytest.mark.case("STR-050")
@pytest.mark.parametrize("wire", WIRES)
def test_no_reason_and_no_usage_is_made_up_for_a_cut_stream(wire: str) -> None:
    events = said(wire, CALL, stop="tool_calls", usage=(10, 5))
    seen = read_however_cut(wire, b"".join(events[: 3 if wire != "messages" else 4]))
    start = Usage(input=10, output=1, opaque={"messages": {"input_tokens": 10, "output_tokens": 1}})
    usage = start if wire == "messages" else None  # the one wire that says some of it at the start
    assert seen.reply.usage == usage
    assert seen.failure == Failure(code="incomplete", message=CUT, retryable=True, usage=usage)


@pytest.mark.case("STR-050")
@pytest.mark.parametrize("missing", ["message_delta", "message_stop"])
def test_on_messages_only_message_stop_ends_the_message(missing: str) -> None:
    events = [each for each in said("messages", CALL, stop="tool_calls") if f"event: {missing}\n".encode() not in each]
    seen = read_however_cut("messages", b"".join(events))
    if missing == "message_stop":
        assert (seen.failure and seen.failure.code, seen.reply.stop.reason) == ("incomplete", "error")
    else:  # the message is whole, though nobody said why it stopped
        assert (seen.failure, seen.reply.stop) == (None, Stop(reason="tool_calls"))


@pytest.mark.case("STR-028")
@pytest.mark.parametrize("finish", ["stop", "length", "content_filter", "end", "eos"])
@pytest.mark.parametrize("end", [b"", b"\n", b": bye\n\n", b"data: [DO", DONE], ids=repr)
def test_after_a_finish_reason_the_last_marker_may_be_missing(finish: str, end: bytes) -> None:
    seen = read_however_cut("chat", chat({"content": "ok"}, finish=finish, end=end))
    whole = read("chat", [chat({"content": "ok"}, finish=finish)])
    assert (seen.reply, seen.failure) == (whole.reply, None)
    assert seen.reply.message.content == assistant("ok").content


@pytest.mark.case("STR-028")
def test_usage_that_comes_after_the_finish_reason_is_read_with_and_without_the_marker() -> None:
    usage = {"prompt_tokens": 3, "completion_tokens": 1, "total_tokens": 4}
    for end in (DONE, b""):
        stream = chunk({"content": "ok"}) + chunk({}, "stop") + chunk({}, None, usage=usage) + end
        seen = read_however_cut("chat", stream)
        assert seen.reply.usage == Usage(input=3, output=1, opaque={"chat": usage})


@pytest.mark.case("STR-028")
@pytest.mark.parametrize("wire", WIRES)
def test_a_last_event_without_its_blank_line_counts(wire: str) -> None:
    stream = b"".join(said(wire, Text(text="ok")))
    for cut in (1, 2):
        seen = read_however_cut(wire, stream[:-cut])
        assert (seen.reply.text, seen.reply.stop.reason, seen.failure) == ("ok", "end", None)
