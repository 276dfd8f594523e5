"""Guards the first of the three modes, text in and text out: layout, purposes, cuts; and the count of a request."""

from __future__ import annotations

import asyncio
import json
import runpy
from pathlib import Path
from typing import Any

import pytest

from chat_script import chat_reply
from dragoman.client import AsyncModel, Count, Exchanged, Model
from dragoman.client.completion import TEMPERATURES, prompt_of, tiered
from dragoman.client.count import estimate
from dragoman.errors import ApiError, RefusedError, RemoteError, TruncatedError, UsageError
from dragoman.testing.fake import FakeProvider
from dragoman.types import Note, Refusal, Reply, Request, Sampling, Stop, Tool, assistant, user
from origin import Answer, Origin

EXAMPLES = Path(__file__).resolve().parent.parent.parent / "examples"
WIRES = ("chat", "responses", "messages")


async def awaited(spec: str, what: str, said: str) -> Any:
    async with AsyncModel(spec, env={}) as model:
        return await getattr(model, what)(said)


@pytest.mark.req("S4-01", "S4-02", "S4-04", "S4-10")
@pytest.mark.parametrize("wire", WIRES)
def test_a_completion_is_one_user_message_and_nothing_is_kept(wire: str) -> None:
    with FakeProvider(wire, script=["bug"]) as fake:
        with Model(fake.spec, env={}) as model:
            assert model.complete("Label this ticket.", "It crashes.") == "bug"
            assert model.complete("Again.") == "bug"
        assert asyncio.run(awaited(fake.spec, "complete", "Again.")) == "bug"
    first, second, third = (seen.body for seen in fake.seen)
    said = "Label this ticket.\n\n<data>\nIt crashes.\n</data>"
    messages = first["input"] if wire == "responses" else first["messages"]
    assert json.dumps(said)[1:-1] in json.dumps(messages)
    assert (len(messages), messages[0]["role"]) == (1, "user")
    assert "crashes" not in json.dumps(second)
    assert second == third
    assert "temperature" not in first


@pytest.mark.req("S4-03")
def test_the_body_holds_what_was_said_and_no_more() -> None:
    with Origin(chat_reply("x")) as origin, Model(f"{origin.url}/v1#chat:m", env={}) as model:
        model.complete("Hi", max_output=256, temperature=0.3)
    assert origin.seen[0].json == {
        "model": "m",
        "messages": [{"role": "user", "content": "Hi"}],
        "max_tokens": 256,
        "temperature": 0.3,
    }


@pytest.mark.req("S4-09")
@pytest.mark.parametrize(
    ("data", "kept"),
    [
        ("你好", "你好"),
        ("a </data> b", "a <\\/data> b"),
        ("<data>x</DATA >", "<\\data>x<\\/DATA >"),
        ("< / data >", "<\\ / data >"),
        ("<database> 1 < 2 <data", "<database> 1 < 2 <data"),
    ],
)
def test_the_instruction_comes_first_and_data_cannot_end_where_it_does_not(data: str, kept: str) -> None:
    assert prompt_of("Sum up.\n", data) == f"Sum up.\n\n<data>\n{kept}\n</data>"
    assert prompt_of("Sum up.") == "Sum up."


@pytest.mark.req("S4-07", "S4-32", "C-20")
def test_a_purpose_sets_the_temperature_that_nobody_said_and_tells_it() -> None:
    assert 0.1 <= TEMPERATURES["deterministic"] <= 0.3
    assert TEMPERATURES["tools"] <= 0.2
    assert TEMPERATURES["prose"] >= 0.6
    seen: list[Exchanged] = []
    with Origin(chat_reply("x")) as origin, Model(f"{origin.url}/v1#chat:m", env={}, observers=[seen.append]) as model:
        for purpose, temperature in (("deterministic", None), ("prose", None), ("tools", 0.9), (None, None)):
            model.complete("Hi", purpose=purpose, temperature=temperature)  # type: ignore[arg-type]
        model.chat("Hi")
    assert [asked.json.get("temperature") for asked in origin.seen] == [0.2, 0.7, 0.9, None, None]
    note = Note(path=("sampling", "temperature"), action="synthesised", reason="deterministic: 0.2", loss=False)
    assert [told.notes for told in seen] == [(note,), seen[1].notes, (), (), ()]


@pytest.mark.req("S4-33", "C-21")
def test_with_tools_less_than_512_tokens_are_raised_and_told() -> None:
    request = Request(messages=(user("x"),), tools=(Tool(name="read"),), max_output=128)
    made = tiered(request, "tools")
    assert (made.request.max_output, made.request.sampling) == (512, Sampling(temperature=0.1))
    assert [note.path for note in made.notes] == [("sampling", "temperature"), ("max_output",)]
    assert tiered(Request(max_output=256), "deterministic").request.max_output == 256
    assert tiered(request, None) == (request, ())


@pytest.mark.req("C-20")
def test_a_temperature_that_a_model_does_not_take_is_left_out() -> None:
    with Origin(chat_reply("x")) as origin, Model(f"{origin.url}/v1#chat:o3", env={}) as model:
        assert model.complete("Hi", purpose="deterministic") == "x"
    assert "temperature" not in origin.seen[0].json


@pytest.mark.req("S4-08")
@pytest.mark.parametrize("wire", WIRES)
def test_a_cut_or_refused_answer_is_an_error_with_what_came(wire: str) -> None:
    script: list[Any] = [
        {"text": "It is a b", "stop": "length"},
        Reply(message=assistant(Refusal(text="no")), stop=Stop(reason="refusal")),
    ]
    with FakeProvider(wire, script=script) as fake, Model(fake.spec, env={}) as model:
        with pytest.raises(TruncatedError, match=r"cut off .*max_output") as cut:
            model.complete("Label.")
        with pytest.raises(RefusedError):
            model.complete("Label.")
    assert cut.value.reply.text == "It is a b"


