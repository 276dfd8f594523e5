"""A chat stream to events."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from dragoman.dialect.model import Dialect
from dragoman.types.base import Origin
from dragoman.types.collect import MESSAGE_BAG, explode, merge_usage
from dragoman.types.content import Content, Reasoning, Refusal, Text
from dragoman.types.events import BlockEnd, BlockStart, Delta, Finish, Patch, Raw, Start, StreamEvent, UsageUpdate
from dragoman.types.note import Path
from dragoman.types.opaque import MARKS, Bag
from dragoman.types.reply import Usage
from dragoman.wire import jsonio
from dragoman.wire.assemble import Assembler, Piece
from dragoman.wire.base import Exchange
from dragoman.wire.chat.details import Details
from dragoman.wire.chat.errors import error_in
from dragoman.wire.chat.parts import WIRE, decode_part, is_annotation
from dragoman.wire.chat.reply import CHOICE, decode_reply
from dragoman.wire.chat.stops import decode_stop
from dragoman.wire.chat.thoughts import tags_of
from dragoman.wire.chat.turns import details_text
from dragoman.wire.chat.usage import decode_usage, usage_of
from dragoman.wire.streaming import SseDecoder
from dragoman.wire.tags import Part

DONE = "[DONE]"
SAYS = ("content", "refusal", "tool_calls", "function_call", "reasoning_details", "annotations")
MODELLED = frozenset({"role", *SAYS, MARKS})
KINDS: dict[str, type | tuple[type, ...]] = {
    "content": (str, list),
    "refusal": str,
    "tool_calls": list,
    "function_call": dict,
    "reasoning_details": list,
    "annotations": list,
}
ENVELOPE = frozenset({"id", "model", "created", "choices", "usage", "object", "obfuscation", "error", MARKS})


class ChatStreamDecoder(SseDecoder):
    """Chunks of choice 0 as events; pieces of other choices as Raw. Finish waits for [DONE] or the end of the bytes,
    since finish reasons and usage may come more than once (evidence A12)."""

    free = ("obfuscation",)

    def __init__(self, dialect: Dialect, exchange: Exchange) -> None:
        super().__init__(exchange)
        self._dialect = dialect
        self._exchange = exchange
        self._start: Start | None = None
        self._envelope: Bag = {}
        self._message: Bag = {}
        self._choice: Bag = {}
        self._blocks = 0
        self._open: tuple[str, int] | None = None
        self._text_index: int | None = None
        self._calls = Assembler(WIRE, self._next_index, exchange)
        self._legacy = False
        self._details = Details()
        self._tags = tags_of(dialect)
        self._keyed = False  # reasoning came under a key of its own: details then only repeat it
        self._raw_stop: str | None = None
        self._done = False
        self._usage: Usage | None = None
        self._others = False

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
            self._take_chunk(value, usage)
        else:
            self._begin(value)
            self._take_choices(value)  # some servers say the error beside the last words
            self.fail(failed)

    def growth(self, value: Mapping[str, Any]) -> Path | None:
        """Words and thoughts; calls are assembled by what their pieces say, and so are thoughts in tags."""
        choices: Any = value["choices"]
        delta = choices[0].get("delta") if len(choices) == 1 else None
        if not isinstance(delta, dict):
            return None
        said = [key for key in (*SAYS, *self._dialect.reasoning_in) if delta.get(key)]
        if len(said) != 1 or not isinstance(delta[said[0]], str):
            return None
        if said == ["content"] and self._tags is not None and not self._tags.plain:
            return None
        return ("choices", 0, "delta", said[0])

    def _take_chunk(self, value: Mapping[str, Any], usage: Usage | None) -> None:
        self._envelope |= {key: item for key, item in value.items() if key not in ENVELOPE and item is not None}
        self._begin(value)
        if usage is not None:
            self.out.append(UsageUpdate(usage=usage))
        self._take_choices(value)

    def _take_choices(self, value: Mapping[str, Any]) -> None:
        choices: Any = value.get("choices")
        for at, choice in enumerate(choices if isinstance(choices, list) else []):
            if not isinstance(choice, dict):
                self._notes.add(("message",), "dropped", f"a choice that is {jsonio.kind(choice)}")
            elif choice.get("index", at) in (0, None):
                self._take_choice(choice)
            else:
                self._take_other(choice)

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
        self._end_text()
        self.out += self._calls.close(self._notes)
        if self._details:
            self._details_block()
        if not terminal:
            return None
        left: Bag = {key: item for key, item in self._envelope.items() if not self._in_start(key, item)}
        if self._choice:
            left[CHOICE] = self._choice
        if self._message:
            left[MESSAGE_BAG] = self._message
        stop = decode_stop(self._raw_stop, bool(self._calls))
        return Finish(stop=stop, usage=self._usage, opaque={WIRE: left} if left else None)

    def _begin(self, value: Mapping[str, Any]) -> None:
        """Start waits for the first chunk with a choice: some servers send an empty envelope before it."""
        if self._start is not None or not value.get("choices"):
            return
        id, model = _word(value.get("id")), _word(value.get("model")) or self._exchange.model
        created = value.get("created")
        self._start = Start(
            id=id,
            model=model,
            created=created if type(created) in (int, float) else None,
            origin=Origin(wire=WIRE, provider=self._exchange.provider, model=self._exchange.model or model),
            opaque={WIRE: dict(self._envelope)} if self._envelope else None,
        )
        self.out.append(self._start)

    def _in_start(self, key: str, item: Any) -> bool:
        opaque = self._start.opaque if self._start is not None else None
        return opaque is not None and opaque[WIRE].get(key) == item

    def _take_choice(self, choice: Mapping[str, Any]) -> None:
        before = len(self.out)
        delta = choice.get("delta")
        if delta is None and self._blocks == 0 and isinstance(choice.get("message"), dict):
            delta = choice["message"]
        if isinstance(delta, dict):
            self._take_delta(delta)
        raw = choice.get("finish_reason")
        if isinstance(raw, str) and raw:
            self._raw_stop = raw
        skip = ("index", "delta", "message", "finish_reason", "usage", MARKS)
        left = {key: item for key, item in choice.items() if key not in skip and item is not None}
        if not left:
            return
        for at in range(before, len(self.out)):
            event = self.out[at]
            if isinstance(event, Delta):
                opaque = {WIRE: left}
                self.out[at] = Delta(index=event.index, field=event.field, text=event.text, opaque=opaque)
                return
        self._choice |= left

    def _take_delta(self, delta: Mapping[str, Any]) -> None:
        self._take_reasoning(delta)
        self._take_content(delta.get("content"))
        if isinstance(delta.get("refusal"), str) and delta["refusal"]:
            self._say("refusal", delta["refusal"])
        calls = delta.get("tool_calls")
        for call in calls if isinstance(calls, list) else ():
            if isinstance(call, dict):
                self._take_call(call)
            else:
                self._notes.add(("message", "tool_calls"), "dropped", f"a call that is {jsonio.kind(call)}")
        legacy = delta.get("function_call")
        if isinstance(legacy, dict):
            self._end_text()
            left = {"~": {"legacy": True}}
            piece = Piece(index=0, name=legacy.get("name"), arguments=legacy.get("arguments"))
            self.out += self._calls.take(piece, "function", {} if self._calls else left, self._notes)
        self._take_annotations(delta.get("annotations"))
        self._note_unread(delta)
        known = (*MODELLED, *self._dialect.reasoning_in)
        self._message |= {key: item for key, item in delta.items() if key not in known and item is not None}

    def _take_content(self, content: Any) -> None:
        """Text, or parts: those of text grow, any other one is a block of its own, as in a whole reply."""
        if isinstance(content, str) and content:
            self._take_text(content)
        for part in content if isinstance(content, list) else ():
            text = part.get("text") if isinstance(part, dict) else part
            if isinstance(text, str):
                self._take_content(text)
            elif isinstance(part, dict) and part.get("type") not in (None, "text"):
                self._end_text()
                self.out += self._calls.settle(self._notes)
                index = self._next_index()
                block = decode_part(part, ("message", "content", index))
                self.out += [BlockStart(index=index, block=block), BlockEnd(index=index)]

    def _note_unread(self, delta: Mapping[str, Any]) -> None:
        """Values of a kind that nothing can be read from."""
        for key in (*KINDS, *self._dialect.reasoning_in):
            if delta.get(key) and not isinstance(delta[key], KINDS.get(key, str)):
                reason = f"{jsonio.kind(delta[key])} came where this wire says something else"
                self._notes.add(("message", key), "dropped", reason)

    def _take_text(self, text: str) -> None:
        for part in self._tags.feed(text) if self._tags is not None else (Part("text", text),):
            self._say("thought" if part.kind == "reasoning" else "text", part.text)

    def _end_text(self) -> None:
        """A call or the end: what looked like the beginning of a tag was none."""
        for part in self._tags.close() if self._tags is not None else ():
            self._say("thought" if part.kind == "reasoning" else "text", part.text)
        self._close_open()

    def _take_reasoning(self, delta: Mapping[str, Any]) -> None:
        said = [key for key in self._dialect.reasoning_in if isinstance(delta.get(key), str) and delta[key]]
        details = delta.get("reasoning_details")
        details = details if isinstance(details, list) else []
        self._keyed = self._keyed or bool(said)
        text = delta[said[0]] if said else "" if self._keyed else details_text(details)
        if text:
            self._say("reasoning", text, [key for key in said if delta[key] == text])
        for item in details:
            self._details.add(item)

    def _take_call(self, call: Mapping[str, Any]) -> None:
        self._end_text()
        kind = "custom" if isinstance(call.get("custom"), dict) else "function"
        inner = call.get(kind)
        inner = inner if isinstance(inner, dict) else {}
        known = ("index", "id", "type", kind, MARKS)
        left = {key: item for key, item in call.items() if key not in known and item is not None}
        arguments = inner.get("input" if kind == "custom" else "arguments")
        piece = Piece(call.get("index"), call.get("id"), inner.get("name"), arguments)
        self.out += self._calls.take(piece, kind, left, self._notes)

    def _take_annotations(self, annotations: Any) -> None:
        if not isinstance(annotations, list) or not annotations:
            return
        if self._text_index is None or not all(is_annotation(item) for item in annotations):
            self._message.setdefault("annotations", []).extend(annotations)
            return
        self.out += [Patch(index=self._text_index, citation=item) for item in annotations]

    def _take_other(self, choice: Mapping[str, Any]) -> None:
        if not self._others:
            self._others = True
            reason = "a stream's choices beyond the first are passed on unread"
            self._notes.add(("others",), "dropped", reason)
        index = choice.get("index")
        whole = index if type(index) is int else None
        self.out.append(Raw(wire=WIRE, name="choice", payload=dict(choice), index=whole))

    def _say(self, kind: str, text: str, keys: list[str] | None = None) -> None:
        if self._open is None or self._open[0] != kind:
            self._close_open()
            self.out += self._calls.settle(self._notes)
            index = self._next_index()
            block: Content = Text(text="") if kind == "text" else Refusal(text="")
            if kind == "thought":
                block = Reasoning(text="")
            if kind == "reasoning":
                block = Reasoning(text="", opaque={WIRE: {"~": {"key": keys}}})
            if kind == "text":
                self._text_index = index
            self._open = (kind, index)
            self.out.append(BlockStart(index=index, block=block))
        self.out.append(Delta(index=self._open[1], text=text))

    def _close_open(self) -> None:
        """Text, reasoning and refusal end when another block begins; calls may interleave and end at the end."""
        if self._open is None:
            return
        kind, index = self._open
        if kind == "reasoning" and self._details:
            self.out.append(Patch(index=index, opaque={WIRE: {"reasoning_details": self._details.whole()}}))
            self._details = Details()
        self.out.append(BlockEnd(index=index))
        self._open = None

    def _details_block(self) -> None:
        """Reasoning state that came after its text had ended: a block of its own, for its own wire."""
        index = self._next_index()
        opaque = {WIRE: {"reasoning_details": self._details.whole(), "~": {"key": []}}}
        self.out.append(BlockStart(index=index, block=Reasoning(redacted=True, opaque=opaque)))
        self.out.append(BlockEnd(index=index))
        self._details = Details()

    def _next_index(self) -> int:
        self._blocks += 1
        return self._blocks - 1


def _word(value: Any) -> str | None:
    return value if isinstance(value, str) and value else None
