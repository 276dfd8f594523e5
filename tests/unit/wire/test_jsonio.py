"""Guards the one door for JSON: nothing changed silently, every limit has a name, any bytes give a value or our error."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dragoman.errors import LocalError, RemoteError
from dragoman.wire import jsonio
from ingredients import json_values


@given(json_values)
def test_a_value_comes_back(value: Any) -> None:
    assert jsonio.decode(jsonio.encode(value)) == (value, ())


@given(json_values)
def test_the_strict_and_the_lenient_reader_agree(value: Any) -> None:
    plain, marked = jsonio.encode(value), b"\xef\xbb\xbf" + jsonio.encode(value)  # a byte order mark is lenient only
    assert jsonio.decode(marked)[0] == jsonio.decode(plain)[0] == value


@given(st.binary(max_size=80))
def test_any_bytes_are_a_value_or_our_error(data: bytes) -> None:
    try:
        value, _ = jsonio.decode(data)
    except RemoteError as error:
        assert error.code in ("bad_json", "too_deep")
    else:
        jsonio.encode(value)


def test_text_is_neither_escaped_nor_cut() -> None:
    assert jsonio.encode("读取 👩🏽‍💻 שלום \u2028") == '"读取 👩🏽‍💻 שלום \u2028"'.encode()


def test_big_integers_stay_whole() -> None:
    digits = b"1" + b"0" * 400
    assert jsonio.encode(jsonio.decode(digits)[0]) == digits


@pytest.mark.parametrize(
    ("text", "value", "told"),
    [
        (b'"a\\ud800b"', "a\ufffdb", "lone surrogates became U+FFFD"),
        (b'{"\\udc00": 1}', {"\ufffd": 1}, "lone surrogates became U+FFFD"),
        (b"[NaN, 1]", [None, 1], "NaN is no JSON number: null instead"),
        (b"[-Infinity]", [None], "-Infinity is no JSON number: null instead"),
        (b"[1e999]", [None], "1e999 is beyond a double: null instead"),
    ],
)
def test_what_cannot_be_kept_is_told(text: bytes, value: Any, told: str) -> None:
    got, notes = jsonio.decode(text)
    assert got == value
    assert [(note.action, note.reason, note.path) for note in notes] == [("substituted", told, ())]


def test_two_halves_of_one_character_are_one_character() -> None:
    assert jsonio.decode(b'["\\ud83d\\ude00", NaN]')[0] == ["😀", None]
    assert jsonio.decode(b'"\\ud83d\\ude00"') == ("😀", ())


def test_a_thing_is_told_once_however_often_it_happens() -> None:
    assert len(jsonio.decode(b"[NaN, NaN, NaN]")[1]) == 1


@pytest.mark.parametrize(
    ("text", "code", "said"),
    [
        (b"", "bad_json", "the body is empty"),
        (b" \n", "bad_json", "the body is empty"),
        (b'{"a": 1', "bad_json", "line 1, column 8"),
        (b'{\n"a" 1}', "bad_json", "line 2, column 5"),
        (b'"\xff"', "bad_json", "not UTF-8 at byte 1"),
        (b"[" * 10_000 + b"]" * 10_000, "too_deep", "more than 512 levels"),
        (b'{"a":' * 600 + b"1" + b"}" * 600, "too_deep", "more than 512 levels"),
    ],
)
def test_an_error_says_what_and_where(text: bytes, code: str, said: str) -> None:
    with pytest.raises(RemoteError, match=said) as caught:
        jsonio.decode(text)
    assert caught.value.code == code


def test_the_limits_are_exact() -> None:
    deep = b"[" * 512 + b"]" * 512
    jsonio.decode(deep)
    with pytest.raises(RemoteError, match="levels"):
        jsonio.decode(b"[" + deep + b"]")
    assert jsonio.decode(b"[1]", max_bytes=3)[0] == [1]
    with pytest.raises(RemoteError, match="4 bytes, the limit is 3") as caught:
        jsonio.decode(b"[1] ", max_bytes=3)
    assert caught.value.code == "too_large"


def test_brackets_in_text_are_no_depth() -> None:
    assert jsonio.decode(json.dumps("[" * 5000).encode())[0] == "[" * 5000


@pytest.mark.parametrize("value", [object(), {"a": {("b",): 1}}])
def test_what_json_cannot_say_is_an_error_of_ours(value: Any) -> None:
    with pytest.raises(LocalError) as caught:
        jsonio.encode(value)
    assert caught.value.code == "bad_json"


@pytest.mark.parametrize(
    ("text", "kind"), [(b"[]", "an array"), (b"7", "a number"), (b"null", "null"), (b"true", "a boolean")]
)
def test_a_body_must_be_an_object(text: bytes, kind: str) -> None:
    with pytest.raises(RemoteError, match=f"expected a JSON object, got {kind}"):
        jsonio.decode_object(text)


def test_arguments_in_the_spacing_that_was_asked_for() -> None:
    value = {"路径": "a", "n": [1, 2]}
    assert jsonio.text(value) == '{"路径":"a","n":[1,2]}'
    assert jsonio.text(value, spaced=True) == '{"路径": "a", "n": [1, 2]}'


@pytest.mark.parametrize("held", [b"[%b]", b'{"a":%b}'])
def test_what_is_read_leniently_may_be_as_deep(held: bytes) -> None:
    """A value at the limit of depth, with a half of a character in it, is a value: no fault of the interpreter's own."""
    body, mended = b'"\\ud800"', '"\ufffd"'.encode()
    for _ in range(jsonio.MAX_DEPTH):
        body, mended = held % body, held % mended
    value, notes = jsonio.decode(body)
    assert jsonio.encode(value) == mended
    assert [note.reason for note in notes] == ["lone surrogates became U+FFFD"]
