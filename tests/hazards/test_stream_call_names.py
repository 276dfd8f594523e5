"""Guards the name of a call, which servers say once, in every piece, in halves, or with more each time."""

from __future__ import annotations

from typing import Any

import pytest

from hazards.cases import calling, piece, read_however_cut

CITY = '{"city":"Paris"}'
TOOLS = ("get", "get_weather", "get_time", "send")


def pieces(names: list[Any], beside: str) -> list[dict[str, Any]]:
    """A call whose name comes in these parts; its arguments come beside the last part, beside all, or after."""
    out: list[dict[str, Any]] = []
    for at, name in enumerate(names):
        head = {"id": "call_a", "type": "function"} if at == 0 else {}
        texts = {"last": ["" if at < len(names) - 1 else CITY], "after": [""], "each": [CITY[at :: len(names)]]}
        out.append(piece(index=0, **head, name=name, arguments=texts[beside][0]))
    return out + ([piece(index=0, arguments=CITY)] if beside == "after" else [])


SPLITS = [
    ["get_wea", "ther"],
    ["get", "_weather"],
    ["g", "et", "_", "weat", "her"],
    [*"get_weather"],
    ["get_weather", "get_weather"],
    ["get_weather", "get_weather", "get_weather"],
    ["get_wea", "get_weather"],
    ["get_weather", ""],
    ["get_weather", None],
    ["", "get_weather"],
]


@pytest.mark.case("STR-009")
@pytest.mark.parametrize("names", SPLITS, ids=lambda names: "+".join(str(name) for name in names))
@pytest.mark.parametrize("beside", ["last", "after"])
@pytest.mark.parametrize("offered", [(), ("get_weather",), TOOLS], ids=["none-offered", "one", "several"])
def test_a_name_is_whole_however_it_comes(names: list[Any], beside: str, offered: tuple[str, ...]) -> None:
    seen = read_however_cut("chat", calling(*pieces(names, beside)), offered=offered)
    assert seen.calls == (("call_a", "get_weather", CITY),)
    assert seen.notes == ()


@pytest.mark.case("STR-009")
@pytest.mark.parametrize("offered", [("get_weather",), TOOLS], ids=["one", "several"])
def test_a_name_that_is_split_around_its_arguments_waits_for_its_rest(offered: tuple[str, ...]) -> None:
    said = [
        piece(index=0, id="call_a", name="get_wea", arguments='{"city":'),
        piece(index=0, name="ther", arguments='"Paris"}'),
    ]
    assert read_however_cut("chat", calling(*said), offered=offered).calls == (("call_a", "get_weather", CITY),)


@pytest.mark.case("STR-009")
@pytest.mark.parametrize("name", ["get", "get_weather", "send", "unknown"])
@pytest.mark.parametrize("beside", ["last", "after"])
def test_an_offered_name_that_begins_another_is_not_taken_for_half_of_it(name: str, beside: str) -> None:
    for names in ([name], [name, name]):
        seen = read_however_cut("chat", calling(*pieces(names, beside)), offered=TOOLS)
        assert seen.calls == (("call_a", name, CITY),)


@pytest.mark.case("STR-009")
def test_a_call_without_arguments_is_told_when_the_stream_ends_at_the_latest() -> None:
    for offered in ((), ("now",), ("now", "nowhere")):
        seen = read_however_cut("chat", calling(piece(index=0, id="call_a", name="now", arguments="")), offered=offered)
        assert seen.calls == (("call_a", "now", ""),)


@pytest.mark.case("STR-009")
def test_a_name_that_comes_after_the_arguments_keeps_them() -> None:
    said = [
        piece(index=0, id="call_a", arguments='{"city":'),
        piece(index=0, arguments='"Paris"}'),
        piece(index=0, name="get_weather"),
    ]
    assert read_however_cut("chat", calling(*said)).calls == (("call_a", "get_weather", CITY),)
