"""Guards what people are told when a service refuses or cannot be reached, and that no key is in it."""

from __future__ import annotations

import gzip
import json
import socket

import pytest

from chat_script import JSON, SSE, chat_reply
from dragoman.catalog.target import Target
from dragoman.client import Model
from dragoman.errors import ApiError, DragomanError, RemoteError, TransportError, UsageError
from dragoman.testing.clock import FakeClock
from dragoman.transport.base import Limits
from dragoman.types import Failure, Request, assistant, system, user
from origin import HOLD, Answer, Origin

KEY = "sk-secret"


def asked(*answers: Answer, spec: str = "openai/gpt-5", limits: Limits | None = None) -> tuple[DragomanError, str]:
    """The error of one call, and where the service was."""
    with Origin(*answers) as origin:
        env = {"OPENAI_API_KEY": KEY, "ZAI_API_KEY": KEY}
        env |= dict.fromkeys(("OPENAI_BASE_URL", "ZAI_BASE_URL"), f"{origin.url}/v1")
        with Model(spec.replace("URL", origin.url), env=env, limits=limits or Limits(), retry=0) as model:
            with pytest.raises(DragomanError) as caught:
                model.chat("hi")
            with pytest.raises(DragomanError) as streamed:
                list(model.stream("hi"))
    assert str(streamed.value) == str(caught.value)
    assert KEY not in f"{caught.value} {caught.value!r} {vars(caught.value)}"
    assert "\n" not in caught.value.message
    return caught.value, origin.url


@pytest.mark.req("S0-67")
@pytest.mark.req("S0-15")
def test_a_refusal_shows_500_characters_of_the_body() -> None:
    error, _ = asked(Answer(status=400, body="错".encode() * 2000))
    assert isinstance(error, ApiError)
    assert error.message == "OpenAI API error 400: " + "错" * 500
    assert (error.code, error.status, error.retryable) == ("invalid_request", 400, False)
    assert asked(Answer(status=400, body=b"x"), spec="z.ai/glm")[0].message == "Z.ai API error 400: x"


@pytest.mark.req("S0-67")
def test_the_500_characters_are_counted_after_decoding_and_taking_the_keys_out() -> None:
    packed = gzip.compress(f"{'错' * 495} {KEY} {'错' * 600}".encode())
    error, _ = asked(Answer(status=400, headers={"content-encoding": "gzip"}, body=packed))
    assert error.message == f"OpenAI API error 400: {'错' * 495} *** "
    chinese = {"content-type": "text/plain; charset=gb18030"}
    error, _ = asked(Answer(status=400, headers=chinese, body=("余额不足" * 200).encode("gb18030")))
    assert error.message == f"OpenAI API error 400: {'余额不足' * 125}"
    error, _ = asked(Answer(status=400, headers={"content-type": "text/plain; charset=none-such"}, body="é".encode()))
    assert error.message == "OpenAI API error 400: é"


@pytest.mark.req("S0-68", "S0-69")
def test_what_the_words_mean_is_said_after_them_and_kept_beside_them() -> None:
    body = b'{"error": {"message": "The requested model \'gpt-5\' does not exist.", "code": "model_not_found"}}'
    error, url = asked(Answer(status=400, headers=JSON, body=body))
    assert isinstance(error, ApiError) and error.explanation is not None
    assert error.message == f"OpenAI API error 400: {body.decode()} — {error.explanation}"
    assert (error.explanation.name, error.explanation.path) == ("unknown-model", ("model",))
    assert error.explanation.fix == f"check the model id gpt-5 and the base URL {url}/v1 (OPENAI_BASE_URL)"
    assert error.detail.message == "The requested model 'gpt-5' does not exist."
    error, _ = asked(Answer(status=401, headers=JSON, body=b'{"error": {"message": "Incorrect API key provided"}}'))
    assert error.message.endswith(" — the service does not know this key: check OPENAI_API_KEY")


def test_a_stream_that_fails_says_what_its_words_mean_once() -> None:
    said = {"error": {"message": "prompt is too long: 9 tokens > 5 maximum", "type": "invalid_request_error"}}
    body = [b"data: " + json.dumps(said).encode() + b"\n\n"]
    with Origin(Answer(headers=SSE, body=body)) as origin, Model(f"{origin.url}/v1#chat:m", env={}) as model:
        *_, last = model.stream("hi")
        with pytest.raises(ApiError) as caught:
            model.chat(Request(messages=(user("hi"),), stream=True))
    assert isinstance(last, Failure) and last.code == "context_overflow"
    assert last.message.startswith("prompt is too long: 9 tokens > 5 maximum — the conversation is longer than")
    assert caught.value.message.endswith(f"API error: {last.message}")
    assert caught.value.explanation is not None and caught.value.explanation.name == "overflow"
    assert caught.value.message.count("cut or summarise it") == 1


