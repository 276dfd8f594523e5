"""Guards what a typed function becomes as a tool: its schema, the check of arguments, and that a failure is a result."""

from __future__ import annotations

import asyncio
import dataclasses
from enum import Enum
from typing import Annotated, Any, Literal, Optional, TypedDict

import msgspec
import pytest

from dragoman.errors import UsageError
from dragoman.tools import ToolError, ToolOutput, Traits, tool
from dragoman.transport.cancel import CancelToken
from dragoman.types import Json, Text, Tool


@dataclasses.dataclass
class Place:
    """A place."""

    city: str
    tags: list[str] = dataclasses.field(default_factory=list[str])


class Point(msgspec.Struct):
    x: float
    y: float = 0


@tool
def look(
    path: Annotated[str, "Where to look"],
    depth: int = 2,
    kinds: list[Literal["file", "folder"]] | None = None,
    exact: bool = False,
    near: Point = Point(x=1),  # noqa: B008
    places: tuple[Place, ...] = (),
    extra: Optional[dict[str, float]] = None,  # noqa: UP045
) -> dict[str, Any]:
    """Look at a folder.

    Call it when you do not know its files.
    """
    return {"path": path, "depth": depth, "kinds": kinds, "exact": exact, "near": near, "places": places}


def text(of: ToolOutput) -> str:
    (block,) = of.content
    assert isinstance(block, Text)
    return block.text


@pytest.mark.req("S0-55")
def test_a_signature_is_a_schema() -> None:
    place = {"type": "object", "title": "Place", "description": "A place.", "required": ["city"]}
    tags = {"type": "array", "items": {"type": "string"}}
    x_and_y = {"x": {"type": "number"}, "y": {"type": "number", "default": 0}}
    assert look.definition == Tool(
        name="look",
        description="Look at a folder.\n\nCall it when you do not know its files.",
        parameters={
            "type": "object",
            "properties": {
                "path": {"type": "string", "description": "Where to look"},
                "depth": {"type": "integer", "default": 2},
                "kinds": {"type": "array", "items": {"enum": ["file", "folder"]}},
                "exact": {"type": "boolean", "default": False},
                "near": {"$ref": "#/$defs/Point", "default": {"x": 1, "y": 0}},
                "places": {"type": "array", "items": {"$ref": "#/$defs/Place"}, "default": []},
                "extra": {"type": "object", "additionalProperties": {"type": "number"}},
            },
            "required": ["path"],
            "$defs": {
                "Place": {**place, "properties": {"city": {"type": "string"}, "tags": tags}},
                "Point": {"title": "Point", "type": "object", "properties": x_and_y, "required": ["x"]},
            },
        },
    )


@pytest.mark.req("S0-52")
def test_the_function_itself_is_not_in_what_is_sent() -> None:
    assert set(msgspec.to_builtins(look.definition)) == {"type", "name", "description", "parameters"}


@pytest.mark.req("S0-55")
def test_no_parameters_are_an_empty_object() -> None:
    @tool
    def now() -> str:
        """Tell the time."""
        return "noon"

    assert now.definition.parameters == {"type": "object", "properties": {}}
    assert text(now.invoke({})) == "noon"


@pytest.mark.req("S1-29")
def test_defaults_are_filled_and_values_are_of_their_types() -> None:
    out = look.invoke({"path": "说明", "places": [{"city": "北京"}], "near": {"x": 3}})
    value = '{"path":"说明","depth":2,"kinds":null,"exact":false,"near":{"x":3.0,"y":0},"places":[{"city":"北京","tags":[]}]}'
    assert out == ToolOutput(content=(Json(value=value),))


