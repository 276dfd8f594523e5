"""The schemas of one request in the form that its server takes, and what undoes that in the answer."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from operator import is_
from typing import Any, TypeGuard

import msgspec

from dragoman.dialect.model import Dialect
from dragoman.dialect.schema import RULES, SUBSETS, Subset
from dragoman.types.content import Content, ToolsChange
from dragoman.types.message import Message
from dragoman.types.note import Path
from dragoman.types.request import Output, Request
from dragoman.types.tool import HostedTool, Tool
from dragoman.wire.base import Notes
from dragoman.wire.glance import Glance, glance
from dragoman.wire.schema.compile import NOTHING, compile
from dragoman.wire.schema.compiled import Compiled
from dragoman.wire.schema.reverse import Reverse

Offered = tuple[Tool | HostedTool, ...] | None
# What no server of a wire's own rule takes at the root of a tool's schema.
NOT_AT_THE_ROOT = frozenset({"anyOf", "oneOf", "allOf", "enum", "const", "not", "$ref"})


class Fitted(msgspec.Struct, frozen=True):
    """A request to write; `reverse`, by the caller's name of a tool, and `answer` undo in values what was changed in
    their schemas (`back.py`)."""

    request: Request
    reverse: Mapping[str, Reverse] = {}
    answer: Reverse | None = None


def fitted(
    request: Request, wire: str, dialect: Dialect, notes: Notes, *, own: bool, seen: Glance | None = None
) -> Fitted:
    """The request with each schema in the form of its subset: the dialect's, else the wire's own rule (SCH-005, SCH-006).
    The request itself where nothing changes.

    `own`: it was said on this wire. Its schemas are its sender's affair then, unless the dialect has a rule. Each change
    is a note at its place. `seen` saves a walk. Raises LocalError too_deep or too_large, as `compile` does.
    """
    if own and has_no_rule(dialect):
        return Fitted(request)
    fitter = _Fitter(wire, dialect, notes, own=own)
    said = {
        "tools": fitter.tools(request.tools, ("tools",)),
        "messages": fitter.messages(request.messages) if glance(request, seen).changes else request.messages,
        "output": fitter.output(request.output),
    }
    changed = {key: value for key, value in said.items() if value is not getattr(request, key)}
    made = msgspec.structs.replace(request, **changed) if changed else request
    return Fitted(made, fitter.reverse, fitter.answer)


def has_no_rule(dialect: Dialect) -> bool:
    """Whether schemas go out as they were said, as far as the dialect is concerned."""
    return dialect.schema_subset is None and dialect.strict_tools not in ("omit", "force")


class _Fitter:
    """Keeps to one rule. The first definition of a name is the one that its calls are read by."""

    def __init__(self, wire: str, dialect: Dialect, notes: Notes, *, own: bool) -> None:
        self.reverse: dict[str, Reverse] = {}
        self.answer: Reverse | None = None
        self._rule = RULES[wire]
        self._of_root = SUBSETS[self._rule.tools]
        self._dialect = dialect
        self._named = SUBSETS[dialect.schema_subset] if dialect.schema_subset is not None else None
        self._as_said = has_no_rule(dialect)
        self._notes = notes
        self._own = own
        self._names: set[str] = set()
        self._legal: set[str] = set()  # names of properties that the wire's own rule takes

    def messages(self, messages: tuple[Message, ...]) -> tuple[Message, ...]:
        """Tools that appear in mid-conversation have schemas too."""
        made = [self._message(message, ("messages", at)) for at, message in enumerate(messages)]
        return messages if _same(made, messages) else tuple(made)

    def tools(self, tools: Offered, path: Path) -> Offered:
        if tools is None:
            return None
        made = [self._tool(tool, (*path, at)) if self._is_unfit(tool) else tool for at, tool in enumerate(tools)]
        return tools if _same(made, tools) else tuple(made)

    def output(self, output: Output | None) -> Output | None:
        if output is None or output.kind != "schema" or not output.schema or "schema" not in self._dialect.json_modes:
            return output
        subset = self._of_answer(output)
        if subset is None:
            return output
        compiled = compile(output.schema, subset)
        if compiled.beyond and output.strict and subset.name == self._rule.strict:
            self._relax(compiled, ("output",))
            return msgspec.structs.replace(output, strict=None)
        self._tell(compiled, ("output", "schema"))
        self.answer = compiled.reverse if compiled.reverse != Reverse() else None
        return output if compiled.schema is output.schema else msgspec.structs.replace(output, schema=compiled.schema)

    def _message(self, message: Message, path: Path) -> Message:
        if not any(isinstance(block, ToolsChange) for block in message.content):
            return message
        made = [self._block(block, (*path, "content", at)) for at, block in enumerate(message.content)]
        same = _same(made, message.content)
        return message if same else msgspec.structs.replace(message, content=tuple(made))

    def _block(self, block: Content, path: Path) -> Content:
        if not isinstance(block, ToolsChange):
            return block
        add = self.tools(block.add, (*path, "add"))
        return block if add is block.add else msgspec.structs.replace(block, add=add)

    def _is_unfit(self, tool: Tool | HostedTool) -> TypeGuard[Tool]:
        """False for what goes out as it is: what is no function, and one with a plain schema, as most have. True says
        nothing."""
        if type(tool) is not Tool or tool.kind != "function":
            return False
        schema = tool.parameters
        if schema is None or tool.strict or not self._as_said:
            return True
        if not self._stands_at_its_root(schema):
            return True
        if tool.namespace is None:
            self._names.add(tool.name)
        else:
            self._names.update(names_of(tool.name, tool.namespace))
        return False

    def _tool(self, tool: Tool, path: Path) -> Tool:
        strict = self._strict(tool, path)
        subset, schema, reverse = self._of_tool(strict), tool.parameters, Reverse()
        if subset is not None and not self._stands(schema, subset):
            compiled = compile(schema, subset)
            if compiled.beyond and strict and self._named is None and not self._forces:
                self._relax(compiled, path)
                return self._tool(msgspec.structs.replace(tool, strict=None), path)
            self._tell(compiled, (*path, "parameters"))
            schema, reverse = compiled.schema, compiled.reverse
        elif subset is not None and schema is None:
            schema = NOTHING
        self._remember(tool, reverse)
        if schema is tool.parameters and strict is tool.strict:
            return tool
        return msgspec.structs.replace(tool, parameters=schema, strict=strict)

    @property
    def _forces(self) -> bool:
        return self._dialect.strict_tools == "force"

    def _strict(self, tool: Tool, path: Path) -> bool | None:
        """What is said of strictness, as the dialect wants it."""
        if self._dialect.strict_tools == "omit":
            if tool.strict:
                self._notes.add((*path, "strict"), "dropped", "this server knows no strict tools")
            return None
        if self._forces and not tool.strict:
            self._notes.add((*path, "strict"), "synthesised", "this server takes strict tools only", loss=False)
            return True
        return tool.strict

    def _of_tool(self, strict: bool | None) -> Subset | None:
        if self._named is not None:
            return self._named
        if self._own and not self._forces:
            return None
        return SUBSETS[self._rule.strict if strict else self._rule.tools]

    def _of_answer(self, output: Output) -> Subset | None:
        if self._named is not None and not self._named.tools_only:
            return self._named
        name = self._rule.strict if output.strict else self._rule.answer
        return None if self._own or name is None else SUBSETS[name]

    def _stands(self, schema: dict[str, Any] | None, subset: Subset) -> bool:
        """Whether a schema needs no look inside: a wire's own rule for tools that are not strict is about the root."""
        return subset is self._of_root and (schema is None or self._stands_at_its_root(schema))

    def _stands_at_its_root(self, schema: dict[str, Any]) -> bool:
        if schema.get("type") != "object" or not NOT_AT_THE_ROOT.isdisjoint(schema):
            return False
        form = self._of_root.root_names
        if form is None:
            return True
        properties = schema.get("properties")
        if not isinstance(properties, dict) or self._legal.issuperset(properties):
            return True
        if not all(map(re.compile(form).fullmatch, properties)):
            return False
        self._legal.update(properties)
        return True

    def _relax(self, compiled: Compiled, path: Path) -> None:
        self._notes.add((*path, "strict"), "dropped", f"a strict schema is refused here: {compiled.beyond[0]}")

    def _tell(self, compiled: Compiled, path: Path) -> None:
        for note in compiled.notes:
            self._notes.add((*path, *note.path), note.action, note.reason, loss=note.loss)

    def _remember(self, tool: Tool, reverse: Reverse) -> None:
        for name in names_of(tool.name, tool.namespace):
            if name not in self._names and reverse != Reverse():
                self.reverse[name] = reverse
            self._names.add(name)


def names_of(name: str, namespace: str | None) -> tuple[str, ...]:
    """Under which names a tool is known: with its namespace first, since two of them may have one name in common."""
    return (name,) if namespace is None else (f"{namespace}.{name}", name)


def _same(made: Sequence[Any], given: Sequence[Any]) -> bool:
    return all(map(is_, made, given))
