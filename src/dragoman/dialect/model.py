"""The facts by which servers of one wire differ: a closed struct."""

from __future__ import annotations

from typing import Any, Literal

import msgspec

from dragoman.dialect.schema import SubsetName
from dragoman.errors import UsageError


class Dialect(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One server's deviations from its wire. Each default is the wire's base: what its own vendor documents.

    `source` names the page, issue or recording that a row rests on.
    """

    name: str = "base"
    source: str = ""

    # --- requests: what the server takes
    max_tokens_key: Literal["max_tokens", "max_completion_tokens"] = "max_tokens"
    seed_key: str = "seed"  # chat
    top_k: bool = False  # chat: the server takes `top_k`, which the wire's own vendor does not know
    unsupported: tuple[str, ...] = ()  # body keys the server refuses: left out, noted
    unsupported_thinking: tuple[str, ...] = ()  # the same, but only where an effort other than none is asked for
    temperature_max: float | None = None  # clamped, noted
    max_stop: int | None = None  # stop sequences beyond this many are left out, noted
    # messages: how instructions after the first turn are said: natively, as a user's turn, or in the one system prompt
    inline_system: Literal["native", "user_text", "merged"] = "native"
    default_max_output: int = 8192  # messages: max_tokens is mandatory; used, and noted, when nobody said it
    most_output: int | None = None  # messages: the most that the model answers, its thinking included
    # the key that holds the effort; chat_template_kwargs: a variable of the model's template (S3-13)
    effort_in: Literal[
        "reasoning_effort", "reasoning", "thinking", "enable_thinking", "chat_template_kwargs", "none"
    ] = "reasoning_effort"
    # messages: whether thinking has a budget, finds its own measure (a budget is refused), or either as it is asked for
    thinking_form: Literal["budget", "adaptive", "either"] = "budget"
    efforts: tuple[str, ...] = ()  # the words a model takes; clients ask for the nearest; empty: not known
    effort_budget: bool = False  # messages: a client says an effort as a budget of thinking tokens
    effort_beside: bool = False  # messages: an effort turns no thinking on: a client says a budget beside it
    effort_map: dict[str, str] = {}  # our word → the server's, for words it does not know
    json_modes: tuple[Literal["json", "schema"], ...] = ("json", "schema")  # a schema it cannot take becomes plain json
    usage_in_stream: Literal["asked", "always", "never"] = "asked"  # never: it refuses stream_options
    tool_stream: bool = False  # chat: arguments are streamed only when `tool_stream` says so

    # --- requests: how messages are written
    nulls: bool = True  # False: keys that are null or that only replies have are refused: left out
    instruction_role: Literal["system", "developer"] | None = None  # None: the role that was said
    one_system_message: bool = False  # all instructions are merged into the first message
    system_as_item: bool = False  # responses: the system prompt is the first input item, not `instructions` (C-12)
    empty_content: Literal["null", "empty"] = "null"  # chat: content beside calls when there is no text (C-04)
    text_only: bool = False  # chat: content of texts alone is written as one string, never as an array
    names_on: tuple[str, ...] = ("system", "developer", "user", "assistant", "tool")  # roles that may hold a `name`
    tool_result_name: bool = False  # chat: results say the name of their tool
    assistant_after_tool: str | None = None  # chat: an assistant message with this text between results and a user
    image_note: str = "Attached image(s) from tool result:"  # S0-41
    prefill_key: Literal["prefix", "partial"] | None = None  # chat: how an unfinished last message is marked
    # a last assistant message: taken, taken only with that mark, or not
    prefill: Literal["open", "marked", "refused"] = "open"
    alternate_roles: bool = False  # user and assistant must take turns, the user first; runs of results are exempt
    cache_style: Literal["cache_control", "breakpoint"] | None = None  # chat: spelling of cache hints; None: not said
    max_cache: int = 4  # messages, chat: cache hints that it takes in all; more of them are left out, noted
    cache_key: bool = False  # chat, responses: it knows `prompt_cache_key`, so one is derived where nobody says it
    arguments_style: Literal["compact", "spaced"] = "compact"

    # --- requests: tools
    custom_tools: bool = False  # chat: it takes tools of free text; else the gateway makes them functions of one string
    tool_choices: tuple[Literal["auto", "none", "required", "named", "allowed"], ...] = (
        *("auto", "none", "required", "named", "allowed"),
    )
    required_word: str = "required"  # chat: the word for "any tool"
    strict_tools: Literal["send", "omit", "force"] = "send"  # force: `strict` is said true even where nobody asked
    schema_subset: SubsetName | None = None  # the form its schemas want, a row of schema.py; None: the wire's own rule
    call_id_pattern: str | None = None  # a full match; other ids are replaced, the same in call and result
    call_id_length: int = 40  # of a replacement
    tool_name_pattern: str | None = None

    # --- requests: reasoning sent back
    # chat: the key that carries reasoning back to the server, or "<think>": in the text, in tags; None: it is not sent
    reasoning_out: str | None = None
    reasoning_filler: str | None = None  # chat: said under that key where an assistant message with calls has none
    replay: Literal["never", "same_model", "same_provider", "required", "always"] = "same_model"

    # --- replies
    reasoning_in: tuple[str, ...] = ("reasoning_content", "reasoning", "reasoning_text")
    # chat: `<think>` … `</think>` in the text is reasoning; prefilled: the prompt ends in the open tag, so none comes
    think_tags: Literal["never", "open", "prefilled"] = "never"
    reasoning_shown: str | None = "reasoning_content"  # chat: the key under which clients are shown reasoning
    reasoning_as_summary: bool = False  # responses: clients are shown foreign reasoning as a summary, not as content
    usage_cached: Literal["inside", "outside"] | None = None  # None: the wire's own rule
    usage_reasoning: Literal["inside", "outside", "total_only"] | None = None
    limit_unsaid: bool = False  # responses: an answer that was cut at its limit calls itself completed
    done_marker: bool = True  # chat: a stream ends with `data: [DONE]`


BASE = Dialect()


def override(dialect: Dialect, facts: dict[str, Any]) -> Dialect:
    """`dialect` with some facts changed, each checked. Raises UsageError for an unknown fact or a wrong value."""
    unknown = [name for name in facts if name not in Dialect.__struct_fields__]
    if unknown:
        known = ", ".join(Dialect.__struct_fields__)
        raise UsageError("usage", f"unknown dialect fact {unknown[0]!r}; known: {known}")
    try:
        return msgspec.convert({**msgspec.to_builtins(dialect), **facts}, Dialect)
    except msgspec.ValidationError as error:
        raise UsageError("usage", f"dialect: {error}") from None
