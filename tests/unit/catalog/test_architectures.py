"""Guards docs/architectures.md: each road with its cited figures, no reason made up, no false conclusion (S3-19 to S3-30)."""

from __future__ import annotations

from pathlib import Path

import pytest

from scripts import script

ROOT = Path(__file__).resolve().parents[3]
PAGE = " ".join((ROOT / "docs" / "architectures.md").read_text(encoding="utf-8").split())


@pytest.mark.parametrize(
    "said",
    [
        pytest.param("CoreCoder v0.7.0", marks=pytest.mark.req("S3-20")),
        pytest.param("`llm.py`: 259 net lines", marks=pytest.mark.req("S3-20")),
        pytest.param("10 protocols, 40 built-in providers", marks=pytest.mark.req("S3-21")),
        pytest.param(
            "19 packages, `transform.ts` 1,909 lines, patches on 8 packages; an SDK-free `packages/llm` with 8 protocol",
            marks=pytest.mark.req("S3-23"),
        ),
        pytest.param("`WireApi` has one variant, Responses; Ollama and LM Studio", marks=pytest.mark.req("S3-25")),
        pytest.param("does not say that OpenAI has deprecated the older API", marks=pytest.mark.req("S3-28")),
        pytest.param("reason not stated | reason not stated | reason not stated", marks=pytest.mark.req("S3-30")),
        *(
            pytest.param(f"{passage} ({licence})", marks=pytest.mark.req("S3-49"))
            for passage, licence in (
                ("`corecoder/llm.py:85-101` and `:217-218`", "MIT"),
                ("`packages/ai/src/types.ts:17-29`", "MIT"),
                ("`packages/opencode/src/provider/transform.ts:168-196`", "MIT"),
                ("`codex-rs/model-provider-info/src/lib.rs:49-83`", "Apache-2.0"),
            )
        ),
        pytest.param("Nothing of their code is in ours", marks=pytest.mark.req("S3-49")),
        pytest.param("are **cited** from the source documents", marks=pytest.mark.req("S3-19")),
    ],
)
def test_the_page_says(said: str) -> None:
    assert said in PAGE


def test_net_lines_are_those_on_which_code_stands() -> None:
    tool = script("providers")
    text = '"""What\nit is."""\n\n# why\nX = (\n    1,  # one\n\n    2,\n)\n\n\ndef f() -> str:\n    """What."""\n    return """a\nb"""\n'
    assert tool.net(text) == 7