def test_the_place_is_the_one_in_your_conversation() -> None:
    said = b'{"error": {"message": "messages.2.content.0: text content blocks must be non-empty"}}'
    turns = [system("Be brief."), user("hi"), assistant("ho"), user("last")]
    with (
        Origin(Answer(status=400, headers=JSON, body=said)) as origin,
        Model(f"{origin.url}/v1#messages:m", env={}) as model,
        pytest.raises(ApiError) as caught,
    ):
        model.chat(turns)
    assert caught.value.explanation is not None and caught.value.explanation.path == ("messages", 3, "content", 0)
    assert "a message says nothing (messages[3].content[0])" in caught.value.message


@pytest.mark.req("S0-68")
@pytest.mark.req("S0-69")
def test_a_status_may_bring_a_hint_beside_the_services_own_words() -> None:
    error, _ = asked(Answer(status=401, headers=JSON, body=b'{"error": {"message": "No such key"}}'))
    assert error.message == 'OpenAI API error 401: {"error": {"message": "No such key"}} — check OPENAI_API_KEY'
    assert error.code == "auth"
    error, url = asked(Answer(status=404, body=b"y" * 600))
    hint = f"check the model id gpt-5 and the base URL {url}/v1 (OPENAI_BASE_URL)"
    assert error.message == f"OpenAI API error 404: {'y' * 500} — {hint}"
    error, url = asked(Answer(status=404, body=b"nope"), spec="URL/v9#chat:mine")
    host = url.removeprefix("http://")
    assert error.message == f"{host} API error 404: nope — check the model id mine and the base URL {url}/v9"


@pytest.mark.req("S0-67")
def test_a_body_that_cannot_be_read_counts_as_empty() -> None:
    error, _ = asked(Answer(status=503, body=[b"half"], cut=True))
    assert error.message == "OpenAI API error 503: "
    assert (error.code, isinstance(error, ApiError) and error.retryable) == ("overloaded", True)


def test_a_success_without_a_body_is_an_error() -> None:
    with Origin(Answer(status=200)) as origin, pytest.raises(ApiError, match="API error 200: the answer has no body"):
        Model(f"{origin.url}/v1#chat:m", env={}, retry=0).chat("hi")


def test_a_key_that_a_service_quotes_is_taken_out() -> None:
    error, _ = asked(Answer(status=401, headers=JSON, body=f'{{"error": "bad key {KEY}"}}'.encode()))
    assert error.message == 'OpenAI API error 401: {"error": "bad key ***"} — check OPENAI_API_KEY'


def test_no_hint_and_no_field_of_an_error_holds_a_key() -> None:
    said = f'{{"error": {{"message": "no {KEY}", "param": "{KEY}", "type": "{KEY}", "code": "{KEY}", "status": 400}}}}'
    for status in (400, 200):
        with (
            Origin(Answer(status=status, headers=JSON, body=said.encode())) as origin,
            Model("openai/gpt-5", env={"OPENAI_API_KEY": KEY, "OPENAI_BASE_URL": origin.url}) as model,
            pytest.raises(ApiError) as told,
        ):
            model.chat("hi")
        assert KEY not in f"{told.value} {told.value.detail}" and told.value.detail.message == "no ***"
    with Origin(Answer(status=404)) as origin:
        base_url = origin.url.replace("//", "//me:p4ssw0rd@") + "/v1"
        target = Target(provider="p", label="P", wire="chat", model="m", base_url=base_url)
        with Model(target, env={}) as model, pytest.raises(ApiError) as caught:
            model.chat("hi")
    assert caught.value.message.endswith(f" — check the model id m and the base URL {origin.url}/v1")


def test_what_a_service_says_with_its_refusal_is_kept() -> None:
    body = b'{"error": {"message": "slow down", "code": "insufficient_quota"}}'
    error, _ = asked(Answer(status=429, headers={**JSON, "Retry-After": "7"}, body=body))
    assert isinstance(error, ApiError)
    assert (error.code, error.detail.retry_after, error.detail.vendor_code) == ("quota", 7.0, "insufficient_quota")
    assert error.retryable is False


@pytest.mark.parametrize("status", [301, 302, 307, 308])
def test_a_redirect_is_not_followed(status: int) -> None:
    with Origin(chat_reply()) as other:
        error, _ = asked(Answer(status=status, headers={"location": f"{other.url}/v1/chat/completions"}))
    assert error.message.startswith(
        f"OpenAI API error {status}:  — redirects are not followed, for a key must not go where"
    )
    assert "check the base URL http://127.0.0.1:" in error.message
    assert other.seen == []


def test_a_refused_connection_names_the_address() -> None:
    with socket.socket() as taken:  # bound, not listening: the port is closed and stays so
        taken.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{taken.getsockname()[1]}/v1"
        with pytest.raises(TransportError) as caught, Model(f"{url}?token=t0p#chat:m", env={}, retry=0) as model:
            model.chat("hi")
    assert caught.value.code == "network"
    assert caught.value.message.startswith(f"cannot connect to {url}/chat/completions: ")
    assert caught.value.message.endswith("; check that the server runs and that the base address is right")


