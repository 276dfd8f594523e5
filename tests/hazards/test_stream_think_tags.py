"""Guards thinking that stands in the text: tags count wherever reads part them, whole and streamed are read alike."""

from __future__ import annotations

import json
from typing import Any

import pytest

from dragoman.agent import run
from dragoman.dialect.find import find as find_dialect
from dragoman.dialect.model import BASE, Dialect, override
from dragoman.types import (
    Delta,
    Origin,
    Reasoning,
    Request,
    Stop,
    Text,
    ToolCall,
    assistant,
    tool,
    user,
)
from dragoman.types.content import ToolResult
from dragoman.wire import find
from dragoman.wire.base import Exchange
from dragoman.wire.tags import Part, ThinkTags, apart, left_open
from hazards.cases import chat, piece, read, whole

OPEN = override(BASE, {"think_tags": "open"})
PREFILLED = override(BASE, {"think_tags": "prefilled"})

# text → the thinking and the words in it, where tags are looked for and the prompt ended outside a thought
OUTSIDE: dict[str, tuple[str, str]] = {
    "<think>first I add</think>\n\n4": ("first I add", "4"),
    "<think>\nfirst I add\n</think>\n\n4": ("first I add", "4"),
    "\n <think>a\n b</think>c": ("a\n b", "c"),
    "<think>a</think>": ("a", ""),
    "<think>a</think> \n": ("a", ""),
    "<think></think>4": ("", "4"),
    "<think>\n\n</think>\n\n4": ("", "4"),
    "<think>still thinking and": ("still thinking and", ""),
    "<think>a</thi": ("a</thi", ""),
    "<think>a < b </ c </thin k></think>d": ("a < b </ c </thin k>", "d"),
    "<think>a<think>b</think>c": ("a<think>b", "c"),
    "<think>A</think><think>B</think>answer": ("AB", "answer"),
    "<think>A</think>\n<think>\nB</think>\nanswer": ("AB", "answer"),
    "<think>你好 🙂</think>مرحبا": ("你好 🙂", "مرحبا"),
    '{"ok":true}': ("", '{"ok":true}'),
    "no tags at all": ("", "no tags at all"),
    "  two spaces": ("", "  two spaces"),
    "<": ("", "<"),
    "<thin": ("", "<thin"),
    "<thing>": ("", "<thing>"),
    " ": ("", " "),
    "write <think> to think": ("", "write <think> to think"),
    "a</think>b": ("", "a</think>b"),
    "<think>a</think>b<think>c</think>": ("a", "b<think>c</think>"),
    "": ("", ""),
}
# the same where it ended within one
INSIDE: dict[str, tuple[str, str]] = {
    "first I add</think>\n\n4": ("first I add", "4"),
    "\nfirst I add\n</think>\n\n4": ("first I add", "4"),
    "<think>\nfirst I add</think>4": ("first I add", "4"),
    "</think>4": ("", "4"),
    "still thinking and": ("still thinking and", ""),
    "A</think><think>B</think>answer": ("AB", "answer"),
    "a </": ("a </", ""),
}
CASES = [(False, text) for text in OUTSIDE] + [(True, text) for text in INSIDE]
each_text = pytest.mark.parametrize(("inside", "text"), CASES, ids=repr)


def wanted(inside: bool, text: str) -> tuple[str, str]:
    return (INSIDE if inside else OUTSIDE)[text]


def dialect(inside: bool) -> Dialect:
    return PREFILLED if inside else OPEN


def told(parts: list[Part]) -> tuple[str, str]:
    """Thinking and words of some parts."""
    return tuple("".join(part.text for part in parts if part.kind == kind) for kind in ("reasoning", "text"))  # type: ignore[return-value]


def pieces(text: str) -> list[list[str]]:
    """A text character by character, and in two and three anywhere."""
    size = range(len(text) + 1)
    twos = [[text[:at], text[at:]] for at in size]
    threes = [[text[:at], text[at : at + 2], text[at + 2 :]] for at in size]
    return [[*text], *twos, *threes]


