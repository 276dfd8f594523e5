"""Guards the form of a recording on disk, and how a request is found in one: structural match, first difference (I-11)."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec
import pytest

from dragoman.errors import UsageError
from dragoman.transport.match import difference
from dragoman.transport.recording import End, Piece, Recorded, dump, parse, read
from dragoman.wire.base import Http


def exchange(body: Any, number: int = 1) -> Recorded:
    request = Http(path="http://h/v1/chat/completions", body=msgspec.json.encode(body))
    return Recorded(number=number, date=0.0, request=request, end=End(at=0.0), status=200, began=0.0)


ASKED = {"model": "m", "messages": [{"role": "user", "content": "a" * 100 + "b"}], "n": 1}


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"model": "n"}, 'model differs: recorded "m", asked "n"'),
        ({"n": True}, "n differs: recorded 1, asked true"),
        ({"n": None, "x": 1}, "n differs: recorded 1, asked null"),
        ({"x": {"y": 1}}, 'x differs: recorded nothing, asked {"y":1}'),
        ({"messages": []}, f'messages[0] differs: recorded {{"role":"user","content":"{"a" * 34}…, asked nothing'),
        (
            {"messages": [{"role": "user", "content": "a" * 100 + "c"}]},
            f'messages[0].content differs: recorded "…{"a" * 30}b", asked "…{"a" * 30}c"',
        ),
    ],
)
def test_the_first_element_that_differs_is_named(change: dict[str, Any], said: str) -> None:
    found = difference(exchange(ASKED).request, exchange({**ASKED, **change}).request)
    assert str(found) == said


def test_keys_in_another_order_are_the_same_request() -> None:
    turned = dict(reversed(ASKED.items()))
    assert difference(exchange(ASKED).request, exchange(turned).request) is None


def test_ids_may_differ_where_they_are_used_alike() -> None:
    def talk(*ids: str) -> Http:
        return exchange(
            {"messages": [{"tool_calls": [{"id": each}]} for each in ids] + [{"tool_call_id": ids[0]}]}
        ).request

    assert difference(talk("a", "b"), talk("x", "y")) is None
    assert str(difference(talk("a", "b"), talk("x", "x"))).startswith("messages[1].tool_calls[0].id differs")
    assert str(difference(talk("a", "a"), talk("x", "y"))).startswith("messages[1].tool_calls[0].id differs")


def test_other_paths_and_methods_do_not_match() -> None:
    kept = exchange(ASKED).request
    assert (
        str(difference(kept, msgspec.structs.replace(kept, method="GET"))) == "method differs: recorded POST, asked GET"
    )
    other = msgspec.structs.replace(kept, path="https://other/v1/messages")
    assert str(difference(kept, other)) == "path differs: recorded /v1/chat/completions, asked /v1/messages"
    assert difference(kept, msgspec.structs.replace(kept, path="https://other/v1/chat/completions")) is None


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (b"{}\n", "000001.jsonl line 1 is no line of a recording"),
        (b'{"is":"end","at":1,"how":"done"}\n', "is no whole recording"),
        (b"\xff\n", "line 1 is no line of a recording"),
        (
            b'{"is":"request","version":2,"date":0,"method":"POST","url":"x"}\n{"is":"end","at":1,"how":"done"}',
            "newer dragoman",
        ),
        (b'{"is":"request","version":1,"date":0,"method":"POST","url":"x","base64":"?"}', "no line of a recording"),
        (b"", "holds no recording"),
    ],
)
def test_a_file_that_is_none_is_told(data: bytes, said: str, tmp_path: Path) -> None:
    (tmp_path / "000001.jsonl").write_bytes(data)
    with pytest.raises(UsageError, match=said):
        read(tmp_path)


def test_what_is_no_text_is_kept_as_bytes(tmp_path: Path) -> None:
    body = "ä".encode()
    kept = Recorded(
        number=1,
        date=1.0,
        request=Http(path="http://h/v1", body=b"\xff\x00"),
        end=End(at=1.0, how="failed", code="network", message="it broke"),
        status=200,
        headers=(("content-type", "x"),),
        began=0.5,
        pieces=(Piece(at=0.6, data=body[:1]), Piece(at=0.7, data=body[1:]), Piece(at=0.8, data=b"")),
    )
    assert parse(dump(kept), tmp_path / "000001.jsonl") == kept
