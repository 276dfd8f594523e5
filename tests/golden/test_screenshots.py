"""The screenshot batch of source S0 (appendix A.2): images of results, after the whole run on chat, inside on Messages."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given

from dragoman.errors import RemoteError
from dragoman.types import Media, Message, Request, Text, ToolCall, ToolResult, assistant, tool, user
from golden.written import body, history
from laws.both_ways import decode_request
from strategies import requests

IMAGE = Media(kind="image", media_type="image/png", data="aWc=")
ASKED = assistant(
    ToolCall.of("t1", "read", {"path": "screenshot.png"}), ToolCall.of("t2", "read", {"path": "README.md"})
)
SHOT = ToolResult(call_id="t1", content=(Text(text="Read image file [image/png]"), IMAGE))
PAGE = ToolResult(call_id="t2", content=(Text(text="启动命令:npm run dev"),))
ATTACHED = {
    "role": "user",
    "content": [
        {"type": "text", "text": "Attached image(s) from tool result:"},
        {"type": "image_url", "image_url": {"url": "data:image/png;base64,aWc="}},
    ],
}
RESULTS = [
    {"role": "tool", "tool_call_id": "t1", "content": "Read image file [image/png]"},
    {"role": "tool", "tool_call_id": "t2", "content": "启动命令:npm run dev"},
]


@pytest.mark.req("S0-41", "S0-39", "S0-42")
def test_images_follow_the_whole_run_at_the_end_of_history() -> None:
    assert history("chat", user("x"), ASKED, tool(SHOT, PAGE))[2:] == [*RESULTS, ATTACHED]


@pytest.mark.req("S0-42")
@pytest.mark.parametrize("after", [user("go on"), assistant("I see.")], ids=["user", "assistant"])
def test_images_stand_before_the_next_turn(after: Message) -> None:
    written = history("chat", user("x"), ASKED, tool(SHOT, PAGE), after)
    assert written[2:5] == [*RESULTS, ATTACHED]
    assert written[5]["role"] == after.role


@pytest.mark.req("S0-43", "S0-45")
def test_a_batch_in_two_messages_is_one_run() -> None:
    assert history("chat", user("x"), ASKED, tool(SHOT), tool(PAGE))[2:] == [*RESULTS, ATTACHED]
    assert history("chat", user("x"), ASKED, tool(PAGE), tool(SHOT))[2:] == [*reversed(RESULTS), ATTACHED]


@pytest.mark.req("S0-44", "S0-31")
@given(request=requests())
def test_no_user_ever_stands_between_results_of_a_batch(request: Request) -> None:
    roles = [message["role"] for message in body("chat", request)["messages"]]
    waiting = 0
    for message, role in zip(body("chat", request)["messages"], roles, strict=True):
        if role == "tool":
            waiting -= 1
            continue
        assert waiting <= 0, roles
        waiting = len(message.get("tool_calls", ()))


@pytest.mark.req("S0-46")
def test_the_image_message_is_in_no_history() -> None:
    messages = (user("x"), ASKED, tool(SHOT, PAGE))
    before = Request(model="m", messages=messages)
    body("chat", before)
    assert before.messages == messages


@pytest.mark.req("S0-59", "S0-60", "S3-06")
def test_on_messages_all_results_share_one_user_turn_with_their_images() -> None:
    image = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "aWc="}}
    turn = {
        "role": "user",
        "content": [
            {
                "type": "tool_result",
                "tool_use_id": "t1",
                "content": [{"type": "text", "text": "Read image file [image/png]"}, image],
            },
            {"type": "tool_result", "tool_use_id": "t2", "content": "启动命令:npm run dev"},
        ],
    }
    assert history("messages", user("x"), ASKED, tool(SHOT, PAGE))[2:] == [turn]
    assert history("messages", user("x"), ASKED, tool(SHOT), tool(PAGE))[2:] == [turn]


@pytest.mark.req("S3-07")
def test_on_responses_each_result_is_an_item_beside_its_call() -> None:
    items = history("responses", user("x"), ASKED, tool(SHOT, PAGE))
    assert [item.get("type", "message") for item in items] == [
        *("message", "function_call", "function_call", "function_call_output", "function_call_output")
    ]
    assert items[3]["output"][1] == {"type": "input_image", "detail": "auto", "image_url": "data:image/png;base64,aWc="}


@pytest.mark.req("S0-62")
@pytest.mark.parametrize(
    ("wire", "message"),
    [
        ("chat", {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "t1", "content": "x"}]}),
        ("chat", {"role": "assistant", "content": [{"type": "tool_use", "id": "t1", "name": "f", "input": {}}]}),
        ("messages", {"role": "tool", "tool_call_id": "t1", "content": "x"}),
        ("messages", {"role": "user", "content": [{"type": "image_url", "image_url": {"url": "x"}}]}),
        ("responses", {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "t1"}]}),
    ],
)
def test_a_shape_of_another_wire_is_refused_with_its_place(wire: str, message: dict[str, Any]) -> None:
    key = "input" if wire == "responses" else "messages"
    with pytest.raises(RemoteError, match=rf"^{key}\[0\]") as caught:
        decode_request(
            wire, {"model": "m", "max_tokens": 1, key: [message]} if wire != "responses" else {key: [message]}
        )
    assert caught.value.code == "bad_shape"
