"""The formats by name, and which one a chat template teaches: tables, each row with where the format is told."""

from __future__ import annotations

from typing import Literal

import msgspec

from dragoman.engine.parsers.harmony import harmony
from dragoman.engine.parsers.json_forms import (
    DEEPSEEK_ALL,
    DEEPSEEK_ALL_END,
    DEEPSEEK_CALL,
    DEEPSEEK_CALL_END,
    DEEPSEEK_NAME,
    KIMI_TOKENS,
    Form,
    apertus,
    deepseek,
    json_calls,
    kimi,
    mistral,
    no_form,
    tagged,
)
from dragoman.engine.parsers.pythonic import pythonic
from dragoman.engine.parsers.xml_forms import functions, glm, invokes

Tags = tuple[str, str]

THINK: Tags = ("<think>", "</think>")


class Format(msgspec.Struct, frozen=True, kw_only=True):
    """How a family of models writes reasoning and calls.

    `think` are the tags around reasoning, None where the format has its own way. `ids` is the form of call ids that the
    family's template takes back. `opens` is what stands before the JSON of a call, for a call that must be: the model
    goes on behind it. `tokens` are marks that are special tokens, which a back end must be told to show. `source` is
    where the format is told.
    """

    name: str
    form: Form
    source: str
    think: Tags | None = THINK
    ids: Literal["any", "short", "named"] = "any"
    opens: str = ""
    tokens: tuple[str, ...] = ()


DSML = "｜DSML｜"
_ROWS = (
    Format(
        name="hermes",
        form=tagged("<tool_call>", "</tool_call>"),
        opens="<tool_call>\n",
        source="vLLM hermes; Qwen2.5, Hermes 2 Pro",
    ),
    Format(
        name="qwen3_coder",
        form=functions("<tool_call>", "</tool_call>"),
        source="Qwen3-Coder's template; vLLM qwen3_coder",
    ),
    Format(
        name="seed_oss",
        form=functions("<seed:tool_call>", "</seed:tool_call>"),
        think=("<seed:think>", "</seed:think>"),
        source="Seed-OSS's template",
    ),
    Format(
        name="llama3_json",
        form=json_calls("<|python_tag|>"),
        tokens=("<|python_tag|>",),
        source="Llama 3.1's template; vLLM llama3_json",
    ),
    Format(
        name="pythonic",
        form=pythonic(),
        tokens=("<|python_start|>", "<|python_end|>"),
        source="Llama 4's template; vLLM llama4_pythonic",
    ),
    Format(
        name="lfm2",
        form=pythonic("<|tool_call_start|>", "<|tool_call_end|>"),
        tokens=("<|tool_call_start|>", "<|tool_call_end|>"),
        source="LFM2's template; llama.cpp LFM2",
    ),
    Format(
        name="mistral",
        form=mistral,
        think=("[THINK]", "[/THINK]"),
        ids="short",
        source="mistral-common v3 to v13; vLLM",
    ),
    Format(
        name="deepseek_v3",
        form=deepseek,
        tokens=(*DEEPSEEK_ALL, DEEPSEEK_ALL_END, DEEPSEEK_CALL, DEEPSEEK_CALL_END, DEEPSEEK_NAME),
        source="DeepSeek V3, R1 and V3.1 templates; vLLM deepseek_v3, v31",
    ),
    Format(
        name="deepseek_v32",
        form=invokes(f"<{DSML}function_calls>", f"</{DSML}function_calls>", DSML),
        source="DeepSeek V3.2's encoding; vLLM deepseek_v32",
    ),
    Format(name="glm45", form=glm, source="GLM 4.5's template; vLLM glm45"),
    Format(name="kimi_k2", form=kimi, ids="named", tokens=KIMI_TOKENS, source="Kimi K2's template; vLLM kimi_k2"),
    Format(
        name="minimax_m2",
        form=invokes("<minimax:tool_call>", "</minimax:tool_call>"),
        source="MiniMax-M2's template; vLLM minimax_m2",
    ),
    Format(name="minimax_m1", form=tagged("<tool_calls>", "</tool_calls>"), source="MiniMax-M1's template"),
    Format(
        name="granite",
        form=tagged("<|tool_call|>"),
        opens="<|tool_call|>[",
        tokens=("<|tool_call|>",),
        source="Granite 3.x templates; vLLM granite",
    ),
    Format(name="phi4_mini", form=tagged("functools"), source="Phi-4-mini's model card; vLLM phi4_mini_json"),
    Format(name="nemotron", form=tagged("<TOOLCALL>", "</TOOLCALL>"), source="Nemotron Nano v2's template"),
    Format(
        name="command_r",
        form=tagged("<|START_ACTION|>", "<|END_ACTION|>"),
        think=("<|START_THINKING|>", "<|END_THINKING|>"),
        tokens=("<|START_THINKING|>", "<|END_THINKING|>", "<|START_ACTION|>", "<|END_ACTION|>"),
        source="Command R7B's template",
    ),
    Format(
        name="apertus",
        form=apertus,
        think=("<|inner_prefix|>", "<|inner_suffix|>"),
        tokens=("<|tools_prefix|>", "<|tools_suffix|>", "<|inner_prefix|>", "<|inner_suffix|>"),
        source="Apertus's template",
    ),
    Format(
        name="harmony",
        form=harmony,
        think=None,
        tokens=("<|channel|>", "<|message|>", "<|constrain|>", "<|start|>", "<|end|>", "<|call|>", "<|return|>"),
        source="OpenAI's harmony response format",
    ),
    Format(name="json", form=no_form, source="models that were taught no format"),
)
FORMATS: dict[str, Format] = {row.name: row for row in _ROWS}
ALIASES = {
    "qwen25": "hermes",
    "qwen3_xml": "qwen3_coder",
    "deepseek_v31": "deepseek_v3",
    "deepseek_r1": "deepseek_v3",
    "llama4_pythonic": "pythonic",
    "llama4_json": "llama3_json",
    "glm47": "glm45",
    "phi4_mini_json": "phi4_mini",
    "granite4": "hermes",
    "gpt_oss": "harmony",
    "openai": "harmony",
}
# What a template's source holds, the surest first: its tokens stand in it because it writes earlier calls with them.
MARKS = (
    ("<|channel|>", "harmony"),
    (DSML, "deepseek_v32"),
    ("<｜tool▁call", "deepseek_v3"),
    ("<|tool_calls_section_begin|>", "kimi_k2"),
    ("<minimax:tool_call>", "minimax_m2"),
    ("<seed:tool_call>", "seed_oss"),
    ("<arg_key>", "glm45"),
    ("<function=", "qwen3_coder"),
    ("[TOOL_CALLS]", "mistral"),
    ("<|tools_prefix|>", "apertus"),
    ("<|START_ACTION|>", "command_r"),
    ("<TOOLCALL>", "nemotron"),
    ("<|tool_call_start|>", "lfm2"),
    ("<|python_start|>", "pythonic"),
    ("<|tool_call|>", "granite"),
    ("<tool_calls>", "minimax_m1"),
    ("<tool_call>", "hermes"),
    ("<|python_tag|>", "llama3_json"),
    ("functools", "phi4_mini"),
)


def picked(source: str) -> Format:
    """The format that a chat template teaches, by the marks in its source; `json` where there are none."""
    return FORMATS[next((name for mark, name in MARKS if mark in source), "json")]


def named(name: str) -> Format | None:
    """A format by its name or one that vLLM gives it; None where nobody does."""
    return FORMATS.get(ALIASES.get(name, name))
