"""What the tests of chat templates share: the texts of public models, and what another renderer made of them."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path

from dragoman.engine.template import Template
from scripts import script

ROOT = Path(__file__).resolve().parents[3]
FOLDER = ROOT / "tests" / "data" / "templates"
NAMES = sorted(path.stem for path in FOLDER.glob("*.jinja"))
RENDERED: dict[str, dict[str, str | None]] = json.loads((FOLDER / "rendered.json").read_text("utf-8"))["rendered"]


oracle = script("templates")


@cache
def template(name: str) -> Template:
    """The template of a public model."""
    return Template((FOLDER / f"{name}.jinja").read_text("utf-8"), bos=oracle.BOS, eos=oracle.EOS)
