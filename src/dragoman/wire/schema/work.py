"""What one compilation has in hand: the rules, the references, what changed so far, and how much may still be written."""

from __future__ import annotations

from typing import Any, NoReturn

from dragoman.dialect.schema import Subset
from dragoman.errors import LocalError
from dragoman.types.note import Action, Path
from dragoman.wire import jsonio
from dragoman.wire.schema.compiled import Change, Effect
from dragoman.wire.schema.refs import References
from dragoman.wire.schema.sound import MAPPED as MAP
from dragoman.wire.schema.sound import MAX_DEPTH as MAX_DEPTH
from dragoman.wire.schema.sound import OPTIONAL as OPTIONAL
from dragoman.wire.schema.sound import SAID as SAID
from dragoman.wire.schema.sound import sound
from dragoman.wire.schema.vocabulary import UNIONS, types_of

MAX_NODES = 30_000  # schemas and properties read or written: what references may expand to
MAX_TOLD = 2000  # characters of one constraint told in words

# A schema with one of these gets a branch for null rather than one more type.
STRUCTURED = frozenset({"properties", "additionalProperties", "items", "prefixItems", "const", "anyOf", "$ref", MAP})

Node = dict[str, Any]


class Work:
    """The state of one compilation."""

    def __init__(self, root: Node, subset: Subset) -> None:
        self.subset = subset
        self.changes: list[Change] = []
        self.root = sound(root, (), self.malformed)
        self.refs = References(self.root, self.malformed)
        self.open: list[Path] = []  # the places whose schemas are being written out right now
        self.waiting: list[Path] = []  # definitions that something refers to
        self.wanted: set[Path] = set()
        self.root_name: str | None = None  # the root's own name among the definitions, when it had to move
        self._nodes = 0
        self._null: dict[int, tuple[bool, Node]] = {}  # by id, with what keeps the id from being used again

    def change(self, path: Path, action: Action, reason: str, effect: Effect = "same") -> None:
        """Tell one thing."""
        self.changes.append(Change(path=path, action=action, reason=reason, effect=effect))

    def malformed(self, path: Path, why: str) -> None:
        """Tell that a keyword was taken away because no validator could read it."""
        self.change(path, "dropped", why, "wider")

    def spend(self, path: Path, count: int = 1) -> None:
        """Count schemas written; raises LocalError too_large when references expand without measure."""
        self._nodes += count
        if self._nodes > MAX_NODES:
            raise LocalError(
                "too_large", f"the schema expands to more than {MAX_NODES} parts: use fewer references", path[:8]
            )

    def too_deep(self, path: Path) -> NoReturn:
        """Raise LocalError too_deep."""
        raise LocalError("too_deep", f"more than {MAX_DEPTH} levels of schemas", path[:8])

    def refer(self, path: Path) -> str:
        """The reference to a place, which thereby becomes a definition; the root stays the root."""
        if path == () and self.root_name is None:
            return "#"
        if path not in self.wanted:
            self.wanted.add(path)
            self.waiting.append(path)
        name = self.refs.name(path) if path else self.root_name or "root"
        return "#/$defs/" + name.replace("~", "~0").replace("/", "~1")

    def takes_null(self, raw: Any, depth: int = 0) -> bool:
        """Whether null is a value of a schema, references, unions and intersections included."""
        if not isinstance(raw, dict):
            return raw is not False
        if depth > MAX_DEPTH:
            self.too_deep(())
        if id(raw) not in self._null:
            self._null[id(raw)] = (False, raw)  # what is null only by way of itself is not
            self._null[id(raw)] = (self._null_fits(raw, depth), raw)
        return self._null[id(raw)][0]

    def _null_fits(self, raw: Node, depth: int) -> bool:
        names, values = types_of(raw), raw.get("enum")
        if raw.get("nullable") is True:
            return True
        if (names and "null" not in names) or raw.get("const") is not None:
            return False
        if isinstance(values, list) and None not in values:
            return False
        if "not" in raw and self.takes_null(raw["not"], depth + 1):
            return False
        if "$ref" in raw:
            found = self.refs.target(raw["$ref"])
            if found is not None and not self.takes_null(found[0], depth + 1):
                return False
        parts = raw.get("allOf")
        if isinstance(parts, list) and not all(self.takes_null(part, depth + 1) for part in parts):
            return False
        unions = [raw[key] for key in UNIONS if isinstance(raw.get(key), list)]
        return all(any(self.takes_null(part, depth + 1) for part in union) for union in unions)


def told(key: str, value: Any) -> str:
    """A keyword in words for a description."""
    text = value if isinstance(value, str) and key != "pattern" else jsonio.text(value)
    return f"{key}: {text if len(text) <= MAX_TOLD else text[:MAX_TOLD] + '…'}"


def say(node: Node, *words: str) -> None:
    """Add to what a node's description must say."""
    node[SAID] = [*node.get(SAID, ()), *words]


def described(node: Node, words: list[str]) -> None:
    """Write into the description what had to leave the schema."""
    words = list(dict.fromkeys(words))
    if words:
        before = node.get("description")
        start = f"{before}\n" if isinstance(before, str) and before else ""
        node["description"] = f"{start}({'; '.join(words)})"


def nullable(node: Node) -> Node:
    """A schema that allows null besides."""
    said = node.get("type")
    if isinstance(said, str | list) and not node.keys() & STRUCTURED:
        names = said if isinstance(said, list) else [said]
        out = {**node, "type": [*names, *(["null"] if "null" not in names else [])]}
        if "enum" in node and None not in node["enum"]:
            out["enum"] = [*node["enum"], None]
        return out
    words = {"description": node["description"]} if "description" in node else {}
    rest = {key: value for key, value in node.items() if key != "description"}
    if rest.keys() == {"anyOf"}:
        return {**words, "anyOf": [*rest["anyOf"], {"type": "null"}]}
    return {**words, "anyOf": [rest, {"type": "null"}]}
