"""Where a request goes: everything that is settled before the first one is sent."""

from __future__ import annotations

from typing import NoReturn

import msgspec

from dragoman.dialect.model import Dialect


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
        return text.replace(self._value, "***")

    def __repr__(self) -> str:
        return "Secret(***)"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Secret) and other._value == self._value

    def __hash__(self) -> int:
        return hash(self._value)

    def __reduce__(self) -> NoReturn:
        raise TypeError("a key is not written down")


class Target(msgspec.Struct, frozen=True, kw_only=True):
    """One model at one address, over one wire.

    `label` names the service in errors; `key_env` and `base_env` the variables that hints name. `key` None: none is
    sent. `headers` go with every request; the key is not among them. Read once, at creation (S0-13).
    """

    provider: str
    label: str
    wire: str
    model: str
    base_url: str
    key: Secret | None = None
    auth: str = "bearer"
    headers: tuple[tuple[str, str], ...] = ()
    dialect: Dialect = Dialect()
    key_env: str = ""
    base_env: str = ""

    def hidden(self, text: str) -> str:
        """`text` without the key."""
        return text if self.key is None else self.key.hidden(text)
