"""What is known of a model at a provider: limits, modalities, prices. Data of models.json, read when it is first asked
for; nothing is fetched (I-16)."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from decimal import Decimal
from functools import cache
from importlib.resources import files
from typing import Any, Literal

import msgspec

# What a vendor adds to the name of a model: the day of a version, or that it is the latest.
VERSION = re.compile(r"[-@](20\d{6}|20\d\d-\d\d-\d\d|latest|default)$")


class Rates(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """US dollars for a million tokens of each kind; None is "not known", 0 is free.

    `input` is for tokens that no cache had a part in. `cache_write` is the vendor's usual kind of write (5 minutes
    where there are two), `cache_write_1h` the one kept an hour. Audio without a rate of its own costs what text does.
    """

    input: Decimal | None = None
    output: Decimal | None = None
    cache_read: Decimal | None = None
    cache_write: Decimal | None = None
    cache_write_1h: Decimal | None = None
    input_audio: Decimal | None = None
    output_audio: Decimal | None = None


class Tier(Rates, frozen=True, kw_only=True, omit_defaults=True):
    """The rates of a request whose whole input, cached tokens included, is more than `above` tokens: they hold for all
    of it, and no rate is taken from the tier below."""

    above: int


class Schedule(Rates, frozen=True, kw_only=True, omit_defaults=True):
    """Rates that depend on the size of a request; `tiers` by rising `above`."""

    tiers: tuple[Tier, ...] = ()

    def at(self, input_tokens: int) -> Rates:
        """The rates that hold for a request of this input, cached tokens included."""
        held: Rates = self
        for tier in self.tiers:
            if input_tokens > tier.above:
                held = tier
        return held


class Prices(Schedule, frozen=True, kw_only=True, omit_defaults=True):
    """The list prices of a model. `services` are those of other tiers of service, whole: batch, flex, priority, fast.
    `date` is the day the list speaks for, `source` the package it is from."""

    services: dict[str, Schedule] = {}
    date: str
    source: str


class ModelFacts(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One model at one provider. None is "not known"; a list that is empty was not said.

    `context` is the whole window, `max_input` what of it may be asked (None: all), `max_output` what may be answered.
    `inputs` and `outputs` are modalities: text, image, audio, video, pdf. `tools`, `schema` and `reasoning` say whether
    it can. `knowledge` and `released` are days or months, `status` the vendor's word where it is no ordinary model.
    """

    provider: str
    id: str
    label: str | None = None
    context: int | None = None
    max_input: int | None = None
    max_output: int | None = None
    inputs: tuple[str, ...] = ()
    outputs: tuple[str, ...] = ()
    tools: bool | None = None
    schema: bool | None = None
    reasoning: bool | None = None
    knowledge: str | None = None
    released: str | None = None
    status: Literal["beta", "deprecated"] | None = None
    prices: Prices | None = None


def find(provider: str, model: str) -> ModelFacts | None:
    """What is known of `model` at `provider` (a name of providers.toml, no alias); None where nothing is, which is no
    error.

    A name with the day of a version is the model without it, where the two are not told apart.
    """
    rows = _rows()
    name = f"{provider}/{model}".lower()
    bare = VERSION.sub("", name)
    key = next((key for key in (name, bare, f"{bare}-latest") if key in rows), None)
    return None if key is None else _facts(key, rows[key])


def search(text: str = "") -> Iterator[ModelFacts]:
    """Every model whose provider, name or label holds each word of `text`, in the order of the file."""
    words = text.lower().split()
    for key, raw in _rows().items():
        facts = _facts(key, raw)
        if all(word in f"{key} {facts.label}".lower() for word in words):
            yield facts


@cache
def _rows() -> Mapping[str, msgspec.Raw]:
    """Each entry of models.json as it is written: only what is asked for is decoded."""
    data = (files("dragoman.catalog") / "models.json").read_bytes()
    rows = msgspec.json.decode(data, type=dict[str, msgspec.Raw])
    _sources.update(msgspec.json.decode(rows.pop(""), type=dict[str, dict[str, str]]))
    return rows


_sources: dict[str, dict[str, str]] = {}  # where prices are from, by the letter that stands for it in the file
_decode = msgspec.json.Decoder(dict[str, Any], float_hook=Decimal).decode


def _facts(key: str, raw: msgspec.Raw) -> ModelFacts:
    provider, _, id = key.partition("/")
    said: dict[str, Any] = {"provider": provider, "id": id, **_decode(raw)}
    prices: dict[str, Any] | None = said.get("prices")
    if prices is not None:
        said["prices"] = {**prices, **_sources[prices.pop("from")]}
    return msgspec.convert(said, ModelFacts)
