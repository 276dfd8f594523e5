"""Guards reasoning state through a client of another wire: exact when it is echoed, gone with a note when it is not."""

from __future__ import annotations

import hmac
import re
import zlib
from base64 import b32encode
from itertools import permutations
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from carrying import KEY, carrier, echoed, hidden, only_ids, owed, restored, shown
from dragoman.carriers import Carrier, MemoryStore, carry_reply
from dragoman.carriers.out import NOT_SHOWN
from dragoman.types import HostedCall, Message, Origin, Reasoning, Reply, Stop, Text, ToolCall, ToolResult
from dragoman.wire import WIRES
from dragoman.wire.base import Notes
from dragoman.wire.carrier import MAX_STATE, State, pack, seal, unpack, unseal
from laws.bodies import of
from laws.both_ways import decode_reply
from meaning import differences

PAIRS = list(permutations(WIRES, 2))  # the wires whose clients have a slot for another's state
FORMAT = re.compile(r"drg1[A-Za-z0-9]+")
STATE = State(
    blocks=(Reasoning(text="想", opaque={"messages": {"signature": "c2ln"}}),), origin=Origin(wire="messages")
)


def rich(wire: str) -> Reply:
    return decode_reply(wire, of(wire).REPLIES["rich"]).value


def interleaved() -> Reply:
    """Thinking, text, thinking, and two calls: the order that signatures bind."""
    thoughts = [Reasoning(text=word, opaque={"messages": {"signature": word}}) for word in ("first", "second")]
    calls = (ToolCall(id="t1", name="read", arguments="{}"), ToolCall(id="t2", name="read", arguments="{}"))
    content = (thoughts[0], Text(text="So."), thoughts[1], Text(text="Then."), *calls)
    message = Message(role="assistant", content=content, origin=Origin(wire="messages", provider="p", model="m"))
    return Reply(message=message, stop=Stop(reason="tool_calls"))


@pytest.mark.parametrize(("provider", "client"), PAIRS)
def test_what_a_client_echoes_comes_back_exactly(provider: str, client: str) -> None:
    reply, edge = rich(provider), carrier()
    content, notes, _ = restored(client, echoed(client, shown(reply, client, edge)), edge)
    assert hidden(content, client) == owed(reply, client)
    assert owed(reply, client) != []
    assert notes == []


@pytest.mark.parametrize("client", ["messages", "responses"])
def test_the_order_of_a_turn_is_kept(client: str) -> None:
    reply, edge = rich("messages" if client == "responses" else "responses"), carrier()
    content, _, _ = restored(client, echoed(client, shown(reply, client, edge)), edge)
    assert [type(block) for block in content] == [type(block) for block in reply.message.content]


@pytest.mark.parametrize("echo", [echoed, lambda wire, body: only_ids(echoed(wire, body))], ids=["all", "ids only"])
def test_a_chat_client_brings_back_the_whole_turn_by_the_first_call(echo: Any) -> None:
    reply, edge = interleaved(), carrier()
    body = shown(reply, "chat", edge)
    first, second = (call["id"] for call in body["choices"][0]["message"]["tool_calls"])
    assert first.startswith("t1drg1")
    assert second == "t2"
    content, notes, request = restored("chat", echo("chat", body), edge)
    assert (
        differences(
            Message(role="assistant", content=content), Message(role="assistant", content=reply.message.content)
        )
        == []
    )
    assert hidden(content, "chat") == owed(reply, "chat")
    assert [result.call_id for m in request.messages for result in m.content if isinstance(result, ToolResult)] == [
        "t1",
        "t2",
    ]
    assert notes == []


def test_a_chat_client_that_changed_the_text_keeps_its_own_text() -> None:
    reply, edge = interleaved(), carrier()
    request = only_ids(echoed("chat", shown(reply, "chat", edge)))
    request["messages"][1]["content"] = "Other words."
    content, _, _ = restored("chat", request, edge)
    assert hidden(content, "chat") == owed(reply, "chat")
    assert [block.text for block in content if isinstance(block, Text)] == ["Other words."]
    assert isinstance(content[0], Reasoning)


def test_a_chat_client_without_a_store_gets_no_key() -> None:
    body = shown(interleaved(), "chat", Carrier(key=KEY))
    assert [call["id"] for call in body["choices"][0]["message"]["tool_calls"]] == ["t1", "t2"]


def test_a_key_whose_state_has_gone_is_told_and_taken_off() -> None:
    edge = carrier()
    request = only_ids(echoed("chat", shown(interleaved(), "chat", edge)))
    content, notes, back = restored("chat", request, Carrier(key=KEY, store=MemoryStore()))
    assert hidden(content, "chat") == []
    assert [call.id for call in content if isinstance(call, ToolCall)] == ["t1", "t2"]
    assert [result.call_id for m in back.messages for result in m.content if isinstance(result, ToolResult)] == [
        "t1",
        "t2",
    ]
    assert [(note.action, note.loss) for note in notes] == [("dropped", True)]


