"""Guards conversations on disk: opened forever, never half read, and a newer file says what to do."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given

from dragoman.errors import RemoteError, UsageError
from dragoman.types import Message, Note, Reply, Request, Stop, Text, assistant, save, user
from dragoman.types.save import Conversation, dumps, is_saved, loads
from ingredients import json_values
from strategies import replies, requests

PLAIN = Conversation(
    request=Request(model="模型", messages=(user("读取 👩🏽‍💻"),)),
    replies=(Reply(message=assistant("ok"), stop=Stop(reason="end")),),
    notes=(Note(path=("messages", 0), action="merged", reason="x", loss=False),),
)


@given(request=requests(), reply=replies())
def test_a_conversation_comes_back(request: Request, reply: Reply) -> None:
    saved = Conversation(request=request, replies=(reply,))
    assert loads(dumps(saved)) == saved
    assert dumps(loads(dumps(saved))) == dumps(saved)


def test_the_file_is_for_people_too() -> None:
    text = dumps(PLAIN).decode()
    assert text.endswith("}\n")
    assert "读取 👩🏽‍💻" in text
    assert json.loads(text)["format"] == "dragoman.conversation"
    assert json.loads(text)["version"] == save.VERSION
    assert loads(dumps(PLAIN)) == PLAIN


def test_a_key_of_a_later_version_is_passed_over() -> None:
    body = {**json.loads(dumps(PLAIN)), "more": {"a": 1}}
    assert loads(json.dumps(body).encode()) == PLAIN


def test_an_older_file_is_lifted_step_by_step(monkeypatch: pytest.MonkeyPatch) -> None:
    def lift(body: dict[str, Any]) -> dict[str, Any]:
        return {**body, "request": body["asked"]}

    monkeypatch.setattr(save, "UPGRADES", {0: lift})
    old = {"format": save.FORMAT, "version": 0, "asked": {"messages": [{"role": "user", "content": []}]}}
    assert loads(json.dumps(old).encode()).request.messages[0].role == "user"


@pytest.mark.parametrize("version", [0, -1])
def test_a_version_that_never_was_is_told_with_its_place(version: int) -> None:
    body = {**json.loads(dumps(PLAIN)), "version": version}
    with pytest.raises(RemoteError, match=f"^version: there was no version {version}$"):
        loads(json.dumps(body).encode())


@pytest.mark.parametrize("version", [save.VERSION + 1, "2", None])
def test_a_newer_file_says_to_upgrade(version: Any) -> None:
    body = {**json.loads(dumps(PLAIN)), "version": version}
    with pytest.raises(UsageError, match="upgrade it"):
        loads(json.dumps(body).encode())


@pytest.mark.parametrize(
    ("change", "place"),
    [
        ({"request": {"model": 7}}, r"\$\.request\.model"),
        ({"request": {"messages": [{"role": "robot", "content": []}]}}, r"\$\.request\.messages\[0\]\.role"),
        ({"request": {"messages": [{"role": "user", "content": [{"type": "?"}]}]}}, r"content\[0\]\.type"),
    ],
)
def test_a_broken_file_names_the_place(change: dict[str, Any], place: str) -> None:
    body = {**json.loads(dumps(PLAIN)), **change}
    with pytest.raises(RemoteError, match=place) as caught:
        loads(json.dumps(body).encode())
    assert caught.value.code == "bad_shape"


@given(json_values)
def test_any_other_json_is_no_conversation(value: Any) -> None:
    assert not is_saved(value)
    with pytest.raises(RemoteError):
        loads(json.dumps(value).encode())


@pytest.mark.parametrize("deep", [b"[" * 5000, b"[" * 5000 + b"]" * 5000, b'{"a":' * 641 + b"1" + b"}" * 641])
def test_what_is_too_deep_is_told_as_that(deep: bytes) -> None:
    with pytest.raises(RemoteError, match="more than 640 levels of nesting") as caught:
        loads(deep)
    assert caught.value.code == "too_deep"


def test_a_leftover_as_deep_as_a_body_may_be_comes_back() -> None:
    said: Any = 1
    for _ in range(510):
        said = [said]
    request = Request(messages=(Message(role="user", content=(Text(text="a", opaque={"chat": {"x": said}}),)),))
    saved = Conversation(request=request)
    assert loads(dumps(saved)) == saved


@pytest.mark.parametrize("data", [b"", b"{", b"\xff"])
def test_what_is_no_json_is_no_conversation(data: bytes) -> None:
    with pytest.raises(RemoteError) as caught:
        loads(data)
    assert caught.value.code == "bad_json"


def test_a_request_alone_is_a_conversation() -> None:
    saved = Conversation(request=Request(messages=(user(Text(text="a")),)))
    assert (saved.replies, saved.notes) == ((), ())
    assert b'"replies"' not in dumps(saved)
