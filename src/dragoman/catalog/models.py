"""What is known of a model at a provider: limits, modalities, prices. Data of models.json, read when it is first asked
for; nothing is fetched (I-16)."""

from __future__ import annotations

from decimal import Decimal

import msgspec


class Rates(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """US dollars for a million tokens of each kind; None is "not known", 0 is free.

    `input` is for tokens that no cache had a part in. `cache_write` is the vendor's usual kind of write (5 minutes
    where there are two), `cache_write_1h` the one kept an hour.
    """

    input: Decimal | None = None
    output: Decimal | None = None
    cache_read: Decimal | None = None
    cache_write: Decimal | None = None
    cache_write_1h: Decimal | None = None


class Tier(Rates, frozen=True, kw_only=True, omit_defaults=True):
    """The rates of a request whose whole input, cached tokens included, is more than `above` tokens: they hold for all
    of it, and no rate is taken from the tier below."""

    above: int


class Prices(Rates, frozen=True, kw_only=True, omit_defaults=True):
    """The list prices of a model; `tiers` by rising `above`. `date` is the day they were gathered, `source` the package
    they are from."""

    tiers: tuple[Tier, ...] = ()
    date: str
    source: str

    def at(self, input_tokens: int) -> Rates:
        """The rates that hold for a request of this input, cached tokens included."""
        held: Rates = self
        for tier in self.tiers:
            if input_tokens > tier.above:
                held = tier
        return held


class ModelFacts(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One model at one provider. None is "not known"; a list that is empty was not said.

    `context` is the whole window, `max_input` what of it may be asked (None: all), `max_output` what may be answered.
    `inputs` and `outputs` are modalities: text, image, audio, video, pdf. `released` and `retired` are days.
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
    released: str | None = None
    retired: str | None = None
    prices: Prices | None = None


def find(provider: str, model: str) -> ModelFacts | None:
    """What is known of `model` at `provider` (a name of providers.toml); None where nothing is, which is no error."""
    return None
