"""What makes text of a prompt: llama.cpp in this process, or whoever else can. Templates and parsers stand before it."""

from __future__ import annotations

from collections.abc import Generator, Mapping
from contextlib import closing
from typing import Any, NamedTuple, Protocol

from dragoman.engine import runtime
from dragoman.types.base import Value
from dragoman.types.reply import Usage
from dragoman.types.request import Sampling

SAMPLING = ("top_p", "top_k", "seed", "presence_penalty", "frequency_penalty")


class Asked(Value, frozen=True, kw_only=True):
    """A prompt and how to go on with it. `grammar` holds what is made to a form, in the syntax of the back end;
    `shown` are special tokens that must come out as text, since a parser waits for them."""

    prompt: str
    max_output: int
    sampling: Sampling = Sampling()
    stop: tuple[str, ...] = ()
    grammar: str | None = None
    shown: tuple[str, ...] = ()


class Piece(NamedTuple):
    """Some more text, and what is known by now: `stop` is the back end's own word for why it stopped."""

    text: str
    stop: str | None = None
    usage: Usage | None = None


class TextBackend(Protocol):
    """Makes text of a prompt. Where a model runs is its business alone."""

    def generate(self, asked: Asked) -> Generator[Piece, None, None]:
        """The pieces, as they are made; closing the iterator ends the work. Raises ApiError for what is refused."""
        ...

    def grammar(self, schema: Mapping[str, Any]) -> str | None:
        """The grammar that holds it to a JSON Schema; None where it cannot be held."""
        ...


class Llama:
    """llama.cpp, through `engine.runtime`. Its prompt cache keeps the prefix of the turn before."""

    def __init__(self, loaded: runtime.Runtime) -> None:
        self._runtime = loaded

    def generate(self, asked: Asked) -> Generator[Piece, None, None]:
        """See TextBackend."""
        said = asked.sampling
        body: runtime.Chunk = {
            "prompt": asked.prompt,
            "temperature": 0 if said.temperature is None else said.temperature,
            "max_tokens": asked.max_output,
            "cache_prompt": True,
            "timings_per_token": True,  # usage so far with each piece: an answer may be ended before its last chunk
        }
        body |= {name: value for name in SAMPLING if (value := getattr(said, name)) is not None}
        body |= {"stop": list(asked.stop)} if asked.stop else {}
        body |= {"grammar": asked.grammar} if asked.grammar is not None else {}
        body |= {"preserved_tokens": list(asked.shown)} if asked.shown else {}
        with closing(self._runtime.stream(body)) as chunks:
            for chunk in chunks:
                usage = _usage(chunk["timings"]) if "timings" in chunk else None
                for choice in chunk.get("choices", ()):
                    yield Piece(choice.get("text") or "", choice.get("finish_reason"), usage)

    def grammar(self, schema: Mapping[str, Any]) -> str:
        """See TextBackend."""
        return runtime.grammar(dict(schema))


def _usage(timings: Mapping[str, Any]) -> Usage:
    read, fresh, made = (int(timings.get(key) or 0) for key in ("cache_n", "prompt_n", "predicted_n"))
    return Usage(input=read + fresh, output=made, cache_read=read)
