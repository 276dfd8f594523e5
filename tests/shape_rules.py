"""The house rules that `ast` can see, each a function from a parsed file to the faults it finds."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

FILE_LINES = 400
FUNCTION_LINES = 60
PARAMETERS = 6

Function: TypeAlias = ast.FunctionDef | ast.AsyncFunctionDef
FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)

# Parameters of these may be more than six, if whatever is optional is given by name.
CLICK_DECORATORS = frozenset({"command", "group", "option", "argument"})
WIDE_CLASSES = frozenset({"Model", "AsyncModel", "Agent"})

VENDORS = re.compile(
    r"(?<![a-z])(open_?ai|anthropic|claude|gpt|google|vertex|mistral|deep_?seek|qwen|alibaba|groq|xai|grok"
    r"|open_?router|azure|bedrock|cohere|moonshot|kimi|zai|zhipu|glm|minimax|fireworks|perplexity|nvidia|cerebras"
    r"|samba_?nova|hugging_?face|vllm|sglang|llama|llama_?cpp|lm_?studio|lite_?llm|copilot|codex|open_?code)(?![a-z])"
)
# Headers and body keys that the format itself names so.
FORMAT_NAMES = frozenset({"anthropic-version", "anthropic-beta", "anthropic_version", "anthropic_beta"})


class Source(NamedTuple):
    """One parsed file and its dotted module name (`dragoman.wire.sse`); `nodes` are all those of its tree."""

    path: Path
    module: str
    tree: ast.Module
    nodes: list[ast.AST]
    lines: int

    @classmethod
    def of(cls, text: str, module: str = "dragoman.wire.example", path: str = "example.py") -> Source:
        tree = ast.parse(text, path)
        return cls(Path(path), module, tree, list(ast.walk(tree)), text.count("\n"))

    @classmethod
    def read(cls, path: Path, root: Path) -> Source:
        """The file at `path`; its module name is its place below `root`."""
        parts = path.relative_to(root).with_suffix("").parts
        name = ".".join(parts[:-1] if parts[-1] == "__init__" else parts)
        return cls.of(path.read_text(encoding="utf-8"), name, str(path))


def imports(source: Source) -> Iterator[tuple[int, str]]:
    """Every module that a file imports anywhere, with its line. `from a import b` counts as `a.b`."""
    for node in source.nodes:
        if isinstance(node, ast.Import):
            yield from ((node.lineno, alias.name) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = _absolute(source, node)
            yield from ((node.lineno, f"{base}.{alias.name}") for alias in node.names)


def _absolute(source: Source, node: ast.ImportFrom) -> str:
    if not node.level:
        return node.module or ""
    package = source.module.split(".")
    if source.path.name != "__init__.py":
        package.pop()
    head = package[: len(package) - node.level + 1]
    return ".".join([*head, *([node.module] if node.module else [])])


def within(module: str, allowed: tuple[str, ...]) -> bool:
    """Whether `module` is one of `allowed` or lies below one of them."""
    return any(module == name or module.startswith(name + ".") for name in allowed)


def border(source: Source, ours: tuple[str, ...]) -> list[str]:
    """Imports of our own modules that are not in `ours`."""
    return [
        f"line {line}: imports {name}"
        for line, name in imports(source)
        if within(name, ("dragoman",)) and not within(name, ours)
    ]


def only_from(source: Source, libraries: frozenset[str]) -> list[str]:
    """Imports of other people's modules that are not in `libraries`."""
    tops = ((line, name.partition(".")[0]) for line, name in imports(source))
    return [f"line {line}: imports {top}" for line, top in tops if top != "dragoman" and top not in libraries]


def impure(source: Source, forbidden: tuple[str, ...]) -> list[str]:
    """Imports of what does I/O, reads a clock or draws at random, and the clock methods of datetime."""
    faults = [f"line {line}: imports {name}" for line, name in imports(source) if within(name, forbidden)]
    clocks = {"now", "utcnow", "today"}
    for node in source.nodes:
        if isinstance(node, ast.Attribute) and node.attr in clocks and _name(node.value) in {"datetime", "date"}:
            faults.append(f"line {node.lineno}: reads the clock with {node.attr}()")
    return faults


def too_long(source: Source) -> list[str]:
    """A file or a function beyond the budget."""
    faults = [f"{source.lines} lines, the limit is {FILE_LINES}"] if source.lines > FILE_LINES else []
    for node in source.nodes:
        if isinstance(node, FUNCTIONS):
            length = (node.end_lineno or node.lineno) - node.lineno + 1
            if length > FUNCTION_LINES:
                faults.append(f"line {node.lineno}: {node.name} has {length} lines, the limit is {FUNCTION_LINES}")
    return faults


