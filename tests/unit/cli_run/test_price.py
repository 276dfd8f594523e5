"""Guards --max-cost: a catalogued model has a price, and where nobody knows one it is said that the limit may not hold."""

from __future__ import annotations

import pytest

from dragoman.cli.run import _price  # pyright: ignore
from dragoman.client import Model
from dragoman.types import Message, Reply, Stop, Usage


def reply(usage: Usage | None) -> Reply:
    return Reply(message=Message(role="assistant", content=()), stop=Stop(reason="end"), usage=usage)


def test_a_catalogued_model_has_a_price_and_another_is_told(capsys: pytest.CaptureFixture[str]) -> None:
    with Model("anthropic/claude-sonnet-5", env={"ANTHROPIC_API_KEY": "k"}) as model:
        price = _price(model, 1.0)
        assert price is not None
        assert (price(reply(Usage(input=1000, output=1000))) or 0) > 0
        assert price(reply(None)) is None
        assert _price(model, None) is None
    assert capsys.readouterr().err == ""
    with Model("http://127.0.0.1:9/v1#chat:mine", env={}) as model:
        price = _price(model, 1.0)
    assert price is not None
    assert price(reply(Usage(input=1, output=1, cost=7))) == 7
    assert "no price is known for mine: --max-cost holds only if" in capsys.readouterr().err
