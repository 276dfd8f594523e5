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
# How keys of known kinds begin, and what follows; the key is group 1 where it is not the whole. Looked for by the beginning,
# which is fast: recording must cost little beside sending.
WORD = frozenset(b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_/+=-")
DASHED, PLAIN = re.compile(rb"[A-Za-z0-9_-]{16,}+"), re.compile(rb"[A-Za-z0-9_]{20,}+")
LOOKS: dict[bytes, re.Pattern[bytes]] = {
    **dict.fromkeys((b"sk-", b"rk-", b"pplx-", b"nvapi-", b"xai-"), DASHED),
    **dict.fromkeys((b"gsk_", b"hf_", b"r8_", b"fw_", b"ghp_", b"gho_", b"ghs_", b"github_pat_"), PLAIN),
    **dict.fromkeys((b"AKIA", b"ASIA"), re.compile(rb"[A-Z0-9]{16}")),
    b"AIza": re.compile(rb"[A-Za-z0-9_-]{35}"),
    b"eyJ": re.compile(rb"[A-Za-z0-9_-]{10,}+\.eyJ[A-Za-z0-9_-]{10,}+\.[A-Za-z0-9_-]{10,}+"),
    **dict.fromkeys((b"Bearer ", b"bearer "), re.compile(rb"([A-Za-z0-9._~+/=-]{16,}+)")),
}
# Fields of bodies that hold a key by their name: tools of a remote server are authorised in the request's body.
VALUE = re.compile(rb'\s*+:\s*+"((?:[^"\\]++|\\.)++)"', re.DOTALL)
NAMES = ("x-api-key", "api_key", "api-key", "apiKey", "apikey", "authorization", "Authorization", "access_token")
FIELDS = {f'"{name}"'.encode(): VALUE for name in (*NAMES, "authorization_token", "client_secret")}


class Redaction:
    """The keys of one request, and texts without them."""

    def __init__(self, http: Http) -> None:
        self._http = http
        said = (secret for secret in sent(http.path, http.headers) if len(secret) >= SHORTEST)
        self._secrets = {form.encode("utf-8", "surrogateescape") for secret in said for form in forms(secret)}

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
        for secret in self._secrets:
            yield from ((at, at + len(secret)) for at in _places(data, secret))
        for begin, rest in LOOKS.items():
            for at in _places(data, begin):
                found = rest.match(data, at + len(begin)) if at == 0 or data[at - 1] not in WORD else None
                if found is not None:
                    yield (found.start(1), found.end()) if found.re.groups else (at, found.end())
        for name, rest in FIELDS.items():
            for at in _places(data, name):
                if (found := rest.match(data, at + len(name))) is not None:
                    yield found.span(1)


def _places(data: bytes, what: bytes) -> Iterator[int]:
    at = data.find(what)
    while at >= 0:
        yield at
        at = data.find(what, at + len(what))


def _merged(spans: Iterable[tuple[int, int]]) -> list[tuple[int, int]]:
    merged: list[tuple[int, int]] = []
    for first, last in sorted(spans):
        if merged and first < merged[-1][1]:
            merged[-1] = (merged[-1][0], max(last, merged[-1][1]))
        else:
            merged.append((first, last))
    return merged
