"""Guards the bridge to llama.cpp: pieces as they come, refusals as our errors, an end when nobody listens, one answer at a time
and a queue that one can leave."""

from __future__ import annotations

from collections.abc import Callable
from threading import Event
from typing import Any

import pytest

from dragoman.engine import runtime
from dragoman.engine.runtime import WAITING, Runtime
from dragoman.errors import ApiError, UsageError

Hear = Callable[[dict[str, Any]], bool]


class Server:
    """A llama.cpp that follows a script: chunks to be heard, or an exception to raise."""

    def __init__(self, *script: dict[str, Any] | Exception) -> None:
        self.script = script
        self.bodies: list[dict[str, Any]] = []

    def handle_completions(self, body: dict[str, Any], hear: Hear) -> None:
        self.bodies.append(body)
        for step in self.script:
            if isinstance(step, Exception):
                raise step
            if hear(step):
                return


def test_chunks_come_in_order() -> None:
    server = Server({"n": 1}, {"n": 2})
    assert list(Runtime(server).stream({"prompt": ""})) == [{"n": 1}, {"n": 2}]
    assert server.bodies == [{"prompt": "", "stream": True}]


@pytest.mark.parametrize(
    ("said", "code", "status"),
    [
        ({"code": 400, "type": "exceed_context_size_error", "message": "too long"}, "context_overflow", 400),
        ({"code": 400, "type": "invalid_request_error", "message": "bad"}, "invalid_request", 400),
        ({"code": 500, "type": "server_error", "message": "broke"}, "server_error", 500),
        ({}, "server_error", 0),
        ("what?", "server_error", 0),
    ],
)
def test_a_refusal_is_an_api_error(said: Any, code: str, status: int) -> None:
    with pytest.raises(ApiError, match=r"^local model: ") as caught:
        list(Runtime(Server({"error": said})).stream({}))
    assert (caught.value.code, caught.value.status) == (code, status)


@pytest.mark.parametrize(
    ("raised", "code"), [(ValueError("no\nsuch form"), "invalid_request"), (RuntimeError("broke"), "server_error")]
)
def test_what_llama_cpp_throws_is_an_api_error_in_one_line(raised: Exception, code: str) -> None:
    with pytest.raises(ApiError) as caught:
        list(Runtime(Server({"n": 1}, raised)).stream({}))
    assert caught.value.code == code and "\n" not in caught.value.message and not caught.value.retryable


@pytest.mark.parametrize("raised", [MemoryError, IndexError, OverflowError, OSError, TypeError])
def test_whatever_else_it_throws_ends_the_wait(raised: type[Exception]) -> None:
    with pytest.raises(ApiError) as caught:
        list(Runtime(Server({"n": 1}, raised("broke"))).stream({}))
    assert (caught.value.code, caught.value.message) == ("server_error", "local model: broke")


def test_closing_stops_the_model_and_waits_for_its_thread() -> None:
    ended, closing = Event(), Event()

    class Endless(Server):
        def handle_completions(self, body: dict[str, Any], hear: Hear) -> None:
            hear({"n": 1})
            closing.wait()
            while not hear({"n": 2}):
                pass
            ended.set()

    chunks = Runtime(Endless()).stream({})
    assert next(chunks) == {"n": 1}
    closing.set()
    chunks.close()
    assert ended.is_set()


class Talking(Server):
    """Says one piece a request and keeps at it until it is told to end; `asked` are the prompts that it was given."""

    def __init__(self) -> None:
        super().__init__()
        self.asked: list[str] = []
        self.go_on = Event()

    def handle_completions(self, body: dict[str, Any], hear: Hear) -> None:
        self.asked.append(body["prompt"])
        hear({"said": body["prompt"]})
        assert self.go_on.wait(5)


def test_others_wait_their_turn_and_who_leaves_meanwhile_has_asked_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(runtime, "ALIVE", 0.001)
    server = Talking()
    model = Runtime(server)
    first, second, third = (model.stream({"prompt": prompt}) for prompt in "abc")
    assert next(first) == {"said": "a"}
    assert [next(each) for each in (second, third, second)] == [WAITING] * 3  # signs of life, at which one can leave
    second.close()
    assert next(third) == WAITING
    server.go_on.set()
    assert [chunk for chunk in third if chunk is not WAITING] == [
        {"said": "c"}
    ]  # though nobody has read the rest of `first`
    assert list(first) == []
    assert server.asked == ["a", "c"]


def test_a_request_that_is_refused_or_raises_leaves_the_queue() -> None:
    model = Runtime(Server({"error": {"message": "no", "type": "invalid_request_error", "code": 400}}))
    for _ in range(2):
        with pytest.raises(ApiError):
            list(model.stream({"prompt": "x"}))
    model.close()
    for _ in range(2):
        with pytest.raises(UsageError, match="closed"):
            list(model.stream({"prompt": "x"}))
