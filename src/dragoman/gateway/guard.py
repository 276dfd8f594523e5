"""Who may come in: the Host header, the origin of a page, and the key (told apart before anything is read)."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from hmac import compare_digest
from typing import NamedTuple
from urllib.parse import urlsplit

from dragoman.errors import ApiDetail, ApiError
from dragoman.secret import Secret
from dragoman.types.codes import ErrorCode

LOOPBACK = frozenset({"127.0.0.1", "localhost", "::1"})
BEARER = "bearer "


class Guard(NamedTuple):
    """`hosts` are the names under which we may be called, None for any; `key` what a client must show; `origins` the pages
    that may ask (`*`: all)."""

    hosts: frozenset[str] | None = LOOPBACK
    key: Secret | None = None
    origins: frozenset[str] = frozenset()

    def check(self, headers: Mapping[str, str], *, keyless: bool = False) -> None:
        """Raises ApiError for one who may not come in. A page that had our name pointed at this machine is told by its
        Host, any other page by its Origin: a browser sends neither falsely. `keyless` asks for no key."""
        if self.hosts is not None and _host(headers.get("host", "")) not in self.hosts:
            raise _no(403, "permission", "this server is called by another name: see --allow-host")
        origin = headers.get("origin")
        if origin is not None and not self.allows(origin):
            raise _no(403, "permission", "pages of this origin may not ask: see --cors")
        if self.key is not None and not keyless and not _shown(headers, self.key):
            raise _no(401, "auth", "a key is needed: this server's own, as a bearer token or in x-api-key")

    def allows(self, origin: str) -> bool:
        """Whether a page of this origin may ask."""
        return origin in self.origins or "*" in self.origins


def is_loopback(host: str) -> bool:
    """Whether only this machine can reach an address."""
    return host in LOOPBACK or host.startswith("127.")


@lru_cache(maxsize=64)  # clients say the same name again and again
def _host(said: str) -> str | None:
    try:
        return urlsplit(f"//{said}").hostname
    except ValueError:
        return None


def _shown(headers: Mapping[str, str], key: Secret) -> bool:
    """Compared in a time that says nothing of where the two differ."""
    bearer = headers.get("authorization", "")
    shown = bearer[len(BEARER) :] if bearer.lower().startswith(BEARER) else ""
    said = (shown.strip(), headers.get("x-api-key", ""), headers.get("api-key", ""))
    return any(compare_digest(each.encode(), key.reveal().encode()) for each in said)


def _no(status: int, code: ErrorCode, message: str) -> ApiError:
    return ApiError(code, message, ApiDetail(status=status))
