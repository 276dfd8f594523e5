"""What is a key in an exchange, and how it is taken out of what is kept of one.

Three ways, each by itself: headers are kept by name, all others are dropped; a value that was sent as a key (in a header or
a query that is named like one, or before the `@` of an address) is taken out wherever it stands, in either body too; and so
is what looks like a key of a known kind.
"""

from __future__ import annotations

import re
from base64 import b64encode
from collections.abc import Iterable, Iterator
from urllib.parse import quote, unquote, urlsplit

import msgspec

from dragoman.transport.base import Headers
from dragoman.wire.base import Http

HIDDEN = "***"
SHORTEST = 8  # characters: what is shorter is a word ("ollama", "none"), and replaced everywhere would spoil the bodies

KEPT = re.compile(
    r"accept|content-type|user-agent|anthropic-(version|beta)|openai-(beta|version|processing-ms)|http-referer|x-title"
    r"|date|retry-after(-ms)?|x-should-retry|(x-)?request-id|(x|anthropic)-ratelimit-.*",
    re.IGNORECASE,
)
NAMED_KEY = re.compile(r"auth|key|token|secret|cookie|passw|credential|^sig$|signature|^code$", re.IGNORECASE)
# What vendors' keys begin with, a key after the word Bearer, a JWT; and fields of bodies that hold one by their name
# (tools of a remote server are authorised in the request's body).
LOOKS = re.compile(
    rb"(?<![A-Za-z0-9_/+=-])(?:(?:sk|rk|pplx|nvapi|xai)-[A-Za-z0-9_-]{16,}|(?:gsk|hf|r8|fw|ghp|gho|ghs|github_pat)_[A-Za-z0-9_]{20,}"
    rb"|AIza[A-Za-z0-9_-]{35}|(?:AKIA|ASIA)[A-Z0-9]{16}|eyJ[A-Za-z0-9_-]{10,}\.eyJ[A-Za-z0-9_-]{10,}\.[A-Za-z0-9_-]{10,})"
    rb"|(?<=[Bb]earer )[A-Za-z0-9._~+/=-]{16,}"
)
FIELDS = re.compile(
    rb'"(?:x-api-key|api[-_]?key|authorization(?:_token)?|access_token|client_secret)"\s*:\s*"((?:[^"\\]|\\.)+)"',
    re.IGNORECASE,
)


class Redaction:
    """The keys of one request, and texts without them."""

    def __init__(self, http: Http) -> None:
        self._http = http
        found = {form for secret in _secrets(http) if len(secret) >= SHORTEST for form in _forms(secret)}
        longest_first = sorted(found, key=len, reverse=True)
        self._secrets = re.compile(b"|".join(map(re.escape, longest_first))) if found else None

    def request(self) -> Http:
        """The request itself without them."""
        http = self._http
        return Http(
            method=http.method,
            path=self.url(http.path),
            headers=self.headers(http.headers),
            body=self.body(http.body),
        )

    def headers(self, headers: Headers) -> Headers:
        """Those that may be kept."""
        return tuple((name.lower(), self.text(value)) for name, value in headers if KEPT.fullmatch(name))

    def url(self, url: str) -> str:
        """An address without user, password and the values of queries that are named like keys."""
        parts = urlsplit(url)
        query = "&".join(_hidden(part) for part in parts.query.split("&"))
        return self.text(parts._replace(netloc=parts.netloc.rpartition("@")[2], query=query, fragment="").geturl())

    def text(self, text: str) -> str:
        """A text without keys."""
        return self.body(text.encode("utf-8", "surrogateescape")).decode("utf-8", "surrogateescape")

    def body(self, data: bytes) -> bytes:
        """A body without keys."""
        return self.pieces([data])[0]

    def pieces(self, pieces: list[bytes]) -> list[bytes]:
        """The pieces of one body without the keys in it, even one that begins in one piece and ends in another."""
        spans = _merged(self._spans(b"".join(pieces)))
        if not spans:
            return pieces
        out: list[bytes] = []
        begin = 0
        for piece in pieces:
            end = begin + len(piece)
            kept, at = bytearray(), begin
            for first, last in spans:
                if last <= begin or first >= end:
                    continue
                kept += piece[at - begin : max(first, begin) - begin]
                kept += HIDDEN.encode() if first >= begin else b""
                at = min(last, end)
            kept += piece[at - begin :]
            out.append(bytes(kept))
            begin = end
        return out

    def _spans(self, data: bytes) -> Iterator[tuple[int, int]]:
        if self._secrets is not None:
            yield from (found.span() for found in self._secrets.finditer(data))
        yield from (found.span() for found in LOOKS.finditer(data))
        yield from (found.span(1) for found in FIELDS.finditer(data))


def _secrets(http: Http) -> Iterator[str]:
    """What was sent as a key."""
    for name, value in http.headers:
        if NAMED_KEY.search(name):
            yield value
            yield value.rpartition(" ")[2]
    parts = urlsplit(http.path)
    for part in parts.query.split("&"):
        name, _, value = part.partition("=")
        if NAMED_KEY.search(name):
            yield unquote(value)
    user = unquote(parts.netloc.rpartition("@")[0])
    if user:
        yield from user.split(":", 1)
        yield b64encode(user.encode()).decode()


def _forms(secret: str) -> set[bytes]:
    """The ways in which a text may be written: as it is, within JSON, within an address."""
    return {
        secret.encode("utf-8", "surrogateescape"),
        msgspec.json.encode(secret.encode("utf-8", "replace").decode())[1:-1],
        quote(secret, safe="", errors="replace").encode(),
    }


def _hidden(part: str) -> str:
    name, equals, _ = part.partition("=")
    return f"{name}={HIDDEN}" if equals and NAMED_KEY.search(name) else part


def _merged(spans: Iterable[tuple[int, int]]) -> list[tuple[int, int]]:
    merged: list[tuple[int, int]] = []
    for first, last in sorted(spans):
        if merged and first < merged[-1][1]:
            merged[-1] = (merged[-1][0], max(last, merged[-1][1]))
        else:
            merged.append((first, last))
    return merged
