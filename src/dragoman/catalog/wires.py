"""Wires by id: the conventions of each, the ids that other systems give them, and the wires of other packages."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import msgspec

from dragoman import wire as codecs
from dragoman.errors import UsageError

if TYPE_CHECKING:
    from dragoman.wire.base import Wire

GROUP = "dragoman.wires"
ID = re.compile(r"[a-z][a-z0-9.-]*")


class Convention(msgspec.Struct, frozen=True, kw_only=True):
    """What is true of a wire wherever it is spoken: how the key is sent (as `auth` of a row, see providers.toml), the
    headers it wants, and what a base address must end with."""

    auth: str = "bearer"
    headers: dict[str, str] = {}
    base_ends: str = ""


class Protocol(msgspec.Struct, frozen=True):
    """A protocol as others call it: which wire of ours it is, or, where we have none, what to do instead."""

    wire: str | None
    instead: str = ""


WIRES: dict[str, Convention] = {
    "chat": Convention(),
    "responses": Convention(),
    # The vendor's SDK reads a base without the version and adds it; we take both spellings.
    # Source: https://platform.claude.com/docs/en/api/overview, "Authentication" and "Versions".
    "messages": Convention(auth="x-api-key", headers={"anthropic-version": "2023-06-01"}, base_ends="/v1"),
    "completions": Convention(),
    "ollama": Convention(),
}

# The ten ids of Pi's KnownApi, which is open to other strings as we are (S3-22).
PROTOCOLS: dict[str, Protocol] = {
    "openai-completions": Protocol("chat"),
    "openai-responses": Protocol("responses"),
    "anthropic-messages": Protocol("messages"),
    "azure-openai-responses": Protocol("responses"),
    "mistral-conversations": Protocol(None, "mistral/MODEL speaks chat"),
    "openai-codex-responses": Protocol(None, "it wants the login of an account; openai/MODEL#responses takes a key"),
    "bedrock-converse-stream": Protocol(None, "bedrock/MODEL speaks responses and chat"),
    "google-generative-ai": Protocol(None, "google/MODEL speaks chat"),
    "google-vertex": Protocol(None, "google/MODEL speaks chat"),
    "pi-messages": Protocol(None, "name the wire that the service behind it speaks"),
}


def register_wire(name: str, codec: Wire, convention: Convention = Convention()) -> None:  # noqa: B008  a frozen value
    """Make a codec a wire under a new id; rows and names of models may say it from now on (S3-22, I-17).

    The same codec may come twice. Raises UsageError for an id that cannot be one or that another codec has.
    """
    if not ID.fullmatch(name):
        raise UsageError("usage", f"{name!r} cannot be the id of a wire: small letters, digits, dots and dashes")
    if canonical(name) != name:
        raise UsageError("usage", f"{name} is the wire {canonical(name)}")
    codecs.register(name, codec)
    WIRES[name] = convention


def canonical(name: str) -> str:
    """Our id of a wire by another system's; any other id is itself."""
    protocol = PROTOCOLS.get(name)
    return name if protocol is None or protocol.wire is None else protocol.wire


def known(name: str, where: str) -> str:
    """Our id of a wire by any of its names, its codec at hand.

    An id that nobody knows yet is looked for among the entry points `dragoman.wires` of the installed packages. Raises
    UsageError unknown_wire, for an id that is known but not built with what to do instead.
    """
    wire = canonical(name)
    if wire in WIRES or _plugged(wire):
        return wire
    if name in PROTOCOLS:
        raise UsageError("unknown_wire", f"{where}: {name} is known but not built: {PROTOCOLS[name].instead}")
    raise UsageError("unknown_wire", f"{where}: unknown wire {name!r}: one of {', '.join(WIRES)}")


def _plugged(name: str) -> bool:
    """Whether an installed package brings this wire: its entry point is a codec, its `convention`, if any, counts."""
    from importlib.metadata import entry_points

    for point in entry_points(group=GROUP, name=name):
        try:
            codec = point.load()
        except (ImportError, AttributeError) as error:
            raise UsageError("unknown_wire", f"{name}: the package that brings it ({point.value}): {error}") from None
        register_wire(name, codec, getattr(codec, "convention", Convention()))
        return True
    return False
