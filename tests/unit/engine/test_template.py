"""Guards S1-55 to S1-59 and S1-66: a model's own template says what its makers meant, and cannot harm who runs it."""

from __future__ import annotations

import json
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest

from dragoman.engine import budget
from dragoman.engine.capable import thought
from dragoman.engine.template import Template, of_file
from dragoman.errors import ApiError, UsageError
from unit.engine.templates import NAMES, RENDERED, oracle, template

NOW = datetime(*oracle.NOW)
USER = {"role": "user", "content": "hi"}


DOUBLED = "{% set ns = namespace(a=['x'], b=['x']) %}{% for i in range(40) %}{% set ns.a = [ns.a, ns.a] %}{% set ns.b = [ns.b, ns.b] %}{% endfor %}"


def rendered(source: str, messages: list[Any] | None = None, **variables: Any) -> str:
    return Template(source).render(messages or [USER], now=NOW, variables=variables)


@pytest.mark.req("S1-55", "S1-66")
@pytest.mark.parametrize("name", NAMES)
def test_public_templates_come_out_as_transformers_renders_them(name: str) -> None:
    made = template(name)
    said: dict[str, str | None] = {}
    for conversation, (messages, tools) in oracle.CONVERSATIONS.items():
        turns = [{**turn, **thought(turn["reasoning"])} if "reasoning" in turn else turn for turn in messages]
        try:
            said[conversation] = made.render(turns, tools, now=NOW)
        except ApiError:
            said[conversation] = None
    assert said == RENDERED[name]


def test_more_than_a_dozen_families_are_compared_with_and_without_tools() -> None:
    assert len(NAMES) == len(RENDERED) >= 12
    for said in RENDERED.values():
        assert said["one turn"] and said["results"]


@pytest.mark.req("S1-66")
def test_json_is_printed_in_its_own_order_and_unescaped() -> None:
    assert rendered("{{ x | tojson }}", x={"乙": "<a>&'", "a": 1}) == '{"乙": "<a>&\'", "a": 1}'
    assert rendered("{{ x | tojson(indent=1) }}", x={"a": [1]}) == '{\n "a": [\n  1\n ]\n}'


def test_the_time_is_the_one_that_was_passed() -> None:
    assert rendered("{{ strftime_now('%d %b %Y %H:%M') }}") == "02 Jan 2026 03:04"


def test_marks_for_training_and_loop_controls_are_understood() -> None:
    source = "{% for m in 'abc' %}{% if m == 'b' %}{% continue %}{% endif %}{% generation %}{{ m }}{% endgeneration %}{% endfor %}"
    assert rendered(source) == "ac"


@pytest.mark.case("TPL-005")
def test_what_a_template_refuses_is_the_callers_fault_in_its_words_with_the_place() -> None:
    source = "{% for m in messages %}{% if not loop.first and m.role == loop.previtem.role %}{{ raise_exception('roles must alternate') }}{% endif %}{% endfor %}"
    turns = [USER, {"role": "assistant", "content": "x"}, {"role": "assistant", "content": "y"}, USER]
    with pytest.raises(ApiError) as caught:
        rendered(source, turns)
    error = caught.value
    assert (error.code, error.status, error.retryable) == ("invalid_request", 400, False)
    assert str(error) == "chat template: messages[2]: roles must alternate"


@pytest.mark.parametrize(
    "source",
    [
        "{% for a in range(99999) %}{% for b in range(99999) %}{% endfor %}{% endfor %}",
        "{{ 'a' * 10 ** 12 }}",
        "{{ 10 ** (10 ** 10) }}",
        "{% set ns = namespace(x='ab') %}{% for i in range(60) %}{% set ns.x = ns.x ~ ns.x %}{% endfor %}",
        "{% set ns = namespace(x='ab') %}{% for i in range(60) %}{% set ns.x = ns.x + ns.x %}{% endfor %}",
        "{% set ns = namespace(x='ab') %}{% for i in range(60) %}{% set ns.x = ns.x | replace('a', ns.x) %}{% endfor %}",
        "{% set ns = namespace(x='ab') %}{% for i in range(60) %}{% set ns.x = ns.x.replace('a', ns.x) %}{% endfor %}",
        "{{ 'a'.ljust(10 ** 12) }}",
        "{{ 'a\nb' | indent(width=10 ** 12) }}",
        "{% set b = 'a' * 1000000 %}{% for i in range(99999) %}{{ 'b' in b }}{{ b == b }}{% endfor %}",
        "{% set b = 'a' * 1000000 %}{% for i in range(99999) %}{% set c = b[1:] %}{% endfor %}",
        "{% set b = 'a' * 1000000 %}{{ ([b] * 1000) | join }}",
        "{% set b = 'a' * 1000000 %}{{ b.join(['a'] * 1000) }}",
        "{% set b = 'a' * 1000000 %}{{ b.join(['a'] * 1000 | map('string')) }}",
        "{% for i in range(99999) %}{% set b %}" + "a" * 9999 + "{% endset %}{% endfor %}",
        "{% macro m() %}" + "a" * 9999 + "{% endmacro %}{% for i in range(99999) %}{% set b = m() %}{% endfor %}",
        "{% for i in 'abc' * 9999 recursive %}{% if loop.depth < 2 %}{{ loop(range(99999)) }}{% endif %}{% endfor %}",
        "{{ (10 ** 4000 * 10 ** 4000) // 3 }}",
        "{{ '{:{w}}'.format(1, w=10 ** 12) }}",
        "{{ '%*d' % (10 ** 12, 1) }}",
        "{{ [1] | tojson(indent=10 ** 9) }}",
        "{{ '%999999999999d' | format(1) }}",
        "{{ '%999999999999d' % 1 }}",
        "{{ '{:>999999999999}'.format(1) }}",
        "{% macro m() %}{{ m() }}{% endmacro %}{{ m() }}",
        "{% for m in messages recursive %}{{ loop(messages) }}{% endfor %}",
    ],
)
def test_a_template_that_runs_away_is_stopped(source: str) -> None:
    with pytest.raises(ApiError) as caught:
        Template(source).render([USER], now=NOW, work=3_000_000)
    assert (caught.value.code, caught.value.retryable) == ("invalid_request", False)


