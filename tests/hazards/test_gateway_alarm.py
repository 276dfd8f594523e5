"""Guards what whoever runs the gateway learns of faults: one line each with its place, rarely the same, never what was said; and
what clients learn of a broken service: that it is the service and what to do, not where it is nor what our library calls it."""

from __future__ import annotations

import json
import re
import socket
from collections.abc import Callable, Iterator, Sequence
from http.client import IncompleteRead
from typing import Any, NoReturn

import pytest

from dragoman import AsyncModel
from dragoman.catalog.target import Target
from dragoman.gateway import behind, faults
from dragoman.gateway.alarm import MOST, PERIOD, Alarm
from dragoman.gateway.answer import Answer as Written
from dragoman.gateway.seats import Seats
from dragoman.secret import Secret
from dragoman.testing import FakeProvider
from dragoman.types.events import Failure, StreamEvent
from dragoman.types.note import Note
from dragoman.types.request import Request
from gate import PATHS, Gate, body_of, events
from hazards.cases import chat, data
from origin import Answer, Origin

WIRES = ("chat", "messages", "responses")
SSE = {"content-type": "text/event-stream"}
SAID = "the words of a client"
KEY = "sk-SECRET-0123456789"


def broken(*_: Any, **__: Any) -> NoReturn:
    raise LookupError(SAID)


write = Written.events


def half_broken(answer: Written, said: Sequence[StreamEvent]) -> bytes:
    return write(answer, said) if isinstance(said[0], Failure) else broken()


# Where a fault of ours can sit: what is asked, and what breaks then.
BUGS: dict[str, tuple[str, bool, Callable[[pytest.MonkeyPatch, Gate], None]]] = {
    "before the model is asked": ("", False, lambda patch, gate: patch.setattr(gate.app.seats, "choose", broken)),
    "in a whole reply": ("", False, lambda patch, gate: patch.setattr(Written, "whole", broken)),
    "in a stream": ("", True, lambda patch, gate: patch.setattr(Written, "events", half_broken)),
    "in a count": ("/v1/messages/count_tokens", False, lambda patch, gate: patch.setattr(AsyncModel, "forward_count", broken)),
    "where no model is asked": ("/v1/models", False, lambda patch, gate: patch.setattr("dragoman.gateway.lists.listed", broken)),
}  # fmt: skip


