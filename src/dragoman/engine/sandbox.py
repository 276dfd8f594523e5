"""Chat templates are programs that came with a file from somewhere: they run here, in a sandbox and on a budget.

The environment is what templates of public models are written for (transformers' conventions: trimmed blocks, loop
controls, `raise_exception`, `strftime_now`, a `tojson` that keeps order and escapes nothing, S1-66), in jinja2's
immutable sandbox. No clock ends a template that runs away: each loop step, each call and each piece of text costs from
a budget, so the same template ends at the same place on every machine.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Generator, Iterable, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from datetime import datetime
from typing import Any

from jinja2 import Environment, nodes
from jinja2.exceptions import SecurityError, TemplateRuntimeError
from jinja2.ext import Extension, loopcontrols
from jinja2.parser import Parser
from jinja2.sandbox import ImmutableSandboxedEnvironment
from jinja2.utils import Namespace

WORK = 50_000_000  # characters made and steps taken, for one prompt
WIDTH = re.compile(r"\d{5,}")  # in a format text: a field of ten thousand characters and more

_left: ContextVar[int] = ContextVar("work left")
_now: ContextVar[datetime] = ContextVar("the time a template is told")


class TooMuchWork(TemplateRuntimeError):
    """The budget is used up."""


class Refused(TemplateRuntimeError):
    """The template's own `raise_exception`: this conversation is not one that the model was taught."""


class Sandbox(ImmutableSandboxedEnvironment):
    """jinja2's immutable sandbox, where each step has its price."""

    intercepted_binops = frozenset(["+", "*", "**", "%"])

    def __init__(self) -> None:
        super().__init__(trim_blocks=True, lstrip_blocks=True, extensions=[Generation, loopcontrols])
        self.filters |= {name: _paid(name, made) for name, made in self.filters.items()}
        self.filters |= {"tojson": _tojson, STEPS: _steps, JOINED: _joined}
        self.globals = {
            "range": self.globals["range"],
            "dict": _dict,
            "cycler": self.globals["cycler"],
            "joiner": self.globals["joiner"],
            "namespace": _Names,
            "raise_exception": _raise_exception,
            "strftime_now": _strftime_now,
        }

    def call_binop(self, context: Any, operator: str, left: Any, right: Any) -> Any:
        """An operator that can make much of little is paid before it is applied."""
        pay(_of_operator(operator, left, right))
        return super().call_binop(context, operator, left, right)

    def call(self, context: Any, obj: Any, /, *args: object, **kwargs: object) -> Any:
        """A call is paid, and a method of a text by what it will make."""
        text = getattr(obj, "__self__", None)
        pay(1 + (_of_growth(obj.__name__, text, args) if isinstance(text, str) else 0))
        return super().call(context, obj, *args, **kwargs)


class Generation(Extension):
    """`{% generation %}` marks what the model said, for training; for a prompt it is not there."""

    tags = {"generation"}  # noqa: RUF012  read by jinja2 from the class

    def parse(self, parser: Parser) -> list[nodes.Node]:
        """The statements between the marks."""
        next(parser.stream)
        return parser.parse_statements(("name:endgeneration",), drop_needle=True)


STEPS, JOINED = "_steps", "_joined"


def compiled(environment: Environment, source: str) -> tuple[Any, frozenset[str]]:
    """The template of `source` and the variables that it reads. Raises jinja2's TemplateSyntaxError."""
    from jinja2.meta import find_undeclared_variables

    tree = environment.parse(source)
    names = frozenset(find_undeclared_variables(tree))
    for loop in list(tree.find_all(nodes.For)):
        loop.iter = nodes.Filter(loop.iter, STEPS, [], [], None, None, lineno=loop.lineno)
    for joined in list(tree.find_all(nodes.Concat)):
        joined.nodes = [nodes.Filter(nodes.List(joined.nodes), JOINED, [], [], None, None, lineno=joined.lineno)]
    return environment.from_string(tree), names  # pyright: ignore[reportArgumentType]  it takes a tree as well


@contextmanager
def at_work(now: datetime, budget: int = WORK) -> Generator[None]:
    """Within, templates may be rendered: with `budget` in all, and told that it is `now`."""
    money, time = _left.set(budget), _now.set(now)
    try:
        yield
    finally:
        _left.reset(money)
        _now.reset(time)


