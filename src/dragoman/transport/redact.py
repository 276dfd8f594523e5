"""What is a key in an exchange, and how it is taken out of what is kept of one.

Three ways, each by itself: headers are kept by name, all others are dropped; a value that was sent as a key (in a header or
a query that is named like one, or before the `@` of an address) is taken out wherever it stands, in either body too; and so
is what looks like a key of a known kind.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from urllib.parse import urlsplit

from dragoman.secret import HIDDEN, SHORTEST, forms, hidden_query, sent
from dragoman.transport.base import Headers
from dragoman.wire.base import Http

KEPT = re.compile(
    r"accept|content-type|user-agent|anthropic-(version|beta)|openai-(beta|version|processing-ms)|http-referer|x-title"
    r"|date|retry-after(-ms)?|x-should-retry|(x-)?request-id|(x|anthropic)-ratelimit-.*",
    re.IGNORECASE,
)
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
        said = (secret for secret in sent(http.path, http.headers) if len(secret) >= SHORTEST)
        found = {form.encode("utf-8", "surrogateescape") for secret in said for form in forms(secret)}
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
        parts = urlsplit(hidden_query(url))
        return self.text(parts._replace(netloc=parts.netloc.rpartition("@")[2], fragment="").geturl())

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


def _merged(spans: Iterable[tuple[int, int]]) -> list[tuple[int, int]]:
    merged: list[tuple[int, int]] = []
    for first, last in sorted(spans):
        if merged and first < merged[-1][1]:
            merged[-1] = (merged[-1][0], max(last, merged[-1][1]))
        else:
            merged.append((first, last))
    return merged
