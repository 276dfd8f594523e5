"""A recording on loopback: any client of its wire gets the recorded answers, byte for byte."""

from __future__ import annotations

import time
from collections.abc import Callable
from urllib.parse import urlsplit

from dragoman.dialect.model import BASE
from dragoman.errors import ApiError, UsageError
from dragoman.testing.fake import FakeProvider
from dragoman.testing.log import Received
from dragoman.testing.plan import Act, Part, Plan
from dragoman.testing.script import Turn
from dragoman.transport.recording import WIRES, Recorded
from dragoman.transport.replay import Player, Source
from dragoman.wire.base import Exchange, Http


class ReplayProvider(FakeProvider):
    """`with ReplayProvider(folder) as served:` and ask `served.specs`, one for each model and wire that was recorded.

    A request that was not recorded is refused with 400 in its wire's form: what is nearest, and where it differs. With
    `timing` each piece is sent when it came. Raises UsageError for a folder without a recording.
    """

    def __init__(
        self,
        source: Source,
        *,
        timing: bool = False,
        again: bool = False,
        port: int = 0,
        pause: Callable[[float], object] = time.sleep,
        log: Callable[[Received], object] | None = None,
    ) -> None:
        self._player = Player(source, again=again)
        self._timing = timing
        recorded = self._player.recorded
        wire = next((each.wire for each in recorded if each.wire), "chat")
        super().__init__(wire, port=port, pause=pause, log=log)
        self.specs = tuple(dict.fromkeys(spec for each in recorded if (spec := _spec(each, self.url))))
        self.spec = self.specs[0] if self.specs else self.url

    def _answered(self, http: Http, turn: Turn) -> Plan:
        made = Plan(wire=self.wire, exchange=Exchange(), stream=True, date=time.time())
        try:
            recorded = self._player.take(http)
        except UsageError as error:
            made.status, headers, body = self.wire.encode_error(ApiError("invalid_request", error.message), BASE)
            made.headers, made.parts, made.stream = dict(headers), [body], False
            return made
        made.status, made.headers = recorded.status, dict(recorded.headers)
        made.parts = [*_parts(recorded, timing=self._timing)]
        made.drop = recorded.began is None
        return made


def _parts(recorded: Recorded, *, timing: bool) -> list[Part]:
    """The pieces with the pauses between them; at the end of one that failed the connection is cut."""
    parts: list[Part] = []
    at = 0.0
    for piece in recorded.pieces:
        parts += [piece.at - at, piece.data] if timing else [piece.data]
        at = piece.at
    return [*parts, Act.CUT] if recorded.end.how in ("failed", "left") else parts


def _spec(recorded: Recorded, url: str) -> str | None:
    """The model to ask for to get this answer."""
    end = next((end for end, wire in WIRES.items() if wire == recorded.wire), None)
    model = recorded.asked.get("model") if isinstance(recorded.asked, dict) else None
    if end is None or not isinstance(model, str):
        return None
    base = urlsplit(recorded.request.path).path.rstrip("/").removesuffix(end)
    return f"{url}{base}#{recorded.wire}:{model}"
