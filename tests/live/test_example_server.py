"""Guards the least server, and the same parts behind the gateway: a template's prompt, a scripted text, the parser's calls, read
by the vendors' own SDKs."""

from __future__ import annotations

import json
import runpy
from pathlib import Path
from threading import Thread
from typing import Any

import openai
import pytest

from gate import Gate

ROOT = Path(__file__).resolve().parents[2]
SERVER = runpy.run_path(str(ROOT / "examples" / "server.py"))
TEMPLATE = (ROOT / "tests" / "data" / "templates" / "qwen2.5.jinja").read_text("utf-8")
CALL = '<tool_call>\n{"name": "weather", "arguments": {"city": "北京"}}\n</tool_call>'
TOOL: Any = {
    "type": "function",
    "function": {"name": "weather", "description": "查天气", "parameters": {"type": "object", "properties": {}}},
}


def conversation(base_url: str, *, stream: bool) -> tuple[list[Any], list[Any], str]:
    """A call, its result, the answer: the messages that were said, the call, the text."""
    with openai.OpenAI(base_url=f"{base_url}/v1", api_key="none", max_retries=0) as sdk:
        said: list[Any] = [{"role": "user", "content": "北京天气?"}]
        call = _turn(sdk, said, stream=stream)
        assert call.content in (None, "")
        (asked,) = call.tool_calls
        said += [
            {
                "role": "assistant",
                "tool_calls": [asked.model_dump(include={"id": True, "type": True, "function": {"name", "arguments"}})],
            },
            {"role": "tool", "tool_call_id": asked.id, "content": "晴"},
        ]
        return (
            said,
            [asked.function.name, json.loads(asked.function.arguments)],
            _turn(sdk, said, stream=stream).content,
        )


def _turn(sdk: openai.OpenAI, said: list[Any], *, stream: bool) -> Any:
    asked: Any = {"model": "any", "messages": said, "tools": [TOOL]}
    if not stream:
        return sdk.chat.completions.create(**asked).choices[0].message
    with sdk.chat.completions.stream(**asked) as events:
        return events.get_final_completion().choices[0].message


@pytest.mark.req("S1-67", "I-13")
@pytest.mark.parametrize("stream", [True, False])
@pytest.mark.parametrize("by", ["the least server", "the gateway"])
def test_a_template_a_text_and_a_parser_are_a_server(by: str, stream: bool) -> None:
    backend = SERVER["Scripted"](CALL, "晴天 ☀")
    producer = SERVER["Templated"](TEMPLATE, backend)
    if by == "the gateway":
        with Gate(producer) as gate:
            _, call, text = conversation(gate.url, stream=stream)
    else:
        with SERVER["Server"](producer) as server:
            thread = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
            thread.start()
            _, call, text = conversation(server.url, stream=stream)
            server.shutdown()
            thread.join()
    assert (call, text) == (["weather", {"city": "北京"}], "晴天 ☀")
    first, second = backend.prompts
    assert "<tools>" in first
    assert "查天气" in first
    assert first.endswith("<|im_start|>user\n北京天气?<|im_end|>\n<|im_start|>assistant\n")
    assert second.startswith(first.removesuffix("<|im_start|>assistant\n"))
    assert CALL in second
    assert "<tool_response>\n晴\n</tool_response>" in second
