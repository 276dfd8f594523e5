"""Spans of calls for your own tracer, by OpenTelemetry's conventions for generative AI; nothing is made unless you ask."""

from __future__ import annotations

from collections.abc import Iterable
from importlib import import_module
from typing import TYPE_CHECKING, Any, TypeAlias
from urllib.parse import urlsplit

import msgspec

from dragoman.client.observe import Exchanged
from dragoman.errors import UsageError
from dragoman.types.content import Content, Media, Reasoning, Refusal, Text, ToolCall, ToolResult
from dragoman.types.message import Message
from dragoman.types.reply import Reply
from dragoman.types.request import Request
from dragoman.types.tool import Tool

if TYPE_CHECKING:
    from opentelemetry.trace import TracerProvider

Attribute: TypeAlias = str | int | float | bool | list[str]
INSTRUMENT = "dragoman"
EXTRA = "spans need the extra: pip install 'dragoman[otel]'"
# Names of ours → of the conventions (gen_ai.provider.name), where they differ. Source: opentelemetry-semantic-conventions
# 0.66b2, gen_ai_attributes.py.
PROVIDERS = {
    "azure": "azure.ai.openai",
    "bedrock": "aws.bedrock",
    "google": "gcp.gemini",
    "mistral": "mistral_ai",
    "xai": "x_ai",
}
FINISH = {"end": "stop", "stop_sequence": "stop", "tool_calls": "tool_call", "filter": "content_filter"}
INSTRUCTIONS = ("system", "developer")


class Spans:
    """An observer that makes one span of each call: `Model(…, observers=[Spans()])` (S3-35).

    Spans go to `provider`, or to the one that your program set up. The input includes what the cache gave, which has an
    attribute of its own. What was said is in no span, unless `contents`; data of images and files never is. Raises
    UsageError missing_extra without opentelemetry-api.
    """

    def __init__(self, provider: TracerProvider | None = None, *, contents: bool = False) -> None:
        try:
            self._trace = import_module("opentelemetry.trace")
        except ModuleNotFoundError:
            raise UsageError("missing_extra", EXTRA) from None
        self._tracer = self._trace.get_tracer(INSTRUMENT, tracer_provider=provider)
        self._contents = contents

    def __call__(self, seen: Exchanged) -> None:
        """Make the span of a call that has ended, at the times it had."""
        began = int(seen.started.timestamp() * 1e9)
        model = seen.target.model if seen.target else "local"
        attributes = told(seen) | (said(seen) if self._contents else {})
        kind = self._trace.SpanKind.CLIENT
        span = self._tracer.start_span(f"chat {model}", kind=kind, attributes=attributes, start_time=began)
        if seen.error is not None:
            span.set_status(self._trace.StatusCode.ERROR, seen.error.code)
        span.end(end_time=began + int((seen.timing.total or 0.0) * 1e9))


def told(seen: Exchanged) -> dict[str, Attribute]:
    """What a span tells of a call without a word of what was said: who, how much, how long, how it ended."""
    asked, target, reply = seen.request, seen.target, seen.reply
    found: dict[str, Attribute | None] = {
        "gen_ai.operation.name": "chat",
        "gen_ai.provider.name": PROVIDERS.get(target.provider, target.provider) if target else "local",
        "gen_ai.request.model": target.model if target else "local",
        "gen_ai.request.max_tokens": asked.max_output,
        "gen_ai.request.temperature": asked.sampling.temperature,
        "gen_ai.request.top_p": asked.sampling.top_p,
        "gen_ai.request.top_k": asked.sampling.top_k,
        "gen_ai.request.seed": asked.sampling.seed,
        "gen_ai.request.frequency_penalty": asked.sampling.frequency_penalty,
        "gen_ai.request.presence_penalty": asked.sampling.presence_penalty,
        "gen_ai.request.choice.count": asked.n,
        "gen_ai.response.time_to_first_chunk": seen.timing.first_event,
        "error.type": seen.error.code if seen.error else None,
        "http.request.resend_count": len(seen.attempts) - 1 if len(seen.attempts) > 1 else None,
        **_address(seen),
        **(_answer(reply) if reply is not None else {}),
    }
    return {name: value for name, value in found.items() if value is not None}


def said(seen: Exchanged) -> dict[str, Attribute]:
    """What was said, as the conventions write it: JSON in attributes."""
    asked = seen.request
    head = [part for message in _leading(asked) for part in _parts(message.content)]
    rest = asked.messages[len(_leading(asked)) :]
    tools = [tool for tool in asked.tools or () if isinstance(tool, Tool)]
    found = {
        "gen_ai.system_instructions": head,
        "gen_ai.input.messages": [_message(message) for message in rest],
        "gen_ai.tool.definitions": [_tool(tool) for tool in tools],
        "gen_ai.output.messages": _output(seen.reply) if seen.reply is not None else [],
    }
    return {name: msgspec.json.encode(value).decode() for name, value in found.items() if value}


def _address(seen: Exchanged) -> dict[str, Attribute | None]:
    if seen.target is None:
        return {}
    at = urlsplit(seen.target.base_url)
    return {"server.address": at.hostname, "server.port": at.port or (443 if at.scheme == "https" else 80)}


def _answer(reply: Reply) -> dict[str, Attribute | None]:
    usage = reply.usage
    found: dict[str, Attribute | None] = {
        "gen_ai.response.id": reply.id,
        "gen_ai.response.model": reply.model,
        "gen_ai.response.finish_reasons": [_finish(reply)],
    }
    if usage is not None:
        found |= {
            "gen_ai.usage.input_tokens": usage.input,
            "gen_ai.usage.output_tokens": usage.output,
            "gen_ai.usage.cache_read.input_tokens": usage.cache_read,
            "gen_ai.usage.cache_creation.input_tokens": usage.cache_write,
            "gen_ai.usage.reasoning.output_tokens": usage.reasoning,
        }
    return found


def _finish(reply: Reply) -> str:
    return FINISH.get(reply.stop.reason, reply.stop.reason)


def _leading(request: Request) -> tuple[Message, ...]:
    """The instructions that the conversation begins with."""
    roles = (message.role for message in request.messages)
    count = next((at for at, role in enumerate(roles) if role not in INSTRUCTIONS), len(request.messages))
    return request.messages[:count]


def _message(message: Message) -> dict[str, Any]:
    return {"role": message.role, "parts": _parts(message.content)}


def _output(reply: Reply) -> list[dict[str, Any]]:
    return [{**_message(reply.message), "finish_reason": _finish(reply)}]


def _tool(tool: Tool) -> dict[str, Any]:
    found = {"type": "function", "name": tool.name, "description": tool.description, "parameters": tool.parameters}
    return {name: value for name, value in found.items() if value is not None}


def _parts(content: Iterable[Content]) -> list[dict[str, Any]]:
    return [_part(block) for block in content]


def _part(block: Content) -> dict[str, Any]:
    match block:
        case Text() | Refusal():
            return {"type": "text", "content": block.text}
        case Reasoning():
            return {"type": "reasoning", "content": block.text or "\n".join(block.summary or ())}
        case ToolCall():
            return {"type": "tool_call", "id": block.id, "name": block.name, "arguments": block.arguments}
        case ToolResult():
            return {"type": "tool_call_response", "id": block.call_id, "response": _parts(block.content)}
        case Media():
            kind = "uri" if block.url is not None and not block.url.startswith("data:") else "blob"
            where = {"uri": block.url} if kind == "uri" else {}
            return {"type": kind, "modality": block.kind, "mime_type": block.media_type, **where}
        case _:
            return {"type": str(type(block).__struct_config__.tag)}
