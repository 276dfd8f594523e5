"""A stream of a text completion to events."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from dragoman.dialect.model import Dialect
from dragoman.types.base import Origin
from dragoman.types.collect import MESSAGE_BAG, explode, merge_usage
from dragoman.types.content import Text
from dragoman.types.events import BlockEnd, BlockStart, Delta, Finish, Raw, Start, StreamEvent, UsageUpdate
from dragoman.types.note import Path
from dragoman.types.opaque import MARKS, Bag
from dragoman.types.reply import Usage
from dragoman.wire.base import Exchange
from dragoman.wire.completions.errors import error_in
from dragoman.wire.completions.parts import WIRE
from dragoman.wire.completions.reply import decode_reply
from dragoman.wire.completions.stops import decode_stop
from dragoman.wire.completions.usage import decode_usage, usage_of
from dragoman.wire.streaming import SseDecoder

DONE = "[DONE]"
ENVELOPE = frozenset({"id", "model", "created", "choices", "usage", "object", "obfuscation", "error", MARKS})
MODELLED = frozenset({"index", "text", "finish_reason", MARKS})


class CompletionStreamDecoder(SseDecoder):
    """Chunks of choice 0 as events of one text; pieces of other choices as Raw. A chunk that is shaped like chat is read
    too (CMP-003). Finish waits for [DONE] or the end of the bytes, since usage comes after the last word."""

    free = ("obfuscation",)

    def __init__(self, dialect: Dialect, exchange: Exchange) -> None:
        super().__init__(exchange)
        self._dialect = dialect
        self._exchange = exchange
        self._begun_with: Bag | None = None
        self._envelope: Bag = {}
        self._choice: Bag = {}
        self._open = False
        self._raw_stop: str | None = None
        self._done = False
        self._usage: Usage | None = None

    def take_marker(self, text: str) -> bool:
        if text == DONE:
            self._done = True
            self.end()
            return True
        return False

    def take(self, name: str | None, value: Mapping[str, Any]) -> None:
        raw = usage_of(value)
        usage = None if raw is None else decode_usage(raw, self._dialect, self._notes)
        self._usage = merge_usage(self._usage, usage)
        failed = error_in(value, name)
        if failed is None:
            self._envelope |= {key: item for key, item in value.items() if key not in ENVELOPE and item is not None}
        self._begin(value)
        if usage is not None and failed is None:
            self.out.append(UsageUpdate(usage=usage))
        choices: Any = value.get("choices")
        for at, choice in enumerate(choices if isinstance(choices, list) else []):
            if not isinstance(choice, dict):
                continue
            if choice.get("index", at) in (0, None):
                self._take_choice(choice)
            else:
                self._notes.add(("others",), "dropped", "a stream's choices beyond the first are passed on unread")
                self.out.append(Raw(wire=WIRE, name="choice", payload=dict(choice), index=_whole(choice.get("index"))))
        if failed is not None:
            self.fail(failed)

    def growth(self, value: Mapping[str, Any]) -> Path | None:
        choices: Any = value["choices"]
        said = isinstance(choices[0], dict) and isinstance(choices[0].get("text"), str)
        return ("choices", 0, "text") if len(choices) == 1 and said else None

    def usage(self) -> Usage | None:
        return self._usage

    def whole(self, body: bytes) -> Iterable[StreamEvent]:
        decoded = decode_reply(body, self._dialect, self._exchange)
        self._notes.taken += decoded.notes
        if decoded.value.others:
            self._notes.add(("others",), "dropped", "a stream has the events of the first choice only")
        return explode(decoded.value)  # type: ignore[return-value]

    def finish(self) -> Finish | None:
        terminal = self._done or bool(self._raw_stop)
        self._begin({"choices": [{}]})
        if self._open:
            self.out.append(BlockEnd(index=0))
        if not terminal:
            return None
        begun = self._begun_with or {}
        left: Bag = {key: item for key, item in self._envelope.items() if begun.get(key) != item}
        if self._choice:
            left[MESSAGE_BAG] = self._choice
        return Finish(stop=decode_stop(self._raw_stop), usage=self._usage, opaque={WIRE: left} if left else None)

    def _begin(self, value: Mapping[str, Any]) -> None:
        """Start waits for the first chunk with a choice."""
        if self._begun_with is not None or not value.get("choices"):
            return
        self._begun_with = dict(self._envelope)
        id, model = _word(value.get("id")), _word(value.get("model")) or self._exchange.model
        created = value.get("created")
        start = Start(
            id=id,
            model=model,
            created=created if type(created) in (int, float) else None,
            origin=Origin(wire=WIRE, provider=self._exchange.provider, model=self._exchange.model or model),
            opaque={WIRE: self._begun_with} if self._begun_with else None,
        )
        self.out.append(start)

    def _take_choice(self, choice: Mapping[str, Any]) -> None:
        left = {key: item for key, item in choice.items() if key not in MODELLED and item is not None}
        text = choice.get("text")
        if text is None and isinstance(delta := choice.get("delta"), dict):
            text = delta.get("content")
            left.pop("delta")
        raw = choice.get("finish_reason")
        if isinstance(raw, str) and raw:
            self._raw_stop = raw
        if isinstance(text, str) and text:
            if not self._open:
                self._open = True
                self.out.append(BlockStart(index=0, block=Text(text="")))
            self.out.append(Delta(index=0, text=text, opaque={WIRE: left} if left else None))
        else:
            self._choice |= left


def _word(value: Any) -> str | None:
    return value if isinstance(value, str) and value else None


def _whole(value: Any) -> int | None:
    return value if type(value) is int else None
