"""One client, measured against `upstream.py` in a process and an interpreter of its own: JSON on stdout.

    PYTHON benchmarks/clients.py NAME call|stream PORT

Each client makes the same request: what differs is what it does around it. It is measured as its own users use it: a client
object made once, a request that is ready, text that is read.
"""

from __future__ import annotations

import asyncio
import json
import re
import sys
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path
from typing import Any

CALLS, ROUNDS, STREAMS = 300, 5, 200
MODEL = "m"


def body() -> dict[str, Any]:
    """A request of 12 messages and 8 tools, about 6 kB: the fourth step of an agent that reads files."""
    fields = {name: {"type": "string", "description": "what it is for " * 3} for name in ("path", "offset", "limit")}
    parameters = {"type": "object", "properties": fields, "required": ["path"]}
    tools = [
        {
            "type": "function",
            "function": {"name": f"tool{at}", "description": "does it " * 12, "parameters": parameters},
        }
        for at in range(8)
    ]
    talk: list[dict[str, Any]] = [{"role": "system", "content": "Work by these rules. " * 20}]
    talk.append({"role": "user", "content": "How do I start this project?"})
    for turn in range(5):
        call = {"id": f"call_{turn}", "type": "function", "function": {"name": "tool0", "arguments": '{"path":"a.md"}'}}
        talk.append({"role": "assistant", "content": None, "tool_calls": [call]})
        talk.append({"role": "tool", "tool_call_id": f"call_{turn}", "content": "npm run dev starts it.\n" * 8})
    return {"model": MODEL, "messages": talk, "tools": tools, "max_tokens": 1000}


def compact(asked: dict[str, Any]) -> bytes:
    """A body as clients write it."""
    return json.dumps(asked, separators=(",", ":")).encode()


Call = Callable[[], Any]
Stream = Callable[[], AsyncIterator[Any]]


def bare(base: str) -> tuple[Call, Stream]:
    """The floor: httpx2 posts the bytes, and nobody reads them."""
    import httpx2

    sync, other = httpx2.Client(), httpx2.AsyncClient(limits=httpx2.Limits(max_connections=None))
    url, sent = f"{base}/chat/completions", compact(body())
    streamed = compact({**body(), "stream": True})
    headers = {"content-type": "application/json", "authorization": "Bearer k"}

    async def stream() -> AsyncIterator[Any]:
        async with other.stream("POST", url, content=streamed, headers=headers, timeout=60) as response:
            async for piece in response.aiter_bytes():
                yield piece

    return lambda: sync.post(url, content=sent, headers=headers).content, stream


def dragoman(base: str) -> tuple[Call, Stream]:
    """This library."""
    from dragoman import AsyncModel, Model
    from dragoman.dialect.model import BASE
    from dragoman.wire import find
    from dragoman.wire.base import Exchange, Http

    request = find("chat").decode_request(Http(body=json.dumps(body()).encode()), BASE, Exchange()).request
    sync, other = Model(f"{base}#chat:{MODEL}", env={}), AsyncModel(f"{base}#chat:{MODEL}", env={})

    async def stream() -> AsyncIterator[Any]:
        async for event in other.stream(request):
            yield event

    return lambda: sync.chat(request).text, stream


def openai(base: str) -> tuple[Call, Stream]:
    """The openai SDK."""
    from openai import AsyncOpenAI, OpenAI

    asked = body()
    sync, other = OpenAI(api_key="k", base_url=base), AsyncOpenAI(api_key="k", base_url=base)

    async def stream() -> AsyncIterator[Any]:
        async for event in await other.chat.completions.create(**asked, stream=True):
            yield event

    return lambda: sync.chat.completions.create(**asked).choices[0].message.content, stream


def litellm(base: str) -> tuple[Call, Stream]:
    """litellm."""
    import litellm

    asked = {**body(), "model": f"openai/{MODEL}", "api_base": base, "api_key": "k"}

    async def stream() -> AsyncIterator[Any]:
        async for event in await litellm.acompletion(**asked, stream=True):
            yield event

    return lambda: litellm.completion(**asked).choices[0].message.content, stream