@pytest.mark.parametrize("wire", WIRES)
@pytest.mark.parametrize("place", BUGS)
def test_a_fault_of_ours_is_one_line_with_its_place_however_often_it_comes(
    place: str, wire: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, stream, breaks = BUGS[place]
    told: list[str] = []
    with FakeProvider() as fake, Gate(fake.spec, alarm=Alarm(told.append)) as gate:
        breaks(monkeypatch, gate)
        gate.app.manner = gate.app.manner._replace(passthrough=False)
        body = None if path == "/v1/models" else body_of("messages" if path else wire, SAID, stream=stream)
        got = [gate.ask(path or PATHS[wire], body) for _ in range(3)]
        at_once, active = [*told], gate.app.active
    line = broken.__code__.co_firstlineno + 1
    door = "" if path == "/v1/models" else re.escape(f" (POST {path or PATHS[wire]})")
    here = rf"hazards/test_gateway_alarm\.py:{line}, called from dragoman/gateway/\w+\.py:\d+"
    (first,) = at_once
    assert re.fullmatch(rf"a fault in this server: LookupError at {here}{door}; please report this line", first)
    assert (told[1:], active) == (["2 more like those"], 0)
    assert {each.status for each in got} == {200 if stream else 500}
    assert [each.body for each in got if SAID.encode() in each.body] == []
    assert all(b"whoever runs it was told where (LookupError)" in each.body for each in got)


@pytest.mark.parametrize("wire", WIRES)
@pytest.mark.parametrize("passes", [True, False])
def test_one_that_cannot_be_told_in_the_stream_breaks_the_connection(
    wire: str, passes: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    told: list[str] = []
    with FakeProvider(wire) as fake, Gate(fake.spec, alarm=Alarm(told.append), passthrough=passes) as gate:
        monkeypatch.setattr(Written, "events", half_broken if passes else broken)
        with pytest.raises(IncompleteRead):
            gate.say(wire, stream=True)
    assert [line.count("LookupError") for line in told] == [1]


def test_a_task_that_nobody_waits_for_is_told_alike() -> None:
    told: list[str] = []
    with FakeProvider() as fake, Gate(fake.spec, alarm=Alarm(told.append)) as gate:

        def choose(_: str | None) -> NoReturn:
            import asyncio

            asyncio.get_running_loop().call_soon(broken, SAID)
            raise faults.NoThreads

        gate.app.seats.choose = choose  # type: ignore[method-assign]
        assert gate.say("chat").status == 400
        assert gate.ask("/health").status == 200
    line = broken.__code__.co_firstlineno + 1
    at = f"hazards/test_gateway_alarm.py:{line}"
    assert told == [f"a fault in this server: LookupError at {at}; please report this line"]


def test_no_more_than_so_many_lines_are_told_in_a_while_and_the_rest_counted() -> None:
    told: list[str] = []
    clock = [0.0]
    alarm = Alarm(told.append, now=lambda: clock[0])
    for _ in range(1000):
        alarm.say("one")
    clock[0] = PERIOD - 1
    alarm.say("one")
    for number in range(1000):
        alarm.say(f"line {number}")
    clock[0] = PERIOD
    alarm.say("one")
    alarm.close()
    alarm.close()
    assert told == ["one", *(f"line {number}" for number in range(MOST - 1)), "1981 more like those", "one"]


@pytest.mark.parametrize("error", [BrokenPipeError(), OSError(28, "no space"), ValueError("closed")])
def test_an_operator_who_reads_no_more_breaks_no_answer(error: Exception) -> None:
    def tell(_: str) -> None:
        raise error

    with Gate("http://127.0.0.1:9/v1#chat:m", alarm=Alarm(tell)) as gate:
        assert [gate.say(wire).status for wire in WIRES] == [502] * 3


# --- the service


def nobody() -> str:
    """An address where nobody listens."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        return f"http://127.0.0.1:{free.getsockname()[1]}"


PAGE = {"content-type": "text/html"}
BEGUN = chat({"content": "so"}).partition(b"\n\n")[0] + b"\n\n"
REACH, BROKE, UNREADABLE = (faults.UNSAID[code][1] for code in ("network", "incomplete", "bad_json"))
FAULTS: dict[str, tuple[Answer | None, str, str, str]] = {
    "nobody is there": (None, REACH, REACH, "cannot connect to {at}"),
    "it hangs up in its body": (Answer(200, cut=True, body=b"{"), REACH, REACH, "the connection to {at}"),
    "it answers a page": (Answer(200, PAGE, f"<p>{SAID}".encode()), UNREADABLE, BROKE, "the answer of {at}"),
    "it answers rubbish": (Answer(200, body=f'{{"{SAID}'.encode()), UNREADABLE, "", "the answer of {at}"),
    "it answers nothing": (Answer(200), BROKE, "", "the answer of {at}"),
    "its events are rubbish": (Answer(200, SSE, [b"data: {" + SAID.encode() + b"\n\n"]), "", UNREADABLE, "the answer of {at}"),
    "its stream has no end": (Answer(200, SSE, [BEGUN]), "", BROKE, "the answer of {at}"),
    "it hangs up in its stream": (Answer(200, SSE, [BEGUN], cut=True), "", REACH, "the connection to {at}"),
}  # fmt: skip
OURS = ("127.0.0.1", "http:", "Limits", "base URL", "API", "label", "raise", "dragoman", "Error")


@pytest.mark.parametrize("wire", WIRES)
@pytest.mark.parametrize("name", FAULTS)
def test_of_a_broken_service_the_client_learns_what_to_do_and_the_operator_where_it_is(name: str, wire: str) -> None:
    answer, whole, stream, reason = FAULTS[name]
    told: list[str] = []
    with Origin(*([answer] if answer else [])) as origin:
        url = origin.url if answer else nobody()
        target = Target(provider="p", label="P", wire="chat", model="m", base_url=f"{url}/v1", key=Secret(KEY))
        with Gate(target, passthrough=False) as gate:
            for streams, said in ((False, whole), (True, stream)):
                if not said:
                    continue
                gate.app.alarm = Alarm(told.append)  # which has said nothing yet
                got = gate.ask(PATHS[wire], body_of(wire, SAID, stream=streams))
                text = got.body.decode()
                assert said in text
                assert [word for word in (*OURS, SAID, KEY) if word in text] == []
                if got.status == 200:
                    assert b"[DONE]" not in got.body and b"message_stop" not in got.body
                else:
                    assert (got.status, b"invalid_request" in got.body) == (502, False)
    assert [line.startswith("P: " + reason.format(at=url)) for line in told] == [True] * sum(map(bool, (whole, stream)))
    assert [line for line in told if SAID in line or KEY in line or "\n" in line] == []


REFUSED: dict[str, tuple[int, str, str]] = {
    "our key": (401, '{"error":{"message":"KEY is wrong"}}', "{at} does not take the key in P_KEY (401)"),
    "our account": (402, '{"error":{"message":"no credits"}}', "{at} says that the account is empty (402)"),
    "our model": (404, '{"error":{"message":"m not found"}}', "{at} knows no model 'm', or is the wrong address (404)"),
    "the address": (307, "", "{at} sends elsewhere (307): give its new address"),
    "what the client said": (400, '{"error":{"message":"no such role"}}', ""),
    "one too many": (429, '{"error":{"message":"later"}}', ""),
}


@pytest.mark.parametrize("name", REFUSED)
def test_of_refusals_the_operator_learns_those_that_are_his_to_mend(name: str) -> None:
    status, body, reason = REFUSED[name]
    told: list[str] = []
    with Origin(Answer(status, body=body.encode())) as origin:
        url = f"{origin.url}/v1"
        target = Target(provider="p", label="P", wire="chat", model="m", base_url=url, key=Secret(KEY), key_env="P_KEY")
        with Gate(target, alarm=Alarm(told.append)) as gate:
            got = [gate.say(wire) for wire in WIRES]
    assert told == ([f"P: {reason.format(at=url)}", "2 more like those"] if reason else [])
    assert [each.body for each in got if b"127.0.0.1" in each.body or b"P_KEY" in each.body] == []


@pytest.mark.parametrize("wire", WIRES)
@pytest.mark.parametrize("begun", [b"", BEGUN])
def test_the_hints_to_us_are_not_the_clients_in_a_stream_either(wire: str, begun: bytes) -> None:
    said = "The model gpt-9 does not exist — ask — for another"
    error = data({"error": {"message": said, "code": "model_not_found"}})
    with (
        Origin(Answer(200, SSE, [begun + error])) as origin,
        Gate(f"{origin.url}/v1#chat:m", passthrough=False) as gate,
    ):
        got = gate.say(wire, stream=True)
    last: Any = events(got.body)[-1] if begun else got.json
    found = last["response"]["error"] if begun and wire == "responses" else last["error"]
    assert found["message"] == said


class Losing:
    """A model in this process that tells of a loss before it says a word."""

    notes = (Note(path=("tools", 0), action="dropped", reason="no tools here"),)

    def stream(self, request: Request) -> Losing:
        return self

    def __iter__(self) -> Iterator[StreamEvent]:
        return self

    def __next__(self) -> StreamEvent:
        raise StopIteration


def test_what_a_strict_model_in_this_process_would_lose_is_the_clients_to_mend() -> None:
    told: list[str] = []
    with Gate(Losing(), alarm=Alarm(told.append)) as gate:
        gate.app.seats = Seats({"made": AsyncModel(Losing(), strict=True)}, any_name=True)
        got = gate.say("chat")
    assert (got.status, json.loads(got.body)["error"]["type"], told) == (400, "invalid_request_error", [])


@pytest.mark.parametrize("path", ["/v1/messages", "/v1/messages/count_tokens"])
def test_so_is_what_cannot_be_written_also_where_it_is_only_counted(path: str) -> None:
    schema: dict[str, Any] = {"type": "string"}
    for _ in range(70):
        schema = {"type": "object", "properties": {"a": schema}}
    tool = {"name": "f", "strict": True, "input_schema": schema}
    told: list[str] = []
    with FakeProvider() as fake, Gate(fake.spec, alarm=Alarm(told.append)) as gate:
        got = gate.ask(path, body_of("messages", tools=[tool]))
    assert (got.status, got.json["error"]["type"], told) == (400, "invalid_request_error", [])
    assert "more than 64 levels of schemas" in got.json["error"]["message"]


def test_every_code_that_a_service_cannot_say_itself_has_its_words() -> None:
    assert behind.reason(faults.bug(KeyError(SAID)), None) == ""
    assert all("service" in said and 500 < status < 600 for status, said in faults.UNSAID.values())
