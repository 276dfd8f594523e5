"""Guards the privacy of a client whose wire keeps nothing unasked: translated to a wire that keeps every answer unless told not to, his talk is not kept, and its reasoning comes back all the same."""

from __future__ import annotations

from typing import Any

import pytest

from dragoman import Model, translate, wire
from dragoman.client.forward import Forward, written
from dragoman.dialect.model import BASE, Dialect
from dragoman.types import Note
from dragoman.wire import jsonio
from dragoman.wire.base import Exchange, Http

ASKED: dict[str, dict[str, Any]] = {
    "chat": {"model": "m", "messages": [{"role": "user", "content": "hi"}]},
    "messages": {"model": "m", "max_tokens": 9, "messages": [{"role": "user", "content": "hi"}]},
    "responses": {"model": "m", "input": "hi"},
    "completions": {"model": "m", "prompt": "hi"},
    "ollama": {"model": "m", "stream": False, "messages": [{"role": "user", "content": "hi"}]},
}
NOT_KEPT = ("chat", "messages", "completions", "ollama")
STATE = ["reasoning.encrypted_content"]


def sent(source: str, target: str, dialect: Dialect = BASE, **said: Any) -> tuple[dict[str, Any], tuple[Note, ...]]:
    http = Http(path="", body=jsonio.encode({**ASKED[source], **said}))
    there = translate.request(http, wire.find(source), wire.find(target), translate.Options(target=dialect))
    return jsonio.decode(there.http.body)[0], tuple(note for note in there.notes if note.path == ("store",))


def forwarded(source: str, model: str, **said: Any) -> dict[str, Any]:
    """What the server sends on: the same, with what is known of the model."""
    http = Http(path="", body=jsonio.encode({**ASKED[source], **said}))
    incoming = wire.find(source).decode_request(http, BASE, Exchange())
    ask = Forward(request=incoming.request, source=wire.find(source), exchange=incoming.exchange)
    with Model(f"openai/{model}#responses", env={"OPENAI_API_KEY": "k"}) as known:
        target = known.target
    assert target is not None
    return jsonio.decode(written(ask, target, wire=wire.find("responses"), strict=True).http.body)[0]


@pytest.mark.parametrize("source", NOT_KEPT)
def test_what_nobody_said_may_be_kept_is_not(source: str) -> None:
    body, notes = sent(source, "responses")
    reason = f"nothing is kept unasked on the {source} wire, and here it would be"
    assert (body["store"], notes) == (False, (Note(path=("store",), action="synthesised", reason=reason, loss=False),))


@pytest.mark.parametrize("said", [True, False])
def test_what_the_client_says_of_it_goes_as_he_said_it(said: bool) -> None:
    assert sent("chat", "responses", store=said) == ({"model": "m", "store": said, "input": ASKED_INPUT}, ())


ASKED_INPUT = [{"role": "user", "content": "hi"}]


def test_who_speaks_that_wire_knows_its_default() -> None:
    assert sent("responses", "responses") == (ASKED["responses"], ())


@pytest.mark.parametrize("target", NOT_KEPT)
@pytest.mark.parametrize("source", ["chat", "responses"])
def test_nothing_is_said_where_nothing_is_kept(source: str, target: str) -> None:
    body, notes = sent(source, target)
    assert ("store" in body, notes) == (False, ())


def test_a_server_that_refuses_the_word_is_not_told() -> None:
    body, notes = sent("messages", "responses", Dialect(unsupported=("store",)))
    assert ("store" in body, notes) == (False, ())


@pytest.mark.parametrize("source", NOT_KEPT)
@pytest.mark.parametrize(("model", "asks"), [("gpt-5", STATE), ("gpt-4o", None), ("of-nobody", None)])
def test_a_model_known_to_think_gives_its_state_since_nobody_keeps_it(
    source: str, model: str, asks: list[str] | None
) -> None:
    body = forwarded(source, model)
    assert (body["store"], body.get("include")) == (False, asks)


def test_who_has_it_kept_needs_no_state() -> None:
    assert "include" not in forwarded("chat", "gpt-5", store=True)


@pytest.mark.parametrize(
    ("said", "asks"),
    [({}, None), ({"store": True}, None), ({"store": False}, STATE), ({"store": False, "effort": "low"}, STATE)],
)
def test_our_own_client_says_what_it_was_told_and_asks_for_state_where_it_will_be_needed(
    said: dict[str, Any], asks: list[str] | None
) -> None:
    with Model("openai/gpt-5#responses", env={"OPENAI_API_KEY": "k"}) as model:
        body = model.plan("hi", **said).json
    assert (body.get("store"), body.get("include")) == (said.get("store"), asks)
