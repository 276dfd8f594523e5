"""Which provider speaks which wire, at which address, with which key: data, and the way from a name to a Target."""

from __future__ import annotations

from dragoman.catalog.provider import Place, Provider, register_provider
from dragoman.catalog.wires import Convention, register_wire

__all__ = ["Convention", "Place", "Provider", "register_provider", "register_wire"]
