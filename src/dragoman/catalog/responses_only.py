"""The mode in which one wire is spoken and no other, as Codex does since its commit 8cabf5a (S3-25, S3-26, S3-27).

The texts are those of its config loader. They speak for that program alone: Chat Completions is a wire like any other
here, and what a vendor deprecates is the vendor's to say (S3-28).
"""

from __future__ import annotations

from collections.abc import Mapping

from msgspec.structs import replace

from dragoman.catalog.find import parse
from dragoman.catalog.provider import Provider
from dragoman.catalog.wires import canonical
from dragoman.errors import UsageError

MODE, WIRE = "responses_only", "responses"
MORE = "More info: https://github.com/openai/codex/discussions/7782"
CHAT_REMOVED = (
    '`wire_api = "chat"` is no longer supported.\n'
    f'How to fix: set `wire_api = "responses"` in your provider config.\n{MORE}'
)
OLLAMA_CHAT_REMOVED = (
    "`ollama-chat` is no longer supported.\n"
    f"How to fix: replace `ollama-chat` with `ollama` in `model_provider`, `oss_provider`, or `--local-provider`.\n{MORE}"
)


def wire_api(said: object = WIRE) -> str:
    """The one wire, when a row says it or says nothing; else UsageError: for chat how to fix it, for any other word that
    it is unknown. Words are lower-case."""
    if said == "chat":
        raise UsageError("unknown_wire", CHAT_REMOVED)
    if said != WIRE:
        raise UsageError("unknown_wire", f"unknown variant `{said}`, expected `{WIRE}`")
    return WIRE


def held(spec: str, rows: Mapping[str, Provider]) -> str:
    """The name of a model with this wire said. Raises UsageError for another wire, and for a provider that was removed
    or does not speak this one."""
    asked = parse(spec)
    if asked.provider == "ollama-chat":
        raise UsageError("unknown_model", OLLAMA_CHAT_REMOVED)
    if asked.wire is not None and canonical(asked.wire) != WIRE:
        raise UsageError("unknown_wire", f"{spec}: the mode {MODE} speaks {WIRE} and no other wire")
    if asked.url is not None:
        return spec
    row = rows.get(asked.provider or "")
    if row is not None and WIRE not in map(canonical, row.wires):
        speaks = ", ".join(row.wires)
        raise UsageError(
            "unknown_wire", f"{row.label} does not speak {WIRE}, the one wire of {MODE}: it speaks {speaks}"
        )
    return f"{asked.provider}/{asked.model}#{WIRE}"


def narrowed(rows: Mapping[str, Provider]) -> dict[str, Provider]:
    """The rows that speak this wire, with it alone."""
    return {name: replace(row, wires=(WIRE,)) for name, row in rows.items() if WIRE in map(canonical, row.wires)}
