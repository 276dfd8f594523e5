"""What the tests of local models share: a GGUF file of some bytes, and a llama.cpp that follows a script in its place."""

from __future__ import annotations

import struct
from collections.abc import Callable
from pathlib import Path
from typing import Any

from dragoman.engine.runtime import Room, Runtime

Hear = Callable[[dict[str, Any]], bool]


class Llama:
    """A llama.cpp that says one text after another, in pieces of a few letters; `bodies` is what it was asked."""

    def __init__(self, *texts: str) -> None:
        self.texts = texts
        self.bodies: list[dict[str, Any]] = []

    def handle_completions(self, body: dict[str, Any], hear: Hear) -> None:
        text = self.texts[min(len(self.bodies), len(self.texts) - 1)]
        self.bodies.append(body)
        timings = {"cache_n": 4, "prompt_n": 6, "predicted_n": len(text)}
        for at in range(0, len(text), 5):
            choice = {"text": text[at : at + 5], "finish_reason": None}
            if hear({"choices": [choice], "timings": timings}):
                return
        hear({"choices": [{"text": "", "finish_reason": "stop"}], "timings": timings})


class Loaded:
    """What stands in for `runtime._server`: each load is counted, and gives the same script."""

    def __init__(self, *texts: str) -> None:
        self.llama = Llama(*texts)
        self.runtimes: list[Runtime] = []

    def __call__(self, path: Path, room: Room) -> Runtime:
        self.runtimes.append(Runtime(self.llama))
        return self.runtimes[-1]

    @property
    def open(self) -> int:
        """How many are loaded now."""
        return sum(runtime._server is not None for runtime in self.runtimes)  # pyright: ignore[reportPrivateUsage]


def word(text: str) -> bytes:
    """A string, as GGUF has them."""
    return struct.pack("<Q", len(text.encode())) + text.encode()


def model_file(path: Path, template: str) -> Path:
    """A file that says its template, and holds no weights."""
    entry = word("tokenizer.chat_template") + struct.pack("<I", 8) + word(template)
    path.write_bytes(b"GGUF" + struct.pack("<IQQ", 3, 0, 1) + entry)
    return path
