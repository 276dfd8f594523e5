"""Guards what the model reads of a tool's return value: never nothing, never repr, never without the reason."""

from __future__ import annotations

import dataclasses
from typing import Any

import pytest

from dragoman.tools import Bounds, ToolOutput
from dragoman.tools.result import bounded, image, output
from dragoman.types import Json, Media, Text

PNG = b"\x89PNG\r\n\x1a\n" + b"\0" * 8
PICTURE = Media(kind="image", media_type="image/png", data="iVBORw0KGgoAAAAAAAAAAA==")


@dataclasses.dataclass
class Weather:
    city: str
    degrees: float


def said(text: str) -> ToolOutput:
    return ToolOutput(content=(Text(text=text),))


@pytest.mark.req("S4-27")
@pytest.mark.parametrize("value", [None, "", " \n", Text(text=""), ToolOutput(content=()), [Text(text="")]])
def test_nothing_is_said_in_words(value: Any) -> None:
    assert output(value) == said("(no output)")


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("plain", said("plain")),
        (4, said("4")),
        (2.5, said("2.5")),
        (True, said("true")),
        ([], said("(empty: [])")),
        ({}, said("(empty: {})")),
        ({"城市": "北京"}, ToolOutput(content=(Json(value='{"城市":"北京"}'),))),
        (["a", "b"], ToolOutput(content=(Json(value='["a","b"]'),))),
        (Weather("Oslo", 2.5), ToolOutput(content=(Json(value='{"city":"Oslo","degrees":2.5}'),))),
        (Text(text="t"), said("t")),
        ([Text(text="t"), PICTURE], ToolOutput(content=(Text(text="t"), PICTURE))),
        (["see", PICTURE], ToolOutput(content=(Text(text="see"), PICTURE))),
        (PNG, ToolOutput(content=(PICTURE,))),
        (PICTURE, ToolOutput(content=(PICTURE,))),
        (
            ToolOutput(content=(Text(text="x"),), display="for people"),
            ToolOutput(content=(Text(text="x"),), display="for people"),
        ),
    ],
)
def test_each_kind_of_value_has_its_block(value: Any, expected: ToolOutput) -> None:
    assert output(value) == expected


@pytest.mark.parametrize("value", [object(), {"x": object()}, b"\0\1\2", print, float])
def test_what_is_no_value_is_an_error_with_the_reason(value: Any) -> None:
    out = output(value)
    assert out.is_error
    assert isinstance(out.content[0], Text)
    assert "the tool returned" in out.content[0].text


def test_what_fits_is_not_touched() -> None:
    given = ToolOutput(content=(Text(text="x" * 100), image(PNG, "image/png")))
    assert bounded(given, Bounds(bytes=100)) == given


@pytest.mark.req("I-07")
def test_what_does_not_fit_keeps_its_ends_and_its_images() -> None:
    given = ToolOutput(content=(Json(value="[" + "1," * 5000 + "2]"), PICTURE), is_error=True)
    text = "[" + "1," * 374 + "1" + f"\n[… {10003 - 1000} bytes left out of 10003 …]\n" + "1," * 124 + "2]"
    assert bounded(given, Bounds(bytes=1000)) == ToolOutput(content=(Text(text=text), PICTURE), is_error=True)


def test_too_many_lines_lose_their_middle_too() -> None:
    given = ToolOutput(content=(Text(text="\n".join(str(n) for n in range(100))),), rest="`read` shows all of it")
    gap = "[… 92 lines left out of 100; `read` shows all of it …]"
    assert bounded(given, Bounds(lines=8)) == said("\n".join([*"012345", gap, "98", "99"]))


@pytest.mark.case("AGT-015")
def test_what_is_left_out_is_told_and_where_it_can_be_read() -> None:
    given = ToolOutput(content=(Text(text="x" * 5_000_000),), is_error=True, rest="the whole is in `out.txt`")
    (block,) = bounded(given, Bounds(bytes=50_000)).content
    assert isinstance(block, Text)
    assert len(block.text) < 50_100
    assert "[… 4950000 bytes left out of 5000000; the whole is in `out.txt` …]" in block.text


def test_too_many_images_are_told_and_left_out() -> None:
    small, big = PICTURE, image(PNG + b"\0" * 900, "image/png")
    given = ToolOutput(content=(Text(text="three"), small, big, small))
    told = Text(text="[1 of 3 images left out: at most 10, and 100 bytes]")
    assert bounded(given, Bounds(image_bytes=100)) == ToolOutput(content=(Text(text="three"), small, small, told))
