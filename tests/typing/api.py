"""The public types as a caller writes them: read by the type checker, never run."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypedDict, assert_type

from dragoman.agent import Agent, RunResult
from dragoman.client import (
    AsyncModel,
    AsyncModelStream,
    Count,
    Exchanged,
    Model,
    ModelStream,
    Outcome,
    Plan,
    Structured,
)
from dragoman.dialect.model import BASE, Dialect, override
from dragoman.errors import ApiError, DragomanError, LossyError, OutputError, RefusedError, RemoteError, TruncatedError
from dragoman.tools import FunctionTool, ToolOutput, read_tool
from dragoman.tools import tool as tool_of
from dragoman.types import (
    Content,
    Delta,
    ErrorCode,
    Failure,
    Finish,
    Invalid,
    Message,
    Note,
    Reply,
    Request,
    StreamEvent,
    Text,
    Timing,
    Tool,
    ToolCall,
    ToolResult,
    Valid,
    assistant,
    collect,
    explode,
    system,
    tool,
    user,
)
from dragoman.types.note import Path
from dragoman.types.save import Conversation, dumps, loads
from dragoman.wire import find
from dragoman.wire.base import Exchange, Http, StreamDecoder, StreamEncoder, Wire


def a_conversation() -> Request:
    call = ToolCall.of("t1", "read", {"path": "README.md"})
    result = ToolResult(call_id="t1", content=(Text(text="启动命令:npm run dev"),))
    return Request(
        model="any",
        messages=(system("Answer."), user("How?", Text(text="Now.")), assistant(call), tool(result)),
        tools=(Tool(name="read", parameters={"type": "object"}),),
    ).with_system(None)


def reading(request: Request, reply: Reply) -> None:
    assert_type(request.messages, tuple[Message, ...])
    assert_type(request.system, str | None)
    assert_type(reply.text, str)
    assert_type(reply.calls, tuple[ToolCall, ...])
    assert_type(reply.calls[0].parsed(), Valid | Invalid)
    for block in reply.message.content:
        assert_type(block, Content)
        match block:
            case Text():
                assert_type(block.text, str)
            case ToolCall():
                assert_type(block.arguments, str)
            case _:
                pass


def streaming(events: list[StreamEvent], reply: Reply) -> Reply:
    for event in events:
        match event:
            case Delta():
                assert_type(event.text, str)
            case Finish():
                assert_type(event.reply, Reply | None)
            case Failure():
                assert_type(event.message, str)
            case _:
                pass
    return collect(explode(reply))


def on_disk(request: Request) -> Conversation:
    return loads(dumps(Conversation(request=request)))


def through_a_wire(request: Request, dialect: Dialect = BASE) -> None:
    wire = find("chat")
    assert_type(wire, Wire)
    out = wire.encode_request(request, dialect, Exchange(stream=True))
    assert_type(out.http, Http)
    assert_type(out.notes, tuple[Note, ...])
    assert_type(wire.decode_reply(b"{}", dialect, out.exchange).value, Reply)
    assert_type(wire.decode_request(out.http, dialect, Exchange()).request, Request)
    decoder = wire.stream_decoder(dialect, out.exchange)
    assert_type(decoder, StreamDecoder)
    assert_type(decoder.feed(b"data: [DONE]\n\n"), list[StreamEvent])
    encoder = wire.stream_encoder(dialect, out.exchange)
    assert_type(encoder, StreamEncoder)
    assert_type(encoder.close(), bytes)


def failing(headers: Mapping[str, str]) -> None:
    error = find("messages").decode_error(529, headers, b"", override(BASE, {"call_id_pattern": "^x"}))
    assert_type(error, ApiError)
    assert_type(error.detail.retry_after, float | None)
    assert_type(error.detail.body, Any)
    try:
        raise error
    except LossyError as lossy:
        assert_type(lossy.notes, tuple[Note, ...])
    except RemoteError as remote:
        assert_type(remote.path, Path)
    except DragomanError as other:
        assert_type(other.message, str)


@tool_of
def add(x: int, y: int = 0) -> int:
    """Add two numbers."""
    return x + y


def asking(env: Mapping[str, str]) -> None:
    with Model("openai/some-model", env=env) as model:
        assert_type(model.chat("How?", max_output=100, temperature=0), Reply)
        assert_type(model.outcome([user("How?")]), Outcome)
        with model.stream("How?") as stream:
            assert_type(stream, ModelStream)
            for event in stream:
                assert_type(event, StreamEvent)
            assert_type(stream.reply, Reply)
        assert_type(add, FunctionTool)
        assert_type(add.invoke({"x": 1}), ToolOutput)
        agent = Agent(model, [add, read_tool("/tmp")], system="Answer.", max_steps=5)
        result = agent.run("How?")
        assert_type(result, RunResult)
        assert_type(agent.run("And then?", history=result.history).text, str)


async def awaiting() -> None:
    async with AsyncModel("anthropic/some-model") as model:
        assert_type(await model.chat("How?", tools=(add.definition,)), Reply)
        async with model.stream("How?") as stream:
            assert_type(stream, AsyncModelStream)
            async for event in stream:
                assert_type(event, StreamEvent)
        assert_type(await Agent(model).arun("How?"), RunResult)


class Place(TypedDict):
    name: str


def asking_for_values(model: Model, told: list[Exchanged]) -> None:
    outcome = model.outcome("Where?", output=Place)
    assert_type(outcome.value, Any)
    assert_type(model.chat("Where?", output=list[int]).parsed, Any)
    model.chat("Where?", output={"type": "object"})
    model.chat("Where?", output=Structured(of=Place | None, moves=2, invalid="move", repair=True))
    assert_type(model.complete("Sum up.", "data", purpose="deterministic", max_output=100), str)
    assert_type(model.count("How?", tools=(add.definition,)), Count)
    assert_type(model.plan("How?", stream=True, effort="high"), Plan)
    assert_type(outcome.reply.timing, Timing | None)
    watched = Model("openai/some-model", observers=[told.append], repair=True, vision=True)
    try:
        watched.chat("How?", output=Place)
    except TruncatedError as cut:
        assert_type(cut.reply, Reply)
    except RefusedError as refused:
        assert_type(refused, RefusedError)
    except OutputError as other:
        assert_type(other.code, ErrorCode)


async def awaiting_values(model: AsyncModel) -> None:
    assert_type(await model.complete("Sum up.", purpose="prose"), str)
    assert_type(await model.count("How?"), Count)
    assert_type((await model.outcome("Where?", output=Place)).value, Any)
    async with model.stream("Where?", output=Place) as stream:
        assert_type(stream.value, Any)