@pytest.mark.parametrize("use", ["{{ ns.a | tojson }}", "{{ ns.a }}", "{{ ns.a | string }}", "{{ ns.a == ns.b }}"])
def test_a_list_that_holds_itself_forty_times_over_is_walked_no_further_than_is_paid(
    use: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    walked: list[int] = []
    monkeypatch.setattr(budget, "pay", lambda price, pay=budget.pay: (walked.append(price), pay(price)))
    made = Template(DOUBLED + use)
    with pytest.raises(ApiError, match="more steps"):
        made.render([USER], now=NOW, work=10_000)
    assert len(walked) < 10_000


def test_what_a_filter_or_a_method_makes_without_a_price_is_not_there() -> None:
    for source in (
        "{{ [1] | batch(10 ** 9) }}",
        "{{ 'a' | center(9) }}",
        "{{ [1, 2] | random }}",
        "{{ 1.5 | round(9) }}",
    ):
        with pytest.raises(UsageError, match="No filter named"):
            Template(source)
    for source in ("{{ 'a'.encode().ljust(9) }}", "{{ (1).to_bytes(9, 'big') }}", "{{ 'a'.translate({97: 'bb'}) }}"):
        with pytest.raises(ApiError, match="not safely callable"):
            rendered(source)


def test_a_template_that_needs_much_for_two_messages_is_found_out_by_little() -> None:
    made = Template("{% for i in range(99999) %}{% for i in range(99999) %}{% endfor %}{% endfor %}")
    with pytest.raises(ApiError, match="more steps"):
        made.render([USER], now=NOW, work=1_000)


@pytest.mark.parametrize(
    "source",
    [
        "{{ messages.__class__.__mro__[1].__subclasses__() }}",
        "{{ messages.append({'role': 'user', 'content': 'x'}) }}",
        "{{ raise_exception.__globals__.x }}",
        "{{ dict.__globals__['x'] }}",
        "{{ self.__init__.__globals__ }}",
        "{{ cycler.__init__.__globals__ }}",
        "{% set ns = namespace() %}{% set ns.__class__ = 1 %}",
        "{{ lipsum.__globals__ }}",
        "{% include '/etc/passwd' %}",
        "{{ ''.format_map }}{{ '{0.__class__.__mro__}'.format(messages) }}",
        "{{ undefined.x.y }}",
        "{{ 1 / 0 }}",
        "{{ messages[0] + 1 }}",
    ],
)
def test_a_template_reaches_nothing_but_what_it_was_given(source: str) -> None:
    with pytest.raises(ApiError) as caught:
        rendered(source)
    assert caught.value.code == "invalid_request"


def test_the_callers_messages_stay_as_they_are() -> None:
    turns = [{"role": "user", "content": ["a"]}]
    with pytest.raises(ApiError):
        rendered("{% set _ = messages[0].content.append('b') %}", turns)
    assert turns == [{"role": "user", "content": ["a"]}]


def test_variables_do_not_replace_the_conversation() -> None:
    assert rendered("{{ messages[0].content }}{{ x }}", messages=[USER], x=1) == "hi1"
    assert Template("{{ messages[0].content }}").render([USER], now=NOW, variables={"messages": []}) == "hi"


@pytest.mark.parametrize(
    "source",
    [
        "{% for %}",
        "{{ x",
        "{% unknown %}",
        "a" * 1_000_001,
        "{% break %}",
        "{% for i in x %}" * 30 + "{% endfor %}" * 30,
        "{{ f(a=1, a=2) }}",
        "{{ " + "1" * 5000 + " }}",
        "{{ " + "(" * 9999 + ")" * 9999 + " }}",
    ],
)
def test_what_is_no_template_is_said_when_it_is_loaded(source: str) -> None:
    with pytest.raises(UsageError) as caught:
        Template(source)
    assert caught.value.code == "unknown_model"
    assert "\n" not in str(caught.value)


@pytest.mark.req("S1-55")
def test_a_tokenizers_configuration_holds_template_and_tokens(tmp_path: Path) -> None:
    path = tmp_path / "tokenizer_config.json"
    named = [{"name": "default", "template": "d"}, {"name": "tool_use", "template": "{{ bos_token }}t{{ eos_token }}"}]
    path.write_text(json.dumps({"chat_template": named, "bos_token": "<b>", "eos_token": {"content": "<e>"}}), "utf-8")
    assert of_file(path).render([], now=NOW) == "<b>t<e>"
    plain = tmp_path / "chat_template.jinja"
    plain.write_text("{{ messages[0].content }}", "utf-8")
    assert of_file(plain).render([USER], now=NOW) == "hi"


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"chat_template": 1}', '{"chat_template": []}', "[" * 100_000])
def test_a_configuration_without_a_template_is_a_clear_error(text: str, tmp_path: Path) -> None:
    path = tmp_path / "tokenizer_config.json"
    path.write_text(text, "utf-8")
    with pytest.raises(UsageError) as caught:
        of_file(path)
    assert str(path) in str(caught.value)
