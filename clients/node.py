"""The Node that npm clients run on, from the same registry, whatever the machine has."""

from __future__ import annotations

from clients.client import Pins

NODE = Pins(folder="node", kind="npm", packages=("node@22.23.3",))


def npm(folder: str, package: str) -> Pins:
    """One npm package at a version, on that Node."""
    return Pins(folder=folder, kind="npm", packages=(package,), after=(NODE,))
