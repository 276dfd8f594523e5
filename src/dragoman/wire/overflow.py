"""A conversation that is too long, as services say it: phrases, and the figures in them."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, NamedTuple

# Phrases of services whose codes do not tell an overflow (dialects §8b, CTX-001; recordings of the error bodies).
OVERFLOWS = (
    "maximum context length",
    "exceeds the context window",
    "prompt is too long",
    "prompt too long",
    "exceeds the available context size",
    "exceed context limit",
    "exceeds the maximum number of tokens",
    "input tokens exceeded",
    "input is too long",
    "exceeded model token limit",
    "length of all messages is too long",
    "reduce the length of the messages",
)
# Being too fast is not being too long, however many tokens the words count (dialects §8b).
THROTTLED = ("throttl", "rate limit", "per minute", "please wait")

READ = 2000  # characters that are looked at for figures
N = r"\d{1,12}"
# The asked-for size and the limit, in this order or with the names said.
FIGURES = tuple(
    re.compile(form, re.IGNORECASE)
    for form in (
        rf"(?P<tokens>{N})(?: \+ (?P<more>{N}))? (?:tokens )?> (?P<limit>{N})",
        rf"count \((?P<tokens>{N})\) exceeds .* \((?P<limit>{N})\)",
        rf"\((?P<tokens>{N}) tokens\) exceeds .* \((?P<limit>{N}) tokens\)",
        rf"context length is (?P<limit>{N}) tokens.*?(?:resulted in|requested)(?: about)? (?P<tokens>{N}) tokens",
    )
)


class Figures(NamedTuple):
    """Tokens of the conversation and the most the model takes; None: not said."""

    tokens: int | None = None
    limit: int | None = None


def is_overflow(message: str) -> bool:
    """Whether a service's words say that the conversation is too long for the model."""
    lowered = message.lower()
    return any(words in lowered for words in OVERFLOWS) and not any(words in lowered for words in THROTTLED)


def figures(said: Mapping[str, Any], message: str) -> Figures:
    """The figures of an overflow, from the error's own fields or from its words."""
    own = (said.get("n_prompt_tokens"), said.get("n_ctx"))
    if all(isinstance(figure, int) for figure in own):
        return Figures(*own)
    found = next((match for form in FIGURES if (match := form.search(message[:READ]))), None)
    if found is None:
        return Figures()
    parts = found.groupdict()
    return Figures(int(parts["tokens"]) + int(parts.get("more") or 0), int(parts["limit"]))