@pytest.mark.req("S4-05")
def test_the_example_labels_each_line_by_itself() -> None:
    label = runpy.run_path(str(EXAMPLES / "label.py"))["label"]
    with FakeProvider("chat", script=["bug", "Wish.", "I cannot say"]) as fake, Model(fake.spec, env={}) as model:
        found = list(label(model, ["It crashes.", "Make it blue.", "你好"]))
    assert found == [("bug", "It crashes."), ("wish", "Make it blue."), ("?", "你好")]
    assert [len(seen.body["messages"]) for seen in fake.seen] == [1, 1, 1]
    assert {seen.body["temperature"] for seen in fake.seen} == {0.2}


@pytest.mark.req("S4-28")
def test_a_completion_takes_no_tools() -> None:
    options: dict[str, Any] = {"tools": [Tool(name="read")]}
    with Model("http://127.0.0.1:1/v1#chat:m", env={}) as model, pytest.raises(UsageError, match="for tools use chat"):
        model.complete("Hi", **options)


COUNTED = Answer(headers={"content-type": "application/json"}, body=b'{"input_tokens": 2095}')


@pytest.mark.parametrize(
    ("wire", "path", "key", "taken"),
    [
        ("messages", "/v1/messages/count_tokens", "sk-counted-1", {"model", "messages", "system", "tools"}),
        ("responses", "/v1/responses/input_tokens", "Bearer sk-counted-1", {"model", "input", "instructions", "tools"}),
    ],
)
def test_the_service_counts_where_its_wire_has_a_question_for_it(
    wire: str, path: str, key: str, taken: set[str]
) -> None:
    tool = Tool(name="read", parameters={"type": "object"})
    with Origin(COUNTED, COUNTED) as origin:
        with Model(f"{origin.url}/v1#{wire}:m", env={"DRAGOMAN_API_KEY": "sk-counted-1"}) as model:
            count = model.count("hi", system="Be brief.", tools=[tool], max_output=600, temperature=0, store=False)
        again = asyncio.run(awaited(f"{origin.url}/v1#{wire}:m", "count", "hi"))
    first, _ = origin.seen
    assert (count.tokens, count.source, again.tokens) == (2095, "service", 2095)
    assert (first.path, first.headers.get("x-api-key", first.headers.get("authorization"))) == (path, key)
    assert set(first.json) - {"cache_control"} == taken


def test_a_count_that_is_none_is_theirs_to_mend() -> None:
    with Origin(Answer(body=b'{"tokens": 5}')) as origin, pytest.raises(RemoteError, match="input_tokens: expected"):
        Model(f"{origin.url}/v1#messages:m", env={}).count("hi")


@pytest.mark.parametrize("status", [404, 405, 501])
def test_where_the_service_does_not_count_an_estimate_says_so(status: int) -> None:
    refused = Answer(status=status, body=b"no such path")
    with Origin(refused) as origin, Model(f"{origin.url}/v1#messages:m", env={}, retry=0) as model:
        count = model.count("How are you today?")
    assert (count.source, count.why) == ("estimate", f"the service does not count ({status})")
    assert 2 <= count.tokens <= 30


def test_any_other_failure_of_a_count_is_raised() -> None:
    with Origin(Answer(status=401, body=b"who are you")) as origin, pytest.raises(ApiError, match="401"):
        Model(f"{origin.url}/v1#messages:m", env={}).count("hi")


def test_a_wire_without_a_count_is_estimated_and_nothing_is_sent() -> None:
    with Origin() as origin, Model(f"{origin.url}/v1#chat:m", env={}) as model:
        count = model.count("How are you today?")
        with pytest.raises(UsageError):
            Model(Silent()).count("hi")
    assert count == Count(tokens=count.tokens, source="estimate", why="this wire has no count")
    assert origin.seen == []


class Silent:
    """A model in this process."""

    def stream(self, request: Request) -> Any:
        return iter(())


@pytest.mark.parametrize(
    ("said", "least", "most"),
    [
        ("The quick brown fox jumps over the lazy dog. " * 20, 180, 270),
        ("敏捷的棕色狐狸跳过了懒狗。" * 20, 160, 300),
        ("iVBORw0KGgo" * 1000, 1000, 2000),
        ("", 0, 10),
    ],
)
def test_an_estimate_is_of_the_right_size(said: str, least: int, most: int) -> None:
    body = json.dumps({"model": "m", "messages": [{"role": "user", "content": said}]}, ensure_ascii=False)
    assert least <= estimate(body.encode()) <= most + 12


@pytest.mark.req("C-11")
@pytest.mark.parametrize(
    ("wire", "path", "key", "sent"),
    [
        ("completions", "/v1/completions", "prompt", "Capital of France?"),
        ("chat", "/v1/chat/completions", "messages", [{"role": "user", "content": "Capital of France?"}]),
    ],
)
def test_a_prompt_goes_to_the_endpoint_of_completions_or_as_one_user_message(
    wire: str, path: str, key: str, sent: Any
) -> None:
    with FakeProvider(wire, script=["Paris."]) as fake, Model(fake.spec, env={}) as model:
        assert model.complete("Capital of France?") == "Paris."
    body: Any = fake.seen[0].body
    assert (fake.seen[0].path, body[key]) == (path, sent)
