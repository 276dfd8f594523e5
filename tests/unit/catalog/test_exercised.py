"""Guards the table of providers: each can be called over each of its wires, and no fact of it is a dead letter."""

from __future__ import annotations

import msgspec
import pytest

from dragoman.catalog.find import VARIABLE, find
from dragoman.catalog.provider import providers
from dragoman.client import Model
from dragoman.dialect.find import find as find_dialect
from dragoman.dialect.find import rows as dialect_rows
from dragoman.testing.fake import FakeProvider
from dragoman.transport.stdlib import StdlibTransport
from dragoman.types import Tool, ToolChoice
from facts_seen import UNSEEN, differing, seen

ROWS = sorted({row.name: row for row in providers().values()}.values(), key=lambda row: row.name)


@pytest.mark.req("S3-12", "S3-21")
@pytest.mark.parametrize(("name", "wire"), dialect_rows(), ids=lambda part: str(part))
def test_every_fact_of_a_server_changes_what_is_sent_or_read(name: str, wire: str) -> None:
    dialect = find_dialect(name, wire)
    expected = [fact for fact in differing(dialect) if (name, wire, fact) not in UNSEEN]
    assert seen(dialect, wire, name) == expected


@pytest.mark.req("S3-13")
def test_a_switch_of_a_template_goes_to_the_one_server_that_knows_it() -> None:
    transport = StdlibTransport()
    with FakeProvider("chat") as fake:
        for name in ("mlx", "openai", "deepseek", "vllm"):
            target = find(f"{name}/qwen3", {"OPENAI_API_KEY": "k", "DEEPSEEK_API_KEY": "k"})
            there = msgspec.structs.replace(target, base_url=f"{fake.url}/v1")
            for effort in ("none", "high"):
                Model(there, transport=transport, retry=0).chat("hi", effort=effort)
    transport.close()
    sent = [seen.body.get("chat_template_kwargs") for seen in fake.seen if isinstance(seen.body, dict)]
    assert sent == [{"enable_thinking": False}, {"enable_thinking": True}, *[None] * 6]


@pytest.mark.req("S0-08", "S3-21")
@pytest.mark.parametrize("wire", ["chat", "messages", "responses"])
def test_every_provider_is_called_over_a_socket(wire: str) -> None:
    transport = StdlibTransport()
    tools = [Tool(name="read", parameters={"type": "object"})]
    spoken = [row for row in ROWS if wire in row.wires]
    with FakeProvider(wire) as fake:
        for row in spoken:
            env = {**dict.fromkeys(VARIABLE.findall(row.base_url), "x"), row.key_env[0]: "k"}
            target = msgspec.structs.replace(find(f"{row.name}/m#{wire}", env), base_url=f"{fake.url}/v1")
            model = Model(target, transport=transport, retry=0)
            reply = model.chat("你好", tools=tools, tool_choice=ToolChoice(mode="auto"), max_output=64)
            assert (row.name, reply.text, reply.stop.reason) == (row.name, "你好", "end")
        assert len(fake.seen) == len(spoken)
        assert {seen.path for seen in fake.seen} == {{"chat": "/v1/chat/completions"}.get(wire, f"/v1/{wire}")}
    transport.close()