def test_a_silent_service_is_a_timeout() -> None:
    with Origin(Answer(body=[HOLD])) as origin:
        limits = Limits(idle=0.05)
        with (
            Model(f"{origin.url}/v1#chat:m", env={}, limits=limits, retry=0) as model,
            pytest.raises(TransportError) as caught,
        ):
            model.chat("hi")
    assert (caught.value.code, caught.value.message) == (
        "timeout",
        f"{origin.url}/v1/chat/completions was silent for 0.05 s; if the model needs longer, raise Limits(idle=…)",
    )


def test_an_answer_beyond_the_limit_is_refused() -> None:
    with Origin(chat_reply("x" * 500)) as origin:
        limits = Limits(body=400)
        with Model(f"{origin.url}/v1#chat:m", env={}, limits=limits) as model, pytest.raises(RemoteError) as caught:
            model.chat("hi")
    assert (caught.value.code, caught.value.message) == (
        "too_large",
        "the answer has more than 400 bytes: raise Limits(body=…) to read it",
    )


def test_an_answer_that_is_no_reply_is_our_error() -> None:
    with Origin(Answer(headers=JSON, body=b"<html>")) as origin, pytest.raises(RemoteError) as caught:
        Model(f"{origin.url}/v1#chat:m", env={}).chat("hi")
    assert caught.value.code == "bad_json"


def test_an_unknown_option_is_refused_with_the_one_that_was_meant() -> None:
    model = Model("ollama/m", env={})
    with pytest.raises(UsageError, match="unknown option 'max_tokens': did you mean max_output"):
        model.chat("hi", max_tokens=5)  # type: ignore[call-arg]
    with pytest.raises(UsageError, match=r"messages\[0\] is str"):
        model.chat(["hi", "ho"])  # type: ignore[arg-type]


@pytest.mark.req("S0-68")
def test_a_page_instead_of_an_answer_says_where_it_came_from_and_what_to_check() -> None:
    page = Answer(headers={"content-type": "text/html"}, body=f"<html>\n{KEY}</html>".encode())
    with Origin(page) as origin:
        env = {"OPENAI_API_KEY": KEY, "OPENAI_BASE_URL": f"{origin.url}/v1"}
        with Model("openai/gpt-5", env=env, retry=0) as model:
            with pytest.raises(RemoteError) as caught:
                model.chat("hi")
            *_, last = model.stream("hi")
    hint = f"check the base URL {origin.url}/v1 (OPENAI_BASE_URL)"
    assert isinstance(last, Failure)
    assert last.message == f"OpenAI API: the answer 200 is a page of HTML, no stream — {hint}"
    assert caught.value.message.startswith("OpenAI API: the answer 200 cannot be read: Expecting value")
    assert caught.value.message.endswith(f": <html> ***</html> — {hint}")


@pytest.mark.req("S0-66")
def test_an_error_inside_a_success_says_whose_it_is() -> None:
    with (
        Origin(Answer(headers=JSON, body=b'{"error": {"message": "no"}}')) as origin,
        pytest.raises(ApiError) as caught,
    ):
        Model(f"{origin.url}/v1#chat:m", env={}, retry=0).chat("hi")
    assert caught.value.message == f"{origin.url.removeprefix('http://')} API error: no"
    assert caught.value.detail.message == "no"


@pytest.mark.parametrize(
    ("key", "status"), [("1", 200), ("e", 200), (":", 200), ("12345678", 200), ("1", 400), ("e", 400), (":", 400)]
)
def test_a_key_that_is_a_usual_word_or_number_spoils_no_error(key: str, status: int) -> None:
    said = b'{"error": {"message": "seen 1 time: e", "count": 12345678}}'
    with Origin(Answer(status=status, headers=JSON, body=said)) as origin:
        env = {"OPENAI_API_KEY": key, "OPENAI_BASE_URL": f"{origin.url}/v1"}
        with Model("openai/gpt-5", env=env, retry=0) as model, pytest.raises(ApiError) as caught:
            model.chat("hi")
    assert caught.value.detail.message == "seen 1 time: e"


class Ticking(FakeClock):
    """Six seconds pass with every look at it."""

    def now(self) -> float:
        self.advance(6)
        return super().now()


def test_a_refusal_that_trickles_is_not_waited_for_for_ever() -> None:
    limits = Limits(progress=None)
    with (
        Origin(Answer(status=400, body=[b"x", HOLD])) as origin,
        Model(f"{origin.url}/v1#chat:m", env={}, retry=0, clock=Ticking(), limits=limits) as model,
        pytest.raises(ApiError) as caught,
    ):
        model.chat("hi")
    assert caught.value.message.endswith(" API error 400: x")
