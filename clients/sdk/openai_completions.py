"""The openai SDK on text completions, whole and streamed: no tools here, an answer alone."""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

from common import MODEL, PROMPT, URL, main, pieces
from openai import OpenAI

client = OpenAI(base_url=f"{URL}/v1", api_key="sk-dummy", max_retries=0)


def whole() -> str:
    return client.completions.create(model=MODEL, prompt=PROMPT, max_tokens=64).choices[0].text


def streamed() -> str:
    stream = client.completions.create(model=MODEL, prompt=PROMPT, max_tokens=64, stream=True)
    said = [choice for piece in pieces(stream) for choice in piece.choices]
    if not any(choice.finish_reason for choice in said):
        raise RuntimeError("the stream ended without a word of why")
    return "".join(choice.text for choice in said)


main(streamed, whole)
