"""Guards S0-11: what is asked stands in the Request, and writing it reads nothing else; the cancel signal is beside it."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

from dragoman.client import Model
from dragoman.types import Request
from dragoman.wire import WIRES

# In a process of its own, where to ask for a clock, chance, a file or the environment is to fail.
WRITE = """
import builtins, json, os, random, sys, time
from dragoman.dialect.model import BASE
from dragoman.types import Request, Tool, system, user
from dragoman.wire import find
from dragoman.wire.base import Exchange
wire = find(sys.argv[1])
request = Request(
    model="m", messages=(system("规则"), user("hi")), max_output=600,
    tools=(Tool(name="read", parameters={"type": "object"}),),
)
first = wire.encode_request(request, BASE, Exchange()).http.body
def refuse(*arguments, **options):
    raise AssertionError("conversion asked the world outside")
class Closed(dict):
    __getitem__ = get = __contains__ = __iter__ = refuse
os.environ, os.getenv, builtins.open, os.open = Closed(), refuse, refuse, refuse
time.time = time.monotonic = time.perf_counter = random.random = os.urandom = refuse
assert wire.encode_request(request, BASE, Exchange()).http.body == first
sys.stdout.write(first.decode())
"""


@pytest.mark.req("S0-11", "S0-16")
@pytest.mark.parametrize("wire", WIRES)
def test_all_that_is_asked_is_written_and_nothing_outside_is_read(wire: str) -> None:
    done = subprocess.run([sys.executable, "-c", WRITE, wire], capture_output=True, check=False, timeout=60)
    assert (done.returncode, done.stderr.decode()) == (0, "")
    body = json.loads(done.stdout)
    assert body["model"] == "m"
    assert len(body["tools"]) == 1
    assert 600 in (body.get("max_tokens"), body.get("max_output_tokens"))
    assert {"规则", "hi"} <= set(_strings(body))


@pytest.mark.req("S0-11")
def test_the_cancel_signal_is_given_beside_the_request() -> None:
    assert {"model", "messages", "tools", "max_output"} <= set(Request.__struct_fields__)
    assert not {"signal", "cancel"} & set(Request.__struct_fields__)
    for method in (Model.chat, Model.stream):
        assert "cancel" in method.__annotations__


def _strings(value: object) -> list[str]:
    if isinstance(value, dict):
        return [text for item in value.values() for text in _strings(item)]
    if isinstance(value, list):
        return [text for item in value for text in _strings(item)]
    return [value] if isinstance(value, str) else []
