"""Guards what the system says: two prompts, one in the middle, and the role that a server knows for it."""

from __future__ import annotations

import json
from typing import Any

import pytest

from dragoman import translate
from dragoman.dialect.find import named
from dragoman.dialect.model import BASE, Dialect, override
from dragoman.translate import Options
from dragoman.wire import find
from dragoman.wire.base import Http

Body = dict[str, Any]
MIDDLE = {
    "messages": [
        {"role": "system", "content": "S1"},
        {"role": "user", "content": "a"},
        {"role": "assistant", "content": "b"},
        {"role": "system", "content": "mode: plan"},
        {"role": "user", "content": "c"},
    ]
}
TWO = {
    "messages": [
        {"role": "system", "content": "A"},
        {"role": "developer", "content": "B"},
        {"role": "user", "content": "x"},
    ]
}


def sent(body: Body, source: str, target: str, dialect: Dialect = BASE) -> Body:
    done = translate.request(Http(body=json.dumps(body).encode()), find(source), find(target), Options(target=dialect))
    return json.loads(done.http.body)


@pytest.mark.case("REQ-013")
def test_a_system_message_in_the_middle_stays_there_as_marked_user_text_where_servers_know_one_prompt() -> None:
    out = sent(MIDDLE, "chat", "messages", override(BASE, {"inline_system": "user_text"}))
    assert out["system"] == "S1"
    assert [message["role"] for message in out["messages"]] == ["user", "assistant", "user", "user"]
    assert out["messages"][2]["content"] == "<system-update>\nmode: plan\n</system-update>"


@pytest.mark.case("REQ-013")
@pytest.mark.parametrize("target", ["messages", "responses"])
def test_a_system_message_in_the_middle_keeps_its_place_where_servers_know_it(target: str) -> None:
    out = sent(MIDDLE, "chat", target)
    said = out["messages" if target == "messages" else "input"]
    assert [(item["role"], item["content"]) for item in said][2] == ("system", "mode: plan")


@pytest.mark.case("REQ-014")
def test_both_of_two_leading_prompts_arrive_in_their_order() -> None:
    assert sent(TWO, "chat", "messages")["system"] == [{"type": "text", "text": "A"}, {"type": "text", "text": "B"}]
    out = sent(TWO, "chat", "responses")
    assert (out["instructions"], out["input"][0]) == ("A", {"role": "developer", "content": "B"})
    merged = sent(TWO, "chat", "chat", named("minimax", "chat"))
    assert merged["messages"][0] == {"role": "system", "content": "A\n\nB"}


@pytest.mark.case("REQ-015")
@pytest.mark.parametrize(("server", "role"), [("deepseek", "system"), ("mistral", "system"), ("openai", "developer")])
def test_instructions_have_the_role_that_the_server_knows(server: str, role: str) -> None:
    asked = [
        {"type": "message", "role": name, "content": [{"type": "input_text", "text": text}]}
        for name, text in (("developer", "be brief"), ("user", "x"))
    ]
    out = sent({"input": asked}, "responses", "chat", named(server, "chat"))
    assert [message["role"] for message in out["messages"]] == [role, "user"]
    assert out["messages"][0]["content"] in ("be brief", [{"type": "text", "text": "be brief"}])