def pydantic_ai(base: str) -> tuple[Call, Stream]:
    """pydantic-ai, one request to a model without an agent's loop around it."""
    from pydantic_ai import messages as talk
    from pydantic_ai.direct import model_request_stream, model_request_sync
    from pydantic_ai.models import ModelRequestParameters
    from pydantic_ai.models.openai import OpenAIChatModel
    from pydantic_ai.providers.openai import OpenAIProvider
    from pydantic_ai.tools import ToolDefinition

    asked = body()
    history: list[Any] = [talk.ModelRequest(parts=[talk.SystemPromptPart(asked["messages"][0]["content"])])]
    for each in asked["messages"][1:]:
        if each["role"] == "user":
            history.append(talk.ModelRequest(parts=[talk.UserPromptPart(each["content"])]))
        elif each["role"] == "tool":
            part = talk.ToolReturnPart("tool0", each["content"], tool_call_id=each["tool_call_id"])
            history.append(talk.ModelRequest(parts=[part]))
        else:
            call = each["tool_calls"][0]
            part = talk.ToolCallPart("tool0", call["function"]["arguments"], tool_call_id=call["id"])
            history.append(talk.ModelResponse(parts=[part]))
    tools = [
        ToolDefinition(name=t["name"], description=t["description"], parameters_json_schema=t["parameters"])
        for t in (tool["function"] for tool in asked["tools"])
    ]
    how = ModelRequestParameters(function_tools=tools)
    model = OpenAIChatModel(MODEL, provider=OpenAIProvider(base_url=base, api_key="k"))

    async def stream() -> AsyncIterator[Any]:
        async with model_request_stream(model, history, model_request_parameters=how) as events:
            async for event in events:
                yield event

    return lambda: model_request_sync(model, history, model_request_parameters=how), stream


CLIENTS = {"httpx2": bare, "dragoman": dragoman, "openai": openai, "litellm": litellm, "pydantic-ai": pydantic_ai}


def calls(call: Call) -> dict[str, float]:
    """Microseconds of one call, waiting for loopback included, and of the processor: the best of a few rounds."""
    for _ in range(20):
        call()
    wall, cpu = [], []
    for _ in range(ROUNDS):
        began, used = time.perf_counter(), time.process_time()
        for _ in range(CALLS):
            call()
        wall.append((time.perf_counter() - began) / CALLS * 1e6)
        cpu.append((time.process_time() - used) / CALLS * 1e6)
    return {"wall_us": min(wall), "cpu_us": min(cpu)}


async def streams(stream: Stream, events: int) -> dict[str, float]:
    """Microseconds of the processor for one event of what the server sent, many streams at once."""

    async def read() -> int:
        count = 0
        async for _ in stream():
            count += 1
        return count

    await read()
    began, used = time.perf_counter(), time.process_time()
    waiting: list[Awaitable[int]] = [asyncio.ensure_future(read()) for _ in range(STREAMS)]
    given = sum(await asyncio.gather(*waiting))
    took, spent = time.perf_counter() - began, time.process_time() - used
    return {
        "cpu_us_per_event": spent / (STREAMS * events) * 1e6,
        "cpu_share": spent / took,
        "seconds": took,
        "given": given,
    }


def most() -> float:
    """The most memory this process ever had, in MB. `getrusage` would count that of the process it was forked from."""
    found = re.search(r"VmHWM:\s+(\d+) kB", Path("/proc/self/status").read_text())
    return int(found[1]) / 1024 if found else float("nan")


def main() -> None:
    """Measure and print."""
    name, what, port = sys.argv[1:4]
    sys.path.pop(0)  # this folder holds no library
    began = time.perf_counter()
    call, stream = CLIENTS[name](f"http://127.0.0.1:{port}/v1")
    if what == "call":
        call()
        found = {"first_call_s": time.perf_counter() - began, **calls(call)}
    else:
        found = asyncio.run(streams(stream, int(sys.argv[4])))
    print(json.dumps({**found, "rss_mb": most()}))


if __name__ == "__main__":
    main()
