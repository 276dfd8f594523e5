"""Guards the address a request goes to (PAR-006): one slash between base and path, the version once, and a hint at a 404."""

from __future__ import annotations

import pytest

from dragoman import ApiError
from dragoman.catalog.find import find
from dragoman.client import Model
from dragoman.client.send import addressed
from dragoman.wire.base import Http
from origin import Answer, Origin

# What people put before the path of a wire, and where the request must arrive.
ADDRESSES = {
    ("chat", "/v1"): "/v1/chat/completions",
    ("chat", "/v1/"): "/v1/chat/completions",
    ("chat", "/v1//"): "/v1/chat/completions",
    ("chat", "/api/x"): "/api/x/chat/completions",
    ("chat", ""): "/chat/completions",
    ("responses", "/v1/"): "/v1/responses",
    ("messages", ""): "/v1/messages",
    ("messages", "/"): "/v1/messages",
    ("messages", "/v1"): "/v1/messages",
    ("messages", "/v1/"): "/v1/messages",
    ("messages", "/anthropic"): "/anthropic/v1/messages",
}


@pytest.mark.case("PAR-006")
@pytest.mark.parametrize(("wire", "base"), ADDRESSES)
def test_a_request_arrives_at_one_path_however_its_base_was_written(wire: str, base: str) -> None:
    with (
        Origin(Answer(status=404, body=b"{}")) as origin,
        Model(f"{origin.url}{base}#{wire}:m") as model,
        pytest.raises(ApiError),
    ):
        model.chat("hi")
    assert [seen.path for seen in origin.seen] == [ADDRESSES[wire, base]]


@pytest.mark.case("PAR-006")
@pytest.mark.parametrize(
    ("base", "path", "whole"),
    [
        ("http://h:1/v1", "chat/completions", "http://h:1/v1/chat/completions"),
        ("http://h:1/v1/", "/chat/completions", "http://h:1/v1/chat/completions"),
        ("http://h:1", "v1/messages", "http://h:1/v1/messages"),
        ("http://h:1/api/x", "chat/completions", "http://h:1/api/x/chat/completions"),
        ("http://h:1/v1?api-version=7", "responses?beta=true", "http://h:1/v1/responses?api-version=7&beta=true"),
    ],
)
def test_base_and_path_are_joined_by_one_slash(base: str, path: str, whole: str) -> None:
    target = find(f"{base}#chat:m", {"DRAGOMAN_API_KEY": "k"})
    assert addressed(Http(path=path), target, stream=False).path == whole


@pytest.mark.case("PAR-006")
def test_an_address_without_its_version_is_hinted_at() -> None:
    with (
        Origin(Answer(status=404, body=b'{"error":"not found"}')) as origin,
        Model(f"{origin.url}#chat:m") as model,
        pytest.raises(ApiError) as caught,
    ):
        model.chat("hi")
    assert f"the base URL {origin.url}" in str(caught.value)