@each_text
@pytest.mark.case("STR-044")
@pytest.mark.case("STR-045")
@pytest.mark.case("STR-046")
@pytest.mark.case("STR-048")
def test_one_reader_gives_the_same_for_every_split(inside: bool, text: str) -> None:
    assert told([part for parts in apart([text], inside=inside) for part in parts]) == wanted(inside, text)
    for split in pieces(text):
        tags = ThinkTags(inside=inside)
        parts = [part for each in split for part in tags.feed(each)] + tags.close()
        assert told(parts) == wanted(inside, text)
        assert all(part.text for part in parts)


@each_text
@pytest.mark.case("STR-044")
@pytest.mark.case("STR-048")
@pytest.mark.parametrize("finish", ["stop", "length"])
def test_whole_and_streamed_replies_are_read_alike(inside: bool, text: str, finish: str) -> None:
    reply = whole_reply({"content": text}, inside, finish)
    thinking, words = wanted(inside, text)
    assert reply.message.content == (
        *((Reasoning(text=thinking),) if thinking else ()),
        *((Text(text=words),) if words else ()),
    )
    for split in pieces(text):
        seen = read("chat", [chat(*({"content": each} for each in split), finish=finish)], dialect(inside))
        assert seen.reply.message.content == reply.message.content
        assert seen.reply.stop == reply.stop


def whole_reply(message: dict[str, Any], inside: bool, finish: str = "stop") -> Any:
    choice = {"index": 0, "message": {"role": "assistant", **message}, "finish_reason": finish}
    return whole("chat", {"choices": [choice]}, dialect(inside))


@pytest.mark.case("STR-044")
@pytest.mark.case("STR-045")
@pytest.mark.parametrize(
    ("prompt", "inside"),
    [
        ("…assistant\n<think>\n", True),
        ("…assistant\n<think>", True),
        ("…assistant\n<think>\n\n</think>\n\n", False),
        ("…assistant\n", False),
        ("<think>old</think> …assistant\n<think>\n", True),
        ("<think>old</think> …assistant\n", False),
        ("", False),
    ],
)
def test_where_a_text_begins_is_read_from_the_prompt_it_follows(prompt: str, inside: bool) -> None:
    assert left_open(prompt) is inside


@pytest.mark.case("STR-045")
def test_an_answer_without_tags_after_a_closed_thought_is_an_answer() -> None:
    tags = ThinkTags(inside=left_open("<think>\n\n</think>\n\n"))
    assert tags.feed('{"ok":true}') + tags.close() == [Part("text", '{"ok":true}')]


@pytest.mark.case("STR-046")
@pytest.mark.parametrize("inside", [False, True])
def test_a_reply_cut_within_a_thought_is_truncated_and_not_an_empty_success(inside: bool) -> None:
    text = "still thinking and" if inside else "<think>\nstill thinking and"
    seen = read("chat", [chat({"content": text}, finish="length")], dialect(inside))
    assert seen.reply.message.content == (Reasoning(text="still thinking and"),)
    assert (seen.reply.text, seen.reply.stop) == ("", Stop(reason="length", raw="length"))
    machine = run.Run(Request(messages=(user("x"),)))
    machine.give(seen.reply)
    assert machine.step() == run.Done(outcome="truncated", detail="length")


@pytest.mark.case("STR-048")
def test_a_second_thought_is_thinking_too() -> None:
    chunks = ["A", "</think>", "<think>", "B", "</think>", "answer"]
    seen = read("chat", [chat(*({"content": each} for each in chunks))], PREFILLED)
    assert seen.reply.message.content == (Reasoning(text="AB"), Text(text="answer"))
    assert whole_reply({"content": "".join(chunks)}, inside=True).message.content == seen.reply.message.content


CALL = {"id": "a", "type": "function", "function": {"name": "f", "arguments": "{}"}}


