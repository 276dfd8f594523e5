"""One agent's loop, measured against `scripted.py` in a process and an interpreter of its own: JSON on stdout.

    PYTHON benchmarks/loops.py NAME PORT CALLS

Each runs the same task with the same one tool: a call with each request until the text comes. It is measured as its own users
use it: agent and client made once, then run after run.
"""

from __future__ import annotations

import asyncio
import json
import re
import sys
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

RUNS, ROUNDS = 10, 2
RULES = "Work by these rules. " * 20
TASK = "How do I start this project?"
FOUND = "npm run dev starts it.\n" * 8

Once = Callable[[], Awaitable[str]]


def floor(base: str, calls: int) -> Once:
    """No loop at all: httpx2 posts the bodies of a run, written beforehand, and nobody reads the answers."""
    import httpx2

    client = httpx2.AsyncClient()
    headers = {"content-type": "application/json", "authorization": "Bearer k"}
    parameters = {"type": "object", "properties": {"path": {"type": "string"}}, "required": ["path"]}
    look = {"type": "function", "function": {"name": "look", "description": "Look.", "parameters": parameters}}
    talk: list[dict[str, Any]] = [{"role": "system", "content": RULES}, {"role": "user", "content": TASK}]
    bodies: list[bytes] = []
    for turn in range(calls + 1):
        asked = {"model": "m", "messages": talk, "tools": [look], "stream": True}
        bodies.append(json.dumps(asked, separators=(",", ":")).encode())
        function = {"name": "look", "arguments": '{"path": "docs/page-0.md"}'}
        called = {"id": f"call_{turn}", "type": "function", "function": function}
        talk.append({"role": "assistant", "content": None, "tool_calls": [called]})
        talk.append({"role": "tool", "tool_call_id": f"call_{turn}", "content": FOUND})

    async def once() -> str:
        for body in bodies:
            await client.post(f"{base}/chat/completions", content=body, headers=headers)
        return "dev"

    return once


def dragoman(base: str, calls: int) -> Once:
    """This library, async."""
    from dragoman import Agent, AsyncModel, tool

    @tool
    def look(path: str) -> str:
        """Look at a page."""
        return FOUND

    agent = Agent(AsyncModel(f"{base}#chat:m", env={}), [look], system=RULES, max_steps=calls + 1)

    async def once() -> str:
        return (await agent.arun(TASK)).text

    return once


def dragoman_sync(base: str, calls: int) -> Once:
    """This library without an event loop."""
    from dragoman import Agent, Model, tool

    @tool
    def look(path: str) -> str:
        """Look at a page."""
        return FOUND

    agent = Agent(Model(f"{base}#chat:m", env={}), [look], system=RULES, max_steps=calls + 1)

    async def once() -> str:
        return agent.run(TASK).text

    return once


def pydantic_ai(base: str, calls: int, *, stream: bool = False) -> Once:
    """pydantic-ai."""
    from pydantic_ai import Agent, AgentRunResultEvent, UsageLimits
    from pydantic_ai.models.openai import OpenAIChatModel
    from pydantic_ai.providers.openai import OpenAIProvider

    agent = Agent(OpenAIChatModel("m", provider=OpenAIProvider(base_url=base, api_key="k")), system_prompt=RULES)
    limits = UsageLimits(request_limit=calls + 1)

    @agent.tool_plain
    def look(path: str) -> str:
        """Look at a page."""
        return FOUND

    async def whole() -> str:
        return (await agent.run(TASK, usage_limits=limits)).output

    async def streamed() -> str:
        said = ""
        async with agent.run_stream_events(TASK, usage_limits=limits) as events:
            async for event in events:
                if isinstance(event, AgentRunResultEvent):
                    said = event.result.output
        return said

    return streamed if stream else whole


def openai_agents(base: str, calls: int, *, stream: bool = False) -> Once:
    """openai-agents, its traces off."""
    from agents import Agent, OpenAIChatCompletionsModel, Runner, function_tool, set_tracing_disabled
    from openai import AsyncOpenAI

    set_tracing_disabled(True)

    @function_tool
    def look(path: str) -> str:
        """Look at a page."""
        return FOUND

    model = OpenAIChatCompletionsModel(model="m", openai_client=AsyncOpenAI(api_key="k", base_url=base))
    agent = Agent(name="a", instructions=RULES, tools=[look], model=model)

    async def whole() -> str:
        return str((await Runner.run(agent, TASK, max_turns=calls + 1)).final_output)

    async def streamed() -> str:
        run = Runner.run_streamed(agent, TASK, max_turns=calls + 1)
        async for _ in run.stream_events():
            pass
        return str(run.final_output)

    return streamed if stream else whole


LOOPS: dict[str, Callable[[str, int], Once]] = {
    "httpx2": floor,
    "dragoman": dragoman,
    "dragoman, sync": dragoman_sync,
    "pydantic-ai": lambda base, calls: pydantic_ai(base, calls, stream=True),
    "pydantic-ai, whole replies": pydantic_ai,
    "openai-agents": lambda base, calls: openai_agents(base, calls, stream=True),
    "openai-agents, whole replies": openai_agents,
}


async def measured(once: Once) -> dict[str, float]:
    """Milliseconds of one run, of the clock and of the processor: the best of a few rounds. Raises SystemExit for a run
    that did not come to its answer.
    """
    if "dev" not in await once():
        raise SystemExit("the run did not come to its answer")
    wall, cpu = [], []
    for _ in range(ROUNDS):
        began, used = time.perf_counter(), time.process_time()
        for _ in range(RUNS):
            await once()
        wall.append((time.perf_counter() - began) / RUNS * 1e3)
        cpu.append((time.process_time() - used) / RUNS * 1e3)
    return {"wall_ms": min(wall), "cpu_ms": min(cpu)}


def most() -> float:
    """The most memory this process ever had, in MB. `getrusage` would count that of the process it was forked from."""
    found = re.search(r"VmHWM:\s+(\d+) kB", Path("/proc/self/status").read_text())
    return int(found[1]) / 1024 if found else float("nan")


def main() -> None:
    """Measure and print."""
    name, port, calls = sys.argv[1], sys.argv[2], int(sys.argv[3])
    sys.path.pop(0)  # this folder holds no library
    found = asyncio.run(measured(LOOPS[name](f"http://127.0.0.1:{port}/v1", calls)))
    print(json.dumps({**found, "rss_mb": most()}))


if __name__ == "__main__":
    main()
