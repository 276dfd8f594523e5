"""Where a request goes: everything that is settled before the first one is sent."""

from __future__ import annotations

import msgspec

from dragoman.dialect.model import Dialect
from dragoman.secret import SHORTEST, Secret, hidden, hidden_query, sent


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
        """`text` without the key, and without any other that the address or the headers hold."""
        own = () if self.key is None else (self.key.reveal(),)
        return hidden(text, (each for each in (*sent(self.base_url, self.headers), *own) if len(each) >= SHORTEST))

    def __repr__(self) -> str:
        return f"Target({self.provider}/{self.model}, {self.wire} at {hidden_query(self.base_url)})"
