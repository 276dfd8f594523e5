"""Limits and abilities out of litellm's list of models, for those that another list does not describe."""

from __future__ import annotations

import json
from typing import Any

# Our provider → how litellm calls it. A name of a model begins with `NAME/` or, at the first three, with nothing.
NAMES = {
    "anthropic": ("anthropic",),
    "openai": ("openai",),
    "bedrock": ("bedrock", "bedrock_converse", "bedrock_mantle"),
    "azure": ("azure", "azure_ai"),
    "cerebras": ("cerebras",),
    "cohere": ("cohere_chat", "cohere"),
    "copilot": ("github_copilot",),
    "databricks": ("databricks",),
    "deepinfra": ("deepinfra",),
    "deepseek": ("deepseek",),
    "fireworks": ("fireworks_ai",),
    "google": ("gemini",),
    "groq": ("groq",),
    "meta": ("meta",),
    "minimax": ("minimax",),
    "mistral": ("mistral",),
    "moonshot": ("moonshot",),
    "novita": ("novita",),
    "openrouter": ("openrouter",),
    "perplexity": ("perplexity",),
    "together": ("together_ai",),
    "xai": ("xai",),
    "z.ai": ("zai",),
}
TALKS = ("chat", "responses", "completion")
INPUTS = {
    "image": "supports_vision",
    "audio": "supports_audio_input",
    "video": "supports_video_input",
    "pdf": "supports_pdf_input",
}
ABLE = {"tools": "supports_function_calling", "schema": "supports_response_schema", "reasoning": "supports_reasoning"}

Row = dict[str, Any]


def abilities(data: bytes) -> dict[str, dict[str, Row]]:
    """What is said of each model, by our provider and the model's name in small letters."""
    rows: dict[str, Row] = json.loads(data)
    ours = {name: provider for provider, names in NAMES.items() for name in names}
    made: dict[str, dict[str, Row]] = {}
    for key, row in rows.items():
        provider = ours.get(row.get("litellm_provider", ""))
        if provider is not None:
            known = made.setdefault(provider, {})
            known.setdefault(_bare(key, NAMES[provider]).lower(), _said(row))
    return made


def _bare(key: str, names: tuple[str, ...]) -> str:
    head, mark, rest = key.partition("/")
    return rest if mark and head in names else key


def _said(row: Row) -> Row:
    """A row in our words; what it does not say is not known. One that does not talk has no text among its outputs."""
    talks = row.get("mode") in TALKS
    said: Row = {
        "max_input": row.get("max_input_tokens"),
        "max_output": row.get("max_output_tokens"),
        "inputs": ["text", *(kind for kind, key in INPUTS.items() if row.get(key))],
        "outputs": (["text"] if talks else []) + (["audio"] if row.get("supports_audio_output") else []),
        **{name: True for name, key in ABLE.items() if row.get(key)},
    }
    whole = {key: value for key, value in said.items() if isinstance(value, list | bool) or type(value) is int}
    return whole if talks else {"outputs": said["outputs"]}
