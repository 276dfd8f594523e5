"""Guards why a model stopped: each word is known or kept, a cut call is never run, an error is no answer."""

from __future__ import annotations

import json
from typing import Any

import pytest

from dragoman.agent import run
from dragoman.dialect.model import BASE, Dialect, override
from dragoman.errors import ApiError
from dragoman.types import Finish, Reply, Request, Stop, Text, Tool, ToolCall, user
from dragoman.wire import find
from dragoman.wire.base import Exchange
from hazards.cases import WIRES, chat, event, read, read_however_cut, said

CREATE = Tool(name="create_file")
WHY = "the call of `create_file` was cut off by the output limit and not executed. Make it shorter."
TRUNCATED = run.Done(outcome="truncated", detail="the reply was cut off in the middle of a tool call")
PARTIAL = ['{"path": "a.md"', '{"path": "a.md"}', "{}", "", '{"path": "a.md", "content": "# He', '{"pa', "null", " "]


def refusals(machine: run.Run, reply: Reply) -> list[tuple[str, str]]:
    """What the agent says of the calls it refuses: id and words."""
    ends = [item for item in machine.give(reply) if isinstance(item, run.ToolEnd)]
    return [(end.call.id, block.text) for end in ends for block in end.output.content if isinstance(block, Text)]


@pytest.mark.case("STP-001")
@pytest.mark.parametrize("arguments", PARTIAL, ids=repr)
@pytest.mark.parametrize("wire", WIRES)
def test_a_call_cut_by_the_output_limit_is_not_run_even_if_its_arguments_parse(wire: str, arguments: str) -> None:
    call = ToolCall(id="t1", name="create_file", arguments=arguments)
    seen = read_however_cut(wire, b"".join(said(wire, call, stop="length", usage=(10, 350))))
    assert (seen.failure, seen.reply.stop.reason) == (None, "length")
    machine = run.Run(Request(messages=(user("x"),), tools=(CREATE,)))
    assert refusals(machine, seen.reply) == [("t1", WHY)]
    assert machine.step() == TRUNCATED
    assert [message.role for message in machine.history] == ["user", "assistant", "tool"]


WHOLE: dict[str, Any] = {
    "messages": lambda value: {
        "type": "message",
        "role": "assistant",
        "content": [{"type": "tool_use", "id": "t1", "name": "create_file", "input": value}],
        "stop_reason": "max_tokens",
    },
    "chat": lambda value: {
        "choices": [
            {
                "message": {
                    "role": "assistant",
                    "tool_calls": [{"id": "t1", "function": {"name": "create_file", "arguments": json.dumps(value)}}],
                },
                "finish_reason": "length",
            }
        ]
    },
    "responses": lambda value: {
        "status": "incomplete",
        "incomplete_details": {"reason": "max_output_tokens"},
        "output": [
            {"type": "function_call", "call_id": "t1", "name": "create_file", "arguments": json.dumps(value)},
        ],
    },
}


@pytest.mark.case("STP-001")
@pytest.mark.parametrize("value", [{}, {"path": "a.md"}], ids=str)
@pytest.mark.parametrize("wire", WIRES)
def test_a_whole_reply_whose_call_the_service_mended_is_the_same_case(wire: str, value: Any) -> None:
    reply = find(wire).decode_reply(json.dumps(WHOLE[wire](value)).encode(), BASE, Exchange()).value
    assert reply.stop.reason == "length"
    machine = run.Run(Request(messages=(user("x"),), tools=(CREATE,)))
    assert refusals(machine, reply) == [("t1", WHY)]
    assert machine.step() == TRUNCATED


SILENT = override(BASE, {"limit_unsaid": True})
OUTPUTS: dict[str, tuple[Any, str]] = {
    "end": (
        {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "La femme de"}]},
        "end",
    ),
    "call": ({"type": "function_call", "call_id": "t1", "name": "create_file", "arguments": "{}"}, "tool_calls"),
}
BLOCKS: dict[str, Any] = {
    "end": Text(text="La femme de"),
    "call": ToolCall(id="t1", name="create_file", arguments="{}"),
}


