"""References: what each points to, and the name it gets among the definitions."""

from __future__ import annotations

from typing import Any
from urllib.parse import unquote

from dragoman.types.note import Path
from dragoman.wire.schema.sound import Tell, sound
from dragoman.wire.schema.vocabulary import DEFINITIONS, LIST, MAP, ONE, children

DIGITS = 9  # of a place in a list


class References:
    """The references of one schema. `find` says where one leads; `name` gives that place a name in `$defs`."""

    def __init__(self, root: dict[str, Any], tell: Tell) -> None:
        self.root = root
        self._tell = tell
        self._targets: dict[str, tuple[Any, Path] | None] = {}
        self._foreign: dict[Path, Any] = {}
        self.names: dict[Path, str] = {}
        self._anchors: dict[str, Path] | None = None
        self._taken: set[str] = set()
        for key in DEFINITIONS:
            held = root.get(key)
            for name in held if isinstance(held, dict) else ():
                self.name((key, name))

    def at(self, path: Path) -> Any:
        """The schema at a place that `find` gave."""
        found = self._at(path)
        assert found is not None
        return found[0]

    def find(self, ref: Any) -> tuple[Any, Path] | None:
        """The schema that a reference within this document leads to, and its place; None when it leads nowhere."""
        if not isinstance(ref, str) or not ref.startswith("#"):
            return None
        if ref != "#" and not ref.startswith("#/"):
            path = self._anchor(ref[1:])
            return None if path is None else self._at(path)
        steps = [unquote(step).replace("~1", "/").replace("~0", "~") for step in ref[1:].split("/")[1:]]
        return self._at(tuple(steps))

    def target(self, ref: Any) -> tuple[Any, Path] | None:
        """The same, past references that only lead on; None when they lead in a circle."""
        passed: dict[str, None] = {}
        found: tuple[Any, Path] | None = None
        while isinstance(ref, str) and ref not in self._targets:
            if ref in passed:
                found = None
                break
            passed[ref] = None
            found = self.find(ref)
            if found is None or not isinstance(found[0], dict) or set(found[0]) != {"$ref"}:
                break
            ref = found[0]["$ref"]
        else:
            found = self._targets.get(ref) if isinstance(ref, str) else None
        self._targets.update(dict.fromkeys(passed, found))
        return found

    def name(self, path: Path) -> str:
        """The name of a place among the definitions: its own where it has one, else its last step."""
        if path not in self.names:
            bare = next((str(step) for step in reversed(path) if isinstance(step, str)), "root") or "part"
            name, count = bare, 2
            while name in self._taken:
                name, count = f"{bare}_{count}", count + 1
            self._taken.add(name)
            self.names[path] = name
        return self.names[path]

    def _at(self, path: tuple[str | int, ...]) -> tuple[Any, Path] | None:
        node: Any = self.root
        place: list[str | int] = []
        kind = "schema"
        for step in path:
            if isinstance(node, list) and _is_number(step) and int(step) < len(node):
                node = node[int(step)]
                place.append(int(step))
            elif isinstance(node, dict) and step in node:
                node = node[step]
                place.append(step)
            else:
                return None
            kind = _next(kind, place[-1], node)
        if kind == "holder" or not isinstance(node, dict | bool):
            return None
        return self._sounded(node, tuple(place)) if kind == "foreign" else (node, tuple(place))

    def _sounded(self, node: Any, path: Path) -> tuple[Any, Path]:
        """A schema that stands where none is looked for, under a keyword that JSON Schema does not know."""
        if path not in self._foreign:
            self._foreign[path] = sound(node, path, self._tell) if isinstance(node, dict) else node
        return self._foreign[path], path

    def _anchor(self, name: str) -> Path | None:
        if self._anchors is None:
            self._anchors = {}
            waiting: list[tuple[Any, Path]] = [(self.root, ())]
            while waiting:
                node, path = waiting.pop()
                if not isinstance(node, dict):
                    continue
                for said in (node.get("$anchor"), str(node.get("$id", "")).removeprefix("#")):
                    if isinstance(said, str) and said:
                        self._anchors.setdefault(said, path)
                waiting += [(child, path + step) for step, child in children(node)]
        return self._anchors.get(name)


def _is_number(step: str | int) -> bool:
    """Whether a step can be a place in a list; digits without end are none."""
    return str(step).isdecimal() and len(str(step)) <= DIGITS


def _next(kind: str, step: str | int, node: Any) -> str:
    """What is reached by one more step: a schema, something that holds schemas, or what no keyword speaks of."""
    if kind == "holder":
        return "schema"
    if kind == "schema" and ((step in MAP and isinstance(node, dict)) or (step in LIST and isinstance(node, list))):
        return "holder"
    return "schema" if kind == "schema" and step in ONE else "foreign"
