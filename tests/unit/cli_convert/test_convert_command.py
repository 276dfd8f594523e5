"""Guards `dragoman convert`: bad input is one line naming the place, exit 2 and nothing written; strict is exit 3; jsonl answers every line."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from dragoman.cli.main import exit_code
from dragoman.cli.main import group as cli
from dragoman.errors import DragomanError

CHAT = {"model": "m", "messages": [{"role": "user", "content": "你好 🙂 שלום"}]}
CUT = 'data: {"choices":[{"index":0,"delta":{"content":"half"}}]}\n\n'
DEEP = "[" * 10_000 + "]" * 10_000


def convert(*arguments: str, text: str | bytes) -> Result:
    return CliRunner().invoke(cli, ["convert", *arguments], input=text)


def code(result: Result) -> int:
    """The exit code that the frame of the command line gives to what the command raised."""
    return exit_code(result.exception) if isinstance(result.exception, DragomanError) else result.exit_code


def lines(*jobs: Any) -> list[dict[str, Any]]:
    text = "\n".join(job if isinstance(job, str) else json.dumps(job) for job in jobs)
    result = convert("--jsonl", text=text)
    assert result.exit_code == 0
    return [json.loads(line) for line in result.stdout.splitlines()]


def test_the_body_goes_to_stdout_and_text_of_any_script_comes_through_uncut() -> None:
    result = convert("request", "--from", "chat", "--to", "messages", text=json.dumps(CHAT, ensure_ascii=False))
    assert result.exit_code == 0
    assert "你好 🙂 שלום" in result.stdout
    assert result.stderr == "note: max_output synthesised: this wire wants a limit: 8192 tokens (no loss)\n"


def test_the_same_wire_passes_the_bytes_as_they_stand() -> None:
    body = '{ "messages" : [ {"role":"user","content":"x"} ],\n "model":"m", "unknown": [1.0, 1e5] }'
    assert convert("request", "--from", "chat", "--to", "chat", text=body).stdout == body


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ("", "the body is empty"),
        ("garbage", "line 1, column 1"),
        ('{"model": "m", "messages": [{"role": "us', "the JSON ends too early, at line 1, column 38"),
        (DEEP, "more than 512 levels of nesting"),
        (b"\xff\xfe{}", "not UTF-8 at byte 0"),
        ("[]", "expected a JSON object, got an array"),
        ('{"model": "m"}', "messages: expected an array"),
        ('{"messages": [{"role": "user", "content": "a"}, {"role": "robot"}]}', "messages[1].role: unknown role"),
        ('{"messages": [{"role": "user", "content": [{"type": "text", "text": "a"}, 7]}]}', "messages[0].content[1]"),
        ('{"messages": [{"role": "user", "content": [{"type": "tool_result"}]}]}', "messages[0].content[0]"),
        ('{"input": "hi", "model": "m"}', "input: a chat body has no `input`"),
        ('{"system": "s", "messages": []}', "system: a chat body has no `system`"),
    ],
    ids=lambda part: str(part)[:24],
)
def test_a_body_that_cannot_be_read_is_one_line_with_the_place_and_nothing_is_written(
    text: str | bytes, place: str
) -> None:
    result = convert("request", "--from", "chat", "--to", "messages", text=text)
    assert (code(result), result.stdout) == (2, "")
    assert place in str(result.exception)
    assert "\n" not in str(result.exception)


@pytest.mark.parametrize("wire", ["messages", "responses"])
def test_a_chat_body_with_calls_is_refused_by_the_other_wires(wire: str) -> None:
    call = {"id": "t1", "type": "function", "function": {"name": "read", "arguments": "{}"}}
    chat = {"model": "m", "messages": [{"role": "assistant", "content": None, "tool_calls": [call]}]}
    result = convert("request", "--from", wire, "--to", "chat", text=json.dumps(chat))
    assert (code(result), result.stdout) == (2, "")
    assert "messages" in str(result.exception)


def test_a_body_above_the_limit_is_refused_before_it_is_read_whole() -> None:
    result = convert("request", "--from", "chat", "--to", "chat", "--max-bytes", "10", text=json.dumps(CHAT))
    assert (code(result), result.stdout) == (2, "")
    assert str(result.exception) == "the input is larger than 10 bytes: raise --max-bytes to read it"


def test_strict_refuses_a_loss_names_it_and_writes_nothing() -> None:
    lossy = json.dumps({**CHAT, "seed": 7, "max_tokens": 5})
    result = convert("request", "--from", "chat", "--to", "messages", "--strict", text=lossy)
    assert (code(result), result.stdout) == (3, "")
    assert "sampling.seed would be dropped" in str(result.exception)


def test_a_file_is_read_and_an_unknown_dialect_is_named(tmp_path: Path) -> None:
    file = tmp_path / "请求.json"
    file.write_text(json.dumps({**CHAT, "max_tokens": 5}), encoding="utf-8")
    openai = convert("request", str(file), "--from", "chat", "--to", "chat", "--dialect", "openai", text="")
    assert json.loads(openai.stdout) == {**CHAT, "max_tokens": 5}, "a client's own spelling is kept"
    result = convert("request", str(file), "--from", "chat", "--to", "chat", "--dialect", "nobody", text="")
    assert code(result) == 2
    assert "no dialect 'nobody': one of" in str(result.exception)


def test_every_line_gets_an_answer_line_in_order_whatever_is_in_it() -> None:
    job = {"op": "request", "from": "chat", "to": "unified", "body": CHAT}
    answers = lines({"id": 1, **job}, "not json", {"id": 2, "op": "request"}, {"id": "drei", **job, "from": "klingon"})
    assert [(answer["id"], answer["error"] and answer["error"]["code"]) for answer in answers] == [
        (1, None),
        (None, "bad_json"),
        (2, "usage"),
        ("drei", "unknown_wire"),
    ]
    assert answers[0] == {
        "id": 1,
        "body": {
            "model": "m",
            "messages": [{"role": "user", "content": [{"type": "text", "text": "你好 🙂 שלום"}]}],
            "sampling": {},
        },
        "notes": [],
        "error": None,
    }


def test_a_reply_is_unified_with_what_was_not_said_left_out() -> None:
    call = {"id": "c", "type": "function", "function": {"name": "f", "arguments": '{"a":1}'}}
    message = {"role": "assistant", "content": None, "tool_calls": [call], "reasoning_content": "hm"}
    usage = {"prompt_tokens": 929, "completion_tokens": 5, "prompt_tokens_details": {"cached_tokens": 890}}
    reply = {"id": "r", "model": "m", "choices": [{"message": message, "finish_reason": "stop"}], "usage": usage}
    (answer,) = lines({"id": 1, "op": "reply", "from": "chat", "to": "unified", "body": reply})
    body = answer["body"]
    assert [block["type"] for block in body["message"]["content"]] == ["reasoning", "tool_call"]
    assert body["message"]["content"][1]["arguments"] == '{"a":1}'
    assert body["stop"] == {"reason": "tool_calls", "raw": "stop"}
    assert {key: body["usage"].get(key) for key in ("input", "output", "cache_read", "reasoning")} == {
        "input": 929,
        "output": 5,
        "cache_read": 890,
        "reasoning": None,
    }


def test_a_stream_that_was_cut_carries_what_arrived_and_its_failure() -> None:
    job = {"op": "stream", "from": "chat", "to": "unified"}
    base64 = "ZGF0YTogeyJjaG9pY2VzIjpbeyJkZWx0YSI6eyJjb250ZW50IjoiaGkifX1dfQoKZGF0YTogW0RPTkVdCgo="
    cut, whole = lines({"id": 1, **job, "body": CUT}, {"id": 2, **job, "body_base64": base64})
    assert cut["body"]["message"]["content"] == [{"type": "text", "text": "half"}]
    assert cut["body"]["failure"]["code"] == "incomplete"
    assert whole["body"]["message"]["content"] == [{"type": "text", "text": "hi"}]
    assert "failure" not in whole["body"]


def test_a_stream_to_a_wire_is_a_string_and_an_error_is_what_the_vendor_said() -> None:
    error = {"error": {"message": "slow down", "type": "rate_limit_error"}}
    stream, refused, inside = lines(
        {"id": 1, "op": "stream", "from": "chat", "to": "messages", "body": CUT + "data: [DONE]\n\n"},
        {
            "id": 2,
            "op": "error",
            "from": "chat",
            "to": "unified",
            "status": 429,
            "headers": {"retry-after": "3"},
            "body": error,
        },
        {"id": 3, "op": "reply", "from": "chat", "to": "unified", "body": error},
    )
    assert stream["body"].startswith("event: message_start\n")
    assert refused["body"] == {
        "error": {"code": "rate_limit", "message": "slow down", "status": 429, "retryable": True, "retry_after": 3.0}
    }
    assert (inside["body"]["error"]["code"], inside["error"]) == ("rate_limit", None)


def test_strict_on_a_line_and_facts_of_a_dialect_are_obeyed() -> None:
    job = {"op": "request", "from": "messages", "to": "chat"}
    body = {"model": "m", "max_tokens": 9, "top_k": 3, "messages": [{"role": "user", "content": "x"}]}
    loose, named, strict, unknown = lines(
        {"id": 1, **job, "body": body},
        {"id": 2, **job, "body": body, "provider": "openai"},
        {"id": 3, **job, "body": {**body, "thinking": {"type": "enabled", "budget_tokens": 2000}}, "strict": True},
        {"id": 4, **job, "body": body, "provider": "nobody", "dialect": {"max_tokens_key": "max_completion_tokens"}},
    )
    assert loose["body"]["max_tokens"] == 9
    assert named["body"]["max_completion_tokens"] == 9
    assert (strict["body"], strict["error"]["code"]) == (None, "lossy")
    assert unknown["body"]["max_completion_tokens"] == 9


def test_what_a_line_of_json_cannot_hold_is_told_like_any_other_loss() -> None:
    """Half a surrogate pair is no text: the line that carries the body is read before the body is, so it tells."""
    job = {"op": "request", "from": "chat", "to": "responses", "body": {**CHAT, "user": "\ud83d"}}
    told, refused = lines({"id": 1, **job}, {"id": 2, **job, "strict": True})
    loss = {"path": "body", "action": "substituted", "reason": "lone surrogates became U+FFFD", "loss": True}
    assert loss in told["notes"]
    assert told["body"]["user"] == "\ufffd"
    assert (refused["body"], refused["error"]["code"], refused["notes"]) == (None, "lossy", [loss])


def test_what_is_told_in_the_same_words_and_lost_nothing_is_one_line_and_each_loss_is_its_own() -> None:
    properties = {name: {"type": "string", "title": name.upper()} for name in ("a", "b", "c")}
    schema = {"type": "object", "properties": properties, "required": ["a", "b", "c"], "additionalProperties": False}
    tool = {"type": "function", "name": "f", "parameters": schema, "strict": True}
    hosted = [{"type": "web_search"}, {"type": "image_generation"}]
    body = {"model": "m", "input": "hi", "tools": [tool, *hosted], "store": False}
    result = convert("request", "--from", "responses", "--to", "chat", text=json.dumps(body))
    assert result.stderr.splitlines() == [
        "note: tools[0].parameters.properties.a.title dropped: this subset has no title (no loss; 2 more like it)",
        "note: tools[1] dropped: tool 'web_search' is run by a provider of the responses wire",
        "note: tools[2] dropped: tool 'image_generation' is run by a provider of the responses wire",
    ]