@pytest.mark.case("STP-001")
@pytest.mark.parametrize("kind", OUTPUTS)
@pytest.mark.parametrize(("spent", "most", "cut"), [(8, 8, True), (9, 8, True), (7, 8, False), (8, None, False)])
@pytest.mark.parametrize("streamed", [False, True])
def test_a_cut_that_a_server_calls_completed_is_told_by_its_figures(
    kind: str, spent: int, most: int | None, cut: bool, streamed: bool
) -> None:
    """As llama-server answers on this wire; where the dialect does not say so, the server's word stands."""
    output, whole = OUTPUTS[kind]
    response = {"status": "completed", "output": [output], "usage": {"input_tokens": 3, "output_tokens": spent}}
    asked = Exchange(stream=streamed, echo={} if most is None else {"max_output_tokens": most})

    def stop(dialect: Dialect) -> str:
        if not streamed:
            return find("responses").decode_reply(json.dumps(response).encode(), dialect, asked).value.stop.reason
        decoder = find("responses").stream_decoder(dialect, asked)
        events = decoder.feed(b"".join(said("responses", BLOCKS[kind], stop=whole, usage=(3, spent))))
        return next(each.stop.reason for each in (*events, *decoder.close()) if isinstance(each, Finish))

    assert (stop(SILENT), stop(BASE)) == ("length" if cut else whole, whole)


@pytest.mark.case("STP-001")
@pytest.mark.parametrize("wire", WIRES)
def test_calls_that_were_whole_before_the_cut_run_and_only_the_last_is_refused(wire: str) -> None:
    calls = [ToolCall(id=f"t{at}", name="create_file", arguments='{"path": "a.md"}') for at in (1, 2)]
    reply = read(wire, said(wire, *calls, stop="length")).reply
    machine = run.Run(Request(messages=(user("x"),), tools=(CREATE,)))
    assert refusals(machine, reply) == [("t2", WHY)]
    step = machine.step()
    assert isinstance(step, run.NeedTools)
    assert [open_call.call.id for open_call in step.calls] == ["t1"]


# wire, what it says, the reason, with calls in the reply or not
WORDS: list[tuple[str, str | None, str, bool]] = [
    ("messages", "model_context_window_exceeded", "context", False),
    ("messages", "max_tokens", "length", False),
    ("messages", "end_turn", "end", False),
    ("messages", "stop_sequence", "stop_sequence", False),
    ("messages", "tool_use", "tool_calls", True),
    ("messages", "pause_turn", "pause", False),
    ("messages", "refusal", "refusal", False),
    ("messages", "sensitive", "filter", False),
    ("messages", "a_future_word", "other", False),
    ("messages", None, "other", False),
    ("chat", "model_length", "length", False),
    ("chat", "length", "length", False),
    ("chat", "eos", "end", False),
    ("chat", "eos_token", "end", False),
    ("chat", "end", "end", False),
    ("chat", "stop", "end", False),
    ("chat", "function_call", "tool_calls", True),
    ("chat", "tool_calls", "tool_calls", True),
    ("chat", "content_filter", "filter", False),
    ("chat", "sensitive", "filter", False),
    ("chat", "model_context_window_exceeded", "context", False),
    ("chat", "network_error", "error", False),
    ("chat", "error", "error", False),
    ("chat", "a_future_word", "other", False),
    ("chat", None, "other", False),
]


def reply_with(wire: str, word: str | None, calls: bool) -> bytes:
    """A whole reply that says `word`."""
    if wire == "messages":
        use = [{"type": "tool_use", "id": "t1", "name": "f", "input": {}}] if calls else []
        content = [{"type": "text", "text": "Hi"}, *use]
        return json.dumps({"type": "message", "role": "assistant", "content": content, "stop_reason": word}).encode()
    message: dict[str, Any] = {"role": "assistant", "content": "Hi"}
    if calls and word == "function_call":
        message["function_call"] = {"name": "f", "arguments": "{}"}
    elif calls:
        message["tool_calls"] = [{"id": "t1", "type": "function", "function": {"name": "f", "arguments": "{}"}}]
    return json.dumps({"choices": [{"index": 0, "message": message, "finish_reason": word}]}).encode()


def stream_with(wire: str, word: str | None, calls: bool) -> bytes:
    """The same as a stream."""
    if wire == "chat":
        message = json.loads(reply_with(wire, word, calls))["choices"][0]["message"]
        for at, call in enumerate(message.get("tool_calls", ())):
            call["index"] = at
        return chat(message, finish=word)
    blocks: list[Any] = [Text(text="Hi")]
    if calls:
        blocks.append(ToolCall(id="t1", name="f", arguments="{}"))
    *head, _, stop = said(wire, *blocks)
    delta = {"stop_reason": word, "stop_sequence": None}
    return b"".join([*head, event({"type": "message_delta", "delta": delta, "usage": {"output_tokens": 5}}), stop])


