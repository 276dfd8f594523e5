"""Chat templates are programs that came with a file from somewhere: they run here, in a sandbox and on a budget.

The environment is what templates of public models are written for (transformers' conventions: trimmed blocks, loop
controls, `raise_exception`, `strftime_now`, a `tojson` that keeps order and escapes nothing, S1-66), in jinja2's
immutable sandbox. Filters and methods are those that templates need, and no others; what each costs is told in `budget`.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from datetime import datetime
from types import BuiltinMethodType
from typing import Any

from jinja2 import nodes, pass_context
from jinja2.exceptions import SecurityError, TemplateRuntimeError
from jinja2.ext import Extension, loopcontrols
from jinja2.parser import Parser
from jinja2.runtime import BlockReference, LoopContext, Macro
from jinja2.sandbox import ImmutableSandboxedEnvironment
from jinja2.utils import Namespace

from dragoman.engine import budget
from dragoman.engine.budget import FAST, TooMuchWork, of_format, of_method, one_by_one, pay, size, weigh

# Filters that look at the members of a collection once and not into them, and those that do look into them.
LAZY = (
    "abs", "count", "d", "default", "first", "float", "int", "items", "last", "length", "list", "map", "reject",
    "rejectattr", "reverse", "select", "selectattr",
)  # fmt: skip
EAGER = (
    "capitalize", "dictsort", "format", "indent", "join", "lower", "max", "min", "replace", "sort", "string", "title",
    "trim", "unique", "upper",
)  # fmt: skip
TEXT_METHODS = (
    "capitalize casefold count endswith find index isalnum isalpha isascii isdecimal isdigit isidentifier islower "
    "isnumeric isprintable isspace istitle isupper join ljust lower lstrip partition removeprefix removesuffix replace "
    "rfind rindex rjust rpartition rsplit rstrip split splitlines startswith strip swapcase title upper zfill"
)
METHODS: dict[type, frozenset[str]] = {
    str: frozenset(TEXT_METHODS.split()),
    dict: frozenset(("get", "items", "keys", "values", "copy")),
}
LOOK = 32  # steps that an attribute takes
DEEPEST = (
    128  # levels of what a template is given: printing more of them takes more of Python's stack than there may be
)
FORM_MAX = 1000  # characters of a form of dates
DISPLAY = 16  # members of a list that is written out in a template, for which nothing is asked
STEPS, JOINED, LOOKED, HELD = "_steps", "_joined", "_looked", "_held"

_now: ContextVar[datetime] = ContextVar("the time a template is told")


class Refused(TemplateRuntimeError):
    """The template's own `raise_exception`: this conversation is not one that the model was taught."""


class Sandbox(ImmutableSandboxedEnvironment):
    """jinja2's immutable sandbox, where each step has its price. `whole` is that of all there is in the template."""

    intercepted_binops = frozenset(["+", "-", "*", "/", "//", "**", "%"])

    def __init__(self) -> None:
        # Nothing is worked out while a template is compiled: there is no budget then.
        super().__init__(
            trim_blocks=True, lstrip_blocks=True, extensions=[Generation, loopcontrols], optimized=False, finalize=_told
        )
        self.whole = 1
        self.filters = {name: _paid(name, self.filters[name]) for name in (*LAZY, *EAGER)}
        self.filters |= {"safe": self.filters["string"], "tojson": _tojson}
        self.filters |= {STEPS: _steps, JOINED: _joined, LOOKED: _looked, HELD: _held}
        self.tests = {name: _weighed(made) for name, made in self.tests.items()}
        self.globals = {
            "range": self.globals["range"],
            "dict": _dict,
            "cycler": self.globals["cycler"],
            "joiner": self.globals["joiner"],
            "namespace": _Names,
            "raise_exception": _raise_exception,
            "strftime_now": _strftime_now,
        }

    def is_safe_callable(self, obj: Any) -> bool:
        """Of Python's own types only the methods that have a price."""
        if isinstance(obj, BuiltinMethodType):
            return obj.__name__ in METHODS.get(type(obj.__self__), ())
        return super().is_safe_callable(obj)

    def is_safe_attribute(self, obj: Any, attr: str, value: Any) -> bool:
        """A loop does not compare for a template what it can compare itself."""
        return super().is_safe_attribute(obj, attr, value) and not (isinstance(obj, LoopContext) and attr == "changed")

    def wrap_str_format(self, value: Any) -> Callable[..., str] | None:
        """A format is paid for all its fields."""
        made = super().wrap_str_format(value)
        if made is None:
            return None

        def paid(*args: Any, **kwargs: Any) -> str:
            pay(of_format(value.__self__, (*args, *kwargs.values())))
            return made(*args, **kwargs)

        return paid

    def getattr(self, obj: Any, attribute: str) -> Any:
        """Whether a template may look at an attribute is asked each time, which takes longer than other steps."""
        pay(LOOK)
        return super().getattr(obj, attribute)

    def getitem(self, obj: Any, argument: Any) -> Any:
        """See getattr."""
        pay(LOOK)
        return super().getitem(obj, argument)

    def call_binop(self, context: Any, operator: str, left: Any, right: Any) -> Any:
        """An operator is paid before it is applied."""
        pay(budget.of_operator(operator, left, right))
        return super().call_binop(context, operator, left, right)

    def call(self, context: Any, obj: Any, /, *args: object, **kwargs: object) -> Any:
        """A call is paid before, and what it makes after it."""
        if isinstance(obj, (Macro, BlockReference, LoopContext)):
            pay(self.whole)
        if isinstance(obj, LoopContext):
            args = (_steps(args[0], self.whole), *args[1:]) if args else args
        if isinstance(obj, BuiltinMethodType) and isinstance(obj.__self__, str):
            args = tuple(_held_still(arg) for arg in args)
            pay(of_method(obj.__name__, obj.__self__, args, kwargs))
        made = super().call(context, obj, *args, **kwargs)
        pay(1 + size(made))
        return made


