"""Guards the table of causes: each row is met by what a service says, and nothing else is explained away (issue 4.3)."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import pytest

from dragoman.dialect.model import BASE
from dragoman.errors import ApiError
from dragoman.explain import causes, explain
from dragoman.wire import find

NAMES = {"key": "SOME_KEY", "model": "some-model", "base_url": "https://some.example/v1"}

# What services say, by the cause it has: (status, the error object).
SAID: list[tuple[str, int, Any]] = [
    ("orphan-call", 400, "messages.5: `tool_use` ids were found without `tool_result` blocks immediately after: toolu_1"),
    ("orphan-call", 400, "An assistant message with 'tool_calls' must be followed by tool messages responding to each"),
    ("orphan-call", 400, "No tool output found for function call call_1."),
    ("orphan-result", 400, "messages.0.content.1: unexpected `tool_use_id` found in `tool_result` blocks: toolu_1."),
    ("orphan-result", 400, "messages with role 'tool' must be a response to a preceeding message with 'tool_calls'."),
    ("orphan-result", 400, "No tool call found for function call output with call_id call_1."),
    ("no-tools", 400, "The toolConfig field must be defined when using toolUse and toolResult content blocks."),
    ("duplicate-tool", 400, "tools: Tool names must be unique."),
    ("call-id", 400, "Tool call id was call_1 but must be a-z, A-Z, 0-9, with a length of 9."),
    ("call-id", 400, "messages.1.content.0.tool_use.id: String should match pattern '^[a-zA-Z0-9_-]+$'"),
    ("call-id", 400, "Invalid 'messages[1].tool_calls[0].id': string too long. Expected maximum length 40."),
    ("tool-name", 400, "Invalid 'tools[0].function.name': string does not match pattern."),
    ("tool-name", 400, "tools.0.custom.name: String should match pattern '^[a-zA-Z0-9_-]{1,128}$'"),
    ("tool-schema", 400, "Invalid schema for function 'weather': schema must have type 'object'."),
    ("tool-schema", 400, "tools.0.custom.input_schema.type: Field required"),
    ("output-schema", 400, "Invalid schema for response_format 'answer': 'additionalProperties' is required"),
    ("tool-use-failed", 400, {"message": "Tool call validation failed", "code": "tool_use_failed"}),
    ("tools-unsupported", 404, "No endpoints found that support tool use."),
    ("tools-unsupported", 400, "registry/library/gemma:latest does not support tools"),
    ("missing-reasoning", 400, "messages.1.content.0.type: Expected `thinking` or `redacted_thinking`, but found `text`."),
    ("missing-reasoning", 400, "The `reasoning_content` in the thinking mode must be passed back to the API."),
    ("reasoning-alone", 400, "Item 'rs_1' of type 'reasoning' was provided without its required following item."),
    ("reasoning-state", 400, "messages.1.content.0: Invalid `signature` in `thinking` block"),
    ("thinking-and-choice", 400, "Thinking may not be enabled when tool_choice forces tool use."),
    ("effort", 400, "This model does not support effort level 'xhigh'. Supported levels: high, low, max, medium."),
    ("alternation", 400, 'messages: roles must alternate between "user" and "assistant"'),
    ("alternation", 400, "Unexpected role 'user' after role 'tool'"),
    ("first-user", 400, 'messages: first message must use the "user" role'),
    ("prefill", 400, "This model does not support assistant message prefill."),
    ("trailing-whitespace", 400, "messages: final assistant content cannot end with trailing whitespace"),
    ("empty-content", 400, "messages: text content blocks must be non-empty"),
    ("lone-surrogate", 400, "The request body is not valid JSON: no low surrogate in string"),
    ("role", 400, "Unsupported value: 'messages[0].role' does not support 'developer' with this model."),
    ("role", 400, "developer is not one of ['system', 'assistant', 'user', 'tool', 'function'] - 'messages.[0].role'"),
    ("json-word", 400, "'messages' must contain the word 'json' in some form, to use 'response_format'."),
    ("image-unsupported", 404, "No endpoints found that support image input"),
    ("image-unsupported", 400, "Invalid content type. image_url is only supported by certain models."),
    ("image-invalid", 400, "You uploaded an unsupported image."),
    ("image-invalid", 400, {"message": "x", "code": "invalid_image_url"}),
    ("file-type", 400, "The file type you uploaded is not supported. Please try again with a pdf"),
    ("cache-marks", 400, "A maximum of 4 blocks with cache_control may be provided. Found 5."),
    ("overflow-with-answer", 400, "input length and `max_tokens` exceed context limit: 190000 + 32000 > 200000"),
    ("overflow", 400, "prompt is too long: 208310 tokens > 200000 maximum"),
    ("overflow", 400, {"message": "x", "code": "context_length_exceeded"}),
    ("too-large", 413, {"type": "request_too_large", "message": "Request exceeds the maximum size"}),
    ("max-output", 400, "max_tokens: 100000 > 64000, which is the maximum allowed number of output tokens for it"),
    ("max-output", 400, "max_tokens is too large: 100000. This model supports at most 4096 completion tokens"),
    ("budget", 400, "`max_tokens` must be greater than `thinking.budget_tokens`."),
    ("value", 400, "Invalid 'temperature': decimal above maximum value. Expected a value <= 2, but got 99.0 instead."),
    ("value", 400, "invalid temperature: only 1 is allowed for this model"),
    ("unsupported-parameter", 400, "Unsupported parameter: 'max_tokens' is not supported with this model."),
    ("unsupported-parameter", 400, "Extra inputs are not permitted, field: 'stream_options'"),
    ("unsupported-parameter", 400, "Unrecognized request argument supplied: foo"),
    ("feature-unsupported", 400, "Logprobs are not enabled for this model"),
    ("previous-response", 400, {"message": "x", "code": "previous_response_not_found"}),
    ("unknown-model", 400, "The requested model 'gpt-5.2-proo' does not exist."),
    ("unknown-model", 404, "model: claude-sonet-4-5"),
    ("no-money", 429, {"message": "x", "code": "insufficient_quota"}),
    ("no-money", 429, {"code": "1113", "message": "Insufficient balance or no resource package. Please recharge."}),
    ("expired", 403, "The security token included in the request is expired"),
    ("bad-key", 401, "Incorrect API key provided: sk-fake."),
    ("region", 400, "User location is not supported for the API use."),
    ("no-access", 403, "You don't have access to the model with the specified model ID."),
    ("filtered", 400, "The response was filtered due to the prompt triggering Azure Content management policy."),
]  # fmt: skip


def error(status: int, said: Any, wire: str = "chat") -> ApiError:
    """The error of a refusal, as the codec reads it."""
    body = {"error": {"message": said} if isinstance(said, str) else said}
    return find(wire).decode_error(status, {}, json.dumps(body).encode(), BASE)


@pytest.mark.parametrize(("name", "status", "said"), SAID)
@pytest.mark.parametrize("wire", ["chat", "messages", "responses"])
def test_what_services_say_has_a_cause_and_a_fix(name: str, status: int, said: Any, wire: str) -> None:
    found = explain(error(status, said, wire), names=NAMES)
    assert found is not None and found.name == name
    assert found.source and "{" not in str(found)


def test_every_row_is_met() -> None:
    assert {row.name for row in causes()} == {name for name, _, _ in SAID}


@pytest.mark.parametrize(
    ("status", "said"),
    [
        (400, "Request contains an invalid argument."),
        (429, "You exceeded your current quota, please check your plan. Please retry in 34.4s."),
        (429, "Your requests to grok have exceeded rate limit."),
        (500, "The server had an error while processing your request"),
        (503, ""),
    ],
)
def test_words_that_tell_nothing_are_not_explained(status: int, said: str) -> None:
    assert explain(error(status, said), names=NAMES) is None


@pytest.mark.req("S0-68")
def test_a_fix_names_the_key_the_model_and_the_address() -> None:
    told = [
        str(explain(error(status, said), names=NAMES))
        for status, said in [(401, "Invalid API key"), (400, "Invalid model: x")]
    ]
    assert told == [
        "the service does not know this key: check SOME_KEY",
        "the service does not know this model: check the model id some-model and the base URL https://some.example/v1",
    ]
    assert str(explain(error(401, "Invalid API key"))) == "the service does not know this key: check the key"


def test_a_service_that_talks_for_ever_is_not_read_for_ever() -> None:
    assert explain(error(400, "effort " * 200_000)) is None


# Errors that say nothing of a cause in the request; the code tells all there is.
SILENT = (
    *("Unauthorized", "Forbidden", "Input does not match the expected shape", "exceeded rate limit", "no reason"),
    *("temporarily rate-limited", "Content blocks are expected", "Cannot use both json_schema"),
)


@pytest.mark.corpus
@pytest.mark.parametrize("wire", ["chat", "messages", "responses"])
def test_recorded_refusals_are_explained(wire: str, shared: Path) -> None:
    """Every refusal of the development recordings that says a cause; those of wires that we do not speak are not ours."""
    explained = 0
    with gzip.open(shared / "corpus" / "dev" / f"{wire}.jsonl.gz", "rt", encoding="utf-8") as file:
        lines = list(file)
    for line in lines:
        entry = json.loads(line)
        if (entry.get("status") or 0) < 400 or entry.get("response") is None:
            continue
        body = json.dumps(entry["response"]).encode()
        read = find(wire).decode_error(entry["status"], {}, body, BASE)
        found = explain(read, names=NAMES)
        assert found is not None or any(words in read.message for words in SILENT), (entry["id"], read.message)
        explained += found is not None
        if found is not None and found.name in ("overflow", "bad-key", "no-money"):
            assert (found.name, read.code) in {
                ("overflow", "context_overflow"),
                ("bad-key", "auth"),
                ("no-money", "quota"),
            }
    assert explained
