"""Guards the cases TPA-027 and TPA-029 and reasoning in local models: thoughts, preambles and answers stay apart."""

from __future__ import annotations

import pytest

from dragoman.engine.parsers import FORMATS, picked
from hazards.parsing import Read, read_however_cut, tools
from unit.engine.templates import template

CALL = '<tool_call>\n{"name": "f", "arguments": {}}\n</tool_call>'


@pytest.mark.case("TPA-027")
@pytest.mark.parametrize(
    "text",
    [
        '<|channel|>analysis<|message|>think<|end|><|start|>assistant<|channel|>commentary to=functions.web_search <|constrain|>json<|message|>{"q":"x"}<|call|>',
        '<|channel|>analysis<|message|>think<|end|><|start|>assistant to=functions.web_search<|channel|>commentary json<|message|>{"q":"x"}<|call|>',
        '<|channel|>analysis<|message|>think<|end|><|channel|>commentary?? to=functions.web_search<|message|>{"q":"x"}<|call|>',
        '<|channel|>analysis<|message|>think<|end|><|start|>assistant<|channel|>commentary to=functions.web_search<|constrain|>json{"q":"x"}<|call|>',
        '<|channel|>analysis<|message|>think<|channel|>commentary to=functions.web_search<|message|>{"q":"x"}',
    ],
)
def test_headers_in_any_order_and_shape_are_read(text: str) -> None:
    assert read_however_cut("harmony", text) == Read((("reasoning", "think"), ("web_search", {"q": "x"})))


@pytest.mark.case("TPA-027")
def test_a_channel_that_nobody_knows_loses_no_word() -> None:
    assert read_however_cut("harmony", "<|channel|>musing<|message|>hm<|end|>") == Read((("text", "hm"),))
    assert read_however_cut("harmony", "just words") == Read((("text", "just words"),))


@pytest.mark.case("TPA-029")
def test_a_preamble_is_for_the_user() -> None:
    text = "<|channel|>commentary<|message|>I'll check both.<|end|><|start|>assistant<|channel|>commentary to=functions.a <|constrain|>json<|message|>{}<|call|>"
    assert read_however_cut("harmony", text) == Read((("text", "I'll check both."), ("a", {})))


def test_a_final_message_behind_reasoning_is_the_answer() -> None:
    text = "<|channel|>analysis<|message|>hm<|end|><|start|>assistant<|channel|>final<|message|>6 °C<|return|>"
    assert read_however_cut("harmony", text) == Read((("reasoning", "hm"), ("text", "6 °C")))


@pytest.mark.parametrize(("format", "tags"), [(row.name, row.think) for row in FORMATS.values() if row.think])
def test_reasoning_in_tags_comes_first_and_holds_no_call(format: str, tags: tuple[str, str]) -> None:
    opening, closing = tags
    said = f"{opening}\nI could {CALL}\n{closing}\n\nAnswer"
    expected = Read((("reasoning", f"I could {CALL}"), ("text", "Answer")))
    assert read_however_cut(format, said) == expected
    assert read_however_cut(format, said.removeprefix(opening), inside=True) == expected


def test_a_call_behind_reasoning_is_a_call() -> None:
    seen = read_however_cut("hermes", f"<think>\nhm\n</think>\n\n{CALL}", tools("f"))
    assert seen == Read((("reasoning", "hm"), ("f", {})))


@pytest.mark.req("S1-62")
@pytest.mark.parametrize(
    ("name", "format"),
    [
        ("qwen2.5", "hermes"),
        ("qwen3", "hermes"),
        ("qwq", "hermes"),
        ("qwen3-coder", "qwen3_coder"),
        ("mistral-nemo", "mistral"),
        ("mistral-small-3.2", "mistral"),
        ("ministral-3", "mistral"),
        ("deepseek-v3.1", "deepseek_v3"),
        ("deepseek-r1-distill", "deepseek_v3"),
        ("glm-4.6", "glm45"),
        ("kimi-k2", "kimi_k2"),
        ("minimax-m2", "minimax_m2"),
        ("granite-3.3", "granite"),
        ("granite-4.0", "hermes"),
        ("gpt-oss", "harmony"),
        ("seed-oss", "seed_oss"),
        ("apertus", "apertus"),
        ("phi-3.5", "json"),
    ],
)
def test_the_format_is_picked_from_the_template(name: str, format: str) -> None:
    assert picked(template(name).source).name == format
