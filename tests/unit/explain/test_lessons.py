"""Guards adapt-on-400: only a quoted match of what was sent changes a fact, once, and words of a value change none."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import pytest

from dragoman.dialect.model import BASE, Dialect, override
from dragoman.errors import ApiDetail, ApiError
from dragoman.explain import lesson
from dragoman.explain.lessons import lessons
from dragoman.wire import WIRES, find

TALK = [{"role": "user", "content": "hi"}]
PARTS = [{"role": "user", "content": [{"type": "text", "text": "hi"}]}]
CALLED = [{"role": "assistant", "tool_calls": [{"id": "call_ABC", "function": {"name": "f", "arguments": "{}"}}]}]
NEW = "Use 'max_completion_tokens' instead."
ADAPTIVE = 'Use "thinking.type.adaptive" and "output_config.effort".'
EFFORTS = "Supported values are: 'none', 'low', 'medium', and 'high'."

# What a service says, the body it refuses, and what that teaches; None: nothing.
CASES: list[tuple[str, str, dict[str, Any], str | None, dict[str, Any]]] = [
    ("chat", f"Unsupported parameter: 'max_tokens' is not supported with this model. {NEW}", {"max_tokens": 5},
     "max_tokens", {"max_tokens_key": "max_completion_tokens", "unsupported": ("max_tokens",)}),
    ("chat", "`max_completion_tokens` is not supported, use `max_tokens`", {"max_completion_tokens": 5},
     "max_completion_tokens", {"max_tokens_key": "max_tokens", "unsupported": ("max_completion_tokens",)}),
    ("chat", "Unsupported value: 'temperature' does not support 0.2 with this model.", {"temperature": 0.2},
     "temperature", {"unsupported": ("temperature",)}),
    ("responses", "Unsupported parameter: 'temperature' is not supported with this model.", {"temperature": 0.2},
     "temperature", {"unsupported": ("temperature",)}),
    ("messages", "`temperature` is deprecated for this model.", {"temperature": 0.2},
     "temperature", {"unsupported": ("temperature",)}),
    ("chat", "Extra inputs are not permitted, field: 'stream_options'", {"stream_options": {}},
     "stream_options", {"usage_in_stream": "never"}),
    ("chat", "Validation error at #/stream_options: Extra inputs are not permitted", {"stream_options": {}},
     "stream_options", {"usage_in_stream": "never"}),
    ("chat", "[{'type': 'extra_forbidden', 'loc': ('body', 'stream_options'), 'msg': 'Extra inputs are not permitted'}]",
     {"stream_options": {}}, "stream_options", {"usage_in_stream": "never"}),
    ("chat", "Unsupported value: 'messages[0].role' does not support 'developer' with this model.",
     {"messages": [{"role": "developer"}]}, "developer", {"instruction_role": "system"}),
    ("chat", "developer is not one of ['system', 'assistant', 'user', 'tool', 'function'] - 'messages.[0].role'",
     {"messages": [{"role": "developer"}]}, "developer", {"instruction_role": "system"}),
    ("responses", "unknown variant `developer`, expected one of `system`, `user`",
     {"input": [{"role": "developer"}]}, "developer", {"instruction_role": "system"}),
    ("chat", "Unsupported value: 'messages[0].role' does not support 'system' with this model.",
     {"messages": [{"role": "system"}]}, "system", {"instruction_role": "developer"}),
    ("chat", f"Unsupported value: 'minimal' is not supported with the 'gpt-5.1' model. {EFFORTS}",
     {"reasoning_effort": "minimal"}, "effort", {"efforts": ("none", "low", "medium", "high")}),
    ("messages", "This model does not support effort level 'xhigh'. Supported levels: high, low, max, medium.",
     {"output_config": {"effort": "xhigh"}}, "effort", {"efforts": ("high", "low", "max", "medium")}),
    ("messages", f'"thinking.type.enabled" is not supported for this model. {ADAPTIVE}',
     {"thinking": {"type": "enabled"}}, "thinking", {"thinking_form": "adaptive"}),
    ("chat", "tool_choice 'required' is incompatible with thinking enabled", {"tool_choice": "required"},
     "tool_choice", {"tool_choices": ("auto", "none", "named", "allowed")}),
    ("chat", "Unknown field: 'tools[0].function.strict'", {"tools": [{"function": {"strict": True}}]},
     "strict", {"strict_tools": "omit"}),
    ("chat", "'messages.1' : for 'role:user' the following must be satisfied[('messages.1' : property 'name' is unsupported)]",
     {"messages": [{"role": "user", "name": "a"}]}, "message name", {"names_on": []}),
    ("chat", "cache_control: Extra inputs are not permitted", {"tools": [{"cache_control": {}}]},
     "cache_control", {"cache_style": None}),
    ("chat", "'messages.0' : for 'role:system' the following must be satisfied[('messages.0.content' : value must be a string)]",
     {"messages": PARTS}, "text in parts", {"text_only": True}),
    ("chat", "Invalid 'messages[0].tool_calls[0].id': string too long. Expected a string with maximum length 40, but got 53.",
     {"messages": CALLED}, "length of call ids", {"call_id_pattern": "^.{1,40}$"}),
    ("chat", "Tool call id was call_ABC but must be a-z, A-Z, 0-9, with a length of 9.", {"messages": CALLED},
     "form of call ids", {"call_id_pattern": "^[a-zA-Z0-9]{9}$", "call_id_length": 9}),
    ("chat", "Unsupported parameter: 'parallel_tool_calls' is not supported with this model.",
     {"parallel_tool_calls": True}, "parameter", {"unsupported": ("parallel_tool_calls",)}),
    ("chat", "Unrecognized request argument supplied: seed", {"seed": 1}, "parameter", {"unsupported": ("seed",)}),
    ("chat", "[{'type': 'extra_forbidden', 'loc': ('body', 'seed'), 'msg': 'Extra inputs are not permitted', 'input': 1}]",
     {"seed": 1}, "parameter", {"unsupported": ("seed",)}),
    ("chat", "Extra inputs are not permitted, field: 'seed', value: 1", {"seed": 1}, "parameter", {"unsupported": ("seed",)}),
    ("chat", "Unknown parameter: 'verbosity'.", {"verbosity": "low"}, "parameter", {"unsupported": ("verbosity",)}),
    ("chat", "property 'reasoning_effort' is unsupported", {"reasoning_effort": "low"},
     "parameter", {"unsupported": ("reasoning_effort",)}),
    # S3-17: words of a value, of another key, without quotes, or of what was not sent
    ("chat", "'max_completion_tokens' too large", {"max_tokens": 5}, None, {}),
    ("chat", "'max_completion_tokens' too large", {"max_completion_tokens": 5}, None, {}),
    ("chat", "max_tokens is not supported", {"max_tokens": 5}, None, {}),
    ("chat", "'max_tokens' is too large: 100000", {"max_tokens": 100_000}, None, {}),
    ("chat", "Unsupported parameter: 'max_tokens'", {"max_completion_tokens": 5}, None, {}),
    ("chat", "Invalid 'temperature': decimal above maximum value. Expected a value <= 2, but got 99.0 instead.",
     {"temperature": 99}, None, {}),
    ("chat", "Unsupported parameter: 'temperature'", {"top_p": 0.5}, None, {}),
    ("chat", 'roles must alternate between "user" and "assistant"', {"user": "me"}, None, {}),
    ("chat", "Unexpected role 'user' after role 'tool'", {"user": "me"}, None, {}),
    ("chat", "Invalid value: 'stop' must be a string", {"stop": ["x"]}, None, {}),
    ("chat", f"Unsupported value: 'minimal' is not supported with this model. {EFFORTS}", {"reasoning_effort": "low"}, None, {}),
    ("chat", "Tool call id was call_XYZ but must be a-z, A-Z, 0-9, with a length of 9.", {"messages": CALLED}, None, {}),
    ("messages", "Unsupported parameter: 'max_tokens'", {"max_tokens": 5}, None, {}),
    ("chat", "something else", {"max_tokens": 5, "temperature": 1}, None, {}),
]  # fmt: skip
# The same of a dialect that says otherwise than the base.
ECHO = override(BASE, {"reasoning_out": "reasoning_content", "reasoning_filler": "", "cache_style": "cache_control"})


def refusal(said: str) -> ApiError:
    return ApiError("invalid_request", f"Service API error 400: {said}", ApiDetail(status=400, message=said))


@pytest.mark.req("S3-15", "S3-16", "S3-17", "S3-18")
@pytest.mark.case("PAR-001")
@pytest.mark.parametrize(("wire", "said", "body", "name", "facts"), CASES)
def test_what_a_refusal_teaches(wire: str, said: str, body: dict[str, Any], name: str | None, facts: Any) -> None:
    dialect = ECHO if name == "cache_control" else BASE
    if name == "max_completion_tokens":
        dialect = override(BASE, {"max_tokens_key": "max_completion_tokens"})
    found = lesson(refusal(said), json.dumps({"messages": TALK, **body}).encode(), wire, dialect)
    assert (found.name if found else None, found.facts if found else {}) == (name, facts)
    if found is not None:
        learned = override(dialect, found.facts)
        assert learned != dialect
        assert lesson(refusal(said), json.dumps(body).encode(), wire, learned) is None, "once known it teaches no more"


def test_reasoning_that_a_server_refuses_is_not_sent_back() -> None:
    said = "'messages.2' : property 'reasoning_content' is unsupported"
    body = json.dumps({"messages": [{"role": "assistant", "reasoning_content": "hm"}]}).encode()
    found = lesson(refusal(said), body, "chat", ECHO)
    assert found is not None and found.facts == {"reasoning_out": None, "reasoning_filler": None}
    assert override(ECHO, found.facts) == override(BASE, {"cache_style": "cache_control"})


def test_a_temperature_that_is_refused_while_thinking_is_kept_for_other_calls() -> None:
    said = "`temperature` may only be set to 1 when thinking is enabled."
    found = lesson(refusal(said), json.dumps({"temperature": 0.2}).encode(), "messages", BASE)
    assert found is not None and found.facts == {"unsupported_thinking": ("temperature",)}


def test_every_row_teaches() -> None:
    met = {name for *_, name, _ in CASES if name} | {"reasoning sent back", "sampling while thinking"}
    assert {row.name for row in lessons()} == met
    assert all(row.source for row in lessons())


@pytest.mark.req("S3-18")
def test_a_row_that_taught_is_not_asked_again() -> None:
    body = json.dumps({"max_tokens": 5}).encode()
    said = refusal("Unsupported parameter: 'max_tokens'")
    dialect = Dialect()
    assert lesson(said, body, "chat", dialect, but={("max_tokens", "max_tokens")}) is None


def test_a_body_that_is_no_json_teaches_nothing() -> None:
    assert lesson(refusal("'temperature'"), b"{", "chat", BASE) is None


# What the development recordings teach; every other refusal in them teaches nothing.
TAUGHT = {
    "ai-3c07a7422f62": ("max_tokens", {"max_tokens_key": "max_completion_tokens", "unsupported": ("max_tokens",)}),
    "ai-5b1e5d55295f": ("temperature", {"unsupported": ("temperature",)}),
    "pydantic-ai-e3e20308df4f": ("developer", {"instruction_role": "system"}),
    "pydantic-ai-c4311e64d520": ("system", {"instruction_role": "developer"}),
    "pydantic-ai-b77f66c5c2f2": ("effort", {"efforts": ("high", "low", "max", "medium")}),
}


@pytest.mark.corpus
@pytest.mark.req("S3-15", "S3-16", "S3-17", "S3-18")
def test_recorded_refusals_teach_what_they_say_and_no_more(shared: Path) -> None:
    taught: dict[str, Any] = {}
    for wire in WIRES:
        with gzip.open(shared / "corpus" / "dev" / f"{wire}.jsonl.gz", "rt", encoding="utf-8") as file:
            entries = [json.loads(line) for line in file if '"error"' in line]
        for entry in entries:
            if (entry.get("status") or 0) < 400 or entry.get("response") is None:
                continue
            error = find(wire).decode_error(entry["status"], {}, json.dumps(entry["response"]).encode(), BASE)
            asked = entry["request"] or {"max_tokens": 5, "temperature": 1.0}  # of some only the answer was kept
            found = lesson(error, json.dumps(asked).encode(), wire, BASE)
            if found is not None:
                taught[entry["id"]] = (found.name, found.facts)
    assert taught == TAUGHT