@pytest.mark.case("STP-007")
@pytest.mark.parametrize(("wire", "word", "reason", "calls"), WORDS, ids=lambda part: str(part))
def test_each_word_has_its_reason_and_is_kept(wire: str, word: str | None, reason: Any, calls: bool) -> None:
    wanted = Stop(reason=reason, raw=word)
    reply = find(wire).decode_reply(reply_with(wire, word, calls), BASE, Exchange()).value
    assert reply.stop == wanted
    seen = read_however_cut(wire, stream_with(wire, word, calls))
    assert (seen.reply.stop, seen.reply.text, seen.failure) == (wanted, "Hi", None)
    again = json.loads(find(wire).encode_reply(reply, BASE, Exchange()).body)
    written = again["stop_reason"] if wire == "messages" else again["choices"][0]["finish_reason"]
    assert written == word


STATUSES: list[tuple[dict[str, Any], str, str | None]] = [
    ({"status": "completed"}, "end", None),
    ({"status": "incomplete", "incomplete_details": {"reason": "max_output_tokens"}}, "length", None),
    ({"status": "incomplete", "incomplete_details": {"reason": "content_filter"}}, "filter", None),
    ({"status": "incomplete", "incomplete_details": {"reason": "steered"}}, "pause", None),
    ({"status": "incomplete", "incomplete_details": {"reason": "a_future_word"}}, "other", "a_future_word"),
    ({"status": "cancelled"}, "cancelled", None),
    ({"status": "a_future_word"}, "other", None),
]


@pytest.mark.case("STP-007")
@pytest.mark.parametrize(("said_so", "reason", "detail"), STATUSES, ids=lambda part: str(part))
def test_each_status_of_the_responses_wire_has_its_reason_and_is_kept(
    said_so: dict[str, Any], reason: Any, detail: str | None
) -> None:
    part = {"type": "output_text", "text": "Hi", "annotations": []}
    body = {"id": "r", "output": [{"type": "message", "role": "assistant", "content": [part]}], **said_so}
    reply = find("responses").decode_reply(json.dumps(body).encode(), BASE, Exchange()).value
    assert (reply.stop.reason, reply.stop.raw) == (reason, said_so["status"])
    assert detail is None or reply.stop.detail == detail
    again = json.loads(find("responses").encode_reply(reply, BASE, Exchange()).body)
    assert {key: again.get(key) for key in said_so} == said_so


BODIES: dict[str, list[tuple[dict[str, Any], str, int, bool]]] = {
    "chat": [
        (
            {"error": {"message": "Provider returned error", "code": 429, "metadata": {"provider_name": "X"}}},
            *("rate_limit", 429, True),
        ),
        ({"error": {"message": "Provider returned error", "code": 401}}, "auth", 401, False),
        ({"error": {"message": "Provider returned error", "code": 402}}, "quota", 402, False),
        ({"error": {"message": "Provider returned error", "code": 502}, "choices": []}, "server_error", 502, True),
        ({"error": {"message": "Provider returned error", "code": 503}, "choices": None}, "overloaded", 503, True),
        ({"error": "Provider returned error"}, "server_error", 0, True),
    ],
    "messages": [
        (
            {"type": "error", "error": {"type": "rate_limit_error", "message": "Provider returned error"}},
            *("rate_limit", 0, True),
        ),
        ({"error": {"message": "Provider returned error", "code": 429}}, "rate_limit", 429, True),
    ],
    "responses": [
        (
            {"status": "failed", "error": {"code": "rate_limit_exceeded", "message": "Provider returned error"}},
            *("rate_limit", 0, True),
        ),
        ({"error": {"message": "Provider returned error", "code": 429}}, "rate_limit", 429, True),
    ],
}


@pytest.mark.case("STP-008")
@pytest.mark.parametrize(("wire", "at"), [(wire, at) for wire in WIRES for at in range(len(BODIES[wire]))])
def test_a_200_that_holds_an_error_alone_is_that_error(wire: str, at: int) -> None:
    body, code, status, retryable = BODIES[wire][at]
    with pytest.raises(ApiError) as caught:
        find(wire).decode_reply(json.dumps(body).encode(), BASE, Exchange())
    error = caught.value
    assert (error.code, error.status, error.retryable, error.message) == (
        *(code, status, retryable),
        "Provider returned error",
    )
