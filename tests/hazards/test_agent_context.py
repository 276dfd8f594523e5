"""Guards the loop's part of the cases of area context: a conversation that grows too long is cut well, rarely, or not at all."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator
from typing import Any

import pytest

from dragoman.agent import Agent, AsyncCompacting, Compacting
from dragoman.errors import ApiDetail, ApiError
from dragoman.history import Cut, Window, check, composed, groups, last_messages, last_rounds, settled
from dragoman.history.weigh import calibrated, weigh_request
from dragoman.history.window import HEAD, cutting, due, room
from dragoman.tools import tool as as_tool
from dragoman.types import (
    Message,
    Note,
    Reasoning,
    Reply,
    Request,
    Stop,
    Text,
    Tool,
    ToolCall,
    ToolResult,
    Usage,
    assistant,
    explode,
    system,
    tool,
    user,
)
from dragoman.types.events import Failure, StreamEvent
from dragoman.wire import WIRES
from unit.agent.scripted import AsyncScript, Script, says

SUMMARY = "The user wants a tidy shop; the port is 8080."
OVERFLOW = ApiError("context_overflow", "prompt is too long", ApiDetail(status=400, limit=8192, tokens=9000))
TOOLS = (Tool(name="look", description="Look.", parameters={"type": "object", "properties": {}}),)


def result(id: str, text: str = "seen", *, error: bool = False, name: str = "look") -> ToolResult:
    return ToolResult(call_id=id, name=name, content=(Text(text=text),), is_error=True if error else None)


def called(*ids: str, name: str = "look") -> Message:
    return assistant(*(ToolCall(id=id, name=name, arguments="{}") for id in ids))


def spoken(count: int, words: str = "0123456789" * 35) -> tuple[Message, ...]:
    """`count` finished rounds."""
    return tuple(
        message for at in range(count) for message in (user(f"{at}: {words}"), assistant(f"answer {at}: {words}"))
    )


def long_request(count: int = 50) -> Request:
    return Request(messages=(system("Be kind."), *spoken(count), user("And now?")), tools=TOOLS)


def sound(request: Request) -> bool:
    return not [found for wire in WIRES for found in check(request, wire) if found.severity == "error"]


class Summing(Script):
    """A script that also sums up; `summed` are the prompts for it."""

    def __init__(self, *turns: Any, summary: str | Exception = SUMMARY) -> None:
        super().__init__(*turns)
        self.summary, self.summed = summary, list[str]()

    def complete(self, prompt: str) -> str:
        self.summed.append(prompt)
        if isinstance(self.summary, Exception):
            raise self.summary
        return self.summary


@pytest.mark.case("CTX-006")
@pytest.mark.req("S4-13")
def test_a_cut_keeps_calls_and_results_together() -> None:
    messages = (
        user("a"),
        called("c1"),
        tool(result("c1")),
        called("c2", "c3"),
        tool(result("c2")),
        tool(result("c3")),
        user("b"),
    )
    assert last_messages(messages, 3) == (user("b"),)
    assert last_messages(messages, 4) == messages[3:]
    assert [messages[piece.start : piece.stop] for piece in groups(messages)] == [
        messages[:1],
        messages[1:3],
        messages[3:6],
        messages[6:],
    ]
    for count in range(1, 8):
        assert sound(Request(messages=(*last_messages(messages, count), user("go on"))))
    assert last_rounds((*messages, assistant("x"), user("c")), 2) == (user("b"), assistant("x"), user("c"))


@pytest.mark.req("S4-15")
@pytest.mark.req("S4-14")
@pytest.mark.req("S4-17")
@pytest.mark.req("I-09")
def test_fifty_rounds_stay_under_the_budget_with_a_summary_of_what_went() -> None:
    """C-06: the prompt and the tools stay as they are, the summary is a message of its own, what is asked stands last."""
    cuts: list[tuple[Cut, Note]] = []
    model = Summing(says("Fine."))
    around = Compacting(model, Window(tokens=8192), on_cut=lambda cut, note: cuts.append((cut, note)))
    asked = long_request()
    assert weigh_request(asked) > 8192
    list(around.stream(asked))
    (sent,) = model.requests
    assert weigh_request(sent) < 0.5 * 8192
    assert sent.messages[:2] == (system("Be kind."), system(HEAD + SUMMARY))
    assert sent.messages[2].role == "user"
    assert sent.messages[2:] == asked.messages[-len(sent.messages) + 2 :]
    assert sent.messages[-1] == user("And now?")
    assert (sent.tools, sent.tool_choice) == (asked.tools, asked.tool_choice)
    assert sound(sent)
    ((cut, note),) = cuts
    assert cut.summary == SUMMARY
    assert note.reason.startswith("compaction: ")
    assert "0: 0123456789" in model.summed[0]
    assert "<data>" in model.summed[0]


@pytest.mark.req("C-06")
@pytest.mark.req("S4-14")
def test_cuts_are_rare_and_in_big_steps() -> None:
    """C-06: between two cuts each request begins with the bytes of the one before it."""
    cuts: list[Cut] = []
    model = Summing(*[says("Yes. " * 80) for _ in range(60)])
    around = Compacting(model, Window(tokens=8192), on_cut=lambda cut, _: cuts.append(cut))
    history: tuple[Message, ...] = (system("Be kind."),)
    for at in range(60):
        history = (*history, user(f"{at}: " + "word " * 70))
        list(around.stream(Request(messages=history)))
        history = (*history, assistant("Yes. " * 80))
    breaks = sum(
        later.messages[: len(earlier.messages)] != earlier.messages
        for earlier, later in zip(model.requests, model.requests[1:], strict=False)
    )
    assert breaks == len(cuts) == len(model.summed) <= 4
    assert "[earlier summary]" in model.summed[1]
    assert all(weigh_request(sent) < 8192 for sent in model.requests)


@pytest.mark.req("S4-13")
def test_no_more_rounds_are_sent_than_were_said() -> None:
    model = Summing(*[says("Yes.") for _ in range(20)])
    around = Compacting(model, Window(rounds=6))
    history: tuple[Message, ...] = ()
    for at in range(20):
        history = (*history, user(str(at)))
        list(around.stream(Request(messages=history)))
        history = (*history, assistant("Yes."))
    counts = [sum(message.role == "user" for message in sent.messages) for sent in model.requests]
    assert max(counts) == 6
    assert counts.count(3) == len(model.summed) + 1


@pytest.mark.case("CTX-003")
def test_room_for_the_answer_counts() -> None:
    window = Window(tokens=200_000)
    assert room(Request(max_output=32_000), window) == 168_000
    words = "word " * 152_000  # about 190,000 tokens
    asked = Request(messages=(*spoken(1, words), user("And now?")), max_output=32_000)
    assert due(asked, Cut(), window)
    model = Summing(says("Fine."))
    list(Compacting(model, window).stream(asked))
    assert model.requests[0].messages[-1] == user("And now?")
    assert len(model.requests[0].messages) == 2
    whole = Request(messages=(user("word " * 152_000),), max_output=32_000)
    stream = Compacting(Script(says("Fine.")), window).stream(whole)
    list(stream)
    (note,) = stream.notes
    assert (note.path, note.action, note.loss) == (("max_output",), "clamped", False)


@pytest.mark.case("CTX-004")
@pytest.mark.parametrize("failing", [OVERFLOW, [Failure(code="context_overflow", message="too long")]])
def test_an_overflow_that_no_cut_can_help_is_raised_and_names_what_is_fixed(failing: Any) -> None:
    model = Summing(*[failing] * 9)
    prompt = system("Be kind. " * 4000)
    around = Compacting(model, Window(tokens=8192))
    with pytest.raises(ApiError, match=r"the system prompt and 1 tools alone are about \d+ tokens of 8192") as raised:
        list(around.stream(Request(messages=(prompt, *spoken(9), user("And now?")), tools=TOOLS)))
    assert raised.value.code == "context_overflow"
    assert len(model.summed) <= 2
    assert len(model.requests) <= 3


@pytest.mark.req("I-09")
def test_after_an_overflow_it_is_tried_once_with_less_and_nobody_saw_the_first() -> None:
    model = Summing(OVERFLOW, says("Fine."))
    around = Compacting(model)
    result = Agent(around, []).run("And now?", history=spoken(9))
    assert (result.outcome, result.text, len(model.requests), len(model.summed)) == ("done", "Fine.", 2, 1)
    assert result.history == (*spoken(9), user("And now?"), *result.history[-1:])
    assert model.requests[1].messages == (system(HEAD + SUMMARY), user("And now?"))
    assert around.memory.window.tokens == 8192


@pytest.mark.case("CTX-008")
def test_who_wants_no_cut_gets_the_error() -> None:
    model = Summing(OVERFLOW)
    around = Compacting(model, Window(tokens=1000), compact=False)
    result = Agent(around, []).run("And now?", history=spoken(20))
    assert (result.outcome, result.history) == ("failed", (*spoken(20), user("And now?")))
    assert result.detail is not None
    assert "prompt is too long" in result.detail
    assert (len(model.requests), model.summed) == (1, [])


@pytest.mark.case("CTX-007")
def test_the_running_turn_keeps_its_reasoning() -> None:
    """What is over goes; what runs goes back as it came, or whole turns of it."""
    turn = [
        message
        for at in range(9)
        for message in (
            assistant(Reasoning(text=f"because {at}"), ToolCall(id=f"c{at}", name="look", arguments="{}")),
            tool(result(f"c{at}", "x y " * 400)),
        )
    ]
    asked = Request(messages=(system("S"), *spoken(9), user("Work."), *turn), tools=TOOLS)
    light = cutting(asked, Cut(), Window(tokens=9000))
    sent, _ = composed(asked, light)
    assert sent.messages == (system("S"), user("Work."), *turn)
    hard = cutting(asked, Cut(), Window(tokens=3000, reserve=500))
    sent, _ = composed(asked, hard)
    assert sent.messages[:2] == (system("S"), user("Work."))
    assert sent.messages[2:] == tuple(turn)[-len(sent.messages) + 2 :]
    assert 2 <= len(sent.messages[2:]) < len(turn)
    assert sound(sent)


@pytest.mark.case("CTX-010")
def test_a_service_that_cuts_without_a_word_is_cut_for_from_then_on() -> None:
    cut = Note(path=("messages",), action="dropped", reason="it seems to have cut the conversation")
    told = Told(says("I", "length", Usage(input=4090, output=6)), says("Fine."), notes=(cut,))
    around = Compacting(told)
    list(around.stream(long_request()))
    assert around.memory.window.tokens == 4096
    list(around.stream(long_request()))
    assert weigh_request(told.requests[-1]) < 4096


class Told(Summing):
    """A model whose streams tell of what happened to them."""

    def __init__(self, *turns: Any, notes: tuple[Note, ...]) -> None:
        super().__init__(*turns)
        self.notes = notes

    def stream(self, request: Request) -> Any:
        return _Noted(super().stream(request), self.notes)


class _Noted:
    def __init__(self, events: Iterator[StreamEvent], notes: tuple[Note, ...]) -> None:
        self.events, self.notes = events, notes

    def __iter__(self) -> Iterator[StreamEvent]:
        return self.events


@pytest.mark.req("C-07")
@pytest.mark.req("S4-16")
def test_errors_that_were_put_right_go_and_pairs_stay() -> None:
    """C-07: a turn of failed calls goes whole; of one with words, or one result of several, few words stay."""
    told = assistant("I look.", ToolCall(id="c2", name="look", arguments="{}"))
    messages = (
        user("a"),
        called("c1"),
        tool(result("c1", "no such file", error=True)),
        told,
        tool(result("c2", "no such file either", error=True)),
        called("c3"),
        tool(result("c3", "long " * 400)),
        assistant("Found."),
    )
    found = settled(messages)
    put_right = tool(result("c2", "(an error, put right by a later call)", error=True))
    used = tool(result("c3", "(a result of 2000 characters, used in this turn and left out since)"))
    assert found.messages == (user("a"), told, put_right, called("c3"), used, assistant("Found."))
    assert [note.path for note in found.notes] == [
        ("messages", 1),
        ("messages", 4, "content", 0),
        ("messages", 6, "content", 0),
    ]
    assert sound(Request(messages=(*found.messages, user("b"))))
    assert settled(messages[:5]).messages == messages[:5]


@pytest.mark.req("S4-16")
def test_old_results_go_before_anything_is_summed_up() -> None:
    model = Summing(says("Fine."))
    cuts: list[Cut] = []
    rounds = [
        message
        for at in range(8)
        for message in (user("Look."), called(f"c{at}"), tool(result(f"c{at}", "word " * 800)), assistant("Seen."))
    ]
    around = Compacting(model, Window(tokens=8192), on_cut=lambda cut, _: cuts.append(cut))
    stream = around.stream(Request(messages=(*rounds, user("And now?")), tools=TOOLS))
    list(stream)
    assert (model.summed, [(cut.upto, cut.settled) for cut in cuts]) == ([], [(0, 32)])
    assert len(model.requests[0].messages) == 33
    assert [note.action for note in stream.notes] == ["substituted"] * 8
    assert sound(model.requests[0])


@pytest.mark.parametrize("summary", [ApiError("overloaded", "busy"), "  "])
def test_without_a_summary_the_run_goes_on_and_says_so(summary: Any) -> None:
    notes: list[Note] = []
    model = Summing(says("Fine."), summary=summary)
    around = Compacting(model, Window(tokens=8192), on_cut=lambda _, note: notes.append(note))
    list(around.stream(long_request()))
    assert model.requests[0].messages[1].role == "user"
    assert [(note.action, "there is no summary" in note.reason) for note in notes] == [("dropped", True)]


def test_estimates_are_corrected_by_what_was_reported() -> None:
    assert calibrated([]) == 1.0
    assert calibrated([(100, 200), (1000, 2000)]) == 2.0
    assert calibrated([(100, 1)]) == 0.25
    assert calibrated([(100, 400)] * 20 + [(100, 100)] * 8) == 1.0
    model = Summing(*[says("Fine.", usage=Usage(input=4000, output=5)) for _ in range(3)])
    around = Compacting(model, Window(tokens=8192))
    list(around.stream(Request(messages=(*spoken(12), user("x")))))
    assert around.memory.scale == pytest.approx(4000 / weigh_request(model.requests[0]))


def test_async_callers_get_the_same() -> None:
    class Async(AsyncScript):
        async def complete(self, prompt: str) -> str:
            return SUMMARY

    async def events() -> AsyncIterator[StreamEvent]:
        async for event in AsyncCompacting(model).stream(long_request()):
            yield event

    async def gathered() -> list[StreamEvent]:
        return [event async for event in events()]

    model = Async(OVERFLOW, says("Fine."))
    assert asyncio.run(gathered()) == list(explode(says("Fine.")))
    assert model.requests[1].messages == (system("Be kind."), system(HEAD + SUMMARY), user("And now?"))


@pytest.mark.req("S4-26")
def test_a_request_offers_the_tools_that_were_chosen_for_it() -> None:
    @as_tool
    def look(n: int) -> str:
        """Look."""
        return f"saw {n}"

    @as_tool
    def send(to: str) -> str:
        """Send."""
        return to

    model = Script(
        Reply(message=assistant(ToolCall(id="c1", name="look", arguments='{"n":1}')), stop=Stop(reason="tool_calls")),
        says("Done."),
    )
    wanted = iter([["look"], []])
    result = Agent(Compacting(model, choose=lambda _: next(wanted)), [look, send]).run("Go.")
    assert result.outcome == "done"
    offered = [[item.name for item in sent.tools or () if isinstance(item, Tool)] for sent in model.requests]
    assert offered == [["look"], []]
    assert model.requests[1].tool_choice is None


@pytest.mark.req("S4-26")
def test_too_many_tools_are_told() -> None:
    many = tuple(Tool(name=f"t{at}") for at in range(21))
    stream = Compacting(Script(says("Hi."))).stream(Request(messages=(user("x"),), tools=many))
    list(stream)
    assert [note.reason.partition(":")[0] for note in stream.notes] == ["21 tools are offered"]
