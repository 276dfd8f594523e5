"""Guards the marks of a saved conversation, which anybody may have written: of any shape, they give a body or an error of ours,
on every wire and for every server, and they are never taken for what they do not say."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from functools import cache
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dragoman import translate
from dragoman.dialect.find import named, rows
from dragoman.dialect.model import BASE, Dialect
from dragoman.errors import DragomanError, RemoteError
from dragoman.history import check, repair
from dragoman.history.unfinished import BROKE_OFF, OURS, why_unfinished
from dragoman.types import Message, Reasoning, Request, Text, explode
from dragoman.types.save import Conversation, dumps, loads
from dragoman.wire import LIBRARY, find
from dragoman.wire.base import Exchange, Outgoing
from dragoman.wire.keeping import with_state
from ingredients import json_values
from laws.bodies import of
from laws.both_ways import KEEPS, STREAMING, decode_reply, decode_request, decode_stream, gathered
from laws.junk import at, places, put

ODD: tuple[Any, ...] = (5, "x", [], [None], [5, -5], ["a", 5], {}, {"a": {"~": [1]}}, None, True, 1.5, 10**30, [10**9])


# Marks and keys of ours that the bodies by hand bring forth none of.
UNHEARD = (
    *("apart", "begun", "definition", "filename", "media_type", "message", "raw", "unfinished", "unsaid"),
    *("~begun", "~custom", "~event", "~headers", "~input_audio", "~json_schema", "~message", "~tool"),
)


@cache
def saved() -> tuple[Any, ...]:
    """Conversations read from every wire's bodies, as they stand in a file."""
    talks: list[Conversation] = []
    for wire in LIBRARY:
        bodies = of(wire)
        talks += [Conversation(request=decode_request(wire, said).request) for said in bodies.REQUESTS.values()]
        replies = [decode_reply(wire, said).value for said in bodies.REPLIES.values()]
        replies += [gathered(decode_stream(wire, [said]))[0] for said in bodies.STREAMS.values()]
        asked = (Request(messages=(reply.message,)) for reply in replies)
        talks += [Conversation(request=one, replies=(reply,)) for one, reply in zip(asked, replies, strict=True)]
    return tuple(json.loads(dumps(talk)) for talk in talks)


def large() -> Iterator[Any]:
    """Of what was read from each wire, the largest request and the largest reply."""
    for wire in LIBRARY:
        mine = [value for value in saved() if f'"{wire}": {{' in json.dumps(value)]
        for replied in (False, True):
            yield max(
                (value for value in mine if ("replies" in value) is replied), key=lambda value: len(json.dumps(value))
            )


@cache
def dialects(wire: str) -> tuple[Dialect, ...]:
    return (BASE, KEEPS, *(named(name, said) for name, said in rows() if said == wire))


def with_bags(value: Any) -> Any:
    """The file with a bag of every wire wherever one may be."""
    if isinstance(value, list):
        return [with_bags(item) for item in value]
    if not isinstance(value, dict):
        return value
    inner = {key: item if key == "opaque" else with_bags(item) for key, item in value.items()}
    return {**inner, "opaque": {wire: {} for wire in LIBRARY} | value.get("opaque", {})}


def bags(value: Any) -> Iterator[tuple[str | int, ...]]:
    """Where the leftovers of each wire stand, and those nested in them."""
    for path in places(value):
        if isinstance(at(value, path), dict) and (path[-2:-1] == ("opaque",) or str(path[-1:] and path[-1])[:1] == "~"):
            yield path


def marked(value: Any, how: Callable[[dict[str, Any]], dict[str, Any]]) -> Any:
    """The file with each of its bags made another."""
    for path in sorted(bags(value), key=len, reverse=True):
        value = put(value, path, how(at(value, path)))
    return value


@cache
def known() -> dict[str, None]:
    """Every key of ours, and every mark, that a codec made."""
    keys = dict.fromkeys(UNHEARD)
    for value in saved():
        for path in places(value):
            keys |= dict.fromkeys(str(step) for step in path if str(step)[:1] == "~")
            keys |= dict.fromkeys(str(step) for before, step in pairwise(path) if before == "~")
    return keys


def ways(odd: Any) -> Iterator[Callable[[dict[str, Any]], dict[str, Any]]]:
    """An odd value for each mark, for all marks, for what is nested; and for all that any codec ever says."""
    ours = [key for key in known() if key[0] == "~"]
    yield lambda left: {key: dict.fromkeys(held, odd) if key == "~" else held for key, held in left.items()}
    yield lambda left: {**left, "~": odd}
    yield lambda left: {key: odd if key[0] == "~" else held for key, held in left.items()}
    yield lambda left: {**left, "~": dict.fromkeys(known(), odd)}
    yield lambda left: {**left, **dict.fromkeys(ours, odd)}
    yield lambda left: {**left, **{key: {"~": odd} for key in ours}}