class Generation(Extension):
    """`{% generation %}` marks what the model said, for training; for a prompt it is not there."""

    tags = {"generation"}  # noqa: RUF012  read by jinja2 from the class

    def parse(self, parser: Parser) -> list[nodes.Node]:
        """The statements between the marks."""
        next(parser.stream)
        return parser.parse_statements(("name:endgeneration",), drop_needle=True)


def compiled(environment: Sandbox, source: str) -> tuple[Any, frozenset[str]]:
    """The template of `source` and the variables that it reads. Raises jinja2's TemplateSyntaxError, and what Python's
    own compiler raises for what jinja2 lets pass."""
    from jinja2.meta import find_undeclared_variables

    tree = environment.parse(source)
    names = frozenset(find_undeclared_variables(tree))
    environment.whole = _price(tree)
    for loop in list(tree.find_all(nodes.For)):
        loop.iter = _filtered(loop.iter, STEPS, nodes.Const(_price(loop)))
    for joined in list(tree.find_all(nodes.Concat)):
        joined.nodes = [_filtered(nodes.List(joined.nodes), JOINED)]
    for block in list(tree.find_all(nodes.AssignBlock)):
        block.filter = nodes.Filter(block.filter, STEPS, [], [], None, None, lineno=block.lineno)
    for compare in list(tree.find_all(nodes.Compare)):
        _price_comparing(compare)
    return environment.from_string(_with_displays_paid(tree)), names  # pyright: ignore[reportArgumentType]  a tree is fine


@contextmanager
def told(now: datetime) -> Generator[None]:
    """Within, templates are told that it is `now`."""
    time = _now.set(now)
    try:
        yield
    finally:
        _now.reset(time)


def plain(value: Any, depth: int = 0) -> Any:
    """A copy of `value` of plain dicts, lists and scalars: nothing of ours is in a template's reach.

    Raises ValueError for one that is nested deeper than templates can print.
    """
    if depth > DEEPEST:
        raise ValueError(f"it is nested deeper than {DEEPEST} levels")
    if isinstance(value, Mapping):
        return {str(key): plain(inner, depth + 1) for key, inner in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(inner, depth + 1) for inner in value]
    if value is None or isinstance(value, (str, bool, int, float)):
        return value
    raise TypeError(f"a template takes JSON values only, not {type(value).__name__}")


def _price(node: nodes.Node) -> int:
    """What one way through `node` costs: a part of it is never gone, and its parts are of unlike length."""
    return 4 + sum(1 for _ in node.find_all(nodes.Node)) // 4


def _filtered(value: Any, name: str, *args: nodes.Expr) -> nodes.Filter:
    return nodes.Filter(value, name, list(args), [], None, None, lineno=value.lineno)


def _price_comparing(compare: nodes.Compare) -> None:
    """Comparing two values looks into both, unless one of them is written out."""
    sides = [compare.expr, *(one.expr for one in compare.ops)]
    searches = any(one.op in ("in", "notin") for one in compare.ops)
    if not searches and any(isinstance(side, nodes.Const) for side in sides):
        return
    if not isinstance(compare.expr, nodes.Const):
        compare.expr = _filtered(compare.expr, LOOKED)
    for one in compare.ops:
        one.expr = _filtered(one.expr, HELD if one.op in ("in", "notin") else LOOKED)


