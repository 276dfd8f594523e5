"""What makes text of a prompt: llama.cpp in this process, or whoever else can. Templates and parsers stand before it."""

from __future__ import annotations

from collections.abc import Generator, Mapping
from contextlib import closing
from typing import Any, NamedTuple, Protocol

from dragoman.engine import runtime
from dragoman.types.base import Value
from dragoman.types.events import KeepAlive
from dragoman.types.opaque import JSON
from dragoman.types.reply import Usage
from dragoman.types.request import Sampling

SAMPLING = ("temperature", "top_p", "top_k", "seed", "presence_penalty", "frequency_penalty")


class Asked(Value, frozen=True, kw_only=True):
    """A prompt and how to go on with it. `form` is the JSON Schema that what is said is held to; `shown` are special
    tokens that must come out as text, since a parser waits for them."""

    prompt: str
    max_output: int
    sampling: Sampling = Sampling()
    stop: tuple[str, ...] = ()
    form: dict[str, JSON] | None = None
    shown: tuple[str, ...] = ()


class Piece(NamedTuple):
    """Some more text, and what is known by now: `stop` is the back end's own word for why it stopped. `alive`: a sign of
    life of a back end that still reads, and nothing else."""

    text: str
    stop: str | None = None
    usage: Usage | None = None
    alive: KeepAlive | None = None


class TextBackend(Protocol):
    """Makes text of a prompt in this process. A server that does is asked over its wire: see `engine.text_wire`."""

    def generate(self, asked: Asked) -> Generator[Piece, None, None]:
        """The pieces, as they are made; closing the iterator ends the work. Raises ApiError for what is refused, and for
        a form that it cannot hold to."""
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
            "max_tokens": asked.max_output,
            "cache_prompt": True,
            "timings_per_token": True,  # usage so far with each piece: an answer may be ended before its last chunk
            "return_progress": True,  # a sign of life with each part of the prompt that is read, at which it can be ended
        }
        body |= {name: value for name in SAMPLING if (value := getattr(said, name)) is not None}
        body |= {"stop": list(asked.stop)} if asked.stop else {}
        body |= {"grammar": runtime.grammar(asked.form)} if asked.form is not None else {}
        body |= {"preserved_tokens": list(asked.shown)} if asked.shown else {}
        with closing(self._runtime.stream(body)) as chunks:
            for chunk in chunks:
                if chunk is runtime.WAITING or "prompt_progress" in chunk:
                    if chunk is runtime.WAITING or _is_reading(chunk["prompt_progress"]):
                        yield Piece("", alive=KeepAlive())
                    continue
                usage = _usage(chunk["timings"]) if "timings" in chunk else None
                for choice in chunk.get("choices", ()):
                    yield Piece(choice.get("text") or "", choice.get("finish_reason"), usage)


def _is_reading(progress: Mapping[str, Any]) -> bool:
    """Whether some of a long prompt was read, and not all: at its beginning and its end there is nothing to tell."""
    cached, done, total = (int(progress.get(key) or 0) for key in ("cache", "processed", "total"))
    return cached < done < total


def _usage(timings: Mapping[str, Any]) -> Usage:
    read, fresh, made = (int(timings.get(key) or 0) for key in ("cache_n", "prompt_n", "predicted_n"))
    return Usage(input=read + fresh, output=made, cache_read=read)
