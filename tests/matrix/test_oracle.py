"""Guards the judge: the oracle knows nothing of dragoman, agrees with the official SDKs, and reads what it should."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from matrix import oracle, recordings, sdk
from matrix.oracle import Call, Reading, Usage

TESTS = Path(__file__).resolve().parents[1]

BLOCKED = """
import sys

class Blocker:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] == "dragoman":
            raise ImportError(f"the oracle imports {name}")

sys.meta_path.insert(0, Blocker())
sys.path.insert(0, sys.argv[1])
from matrix import oracle, recordings, sdk
assert not [name for name in sys.modules if name.partition(".")[0] == "dragoman"]
reading = oracle.chat_stream([{"choices": [{"index": 0, "delta": {"content": "hi"}, "finish_reason": "stop"}]}])
assert reading.text == "hi" and not reading.failed
"""


def _piece(index: int, name: str, text: str) -> dict[str, object]:
    return {"index": index, "function": {"name": name, "arguments": text}}


def _reasoned(tokens: int) -> dict[str, object]:
    return {"completion_tokens_details": {"reasoning_tokens": tokens}}


def test_the_oracle_imports_nothing_from_dragoman() -> None:
    done = subprocess.run([sys.executable, "-c", BLOCKED, str(TESTS)], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr


@pytest.mark.corpus
@pytest.mark.parametrize("name", recordings.WIRES)
@pytest.mark.filterwarnings("ignore")  # the SDKs' own deprecations
def test_the_oracle_agrees_with_the_official_sdk(name: str) -> None:
    asked = [entry for entry in recordings.judged(name) if sdk.speaks(entry)]
    apart: dict[str, str] = {}
    for entry in asked:
        try:
            if sdk.read(entry) != oracle.read(entry):
                apart[entry["id"]] = "misreads"
        except (AttributeError, RuntimeError):
            apart[entry["id"]] = "refuses"
    known = {**dict.fromkeys(sdk.REFUSES, "refuses"), **dict.fromkeys(sdk.MISREADS, "misreads")}
    assert apart == {id: known[id] for id in known if id in {entry["id"] for entry in asked}}
    assert len(asked) > 300


def test_chat_pieces_are_put_together() -> None:
    chunks = [
        {"choices": [{"index": 1, "delta": {"content": "the other choice"}}]},
        {"choices": [{"index": 0, "delta": {"reasoning": "h", "reasoning_details": [{"text": "h"}]}}]},
        {"choices": [{"index": 0, "delta": {"reasoning": "m", "content": "Hel"}}]},
        {"choices": [{"index": 0, "delta": {"content": "lo", "tool_calls": [_piece(0, "add", '{"a":')]}}]},
        {"choices": [{"index": 0, "delta": {"tool_calls": [_piece(1, "sub", "{"), _piece(0, "add", "1}")]}}]},
        {"choices": [{"index": 0, "delta": {}, "finish_reason": "length"}]},
        {"choices": [], "x_groq": {"usage": {"prompt_tokens": 3, "completion_tokens": 2, "total_tokens": 5}}},
    ]
    assert oracle.chat_stream(chunks) == Reading(
        text="Hello", reasoning="hm", calls=(Call("add", {"a": 1}), Call("sub", "{")), usage=Usage(3, 0, 2)
    )
    assert oracle.chat_stream(chunks[:3]).failed


@pytest.mark.parametrize(
    ("counts", "expected"),
    [
        ({"prompt_tokens": 12, "completion_tokens": 1, "total_tokens": 303, **_reasoned(290)}, Usage(12, 0, 291)),
        ({"prompt_tokens": 12, "completion_tokens": 300, "total_tokens": 312, **_reasoned(290)}, Usage(12, 0, 300)),
        (
            {"prompt_tokens": 7, "completion_tokens": 1, "prompt_tokens_details": {"cached_tokens": 163}},
            Usage(7, 163, 1),
        ),
        ({"prompt_tokens": 9, "completion_tokens": 1, "prompt_cache_hit_tokens": 8}, Usage(9, 8, 1)),
        (None, Usage()),
    ],
)
def test_chat_usage_is_inclusive(counts: dict[str, object] | None, expected: Usage) -> None:
    assert oracle.chat_usage(counts) == expected


def test_messages_usage_adds_the_cache_and_the_later_figure_wins() -> None:
    start = {"input_tokens": 2, "cache_creation_input_tokens": 30, "cache_read_input_tokens": 0, "output_tokens": 1}
    happened = [
        {"type": "message_start", "message": {"content": [], "usage": start}},
        {"type": "content_block_start", "index": 0, "content_block": {"type": "tool_use", "name": "now", "input": {}}},
        {"type": "content_block_delta", "index": 0, "delta": {"type": "input_json_delta", "partial_json": ""}},
        {"type": "message_delta", "usage": {"output_tokens": 9, "input_tokens": 5, "cache_read_input_tokens": None}},
        {"type": "message_stop"},
    ]
    assert oracle.messages_stream(happened) == Reading(calls=(Call("now", {}),), usage=Usage(35, 0, 9))
    assert oracle.messages_stream(happened[:-1]).failed


def test_responses_hosted_calls_are_not_calls() -> None:
    output = [
        {"type": "reasoning", "summary": [{"text": "a"}, {"text": "b"}], "content": [{"text": "c"}]},
        {"type": "web_search_call", "action": {"query": "q"}},
        {"type": "shell_call", "environment": {"type": "container_reference"}, "action": {"commands": ["ls"]}},
        {"type": "shell_call", "environment": None, "action": {"commands": ["ls"]}},
        {"type": "tool_search_call", "execution": "server", "arguments": {}},
        {"type": "custom_tool_call", "name": "calc", "input": "4 + 4"},
        {"type": "message", "content": [{"type": "output_text", "text": "x"}, {"type": "refusal", "refusal": "no"}]},
    ]
    assert oracle.responses({"status": "incomplete", "output": output, "error": None}) == Reading(
        text="x",
        reasoning="abc",
        refusal="no",
        calls=(Call("shell_call", {"commands": ["ls"]}), Call("calc", "4 + 4")),
    )