@pytest.mark.parametrize("client", ["messages", "responses"])
@pytest.mark.parametrize(
    "harm",
    [lambda v: v[:-4], lambda v: v[:20] + "AAAA" + v[24:], lambda v: "drg1" + v[4:].lower(), lambda v: "drg1"],
    ids=["cut", "altered", "other letters", "emptied"],
)
def test_a_harmed_value_is_dropped_with_a_note(client: str, harm: Any) -> None:
    reply, edge = rich("messages" if client == "responses" else "responses"), carrier()
    request = echoed(client, shown(reply, client, edge))
    turns = request["messages"][0]["content"] if client == "messages" else request["input"]
    for item in turns:
        for key in ("signature", "encrypted_content"):
            if key in item:
                item[key] = harm(item[key])
    content, notes, _ = restored(client, request, edge)
    assert hidden(content, client) == []
    assert notes
    assert {note.action for note in notes} == {"dropped"}


@pytest.mark.parametrize("client", ["messages", "responses"])
def test_a_value_of_another_edge_is_forged(client: str) -> None:
    reply = rich("messages" if client == "responses" else "responses")
    request = echoed(client, shown(reply, client, Carrier(key=b"theirs", store=MemoryStore())))
    content, notes, _ = restored(client, request, carrier())
    assert hidden(content, client) == []
    assert notes


def test_a_reply_of_the_clients_own_wire_stays_as_it_is() -> None:
    for wire in WIRES:
        reply = rich(wire)
        assert carry_reply(reply, wire, carrier(), Notes()) is reply


@given(state=st.binary(max_size=300), key=st.binary(min_size=1, max_size=40))
def test_the_form_of_a_value(state: bytes, key: bytes) -> None:
    value = seal(state, key)
    assert value is not None
    assert FORMAT.fullmatch(value)
    assert len(value) % 4 == 0
    assert unseal(value, key) == state
    assert seal(state, key) == value
    assert unseal(value, key + b"x") is None


@given(junk=st.one_of(st.text(max_size=80), st.text(alphabet="ABCDEFGHabcdefgh234567=", max_size=80)))
def test_any_text_is_read_as_no_state(junk: str) -> None:
    for value in (junk, f"drg1{junk}"):
        assert unpack(value, KEY) is None


@given(data=st.data())
def test_one_letter_changed_is_no_state(data: st.DataObject) -> None:
    value = pack(STATE, KEY)
    assert value is not None
    at = data.draw(st.integers(4, len(value) - 1))
    other = data.draw(st.sampled_from([letter for letter in "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567" if letter != value[at]]))
    assert unpack(value[:at] + other + value[at + 1 :], KEY) in (None, STATE)  # the last letters may be padding


def test_a_state_over_the_cap_does_not_travel_and_is_told() -> None:
    huge = Reasoning(text="x", opaque={"messages": {"signature": "s" * MAX_STATE}})
    message = Message(role="assistant", content=(huge, Text(text="a")), origin=Origin(wire="messages"))
    notes = Notes()
    carried = carry_reply(Reply(message=message, stop=Stop(reason="end")), "responses", carrier(), notes)
    assert carried.message.content[0] == Reasoning(summary=("x",))
    assert [note.loss for note in notes.taken] == [False, True]


def test_a_value_that_unpacks_to_more_than_the_cap_is_refused() -> None:
    packed = zlib.compress(b"a" * (MAX_STATE + 1))
    body = hmac.digest(KEY, packed, "sha256")[:16] + packed
    value = "drg1" + b32encode(body + bytes(-len(body) % 5)).decode()
    assert unseal(value, KEY) is None


def test_nothing_that_another_made_is_inflated(monkeypatch: pytest.MonkeyPatch) -> None:
    """A small value can unpack to megabytes, and a body holds thousands of values: ours is told by its MAC first."""
    bomb = seal(b"0" * MAX_STATE, b"another key")
    assert bomb is not None
    inflated: list[bytes] = []
    monkeypatch.setattr("dragoman.wire.carrier.zlib.decompressobj", lambda: inflated.append(b""))
    assert unseal(bomb, KEY) is None
    assert inflated == []


def test_a_run_without_a_readable_word_says_so_on_messages_only() -> None:
    hosted = HostedCall(id="ws", name="web_search_call", payload={"status": "completed"})
    reply = Reply(message=Message(role="assistant", content=(hosted,)), stop=Stop(reason="end"))
    told = {wire: carry_reply(reply, wire, carrier(), Notes()).message.content[0] for wire in WIRES}
    assert [getattr(told[wire], "text", None) for wire in ("chat", "messages")] == ["", NOT_SHOWN]
    assert getattr(told["responses"], "summary", None) == ()


def test_the_store_lets_the_oldest_go() -> None:
    store = MemoryStore(entries=2, characters=10)
    store.put("a", "1")
    store.put("b", "2")
    assert store.get("a") == "1"  # now the youngest
    store.put("c", "3")
    assert (store.get("a"), store.get("b"), store.get("c")) == ("1", None, "3")
    store.put("d", "123456789")
    assert (store.get("a"), store.get("c"), store.get("d")) == (None, "3", "123456789")
    store.put("e", "12345678901")
    assert [store.get(key) for key in "abcde"] == [None] * 5


def test_no_repr_shows_the_key() -> None:
    assert "secret" not in repr(carrier())
    assert "secret" not in str(msgspec.structs.asdict(STATE))
