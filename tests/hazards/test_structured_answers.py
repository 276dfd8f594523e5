"""Guards STO-003, STO-005 and STO-006: what is read in an answer, what never is, and what only leave may mend."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from enum import Enum
from typing import Any, Literal, TypedDict

import msgspec
import pydantic
import pytest

from chat_script import chat_reply
from dragoman.client import Model, Structured
from dragoman.client.answer import mended, read
from dragoman.client.form import Misfit, form_of
from dragoman.errors import OutputError, RefusedError, TruncatedError, UsageError
from dragoman.types import Note
from origin import Answer, Origin
from work import lines

A = {"type": "object", "properties": {"a": {}}, "required": ["a"]}


def value(*texts: str, of: Any = A, **more: Any) -> Any:
    return read(texts, form_of(Structured(of=of, **more)))[0]


def why(*texts: str, of: Any = A, **more: Any) -> str:
    with pytest.raises(Misfit) as caught:
        read(texts, form_of(Structured(of=of, **more)))
    return str(caught.value)


@pytest.mark.case("STO-003")
@pytest.mark.parametrize(
    ("text", "found"),
    [
        ('```json\n{"a": "use ```json here"}\n```\nSee [1].', "use ```json here"),
        ('Result: {"a": 1}. Note [1].', 1),
        ('```bash\nls {a,b}\n```\n{"a": 2}', 2),
        ('  {"a": 3}\n', 3),
        ('\ufeff{"a": "你好 🙂"}', "你好 🙂"),
        ('{"b": 1}\n{"a": 4}', 4),
        ('function f() { return {x: 1} }\n{"a": {"a": 5}}', {"a": 5}),
        ('{"a": "}{"}', "}{"),
        ('{"a": "one\ntwo\tthree"}', "one\ntwo\tthree"),
        ('{"a": 6} and {"a": 7}', 6),
        ('{"a": 123456789012345678901234567890}', 123456789012345678901234567890),
    ],
)
def test_words_and_fences_around_the_value_are_passed_over(text: str, found: Any) -> None:
    assert value(text) == {"a": found}


@pytest.mark.case("STO-006")
@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", "it is empty"),
        ("I cannot say.", "there is no JSON in it"),
        ('{"a": 1,}', "invalid JSON"),
        ("{'a': None}", "there is no JSON in it"),
        ('{"a": NaN}', "NaN is no JSON"),
        ('{"a": 1, "a": 2}', "`a` is said twice"),
        ('{"a": {"a": 1}', "invalid JSON"),
        ('{"x": {"a": 1},}', "invalid JSON"),
        ('{"b": 1}', "missing `a`"),
        ('[{"b": 1}]', "missing `a`"),
        ("{" * 100_000, "there is no JSON in it"),
        ('{"a":' * 100_000, "nested too deep"),
    ],
)
def test_what_is_broken_is_not_mended_and_no_smaller_object_is_looked_for_within(text: str, says: str) -> None:
    assert says in why(text)


@pytest.mark.case("STO-006")
@pytest.mark.parametrize(
    ("text", "found"),
    [
        ('{"a": 1,}', 1),
        ('{"a": "line1\nline2"}', "line1\nline2"),
        ("{'a': None}", None),
        ("It's this: {'a': 'it\\'s \"so\"', }", 'it\'s "so"'),
        ('{"a": [True, False, NaN, -Infinity,],}', [True, False, None, None]),
        ('{"a": 1, "a": 2}', 2),
        ('{"a": "True, None, \'x\',}"}', "True, None, 'x',}"),
    ],
)
def test_with_leave_the_habits_of_weak_models_are_read(text: str, found: Any) -> None:
    assert value(text, repair=True) == {"a": found}


@pytest.mark.case("STO-006")
@pytest.mark.parametrize("text", ['{"a": 1', '{"a": "x', "{'a': [1, 2", '{"a": tru', '{"a": 1, "b": {"c": 2}'])
def test_mending_never_closes_what_was_cut_off(text: str) -> None:
    assert "invalid JSON" in why(text, repair=True)
    assert mended(text).count("}") == text.count("}")


def test_a_value_that_was_mended_is_flagged() -> None:
    with Origin(chat_reply('{"a": 1,}')) as origin, Model(f"{origin.url}/v1#chat:m", env={}) as model:
        outcome = model.outcome("x", output=Structured(of=A, repair=True))
        with pytest.raises(OutputError):
            model.outcome("x", output=A)
    reason = "the answer was mended before it was read: quotes, commas or words that JSON does not have"
    assert outcome.value == {"a": 1}
    assert outcome.notes[-1] == Note(path=("output",), action="substituted", reason=reason, loss=False)


def body(content: str | None, finish: str, **message: Any) -> Answer:
    choice = {"index": 0, "finish_reason": finish, "message": {"role": "assistant", "content": content, **message}}
    said = {"id": "c", "object": "chat.completion", "created": 1, "model": "m", "choices": [choice]}
    return Answer(headers={"content-type": "application/json"}, body=json.dumps(said).encode())


@pytest.mark.case("STO-005")
@pytest.mark.req("S4-08")
@pytest.mark.parametrize(
    ("answer", "kind", "code", "says"),
    [
        (body(None, "stop", refusal="no"), RefusedError, "content_filter", "the model did not answer: no"),
        (body('{"a": "x"}', "content_filter"), RefusedError, "content_filter", "the model did not answer"),
        (body('{"a": "x', "length"), TruncatedError, "limit", "the answer was cut off .*max_output"),
        (body('{"a": "x"}', "length"), TruncatedError, "limit", "the answer was cut off .*max_output"),
        (body("", "length"), TruncatedError, "limit", "the answer was cut off .*max_output"),
        (body('{"a": "x', "stop"), OutputError, "bad_shape", "invalid JSON"),
        (body("", "stop"), OutputError, "bad_shape", "the answer does not fit answer: it is empty"),
    ],
)
def test_why_it_stopped_comes_before_what_it_says(answer: Answer, kind: Any, code: str, says: str) -> None:
    output = Structured(of=A, invalid="move")  # not even then is a refusal or a cut asked again
    with Origin(answer) as origin, pytest.raises(OutputError, match=says) as caught:
        Model(f"{origin.url}/v1#chat:m", env={}).chat("x", output=output if kind is not OutputError else A)
    assert (type(caught.value), caught.value.code, len(origin.seen)) == (kind, code, 1)
    assert caught.value.reply.message.role == "assistant"


class Mood(Enum):
    GOOD = "good"
    BAD = "bad"


@dataclass
class Leaf:
    mood: Mood
    weight: float = 0.0


class Tree(msgspec.Struct):
    name: str
    leaves: list[Leaf] = []
    below: list[Tree] = []


class Typed(TypedDict, total=False):
    name: str
    kind: Literal["x", "y"]


class Person(pydantic.BaseModel):
    name: str
    age: int = pydantic.Field(ge=0)
    friends: list[Person] = []


@dataclass
class Holder:
    person: Person
    extra: dict[str, int] = field(default_factory=dict)


@pytest.mark.parametrize(
    ("of", "text", "found"),
    [
        (Leaf, '{"mood": "good", "weight": 1}', Leaf(Mood.GOOD, 1.0)),
        (Tree, '{"name": "a", "below": [{"name": "b"}]}', Tree("a", [], [Tree("b")])),
        (Typed, '{"name": "n", "kind": "x"}', {"name": "n", "kind": "x"}),
        (Person, '{"name": "P", "age": 1, "friends": [{"name": "Q", "age": 2}]}', Person(name="P", age=1, friends=[Person(name="Q", age=2)])),
        (Holder, '{"person": {"name": "P", "age": 1}, "extra": {"x": 1}}', Holder(Person(name="P", age=1), {"x": 1})),
        (list[Leaf], '{"value": [{"mood": "bad"}]}', [Leaf(Mood.BAD)]),
        (list[int], "Here: [1, 2]", [1, 2]),
        (int, "5", 5),
        (Mood, '{"value": "good"}', Mood.GOOD),
        (Leaf | None, '{"value": null}', None),
        ({"type": "array", "items": {"type": "integer"}}, '{"value": [1]}', [1]),
        ({"$ref": "#/$defs/X", "$defs": {"X": {"type": "integer"}}}, '{"value": 3}', 3),
    ],
)  # fmt: skip
def test_every_kind_of_type_is_asked_for_and_read(of: Any, text: str, found: Any) -> None:
    form = form_of(of)
    assert form.schema["type"] == "object"
    assert form.name.replace("_", "").isalnum()
    refs = set(json.dumps(form.schema).split('"$ref": "#/$defs/')[1:])
    assert {ref.partition('"')[0] for ref in refs} <= set(form.schema.get("$defs", {}))
    assert value(text, of=of) == found


@pytest.mark.parametrize(
    ("of", "text", "says"),
    [
        (Leaf, '{"mood": "so-so"}', "so-so"),
        (Leaf, '{"mood": "good", "weight": "heavy"}', "weight"),
        (Person, '{"name": "P", "age": -1}', "age: "),
        (Holder, '{"person": {"name": 5, "age": 1}}', "name: "),
        (list[int], '["x"]', "int"),
        ({"type": "array", "items": {"type": "integer"}}, '["x"]', "expected integer"),
    ],
)
def test_what_does_not_fit_is_told_with_its_place(of: Any, text: str, says: str) -> None:
    assert says in why(text, of=of)


def test_what_json_cannot_hold_is_told() -> None:
    with pytest.raises(UsageError, match="no JSON Schema"):
        form_of(complex)


@pytest.mark.parametrize("piece", ["{", '{"', '{"a":[', "[", '{"b":1,}', "```json\n", '{"b":1}', "'", ",]"])
def test_reading_is_linear(piece: str) -> None:
    """Ten times the text takes ten times the steps: lines run are counted, so no clock has a say."""

    def taken(count: int) -> int:
        return lines(lambda: why(piece * count, repair=True))

    assert taken(3000) < 15 * max(taken(300), 1000)
