"""What a command is run with: the environment, with the file of --config in the place of DRAGOMAN_CONFIG."""

from __future__ import annotations

import os
from collections.abc import Mapping

import click

from dragoman.config import ENV


def environment() -> Mapping[str, str]:
    """The environment of this command; the process's own is left as it is."""
    context = click.get_current_context(silent=True)
    said = context.find_root().params.get("config") if context is not None else None
    return os.environ if said is None else {**os.environ, ENV: str(said)}
