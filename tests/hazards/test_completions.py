"""Guards text completions (CMP-002, CMP-003): the forms of a prompt, several of them in one body, a chat provider's
stream in this wire's chunks, a conversation as a prompt, and every recorded body as it was."""

from __future__ import annotations

import json
from typing import Any

import pytest

from dragoman import Model, translate
from dragoman.dialect.model import BASE
from dragoman.errors import LossyError, RemoteError
from dragoman.testing import FakeProvider
from dragoman.translate import Options, StreamTranslator
from dragoman.types import Choice, Message, Reply, Request, Stop, Text, Usage, assistant, system, tool, user
from dragoman.types.content import Foreign, ToolCall, ToolResult
from dragoman.types.events import Delta, Finish
from dragoman.wire import NARROW, WIRES, find
from dragoman.wire.base import Exchange, Http
from dragoman.wire.completions.several import each_prompt, joined
from golden.written import READ
from hazards.cases import DONE, data, read_however_cut
from laws.both_ways import body, decode_reply, decode_request, encode_request
from matrix import captures, judge, recordings

WIRE = "completions"
EDGE = Options(client=Exchange(seed="s", now=1, model="m", stream=True))


def http(prompt: Any) -> Http:
    return Http(body=body({"model": "m", "prompt": prompt}))


def asked(prompt: Any) -> Request:
    return decode_request(WIRE, {"model": "m", "prompt": prompt}).request


def lossless(request: Http, there: str) -> bool:
    try:
        translate.request(request, find(WIRE), find(there), Options(client=EDGE.client, strict=True))
    except LossyError:
        return False
    return True


@pytest.mark.case("CMP-002")
@pytest.mark.parametrize(
    ("prompt", "messages"),
    [
        ("a", (user("a"),)),
        ("", (user(""),)),
        ([], ()),
        ([1, 2, 3], (user(Foreign(wire=WIRE, kind="tokens", payload=[1, 2, 3])),)),
    ],
)
def test_a_prompt_is_one_users_message(prompt: Any, messages: tuple[Message, ...]) -> None:
    request = asked(prompt)
    assert request.messages == messages
    assert json.loads(encode_request(WIRE, request).http.body).get("prompt") == prompt


@pytest.mark.case("CMP-002")
@pytest.mark.parametrize(
    ("prompt", "apart"),
    [
        (["a", "b"], ["a", "b"]),
        ([[1, 2], [3]], [[1, 2], [3]]),
        (["a", [3], ""], ["a", [3], ""]),
        (["a"], [["a"]]),
        ("a", ["a"]),
    ],
)
def test_several_prompts_are_several_requests(prompt: Any, apart: list[Any]) -> None:
    bodies = [json.loads(encode_request(WIRE, each).http.body) for each in each_prompt(asked(prompt))]
    assert bodies == [{"model": "m", "prompt": each} for each in apart]


@pytest.mark.case("CMP-002")
def test_their_answers_are_choices_in_the_order_of_the_prompts() -> None:
    def answer(text: str, tokens: int, *others: Choice) -> Reply:
        usage = Usage(input=tokens, output=2 * tokens)
        return Reply(message=assistant(text), stop=Stop(reason="end"), usage=usage, others=others or None)

    two = Choice(message=assistant("second of a"), stop=Stop(reason="length"))
    written = find(WIRE).encode_reply(joined([answer("to a", 1, two), answer("to b", 5)]), BASE, EDGE.client)
    said = json.loads(written.body)
    assert [(each["index"], each["text"], each["finish_reason"]) for each in said["choices"]] == [
        (0, "to a", "stop"),
        (1, "second of a", "length"),
        (2, "to b", "stop"),
    ]
    assert said["usage"] == {"prompt_tokens": 6, "completion_tokens": 12, "total_tokens": 18}
    assert written.notes == ()


@pytest.mark.case("CMP-002")
@pytest.mark.parametrize("there", WIRES)
def test_token_ids_and_further_prompts_never_become_text(there: str) -> None:
    for prompt in ([1, 2, 3], ["a", "b"], [[1, 2], [3]]):
        assert not lossless(http(prompt), there)
        done = translate.request(http(prompt), find(WIRE), find(there), EDGE)
        assert b"1, 2" not in done.http.body
        assert b"1,2" not in done.http.body
        assert b'"b"' not in done.http.body
    assert lossless(http("a"), there)


@pytest.mark.case("CMP-002")
@pytest.mark.parametrize(
    ("prompt", "place"),
    [
        (7, ("prompt",)),
        ({}, ("prompt",)),
        (["a", 1], ("prompt", 1)),
        ([1, True], ("prompt", 0)),
        ([[1, "x"]], ("prompt", 0)),
    ],
)
def test_any_other_form_is_refused_with_its_place(prompt: Any, place: tuple[Any, ...]) -> None:
    with pytest.raises(RemoteError) as caught:
        asked(prompt)
    assert (caught.value.code, caught.value.path) == ("bad_shape", place)


