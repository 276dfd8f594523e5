"""Guards bills against what real services charged: where a recording says its cost, our segments at list prices agree, or
the bill says that they do not (I-04, I-16)."""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from dragoman.dialect.find import find as dialect_of
from dragoman.errors import DragomanError
from dragoman.money import Bill, bill
from dragoman.money.prices import catalogued
from dragoman.types import Reply
from dragoman.types.collect import Collector
from dragoman.wire import find
from dragoman.wire.base import Exchange
from matrix.recordings import Entry, body, is_stream

WIRES = ("chat", "responses", "messages")


def charged(folder: Path) -> Iterator[Bill]:
    """The bill of each recorded answer that says what it cost."""
    for wire in WIRES:
        with gzip.open(folder / f"{wire}.jsonl.gz", "rt", encoding="utf-8", newline="\n") as lines:
            for line in lines:
                if "cost" not in line:
                    continue
                entry = json.loads(line)
                reply = read(wire, entry)
                if reply is None or reply.usage is None:
                    continue
                names = (entry["model"], reply.model)
                listed = (catalogued(entry["provider"], name) for name in names if name)
                made = bill(reply.usage, next((each for each in listed if each is not None), None))
                if made.label == "reported":
                    yield made


def read(wire: str, entry: Entry) -> Reply | None:
    codec, dialect = find(wire), dialect_of(entry["provider"], wire)
    try:
        if not is_stream(entry):
            return codec.decode_reply(body(entry), dialect, Exchange()).value
        decoder, collector = codec.stream_decoder(dialect, Exchange()), Collector()
        for event in (*decoder.feed(body(entry)), *decoder.close()):
            collector.feed(event)
        return collector.reply
    except DragomanError:
        return None


@pytest.mark.corpus
@pytest.mark.req("I-04", "I-16", "S3-41")
def test_what_services_charged_is_what_we_compute_or_the_bill_says_otherwise(shared: Path) -> None:
    made = [each for each in charged(shared / "corpus" / "dev") if each.cost and each.computed is not None]
    assert len(made) > 250
    ratios = [(each.computed or 0) / (each.cost or 1) for each in made]
    near = [ratio for ratio in ratios if 0.99 <= ratio <= 1.01]
    assert len(near) / len(made) > 0.75, f"{len(near)} of {len(made)}"  # fees a request and prices that changed since
    far = [each for each, ratio in zip(made, ratios, strict=True) if not 0.5 <= ratio <= 2]
    assert all(any(note.path == ("usage", "cost") for note in each.notes) for each in far)