def _with_displays_paid(tree: nodes.Template) -> nodes.Template:
    """Slices and long lists are made anew each time one comes by."""
    for node in list(tree.find_all(nodes.Node)):
        for field, value in node.iter_fields():
            if isinstance(value, list):
                value[:] = [_paid_display(item) for item in value]
            else:
                setattr(node, field, _paid_display(value))
    return tree


def _paid_display(node: Any) -> Any:
    sliced = isinstance(node, nodes.Getitem) and isinstance(node.arg, nodes.Slice)
    long = isinstance(node, (nodes.List, nodes.Tuple, nodes.Dict)) and len(node.items) > DISPLAY
    return _filtered(node, STEPS) if (sliced or long) and getattr(node, "ctx", "load") == "load" else node


def _paid(name: str, made: Callable[..., Any]) -> Callable[..., Any]:
    """A filter that is paid for what it reads and makes; those that take the context or the environment say so."""
    passes = getattr(made, "jinja_pass_arg", None)

    def paid(*args: Any, **kwargs: Any) -> Any:
        head, own = ((), args) if passes is None else (args[:1], args[1:])
        if name not in LAZY and own:
            own = (_held_still(own[0]), *own[1:])
        _pay_filter(name, own, kwargs)
        made_of = made(*head, *own, **kwargs)
        pay(1 + size(made_of))
        return made_of

    if passes is not None:
        paid.jinja_pass_arg = passes  # pyright: ignore[reportFunctionMemberAccess]
    return paid


def _pay_filter(name: str, own: tuple[Any, ...], named: Mapping[str, Any]) -> None:
    value = own[0] if own else None
    if name == "join":
        marks = max((size(arg) for arg in (*own[1:], *named.values())), default=0)
        weigh(value)
        pay(marks * size(value))
    elif isinstance(value, str):
        pay(of_method(name, value, own[1:], named))
    elif name in LAZY:
        pay(1 + size(value))
    else:
        weigh(value)
        if name in budget.GROWTH:
            pay(of_method(name, str(value), own[1:], named))


def _weighed(made: Callable[..., Any]) -> Callable[..., Any]:
    """A test that compares is paid for what it compares."""
    passes = getattr(made, "jinja_pass_arg", None)

    def paid(*args: Any) -> Any:
        if len(args) > 1 and passes is None:
            for arg in args:
                weigh(arg, FAST)
        return made(*args)

    if passes is not None:
        paid.jinja_pass_arg = passes  # pyright: ignore[reportFunctionMemberAccess]
    return paid


@pass_context
def _told(_: Any, value: Any) -> Any:
    """What is printed, paid."""
    weigh(value)
    return value


def _steps(value: Any, price: int = 1) -> Any:
    if isinstance(value, (str, list, tuple, dict, range)):
        pay(len(value) * price)
        return value
    return one_by_one(value, price) if hasattr(value, "__iter__") else value


def _joined(parts: list[Any]) -> str:
    weigh(parts)
    return "".join(map(str, parts))


def _looked(value: Any) -> Any:
    weigh(value, FAST)
    return value


def _held(value: Any) -> Any:
    """What is searched: all of it, but for a dict, which finds its key at once."""
    return value if isinstance(value, dict) else _looked(value)


def _held_still(value: Any) -> Any:
    """Values that come one by one, all at once."""
    return list(one_by_one(value)) if hasattr(value, "__next__") else value


def _tojson(
    value: Any, ensure_ascii: bool = False, indent: int | None = None, separators: Any = None, sort_keys: bool = False
) -> str:
    weight = weigh(value)
    between = sum(size(mark) for mark in separators or ())
    pay(weight.parts * (between + weight.depth * (indent if isinstance(indent, int) else size(indent))))
    return json.dumps(value, ensure_ascii=ensure_ascii, indent=indent, separators=separators, sort_keys=sort_keys)


def _raise_exception(message: Any) -> None:
    weigh(message)
    raise Refused(str(message))


def _strftime_now(form: str) -> str:
    if len(form) > FORM_MAX:
        raise TooMuchWork(f"the template asks for a date of {len(form)} characters")
    return _now.get().strftime(form)


def _dict(*args: Any, **kwargs: Any) -> dict[str, Any]:
    return dict(*args, **kwargs)


class _Names(Namespace):
    """A namespace without names that begin with an underscore: none of them is a template's business."""

    def __setitem__(self, name: str, value: Any) -> None:
        if name.startswith("_"):
            raise SecurityError(f"a template may not set {name!r}")
        super().__setitem__(name, value)