def pay(price: int) -> None:
    """Raises TooMuchWork when `price` is more than there is left."""
    left = _left.get(WORK) - price
    _left.set(left)
    if left < 0:
        raise TooMuchWork(f"the template takes more than {WORK} steps")


def _steps(value: Any) -> Any:
    if isinstance(value, (str, list, tuple, dict, range)):
        pay(len(value))
        return value
    return _one_by_one(value)


def _one_by_one(values: Iterable[Any]) -> Generator[Any]:
    for value in values:
        pay(1)
        yield value


def _joined(parts: list[Any]) -> str:
    text = "".join(map(str, parts))
    pay(len(text))
    return text


def _tojson(
    value: Any, ensure_ascii: bool = False, indent: int | None = None, separators: Any = None, sort_keys: bool = False
) -> str:
    text = json.dumps(value, ensure_ascii=ensure_ascii, indent=indent, separators=separators, sort_keys=sort_keys)
    pay(len(text))
    return text


def _raise_exception(message: Any) -> None:
    raise Refused(str(message))


def _strftime_now(form: str) -> str:
    return _now.get().strftime(form)


def _dict(*args: Any, **kwargs: Any) -> dict[str, Any]:
    return dict(*args, **kwargs)


class _Names(Namespace):
    """A namespace without names that begin with an underscore: none of them is a template's business."""

    def __setitem__(self, name: str, value: Any) -> None:
        if name.startswith("_"):
            raise SecurityError(f"a template may not set {name!r}")
        super().__setitem__(name, value)


def _paid(name: str, made: Callable[..., Any]) -> Callable[..., Any]:
    """A filter that is paid for what it makes; those that take the context or the environment say so to jinja2."""
    passes = getattr(made, "jinja_pass_arg", None)

    def paid(*args: Any, **kwargs: Any) -> Any:
        own = args if passes is None else args[1:]
        if own and isinstance(own[0], str):
            pay(_of_growth(name, own[0], own[1:]))
        result = made(*args, **kwargs)
        pay(1 + (len(result) if isinstance(result, (str, list, tuple, dict)) else 0))
        return result

    if passes is not None:
        paid.jinja_pass_arg = passes  # pyright: ignore[reportFunctionMemberAccess]
    return paid


def _of_operator(operator: str, left: Any, right: Any) -> int:
    if operator == "%":
        return _of_growth("format", left, ()) if isinstance(left, str) else 1
    if operator == "+":
        return 1 + _size(left) + _size(right)
    if operator == "*":
        sized, times = (left, right) if _size(left) else (right, left)
        return 1 + (_size(sized) * max(times, 0) if isinstance(times, int) else 0) + _bits(left) * _bits(right) // 64
    return 1 + _bits(left) * (abs(right) if isinstance(right, int) else 1)


def _size(value: Any) -> int:
    return len(value) if isinstance(value, (str, list, tuple)) else 0


def _bits(value: Any) -> int:
    return value.bit_length() if isinstance(value, int) else 1


def _of_growth(name: str, text: str, args: tuple[Any, ...]) -> int:
    """How long a text a method or a filter of this name can make of `text`."""
    if name == "replace" and len(args) >= 2:
        old, new = str(args[0]), str(args[1])
        return len(text) + (text.count(old) if old else len(text) + 1) * len(new)
    if name in WIDENING:
        return max([len(text), *(arg for arg in args if isinstance(arg, int))]) * (1 + text.count("\t"))
    if name == "indent":
        return len(text) + (1 + text.count("\n")) * max([4, *(_size(arg) or arg for arg in args if _is_width(arg))])
    if name == "join" and args and isinstance(args[0], (list, tuple)):
        return len(text) * len(args[0])
    if name in ("format", "format_map") and WIDTH.search(text):
        raise TooMuchWork("the template asks for a field of ten thousand characters and more")
    return len(text)


WIDENING = ("center", "ljust", "rjust", "zfill", "expandtabs")


def _is_width(value: Any) -> bool:
    return isinstance(value, (int, str))


def plain(value: Any) -> Any:
    """A copy of `value` of plain dicts, lists and scalars: nothing of ours is in a template's reach."""
    if isinstance(value, Mapping):
        return {str(key): plain(inner) for key, inner in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(inner) for inner in value]
    if value is None or isinstance(value, (str, bool, int, float)):
        return value
    raise TypeError(f"a template takes JSON values only, not {type(value).__name__}")
