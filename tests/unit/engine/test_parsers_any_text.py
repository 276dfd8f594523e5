"""Guards every tool parser against any text: no fault, no matter how it is cut, each character looked at once."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dragoman.engine.parsers import FORMATS, Parser
from dragoman.engine.parsers.scan import Scan
from hazards.parsing import read, tools

MARKS = [
    "<tool_call>", "</tool_call>", "<function=f>", "<function=", "</function>", "<parameter=x>", "</parameter>", "<seed:tool_call>",
    "[TOOL_CALLS]", "[ARGS]", "[CALL_ID]", "<|python_tag|>", "<|tool_call_start|>", "<|tool_call_end|>", "functools",
    "<｜tool▁calls▁begin｜>", "<｜tool▁call▁begin｜>", "<｜tool▁sep｜>", "<｜tool▁call▁end｜>", "<｜tool▁calls▁end｜>",
    "<｜DSML｜function_calls>", "<｜DSML｜invoke name=", "<minimax:tool_call>", "<invoke name=", "<parameter name=", "</invoke>",
    "<arg_key>", "</arg_key>", "<arg_value>", "</arg_value>", "<|tool_calls_section_begin|>", "<|tool_call_begin|>",
    "<|tool_call_argument_begin|>", "<|tool_call_end|>", "<|tools_prefix|>", "<|START_ACTION|>", "<TOOLCALL>", "<|tool_call|>",
    "<|channel|>", "<|message|>", "<|call|>", "<|end|>", "<|start|>", " to=functions.f ", "analysis", "<think>", "</think>",
    "[THINK]", "[/THINK]", "f(a=1)", "[f(x=", ")]", "{", "}", "[", "]", '"', "\\", "'", ",", ":", ">", "=", "\n", " ", "f",
    '{"name": "f", "arguments": {"x": 1}}', '{"name":', '"arguments":', "1e999", "西", "🙂", ";", "```json", "```",
]  # fmt: skip
OFFERED = tools(f={"x": "integer"})


@pytest.mark.parametrize("format", FORMATS)
@given(pieces=st.lists(st.sampled_from(MARKS), max_size=14), size=st.integers(1, 7))
def test_any_text_comes_to_the_same_in_any_pieces(format: str, pieces: list[str], size: int) -> None:
    text = "".join(pieces)
    cut = [text[at : at + size] for at in range(0, len(text), size)]
    assert read(format, cut, OFFERED) == read(format, [text], OFFERED)


@pytest.mark.parametrize("format", FORMATS)
def test_a_long_value_is_read_once(format: str, monkeypatch: pytest.MonkeyPatch) -> None:
    added: list[int] = []
    original = Scan.add

    def counted(scan: Scan, text: str) -> None:
        original(scan, text)
        added.append(len(scan.ahead()))

    monkeypatch.setattr(Scan, "add", counted)
    parser = Parser(FORMATS[format], OFFERED, seed="s")
    for _ in range(2000):
        for _event in parser.feed("<tool_call>{ x"):
            pass
    for _event in parser.close():
        pass
    assert sum(added) < 40 * 2000 * 14
