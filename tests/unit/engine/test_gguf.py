"""Guards that a model file is read for what it says of itself, and that any other file is a plain refusal."""

from __future__ import annotations

import struct
from pathlib import Path

import pytest

from dragoman.engine.gguf import chat_template, context_length, metadata
from dragoman.errors import UsageError


def word(text: str) -> bytes:
    return struct.pack("<Q", len(text.encode())) + text.encode()


def gguf(*entries: bytes, count: int | None = None) -> bytes:
    return b"GGUF" + struct.pack("<IQQ", 3, 0, len(entries) if count is None else count) + b"".join(entries)


NAME = word("general.architecture") + struct.pack("<I", 8) + word("llama")
CONTEXT = word("llama.context_length") + struct.pack("<II", 4, 8192)
TOKENS = word("tokenizer.ggml.tokens") + struct.pack("<IIQ", 9, 8, 2) + word("a") + word("说")
SCORES = word("tokenizer.ggml.scores") + struct.pack("<IIQ2f", 9, 6, 2, 0.5, 1.5)
TEMPLATE = word("tokenizer.chat_template") + struct.pack("<I", 8) + word("{{ tools }}")


def test_single_values_are_read_and_arrays_passed_over(tmp_path: Path) -> None:
    path = tmp_path / "m.gguf"
    path.write_bytes(gguf(NAME, CONTEXT, TOKENS, SCORES, TEMPLATE))
    values = metadata(path)
    assert values == {
        "general.architecture": "llama",
        "llama.context_length": 8192,
        "tokenizer.chat_template": "{{ tools }}",
    }
    assert (context_length(values), chat_template(values)) == (8192, "{{ tools }}")
    assert (context_length({}), chat_template({})) == (None, "")


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"not a model",
        b"GGUF",
        gguf(NAME, count=2),
        gguf(count=10**9),
        gguf(NAME[:-2]),
        gguf(struct.pack("<Q", 2**40)),
        gguf(word("a") + struct.pack("<I", 99)),
        gguf(word("a") + struct.pack("<IIQ", 9, 9, 1)),
    ],
)
def test_anything_else_is_refused_in_one_line(tmp_path: Path, data: bytes) -> None:
    path = tmp_path / "m.gguf"
    path.write_bytes(data)
    with pytest.raises(UsageError, match=r"m\.gguf is not a whole GGUF file") as caught:
        metadata(path)
    assert caught.value.code == "unknown_model" and "\n" not in caught.value.message


def test_a_missing_file_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="No such file"):
        metadata(tmp_path / "gone.gguf")