@pytest.mark.req("S1-24")
@pytest.mark.req("S1-25")
@pytest.mark.req("S1-26")
@pytest.mark.req("S1-28")
@pytest.mark.parametrize(
    ("arguments", "fault"),
    [
        ({}, "missing `path`"),
        ({"path": None}, "`path`: expected `str`, got `null`"),
        ({"path": "a", "depth": "4"}, "`depth`: expected `int`, got `str`"),
        ({"path": "a", "depth": True}, "`depth`: expected `int`, got `bool`"),
        ({"path": "a", "places": {"city": "x"}}, "`places`: expected `array`, got `object`"),
        ({"path": "a", "places": [{"city": 1}]}, "`places[0].city`: expected `str`, got `int`"),
        ({"path": "a", "near": {}}, "`near`: object missing required field `x`"),
        ({"path": "a", "extra": {"k": "v"}}, "`extra[...]`: expected `float`, got `str`"),
        ({"path": "a", "kinds": ["link"]}, "`kinds[0]`: invalid enum value 'link', expected what fits"),
        ({"path": "a", "dept": 1}, "unknown `dept` (did you mean `depth`? known: `path`, `depth`, `kinds`"),
        (
            {"dept": "1", "depth": "2"},
            "missing `path`; unknown `dept` (did you mean `depth`? known: `path`, `depth`, `kinds`",
        ),
    ],
)
def test_what_does_not_fit_never_runs_and_each_fault_is_named(arguments: dict[str, Any], fault: str) -> None:
    out = look.invoke(arguments)
    assert out.is_error
    assert text(out).startswith(f"invalid arguments for `look`, not executed: {fault}")
    assert text(out).endswith("Correct them and call `look` again.")
    assert asyncio.run(look.ainvoke(arguments)) == out


@pytest.mark.req("S4-27")
@pytest.mark.req("S0-49")
@pytest.mark.parametrize(
    ("error", "told"),
    [
        (ValueError("no such city"), "ValueError: no such city"),
        (ToolError("README.md 不存在"), "README.md 不存在"),
        (StopIteration(), "StopIteration"),
        (ExceptionGroup("two", [ValueError("a")]), "ExceptionGroup: two (1 sub-exception)"),
    ],
)
def test_what_a_tool_raises_is_told_to_the_model(error: Exception, told: str) -> None:
    @tool
    def fail() -> None:
        """Fail."""
        raise error

    @tool
    async def afail() -> None:
        """Fail."""
        raise error

    expected = ToolOutput(content=(Text(text=told),), is_error=True)
    assert fail.invoke({}) == asyncio.run(fail.ainvoke({})) == expected
    if not isinstance(error, StopIteration):  # a coroutine cannot raise that one
        assert afail.invoke({}) == asyncio.run(afail.ainvoke({})) == expected


def test_a_huge_message_is_cut() -> None:
    @tool
    def boom() -> None:
        """Fail at length."""
        raise RuntimeError("x" * 100_000)

    assert len(text(boom.invoke({}))) < 2100


@pytest.mark.parametrize("stop", [KeyboardInterrupt, SystemExit])
def test_an_interrupt_is_no_result(stop: type[BaseException]) -> None:
    @tool
    def halt() -> None:
        """Stop."""
        raise stop

    with pytest.raises(stop):
        halt.invoke({})


def test_an_async_tool_in_a_sync_call_inside_a_loop_says_what_to_do() -> None:
    @tool
    async def slow() -> str:
        """Be slow."""
        return "done"

    async def inside() -> None:
        with pytest.raises(UsageError, match=r"await agent\.arun\(\)"):
            slow.invoke({})

    asyncio.run(inside())
    assert text(slow.invoke({})) == "done"


def test_no_docstring_warns() -> None:
    def bare(x: int) -> int:
        return x

    with pytest.warns(UserWarning, match="tool 'bare' has no docstring") as caught:
        tool(bare)
    assert caught[0].filename == __file__


def test_a_name_and_a_description_can_be_said() -> None:
    @tool(name="other", description="Otherwise.")
    def bare(x: int) -> int:
        return x

    assert (bare.definition.name, bare.definition.description) == ("other", "Otherwise.")


class Strange:
    pass


def no_hint(x) -> None: ...  # type: ignore
def spread(*x: int) -> None: ...
def keywords(**x: int) -> None: ...
def placed(x: int, /) -> None: ...
def strange(x: Strange) -> None: ...
def unknown(x: Nowhere) -> None: ...  # type: ignore  # noqa: F821


@pytest.mark.parametrize(
    ("function", "why"),
    [
        (no_hint, "parameter 'x' needs a type annotation"),
        (spread, "parameter 'x' has no name a model could use"),
        (keywords, "parameter 'x' has no name a model could use"),
        (placed, "parameter 'x' has no name a model could use"),
        (strange, "parameter 'x': type .*Strange'> is not supported"),
        (unknown, "an annotation cannot be read: name 'Nowhere' is not defined"),
        (lambda: None, "a tool needs a name"),
    ],
)
def test_what_cannot_be_described_is_refused_at_once(function: Any, why: str) -> None:
    with pytest.raises(UsageError, match=why):
        tool(description="x")(function)