def too_many_parameters(source: Source) -> list[str]:
    """Functions of more than six parameters. Click callbacks may have more if all but a context are given by name,
    constructors and public methods of Model, AsyncModel and Agent if every optional one is."""
    faults: list[str] = []
    for owner, node in functions(source.tree):
        given = node.args
        places = [arg.arg for arg in (*given.posonlyargs, *given.args) if arg.arg not in {"self", "cls"}]
        if len(places) + len(given.kwonlyargs) <= PARAMETERS:
            continue
        if is_click(node):
            wide = len(places) <= 1
        else:
            wide = (
                owner in WIDE_CLASSES
                and (_public(node.name) or node.name == "__init__")
                and not given.defaults
                and len(places) <= PARAMETERS
            )
        if not wide:
            count = len(places) + len(given.kwonlyargs)
            faults.append(f"line {node.lineno}: {node.name} has {count} parameters, the limit is {PARAMETERS}")
    return faults


def open_keywords(source: Source) -> list[str]:
    """`**kwargs: Any`, or with no type at all, in a public signature."""
    if any(part.startswith("_") and part != "__main__" for part in source.module.split(".")):
        return []
    return [
        f"line {node.lineno}: {node.name} takes **{node.args.kwarg.arg} of any type"
        for owner, node in functions(source.tree)
        if node.args.kwarg
        and (_public(node.name) or node.name == "__init__" or node.name == "__call__")
        and (owner is None or _public(owner))
        and (node.args.kwarg.annotation is None or _name(node.args.kwarg.annotation) == "Any")
    ]


def broad_excepts(source: Source) -> list[str]:
    """Handlers that catch everything and do not raise it again."""
    faults: list[str] = []
    for node in source.nodes:
        if isinstance(node, ast.ExceptHandler) and _catches_all(node.type):
            last = node.body[-1]
            if not (isinstance(last, ast.Raise) and last.exc is None):
                faults.append(f"line {node.lineno}: catches everything")
        elif isinstance(node, ast.Call) and _name(node.func) == "suppress" and any(map(_catches_all, node.args)):
            faults.append(f"line {node.lineno}: suppresses everything")
    return faults


def _catches_all(caught: ast.expr | None) -> bool:
    if caught is None:
        return True
    kinds = caught.elts if isinstance(caught, ast.Tuple) else [caught]
    return any(_name(kind) in {"Exception", "BaseException"} for kind in kinds)


def no_docstring(source: Source) -> list[str]:
    """A file whose first statement is no docstring."""
    return [] if ast.get_docstring(source.tree) else ["line 1: no docstring"]


def no_sentence(source: Source) -> list[str]:
    """A package whose docstring is not exactly one sentence."""
    text = ast.get_docstring(source.tree) or ""
    ends = re.findall(r"[.!?](?=\s|$)", text)
    return [] if len(ends) == 1 and text.endswith((".", "!", "?")) else [f"its docstring is no sentence: {text!r}"]


def vendor_names(source: Source) -> list[str]:
    """Vendors' names in identifiers and strings; docstrings, comments and the format's own names apart."""
    prose = {id(node) for node in docstrings(source)}
    faults: list[str] = []
    for node in source.nodes:
        if id(node) in prose:
            continue
        for text in _words_of(node):
            found = VENDORS.search(_snake(text))
            if found and text not in FORMAT_NAMES:
                faults.append(f"line {getattr(node, 'lineno', 0)}: names {found[1]} in {text[:60]!r}")
    return faults


def _words_of(node: ast.AST) -> Iterator[str]:
    """The identifiers and the string that one node itself holds."""
    for _, value in ast.iter_fields(node):
        if isinstance(value, str):
            yield value
        elif isinstance(value, bytes):
            yield value.decode("utf-8", "replace")
        elif isinstance(value, list):
            yield from (item for item in value if isinstance(item, str))  # global, nonlocal


def _snake(text: str) -> str:
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", text).lower()


def docstrings(source: Source) -> Iterator[ast.Constant]:
    """The docstrings of a module, its classes and its functions."""
    for node in source.nodes:
        if isinstance(node, (ast.Module, ast.ClassDef, *FUNCTIONS)) and node.body:
            first = node.body[0]
            if isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant):
                yield first.value


def functions(tree: ast.Module) -> Iterator[tuple[str | None, Function]]:
    """Functions of a module and methods of its classes, with the class's name; not those within functions."""
    for node in tree.body:
        if isinstance(node, FUNCTIONS):
            yield None, node
        elif isinstance(node, ast.ClassDef):
            yield from ((node.name, item) for item in node.body if isinstance(item, FUNCTIONS))


def is_click(node: Function) -> bool:
    """Whether click calls this function, by name, with what the command line said."""
    called = (item.func if isinstance(item, ast.Call) else item for item in node.decorator_list)
    return any(_name(item) in CLICK_DECORATORS for item in called)


def _public(name: str) -> bool:
    return not name.startswith("_")


def _name(node: Any) -> str | None:
    """The last part of a dotted name."""
    if isinstance(node, ast.Attribute):
        return node.attr
    if isinstance(node, ast.Constant) and isinstance(node.value, str):  # an annotation in quotes
        return node.value.rpartition(".")[2]
    return node.id if isinstance(node, ast.Name) else None
