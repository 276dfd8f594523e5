"""What each wire can say: the shapes that a property test may draw for it, so that they must come back to the letter."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from dragoman.types import Media, Reasoning, ToolsChange, Usage
from dragoman.types.reply import StopReason
from ingredients import (
    FIELDS,
    Some,
    additions,
    detailed,
    images,
    named_papers,
    papers,
    plain_papers,
    sounds,
    stored,
    thoughts,
    tools_named,
    videos,
)


@dataclass(frozen=True)
class Can:
    """The shapes to draw. For one wire: what it can say, so that it must come back to the letter."""

    fields: tuple[str, ...] = tuple(FIELDS)
    always: tuple[str, ...] = ("model",)
    blank: bool = True
    broken: bool = True
    ids: tuple[str, ...] = ("call_{}", "toolu_0{}", "调用-{}", "fc_call_{}")
    created: bool = True
    media: tuple[Some[Media], ...] = (images, detailed, sounds, videos, papers, stored, plain_papers)
    result_media: tuple[Some[Media], ...] = (images, papers)
    thoughts: tuple[Some[Reasoning], ...] = tuple(thoughts.values())
    kinds: tuple[str, ...] = ("function", "custom")
    namespaces: bool = True
    texts: int = 3
    results: int = 2
    refusals: bool = True
    citations: tuple[str, ...] = ("chat", "messages", "responses")
    others: bool = True
    reasonings: int = 2
    phases: bool = True
    json: bool = True
    errors: bool = True
    result_names: bool = True
    author_names: bool = True
    prefill: bool = True
    reply_id: bool = True
    choice: bool = True
    turns: int = 3  # at most; 0: one user message and nothing else
    offers: int = 2
    hosted: tuple[str, ...] = ("messages", "responses", "none")
    hosted_tools: tuple[str, ...] = ("chat", "messages", "responses")
    foreign: tuple[str, ...] = ("chat", "messages", "responses")
    tools_change: tuple[Some[ToolsChange], ...] = (additions, tools_named)
    change_alone: bool = False
    cache: bool = True
    roles: tuple[str, ...] = ("system", "developer", "user")
    strict_tools: bool = True
    choice_names: int = 2
    outputs: tuple[str, ...] = ("text", "json", "schema")
    output_details: bool = True
    after_results: bool = True
    usage: tuple[str, ...] = field(default=tuple(name for name in Usage.__struct_fields__ if name != "opaque"))
    stops: tuple[StopReason, ...] = (
        "end",
        "length",
        "stop_sequence",
        "refusal",
        "filter",
        "pause",
        "context",
        "other",
    )
    sequences: bool = True


ANYTHING = Can()

CHAT = replace(
    ANYTHING,
    fields=tuple(name for name in FIELDS if name not in ("budget", "cache", "state")),
    citations=("chat",),
    media=(images, detailed, sounds, videos, papers),
    result_media=(),
    thoughts=(thoughts["chat"],),
    reasonings=1,
    namespaces=False,
    phases=False,
    results=1,
    json=False,
    errors=False,
    result_names=False,
    hosted=(),
    hosted_tools=("chat",),
    foreign=(),
    tools_change=(),
    cache=False,
    after_results=False,
    usage=(
        "input",
        "output",
        "cache_read",
        "cache_write",
        "reasoning",
        "input_audio",
        "output_audio",
        "output_image",
        "cost",
    ),
    stops=("end", "length", "filter"),
    sequences=False,
)

MESSAGES = replace(
    ANYTHING,
    fields=tuple(
        name
        for name in FIELDS
        if name
        in ("temperature", "top_p", "top_k", "stop", "effort", "budget", "tier", "user", "cache", "stream", "model")
    ),
    always=("model", "max_output"),
    blank=False,
    broken=False,
    ids=("call_{}", "toolu_0{}"),
    created=False,
    citations=("messages",),
    others=False,
    media=(images, papers, stored, plain_papers),
    thoughts=(thoughts["messages"],),
    kinds=("function",),
    namespaces=False,
    refusals=False,
    phases=False,
    json=False,
    result_names=False,
    author_names=False,
    hosted=("messages",),
    hosted_tools=("messages",),
    foreign=("messages",),
    tools_change=(tools_named,),
    roles=("system", "user"),
    choice_names=1,
    outputs=("schema",),
    output_details=False,
    usage=tuple(name for name in ANYTHING.usage if name not in ("input_audio", "output_audio", "output_image")),
    stops=("end", "length", "stop_sequence", "refusal", "pause", "context"),
)

RESPONSES = replace(
    ANYTHING,
    fields=(
        *("model", "temperature", "top_p", "parallel_tools", "max_output", "tier", "store", "user", "cache_key"),
        *("top_logprobs", "effort", "verbosity", "metadata", "state", "stream"),
    ),
    citations=("responses",),
    others=False,
    media=(images, detailed, named_papers, stored),
    result_media=(images, named_papers),
    thoughts=(thoughts["responses"],),
    json=False,
    errors=False,
    result_names=False,
    author_names=False,
    prefill=False,
    hosted=("responses",),
    hosted_tools=("responses",),
    foreign=(),
    tools_change=(additions,),
    change_alone=True,
    cache=False,
    after_results=False,
    usage=CHAT.usage,
    stops=("end", "length", "filter"),
    sequences=False,
)

PLAIN = replace(
    ANYTHING,
    citations=(),
    media=(),
    result_media=(),
    thoughts=(),
    reasonings=0,
    kinds=(),
    namespaces=False,
    refusals=False,
    phases=False,
    texts=1,
    hosted=(),
    hosted_tools=(),
    foreign=(),
    tools_change=(),
    cache=False,
    author_names=False,
    prefill=False,
    turns=0,
    offers=0,
    outputs=(),
)
COMPLETIONS = replace(
    PLAIN,
    fields=(
        *("model", "temperature", "top_p", "top_k", "seed", "presence_penalty", "frequency_penalty", "max_output"),
        *("stop", "user", "n", "stream"),
    ),
    usage=CHAT.usage,
    stops=("end", "length", "filter"),
    sequences=False,
)

pictures = images.filter(lambda image: image.data is not None)
OLLAMA = replace(
    ANYTHING,
    fields=(
        *("model", "temperature", "top_p", "top_k", "seed", "presence_penalty", "frequency_penalty", "max_output"),
        *("stop", "effort", "logprobs", "top_logprobs"),
    ),
    always=("model", "stream"),
    broken=False,
    citations=(),
    media=(pictures,),
    result_media=(pictures,),
    thoughts=(thoughts["plain"],),
    reasonings=1,
    kinds=("function",),
    namespaces=False,
    texts=1,
    refusals=False,
    others=False,
    phases=False,
    json=False,
    errors=False,
    author_names=False,
    prefill=False,
    reply_id=False,
    choice=False,
    hosted=(),
    hosted_tools=(),
    foreign=(),
    tools_change=(),
    cache=False,
    roles=("system", "user"),
    strict_tools=False,
    outputs=("json", "schema"),
    output_details=False,
    after_results=False,
    usage=("input", "output"),
    stops=("end", "length"),
    sequences=False,
)

SAYS: dict[str, Can] = {
    "chat": CHAT,
    "messages": MESSAGES,
    "responses": RESPONSES,
    "completions": COMPLETIONS,
    "ollama": OLLAMA,
}