def ours(does: Callable[[], Any]) -> Any:
    """What comes of it; None where that is an error of ours."""
    try:
        return does()
    except DragomanError:
        return None


def written(said: Any, server: int) -> int:
    """How many requests came of a file, on every wire, to one server of each."""
    talk: Conversation | None = ours(lambda: loads(json.dumps(said).encode()))
    if talk is None:
        return 0
    done = 0
    for wire in LIBRARY:
        codec, choice = find(wire), dialects(wire)
        dialect, request = choice[server % len(choice)], with_state(talk.request, wire)
        done += ours(lambda: codec.encode_request(request, dialect, Exchange())) is not None  # noqa: B023
        ours(lambda: check(request, wire, dialect))  # noqa: B023
        ours(lambda: repair(request, wire, dialect))  # noqa: B023
        for reply in talk.replies:
            ours(lambda: codec.encode_reply(reply, BASE, STREAMING))  # noqa: B023
            encoder = codec.stream_encoder(BASE, STREAMING)
            ours(lambda: [encoder.encode(event) for event in explode(reply)])  # noqa: B023  # type: ignore[arg-type]
    return done


@pytest.mark.parametrize("odd", ODD, ids=str)
def test_marks_of_any_shape(odd: Any) -> None:
    files = [*saved()[ODD.index(odd) % 4 :: 4], *map(with_bags, large())]
    done = sum(written(marked(value, how), at) for at, value in enumerate(files) for how in ways(odd))
    assert done > 500


@given(data=st.data())
def test_any_json_at_and_below_a_key_of_ours(data: st.DataObject) -> None:
    value = data.draw(st.sampled_from(saved()).filter(lambda value: any(bags(value))))
    below = [path for path in places(value) if any(str(step)[:1] == "~" for step in path)] or [*bags(value)]
    for _ in range(3):
        path = data.draw(st.sampled_from(below))
        if at(value, path) is not None or path[:-1] == () or isinstance(at(value, path[:-1]), dict):
            value = put(value, path, data.draw(json_values))
            below = [each for each in below if each[: len(path)] != path or each == path]
    written(value, data.draw(st.integers(0, 100)))


def test_what_is_no_bag_is_told_with_its_place() -> None:
    said = json.loads(dumps(Conversation(request=Request(messages=(Message(role="user", content=(Text(text="a"),)),)))))
    with pytest.raises(RemoteError, match=r"\$\.request\.messages\[0\]\.content\[0\]\.opaque") as caught:
        loads(json.dumps(put(said, ("request", "messages", 0, "content", 0, "opaque"), {"chat": 5})).encode())
    assert caught.value.code == "bad_shape"


def sent(request: Request, wire: str) -> Outgoing:
    return find(wire).encode_request(request, KEEPS, Exchange())


@pytest.mark.parametrize("lengths", [[2, -1, 2], [3, True], ["abc"], [4], [], "abc", [10**9, 3 - 10**9]], ids=str)
def test_a_text_is_cut_by_nothing_but_its_own_pieces(lengths: Any) -> None:
    thought = Reasoning(text="abc", opaque={"responses": {"~": {"parts": lengths}, "encrypted_content": "x"}})
    body = json.loads(sent(Request(messages=(Message(role="assistant", content=(thought,)),)), "responses").http.body)
    assert [part["text"] for part in body["input"][0]["content"]] == ["abc"]


def test_only_the_headers_that_a_wire_keeps_are_sent() -> None:
    said = {"anthropic-beta": "a,b", "authorization": "Bearer x", "x-api-key": 5, "anthropic-version": "1\r\nhost: x"}
    request = Request(max_output=1, opaque={"messages": {"~headers": said}})
    out = sent(request, "messages")
    fixed = (("content-type", "application/json"), ("anthropic-version", "2023-06-01"))
    assert out.http.headers == (*fixed, ("anthropic-beta", "a,b"))
    told = [note.path for note in out.notes if note.path[0] == "headers"]
    assert told == [("headers", name) for name in ("authorization", "x-api-key", "anthropic-version")]


@pytest.mark.parametrize(("said", "why"), [("it ended", "it ended"), ([1], BROKE_OFF), (None, None)], ids=str)
def test_half_a_turn_is_one_whatever_is_said_of_why(said: Any, why: str | None) -> None:
    turn = Message(role="assistant", content=(Text(text="a"),), opaque={OURS: {"~": {"unfinished": said}}})
    assert why_unfinished(turn) == why


def test_a_request_goes_on_to_another_wire_whatever_its_marks() -> None:
    for value in saved():
        for how in ways([{}]):
            talk = loads(json.dumps(marked(value, how)).encode())
            ours(lambda talk=talk: translate.onward(talk.request, find("responses"), find("chat")))
            ours(lambda talk=talk: translate.onward(talk.request, find("chat"), find("responses")))