def test_two_types_of_one_name_stay_two() -> None:
    def other() -> type[Any]:
        @dataclasses.dataclass
        class Place:
            street: str

        return Place

    def meet(one: Place, two: other()) -> str:  # type: ignore
        """Meet."""
        return f"{one} {two}"

    meet.__annotations__ = {"one": Place, "two": other()}
    schema = tool(meet).definition.parameters or {}
    one, two = (schema["properties"][name]["$ref"].removeprefix("#/$defs/") for name in ("one", "two"))
    assert list(schema["$defs"][one]["properties"]) == ["city", "tags"]
    assert list(schema["$defs"][two]["properties"]) == ["street"]


class Level(Enum):
    LOW = "low"
    HIGH = "high"


class Line(TypedDict, total=False):
    text: str
    level: Level


def test_typed_dicts_enums_and_unions_are_schemas_and_values() -> None:
    @tool
    def write(line: Line, to: int | str | None, level: Level = Level.LOW) -> dict[str, Any]:
        """Write."""
        return {"line": line, "to": to, "level": level, "is": isinstance(level, Level)}

    parameters = write.definition.parameters or {}
    assert parameters["properties"]["to"] == {"anyOf": [{"type": "integer"}, {"type": "string"}, {"type": "null"}]}
    assert parameters["properties"]["level"] == {"$ref": "#/$defs/Level", "default": "low"}
    assert parameters["required"] == ["line", "to"]
    out = write.invoke({"line": {"text": "好", "level": "high"}, "to": None})
    assert out == ToolOutput(
        content=(Json(value='{"line":{"text":"好","level":"high"},"to":null,"level":"low","is":true}'),)
    )
    assert text(write.invoke({"line": {"level": "middle"}, "to": 1})).startswith(
        "invalid arguments for `write`, not executed: `line.level`: invalid enum value 'middle'"
    )


def test_a_pydantic_model_is_a_schema_a_value_and_a_result() -> None:
    pydantic = pytest.importorskip("pydantic")

    class Street(pydantic.BaseModel):
        name: str
        number: int = 1

    class Address(pydantic.BaseModel):
        street: Street
        zip: str = pydantic.Field(pattern="^[0-9]+$")

    def send(to: list[Any], back: Any = None) -> Any:
        """Send."""
        assert all(isinstance(item, Address) for item in to)
        return {"to": to, "back": back}

    send.__annotations__ = {"to": list[Address], "back": Address | None}  # pyright: ignore
    made = tool(send)
    parameters = made.definition.parameters or {}
    assert parameters["$defs"] == {
        "Address.Street": {
            "type": "object",
            "title": "Street",
            "properties": {
                "name": {"type": "string", "title": "Name"},
                "number": {"type": "integer", "title": "Number", "default": 1},
            },
            "required": ["name"],
        }
    }
    assert parameters["properties"]["to"]["items"]["properties"]["street"] == {"$ref": "#/$defs/Address.Street"}
    out = made.invoke({"to": [{"street": {"name": "长安街"}, "zip": "100"}]})
    assert out == ToolOutput(
        content=(Json(value='{"to":[{"street":{"name":"长安街","number":1},"zip":"100"}],"back":null}'),)
    )
    told = text(made.invoke({"to": [{"street": {"name": "x"}, "zip": "abc"}]}))
    assert "`to[0]`: zip: String should match pattern" in told


def test_traits_are_for_the_loop_alone() -> None:
    @tool(access="send", traits=Traits(subject="to", timeout=5))
    def mail(to: str) -> str:
        """Send a mail."""
        return to

    assert mail.traits == Traits(access="send", subject="to", timeout=5)
    assert set(msgspec.to_builtins(mail.definition)) == {"type", "name", "description", "parameters"}
    assert look.traits == Traits(access="read")


def test_a_cancel_token_is_handed_in_and_told_to_nobody() -> None:
    @tool
    def wait(seconds: float, stop: CancelToken) -> str:
        """Wait."""
        return f"{seconds} {stop.cancelled}"

    assert list((wait.definition.parameters or {})["properties"]) == ["seconds"]
    token = CancelToken()
    token.cancel()
    assert [text(wait.invoke({"seconds": 1}, cancel=given)) for given in (None, token)] == ["1.0 False", "1.0 True"]
    assert text(asyncio.run(wait.ainvoke({"seconds": 1}, cancel=token))) == "1.0 True"
    assert wait.invoke({"seconds": 1, "stop": {}}).is_error
