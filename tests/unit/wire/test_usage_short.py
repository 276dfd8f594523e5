"""Guards the short way of reading a chat usage: whatever it reads, the long way reads the same; and it reads what nearly all say."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dragoman.dialect.model import BASE, override
from dragoman.wire.base import Notes
from dragoman.wire.chat import usage as module
from dragoman.wire.chat.usage import PLACES, decode_usage, usage_of

FIGURES = st.one_of(
    st.integers(-1, 50), st.sampled_from([None, True, 2.0, 2.5, "7", "x", 2**53, 2**60, [], {}, {"cached_tokens": 1}])
)
KEYS = sorted({place[0] for places in PLACES.values() for place in places} | {"total_tokens", "cost", "more"})
INNER = sorted({place[1] for places in PLACES.values() for place in places if len(place) > 1} | {"more"})
BOXES = st.one_of(FIGURES, st.dictionaries(st.sampled_from(INNER), FIGURES, max_size=4))
USAGES = st.dictionaries(st.sampled_from(KEYS), st.one_of(FIGURES, BOXES), max_size=6)


def read(raw: dict[str, Any], dialect: Any) -> Any:
    notes = Notes()
    return decode_usage(raw, dialect, notes), notes.done(), usage_of({"usage": raw})


@given(USAGES, st.sampled_from(["inside", "outside", None]))
def test_both_ways_read_the_same(raw: dict[str, Any], cached: str | None) -> None:
    dialect = BASE if cached is None else override(BASE, {"usage_cached": cached})
    short = read(raw, dialect)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "_own", lambda _: None)
        assert read(raw, dialect) == short


def test_what_nearly_all_say_goes_the_short_way() -> None:
    said = {"prompt_tokens": 929, "completion_tokens": 64, "total_tokens": 993}
    assert module._own(said) is not None
    assert module._own({**said, "prompt_tokens_details": {"cached_tokens": 890, "audio_tokens": None}}) is not None
    assert module._own({**said, "prompt_cache_hit_tokens": 890}) is None
