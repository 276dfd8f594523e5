"""Guards what clients are shown of another wire's stream: usage, blocks and numbering as their strictest readers want."""

from __future__ import annotations

import json
from typing import Any

import pytest

from dragoman import translate
from dragoman.dialect.model import BASE, override
from dragoman.translate import Options, StreamTranslator
from dragoman.wire import find
from dragoman.wire.base import Exchange, Http
from hazards.cases import DONE, calling, chat, data, piece

KEEPS_HINTS = {"cache_style": "cache_control"}


def shown(stream: bytes, client: str) -> list[dict[str, Any]]:
    """The events that a client of `client` gets for a chat stream; each is JSON under its own name."""
    options = Options(client=Exchange(stream=True, model="m", include_usage=True, seed="s", now=1))
    translator = StreamTranslator(find("chat"), find(client), options)
    text = (translator.feed(stream) + translator.close()).decode()
    events: list[dict[str, Any]] = []
    for block in text.strip().split("\n\n"):
        name, said = block.split("\n")
        events.append(json.loads(said.removeprefix("data: ")))
        assert name == f"event: {events[-1]['type']}"
    return events


def folded(events: list[dict[str, Any]]) -> list[Any]:
    """Each content block of a messages stream: its type and what its deltas said, all of them the block's own kind."""
    kinds = {"text": "text_delta", "tool_use": "input_json_delta", "thinking": "thinking_delta"}
    out: list[Any] = []
    open_at: int | None = None
    for event in events:
        match event["type"]:
            case "content_block_start":
                assert open_at is None
                open_at = event["index"]
                assert open_at == len(out)
                out.append([event["content_block"]["type"], event["content_block"].get("id"), ""])
            case "content_block_delta":
                assert event["index"] == open_at
                assert event["delta"]["type"] == kinds[out[-1][0]]
                out[-1][2] += event["delta"].get("text") or event["delta"].get("partial_json") or ""
            case "content_block_stop":
                assert event["index"] == open_at
                open_at = None
            case _:
                pass
    assert open_at is None
    return out


@pytest.mark.case("GWY-001")
@pytest.mark.parametrize(
    "stream",
    [
        chat({"role": "assistant", "content": "hi"}),
        chat({"content": "hi"}, end=b""),
        calling(piece(index=0, id="c1", type="function", name="f", arguments="{}")),
        chat(),
    ],
    ids=["as met", "without the marker", "a call", "nothing"],
)
def test_a_messages_client_is_told_usage_at_both_ends_though_the_server_told_none(stream: bytes) -> None:
    events = shown(stream, "messages")
    usage = events[0]["message"]["usage"]
    assert (events[0]["type"], events[-1]["type"]) == ("message_start", "message_stop")
    assert {key: type(usage[key]) for key in ("input_tokens", "output_tokens")} == {
        "input_tokens": int,
        "output_tokens": int,
    }
    (last,) = [event for event in events if event["type"] == "message_delta"]
    assert type(last["usage"]["output_tokens"]) is int


@pytest.mark.case("GWY-001")
def test_a_whole_messages_reply_has_usage_too() -> None:
    body = {"choices": [{"message": {"role": "assistant", "content": "hi"}, "finish_reason": "stop"}]}
    out = translate.reply(json.dumps(body).encode(), find("chat"), find("messages"), Options()).body
    usage = json.loads(out)["usage"]
    assert (type(usage["input_tokens"]), type(usage["output_tokens"])) == (int, int)


@pytest.mark.case("GWY-005")
@pytest.mark.parametrize("between", ["\n", " ", "so, then"])
def test_text_between_calls_never_stands_in_the_block_of_a_call(between: str) -> None:
    first = {"tool_calls": [piece(index=0, id="c1", type="function", name="a", arguments="{}")]}
    second = {"tool_calls": [piece(index=1, id="c2", type="function", name="b", arguments='{"x":1}')]}
    stream = chat(first, {"content": between}, second, {"content": between}, finish="tool_calls")
    blocks = folded(shown(stream, "messages"))
    assert [block for block in blocks if block[0] == "tool_use"] in (
        [["tool_use", "c1", "{}"], ["tool_use", "c2", '{"x":1}']],
        [["tool_use", "c1", ""], ["tool_use", "c2", '{"x":1}']],
    )
    assert "".join(block[2] for block in blocks if block[0] == "text").strip() == (between * 2).strip()


@pytest.mark.case("GWY-009")
def test_a_responses_client_gets_numbered_events_in_order_with_one_id_an_item() -> None:
    call = {"tool_calls": [piece(index=0, id="c1", type="function", name="f", arguments='{"a":1}')]}
    counts = {"prompt_tokens": 7, "completion_tokens": 3, "total_tokens": 10}
    end = data({"choices": [], "usage": counts}) + DONE
    events = shown(chat({"content": "hi"}, call, finish="tool_calls", end=end), "responses")
    assert [event["sequence_number"] for event in events] == list(range(len(events)))
    assert [event["type"].removeprefix("response.") for event in events] == [
        *("created", "in_progress"),
        *("output_item.added", "content_part.added", "output_text.delta"),
        *("output_text.done", "content_part.done", "output_item.done"),
        *("output_item.added", "function_call_arguments.delta", "function_call_arguments.done", "output_item.done"),
        "completed",
    ]
    ids: dict[int, set[str]] = {}
    for event in events:
        if "output_index" in event:
            ids.setdefault(event["output_index"], set()).add(event.get("item_id") or event["item"]["id"])
    assert [len(ids[at]) for at in (0, 1)] == [1, 1]
    response = events[-1]["response"]
    assert [item["id"] for item in response["output"]] == [next(iter(ids[at])) for at in (0, 1)]
    assert [item["type"] for item in response["output"]] == ["message", "function_call"]
    usage = {key: response["usage"][key] for key in ("input_tokens", "output_tokens", "total_tokens")}
    assert usage == {"input_tokens": 7, "output_tokens": 3, "total_tokens": 10}


@pytest.mark.case("GWY-018")
def test_cache_hints_of_a_messages_client_stay_out_of_a_chat_body_unless_the_server_takes_them() -> None:
    hint = {"cache_control": {"type": "ephemeral"}}
    body = {
        "model": "m",
        "max_tokens": 9,
        "system": [{"type": "text", "text": "S", **hint}],
        "tools": [{"name": "f", "input_schema": {"type": "object", "properties": {}}, **hint}],
        "messages": [
            {
                "role": "user",
                "content": [{"type": "text", "text": "x", "cache_control": {"type": "ephemeral", "ttl": "1h"}}],
            }
        ],
    }
    http = Http(body=json.dumps(body).encode())
    out = json.loads(translate.request(http, find("messages"), find("chat")).http.body)
    tool = {"type": "function", "function": {"name": "f", "parameters": {"type": "object", "properties": {}}}}
    assert out == {
        "model": "m",
        "max_tokens": 9,
        "messages": [{"role": "system", "content": "S"}, {"role": "user", "content": "x"}],
        "tools": [tool],
    }
    kept = Options(target=override(BASE, KEEPS_HINTS))
    assert translate.request(http, find("messages"), find("chat"), kept).http.body.count(b"cache_control") == 3
    assert b"cache_control" not in translate.request(http, find("messages"), find("responses")).http.body