@pytest.mark.case("STR-044")
@pytest.mark.parametrize(
    "text", ["<think>I call", "<think>I call</think>", "<think>I call</think>\n\n", "<think>I call</"]
)
def test_a_call_ends_the_thought_before_it(text: str) -> None:
    thought = "I call</" if text.endswith("</") else "I call"
    delta = {"tool_calls": [piece(index=0, id="a", type="function", name="f", arguments="{}")]}
    for split in pieces(text):
        deltas = [{"content": each} for each in split]
        seen = read("chat", [chat(*deltas, delta, finish="tool_calls")], OPEN)
        assert seen.reply.message.content == (Reasoning(text=thought), ToolCall(id="a", name="f", arguments="{}"))
    message = whole_reply({"content": text, "tool_calls": [CALL]}, inside=False, finish="tool_calls").message
    assert message.content == seen.reply.message.content


@pytest.mark.case("STR-044")
def test_thinking_under_a_key_and_in_tags_are_both_read() -> None:
    content = "<think>tagged</think>words"
    deltas = [{"reasoning_content": "keyed"}, *({"content": each} for each in content)]
    seen = read("chat", [chat(*deltas)], OPEN)
    reply = whole_reply({"reasoning_content": "keyed", "content": content}, inside=False)
    assert seen.reply.message.content == reply.message.content
    assert seen.outline == (("reasoning", "keyed"), ("reasoning", "tagged"), ("text", "words"))


@pytest.mark.case("STR-044")
def test_text_that_no_tag_can_take_is_told_at_once() -> None:
    decoder = find("chat").stream_decoder(OPEN, Exchange(stream=True))
    texts = ["<think>a", " b", "</think>", " c", " d", "<think>"]
    fed = [decoder.feed(chat({"content": text}, finish=None, end=b"")) for text in texts]
    deltas = [[event.text for event in events if isinstance(event, Delta)] for events in fed]
    assert deltas == [["a"], [" b"], [], ["c"], [" d"], ["<think>"]]


@pytest.mark.case("STR-044")
@pytest.mark.parametrize("text", OUTSIDE)
def test_where_the_dialect_knows_no_tags_they_are_text(text: str) -> None:
    content = (Text(text=text),) if text else ()
    assert read("chat", [chat(*({"content": each} for each in text))]).reply.message.content == content
    choice = {"index": 0, "message": {"role": "assistant", "content": text}, "finish_reason": "stop"}
    assert whole("chat", {"choices": [choice]}).message.content == content


@pytest.mark.case("STR-044")
@pytest.mark.parametrize("name", ["minimax", "perplexity", "hyperbolic", "novita", "sambanova"])
def test_servers_that_think_in_their_text_are_known(name: str) -> None:
    row = find_dialect(name, "chat")
    seen = read("chat", [chat({"content": "<think>a</think>b"})], row)
    assert seen.outline == (("reasoning", "a"), ("text", "b"))


@pytest.mark.case("STR-044")
def test_thinking_goes_back_in_tags_where_the_server_wants_it_so_and_nowhere_else() -> None:
    row = find_dialect("minimax", "chat")
    thought = Reasoning(text="I add", origin=Origin(wire="chat"))
    talk = (user("2+2?"), assistant(thought, "4", ToolCall(id="a", name="f", arguments="{}")))
    result = tool(ToolResult(call_id="a", content=(Text(text="ok"),)))
    request = Request(model="m", messages=(*talk, result))
    sent = find("chat").encode_request(request, row, Exchange())
    assert json.loads(sent.http.body)["messages"][1]["content"] == "<think>\nI add\n</think>\n\n4"
    again = whole_reply({"content": "<think>\nI add\n</think>\n\n4"}, inside=False).message
    assert again.content == (Reasoning(text="I add"), Text(text="4"))
    plain = find("chat").encode_request(request, find_dialect("perplexity", "chat"), Exchange())
    assert json.loads(plain.http.body)["messages"][1]["content"] == "4"
    assert [note.reason for note in plain.notes if note.path == ("messages", 1, "content", 0)] == [
        "reasoning of this origin is not sent to this server"
    ]


@pytest.mark.case("STR-036")
@pytest.mark.case("STR-044")
def test_a_client_is_shown_it_as_reasoning() -> None:
    reply = whole_reply({"content": "<think>a</think>b"}, inside=False)
    body = json.loads(find("chat").encode_reply(reply, BASE, Exchange()).body)
    assert body["choices"][0]["message"] == {"role": "assistant", "content": "b", "reasoning_content": "a"}
