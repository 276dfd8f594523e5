"""Guards what is taken out of records: keys that were sent, in every form and any split, keys of known kinds, and nothing else."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dragoman.secret import NAMED, Secret, forms, hidden, hidden_query
from dragoman.transport.redact import Redaction
from dragoman.wire.base import Http

KEY = 'planted/key+"0123456789'
REDACTION = Redaction(Http(path="http://h/v1/x?key=query%2Fkey%2D12345", headers=(("authorization", f"Bearer {KEY}"),)))
PIECES = (
    *(form.encode() for form in forms(KEY)),
    KEY[:9].encode(),
    b"query/key-12345",
    b"plain ",
    b'{"a":1}',
    "ü".encode(),
)


@given(st.lists(st.sampled_from(PIECES)), st.lists(st.integers(0, 200)))
def test_any_split_is_redacted_as_the_whole_is(parts: list[bytes], cuts: list[int]) -> None:
    data = b"".join(parts)
    places = [0, *sorted(min(cut, len(data)) for cut in cuts), len(data)]
    pieces = [data[first:last] for first, last in pairwise(places)]
    out = REDACTION.pieces(pieces)
    assert len(out) == len(pieces)
    assert b"".join(out) == REDACTION.body(data)
    assert not any(form.encode() in b"".join(out) for form in forms(KEY))


@pytest.mark.parametrize(
    ("said", "kept"),
    [
        ("the key sk-proj-abcdefghijklmnopqrst.", "the key ***."),
        ("AIzaSyA1234567890abcdefghijklmnopqrstuv", "***"),
        ("curl -H 'Authorization: Bearer abcdefghijklmnop1234'", "curl -H 'Authorization: Bearer ***'"),
        ("eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.c2lnbmF0dXJl1", "***"),
        ('{"authorization": "abc", "server_url": "https://h"}', '{"authorization": "***", "server_url": "https://h"}'),
        ('{"authorization_token":"a\\"b"}', '{"authorization_token":"***"}'),
        # no keys
        ("a task-force-of-sixteen-people and whisk-y-a-b-c-d-e-f-g-h-i-j", None),
        ('{"api_key": {"type": "string", "description": "your key"}}', None),
        ('{"id":"call_0123456789abcdefghij","tool_use_id":"toolu_0123456789abcdef"}', None),
        ("bearer of bad news", None),
        ('{"authorization": ""}', None),
    ],
)
def test_what_looks_like_a_key_is_taken_out_and_nothing_else(said: str, kept: str | None) -> None:
    assert REDACTION.text(said) == (said if kept is None else kept)


def test_short_words_that_are_sent_as_keys_stay_in_bodies() -> None:
    local = Redaction(Http(path="http://127.0.0.1/v1", headers=(("authorization", "Bearer ollama"),)))
    assert local.body(b"ask ollama") == b"ask ollama"


def test_only_headers_of_the_list_are_kept() -> None:
    said = (("Content-Type", "a"), ("X-Api-Key", "b"), ("Cookie", "c"), ("Retry-After", "1"), ("X-RateLimit-Left", "2"))
    assert REDACTION.headers(said) == (("content-type", "a"), ("retry-after", "1"), ("x-ratelimit-left", "2"))
    assert REDACTION.headers((("x-request-id", KEY),)) == (("x-request-id", "***"),)


def test_an_address_is_kept_without_what_it_hides() -> None:
    url = "https://me:pw@h:1/v1/x?api-version=2&Key=abc&sig=d#f"
    assert REDACTION.url(url) == "https://h:1/v1/x?api-version=2&Key=***&sig=***"
    assert hidden_query("http://h/v1") == "http://h/v1"


@pytest.mark.parametrize(
    "name", ["Authorization", "x-api-key", "X-Goog-Api-Key", "cookie", "access_token", "sig", "code"]
)
def test_names_of_keys(name: str) -> None:
    assert NAMED.search(name)


@pytest.mark.parametrize("name", ["content-type", "api-version", "x-tokenizer", "x-max-tokens", "encode", "design"])
def test_names_of_no_keys(name: str) -> None:
    assert not NAMED.search(name)


def test_a_secret_shows_itself_to_nobody_else() -> None:
    secret = Secret(KEY)
    assert (repr(secret), f"{secret}", secret.reveal()) == ("Secret(***)", "Secret(***)", KEY)
    assert (secret == Secret(KEY), secret == KEY, hash(secret) == hash(Secret(KEY))) == (True, False, True)
    assert secret.hidden("planted%2Fkey%2B%220123456789 is no key") == "*** is no key"
    assert hidden("a", ("",)) == "a"