# A chat provider whose id changes with every chunk.
RESTLESS = (
    b"".join(
        data({"id": f"x{at}", "object": "chat.completion.chunk", "created": 1700000000, "model": "test-model", **more})
        for at, more in enumerate(
            [
                {"choices": [{"index": 0, "delta": {"content": "a"}, "finish_reason": None}]},
                {"choices": [{"index": 0, "delta": {"content": "b"}, "finish_reason": None}]},
                {"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]},
            ]
        )
    )
    + DONE
)


@pytest.mark.case("CMP-003")
def test_a_chat_providers_stream_becomes_chunks_of_text() -> None:
    translator = StreamTranslator(find("chat"), find(WIRE), EDGE)
    written = b"".join([translator.feed(RESTLESS), translator.close()])
    *chunks, done = recordings.parse_events(written)
    assert done == "[DONE]"
    assert {(each["id"], each["object"], each["created"], each["model"]) for each in chunks} == {
        ("x0", "text_completion", 1700000000, "test-model")
    }
    assert [each["choices"][0] for each in chunks] == [
        {"text": "a", "index": 0, "logprobs": None, "finish_reason": None},
        {"text": "b", "index": 0, "logprobs": None, "finish_reason": None},
        {"text": "", "index": 0, "logprobs": None, "finish_reason": "stop"},
    ]


@pytest.mark.case("CMP-003")
@pytest.mark.parametrize("wire", ["chat", WIRE])
def test_changing_ids_are_one_message_and_chat_chunks_are_read_at_this_address_too(wire: str) -> None:
    seen = read_however_cut(wire, RESTLESS)
    assert (seen.reply.text, seen.reply.id, seen.reply.stop.reason, seen.failure) == ("ab", "x0", "end", None)


def test_a_conversation_is_said_in_plain_words_and_told() -> None:
    call = ToolCall.of("t1", "read", {"path": "a"})
    result = ToolResult(call_id="t1", content=(Text(text="no"),))
    messages = (system("Be brief."), user("Hi.\n"), assistant("Hello.", call), tool(result), user("Read a."))
    out = encode_request(WIRE, Request(model="m", messages=messages, tools=(READ,)))
    assert json.loads(out.http.body) == {
        "model": "m",
        "prompt": "System: Be brief.\n\nUser: Hi.\n\nAssistant: Hello.\n\nUser: Read a.\n\nAssistant:",
    }
    assert {(note.path, note.action, note.loss) for note in out.notes} == {
        (("messages",), "substituted", True),
        (("messages", 2, "content", 1), "dropped", True),
        (("messages", 3, "content", 0), "dropped", True),
        (("tools",), "dropped", True),
    }


def test_one_users_message_is_the_prompt_itself() -> None:
    out = encode_request(WIRE, Request(messages=(user("Once\n\nupon a time"),)))
    assert (json.loads(out.http.body), out.notes) == ({"prompt": "Once\n\nupon a time"}, ())


@pytest.mark.parametrize("there", WIRES)
def test_a_prompt_and_its_answer_cross_to_every_wire_and_back(there: str) -> None:
    request = translate.request(http("从前有座山"), find(WIRE), find(there), EDGE)
    assert decode_request(there, request.http.body).request.messages == (user("从前有座山"),)
    said = body({"id": "c", "created": 1, "model": "m", "choices": [{"text": "山上", "finish_reason": "length"}]})
    answer = translate.reply(said, find(WIRE), find(there), EDGE)
    back = decode_reply(WIRE, translate.reply(answer.body, find(there), find(WIRE), EDGE).body).value
    assert (back.text, back.stop.reason, back.model, back.id) == ("山上", "length", "m", "c")


def test_a_body_of_another_wire_is_told() -> None:
    with pytest.raises(RemoteError, match="this looks like a body of the chat wire"):
        decode_request(WIRE, {"messages": []})


@pytest.mark.skipif(not recordings.present(), reason="the recordings are not beside this checkout")
def test_every_recorded_body_comes_out_as_it_went_in() -> None:
    requests, replies = judge.requests_both_ways(WIRE), judge.replies_both_ways(WIRE)
    print(f"L2, {WIRE}: requests {requests}, whole replies {replies}")
    assert (requests.missed, replies.missed) == ({}, {})
    assert min(requests.total, replies.total) > 10


@pytest.mark.skipif(not captures.present(), reason="the captures are not beside this checkout")
def test_a_real_clients_request_comes_out_as_it_went_in() -> None:
    said = captures.captures(WIRE)
    for each in said:
        assert json.loads(encode_request(WIRE, decode_request(WIRE, each.body).request).http.body) == each.body
    assert len(said) > 1


@pytest.mark.parametrize("wire", NARROW)
def test_a_model_may_be_asked_over_the_wire(wire: str) -> None:
    """A real socket: `complete` and a stream say and read the wire that the model's name asks for."""
    with FakeProvider(wire) as provider, Model(provider.spec, env={}, transport="stdlib") as model:
        assert model.complete("Once upon") == "Once upon"
        events = list(model.stream([user("a time")]))
        said = [each.body for each in provider.seen]
    assert isinstance(events[-1], Finish)
    assert "".join(event.text for event in events if isinstance(event, Delta)) == "a time"
    assert [each.get("prompt") or each["messages"][0]["content"] for each in said] == ["Once upon", "a time"]
    assert [each.get("stream") for each in said] == [False if wire == "ollama" else None, True]
