"""What the usual variables of an environment say of the way to a service: its proxy, and whose certificates count.

HTTP_PROXY, HTTPS_PROXY, ALL_PROXY and NO_PROXY, in either case, the lower one first. NO_PROXY is a list of names (with all
below them), addresses, networks and `*`. Source: https://curl.se/libcurl/c/CURLOPT_NOPROXY.html. SSL_CERT_FILE and
SSL_CERT_DIR are what OpenSSL itself reads.
"""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Iterator, Mapping
from contextlib import suppress
from ipaddress import ip_address, ip_network
from typing import TYPE_CHECKING
from urllib.parse import SplitResult, unquote, urlsplit

from dragoman.errors import UsageError

if TYPE_CHECKING:
    import ssl


def said(env: Mapping[str, str], name: str) -> str:
    """A variable of either case; "" when it is not set."""
    return env.get(name.lower()) or env.get(name.upper()) or ""


def proxy(env: Mapping[str, str], scheme: str, host: str) -> SplitResult | None:
    """The proxy for a host, None for none."""
    found = said(env, f"{scheme}_proxy") or said(env, "all_proxy")
    if not found or any(_matches(entry, host) for entry in _skipped(env)):
        return None
    return urlsplit(_whole(found))


def signed(via: SplitResult) -> tuple[tuple[str, str], ...]:
    """The header with the credentials of a proxy's address, if it has some."""
    if via.username is None:
        return ()
    pair = f"{unquote(via.username)}:{unquote(via.password or '')}"
    return (("proxy-authorization", f"Basic {b64encode(pair.encode()).decode()}"),)


def is_here(host: str) -> bool:
    """Whether a host is this machine, which is reached without a proxy."""
    with suppress(ValueError):
        return ip_address(host).is_loopback
    return host == "localhost"


def mounts(env: Mapping[str, str]) -> dict[str, str | None]:
    """The same as httpx2 wants it: a pattern of addresses → the proxy, None for none."""
    entries = list(_skipped(env))
    if "*" in entries:
        return {}
    found: dict[str, str | None] = {}
    for scheme in ("http", "https", "all"):
        if url := said(env, f"{scheme}_proxy"):
            found[f"{scheme}://"] = _whole(url)
    return found | dict.fromkeys(map(_pattern, entries) if found else ())


def trusted(file: str | None, folder: str | None) -> ssl.SSLContext | None:
    """Whom SSL_CERT_FILE or SSL_CERT_DIR say to trust, None for neither. Raises UsageError where they cannot be read."""
    import ssl

    if not file and not folder:
        return None
    try:
        return ssl.create_default_context(cafile=file or None, capath=folder or None)
    except OSError as error:
        where = f"SSL_CERT_FILE={file}" if file else f"SSL_CERT_DIR={folder}"
        raise UsageError("usage", f"{where} cannot be read: {error.strerror or error}") from None


def _whole(url: str) -> str:
    return url if "://" in url else f"http://{url}"


def _skipped(env: Mapping[str, str]) -> Iterator[str]:
    for entry in said(env, "no_proxy").replace(" ", ",").split(","):
        if name := entry.removeprefix("*.").removeprefix(".").lower():
            yield name


def _matches(entry: str, host: str) -> bool:
    host = host.strip("[]").lower()
    with suppress(ValueError):
        return ip_address(host) in ip_network(entry.strip("[]"), strict=False)
    return entry == "*" or host == entry or host.endswith(f".{entry}")


def _pattern(entry: str) -> str:
    address, _, bits = entry.partition("/")
    with suppress(ValueError):
        found = ip_address(address.strip("[]"))
        host = f"[{found}]" if found.version == 6 else str(found)
        return f"all://{host}/{bits}" if bits else f"all://{host}"
    return f"all://*{entry}"
