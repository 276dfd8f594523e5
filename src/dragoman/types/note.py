"""What a conversion did that its user should know of."""

from __future__ import annotations

from typing import Literal

import msgspec

Path = tuple[str | int, ...]
Action = Literal["dropped", "clamped", "substituted", "synthesised", "renamed", "moved", "merged"]


class Note(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One thing that was not carried over as it stood.

    `path` is a place in the middle format, never in a wire body. `loss` is what strict mode refuses:
    a rename, a synthesised id or a merge of neighbours is told, but is no loss.
    """

    path: Path
    action: Action
    reason: str
    loss: bool = True


def show_path(path: Path) -> str:
    """A path as people write it: `messages[3].content[0]`."""
    text = ""
    for step in path:
        text += f"[{step}]" if isinstance(step, int) else (f".{step}" if text else step)
    return text or "body"
