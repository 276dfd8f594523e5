"""What a key is: a value that shows itself to nobody, the names under which keys are sent, the forms in which one is quoted."""

from __future__ import annotations

import re
from base64 import b64encode
from collections.abc import Iterable, Iterator
from typing import NoReturn
from urllib.parse import quote, unquote, urlsplit

import msgspec

HIDDEN = "***"
SHORTEST = (
    8  # characters: what is shorter is a word ("ollama", "none"), and taken out everywhere would spoil what was said
)
# Headers and queries that hold a key, by their names. Names of headers that count something are no such.
NAMED = re.compile(r"auth|key|token(?!s|iz)|secret|cookie|passw|credential|^sig$|signature|^code$", re.IGNORECASE)


class Secret:
    """A key that shows itself to `reveal` only: not to repr, str, format, logs or a serialiser."""

    __slots__ = ("_value",)

    def __init__(self, value: str) -> None:
        self._value = value

    def reveal(self) -> str:
        """The key itself."""
        return self._value

    def hidden(self, text: str) -> str:
        """`text` without the key, should it hold it: services quote what they were sent."""
        return hidden(text, (self._value,))

    def __repr__(self) -> str:
        return "Secret(***)"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Secret) and other._value == self._value

    def __hash__(self) -> int:
        return hash(self._value)

    def __reduce__(self) -> NoReturn:
        raise TypeError("a key is not written down")


def sent(url: str, headers: Iterable[tuple[str, str]]) -> Iterator[str]:
    """What is sent as a key with a request: in headers and queries that are named so, and before the `@`."""
    for name, value in headers:
        if NAMED.search(name):
            yield value
            yield value.rpartition(" ")[2]
    parts = urlsplit(url)
    for part in parts.query.split("&"):
        name, _, value = part.partition("=")
        if NAMED.search(name):
            yield unquote(value)
    user = unquote(parts.netloc.rpartition("@")[0])
    if user:
        yield from user.split(":", 1)
        yield b64encode(user.encode()).decode()


def forms(secret: str) -> set[str]:
    """The ways in which a text may be quoted: as it is, within JSON, within an address."""
    said = secret.encode("utf-8", "replace").decode()
    return {secret, msgspec.json.encode(said)[1:-1].decode(), quote(said, safe=""), quote(said)}


def hidden(text: str, secrets: Iterable[str]) -> str:
    """`text` without these, in whatever form they stand in it."""
    for form in sorted({form for secret in secrets if secret for form in forms(secret)}, key=len, reverse=True):
        text = text.replace(form, HIDDEN)
    return text


def hidden_query(url: str) -> str:
    """An address whose queries that are named like keys hold none."""
    parts = urlsplit(url)
    return parts._replace(query="&".join(map(_hidden_part, parts.query.split("&")))).geturl()


def _hidden_part(part: str) -> str:
    name, equals, _ = part.partition("=")
    return f"{name}={HIDDEN}" if equals and NAMED.search(name) else part
