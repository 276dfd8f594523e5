"""What goes on in a run, step by step, on stderr: each request's messages, each call, each result (S4-38)."""

from __future__ import annotations

from dragoman.agent import AgentEvent, RunEnd, StepStart, ToolEnd, ToolStart
from dragoman.cli.output import one_line, tell
from dragoman.tools.result import text_of
from dragoman.types.content import Content, Json, Media, Reasoning, Refusal, Text, ToolCall, ToolResult
from dragoman.types.events import Failure, Finish
from dragoman.types.message import Message

WIDTH = 200


def trace(event: AgentEvent) -> None:
    """Tell of one event; the pieces of a stream are told by its end."""
    match event:
        case StepStart():
            request = event.request
            offered = ", ".join(getattr(item, "name", "hosted") for item in request.tools or ()) or "none"
            choice = request.tool_choice.mode if request.tool_choice else "not said"
            tell(f"step {event.number}: {len(request.messages)} messages, tools: {offered}, choice: {choice}")
            for at, message in enumerate(request.messages):
                tell(one_line(f"[{at}] {message.role}: {gist(message)}", WIDTH))
        case Finish() if event.reply is not None:
            tell(one_line(f"<- {event.stop.reason}: {gist(event.reply.message)}", WIDTH))
        case Finish():
            tell(f"<- {event.stop.reason}")
        case Failure():
            tell(one_line(f"<- failed, {event.code}: {event.message}", WIDTH))
        case ToolStart():
            tell(one_line(f"call {event.call.id} {event.call.name} {event.call.arguments}", WIDTH))
        case ToolEnd():
            how = "error" if event.output.is_error else "result"
            tell(one_line(f"{how} {event.call.id} {text_of(event.output.content)}", WIDTH))
        case RunEnd():
            tell(f"end: {event.done.outcome}" + (f", {event.done.detail}" if event.done.detail else ""))
        case _:
            pass


def gist(message: Message) -> str:
    """What a message says, in one line."""
    return " | ".join(_gist(block) for block in message.content) or "(nothing)"


def _gist(block: Content) -> str:
    match block:
        case Text() | Refusal():
            return block.text
        case Reasoning():
            return f"(thinking, {len(block.text or ''.join(block.summary or ()))} characters)"
        case ToolCall():
            return f"call {block.id} {block.name} {block.arguments}"
        case ToolResult():
            return f"{'error' if block.is_error else 'result'} {block.call_id} {text_of(block.content)}"
        case Media():
            return f"({block.kind}, {block.media_type})"
        case Json():
            return block.value
        case _:
            return f"({type(block).__name__})"
