"""What was lost on the way, told as places and never as words: in a header, and behind a stream what is known only then."""

from __future__ import annotations

import re
from collections.abc import Sequence

from dragoman.types.note import Note, show_path
from dragoman.types.reply import Reply
from dragoman.types.request import Request

LOST = "dragoman-lost"
MOST = 900  # characters of it; behind them "..." says that there is more
UNSAYABLE = re.compile(r"[^ -~]")  # in a header; a place may be a key that somebody wrote
REPLY = "reply."  # before a place in the answer
TRIED = ("attempts",)  # where a call tells of its tries: behind what it tells of its request, before its answer
BOTH = frozenset(Request.__struct_fields__) & frozenset(Reply.__struct_fields__)
ASKED = frozenset(Request.__struct_fields__) - BOTH
ANSWERED = frozenset(Reply.__struct_fields__) - BOTH

Headers = tuple[tuple[str, str], ...]


def places(notes: Sequence[Note], prefix: str = "") -> list[str]:
    """Each place that lost something, and what became of it."""
    return [f"{prefix}{show_path(note.path)} {note.action}" for note in notes if note.loss]


def of_request(told: Sequence[Note]) -> list[Note]:
    """What a model in this process tells of its request, which it does only once it has begun: all but what has its place
    in an answer alone."""
    return [note for note in told if not (note.path and note.path[0] in ANSWERED)]


def since(asked: Sequence[Note], told: Sequence[Note], *, passes: bool) -> list[str]:
    """What was told of a call beyond what was `asked`: of the request again, as it was written anew for another try or cut
    by the service; all else is of the answer, and nothing of it is lost where its bytes pass. A place that both have, such
    as `stop`, is of the request where it stands before the tries."""
    if told == asked:
        return []
    before = frozenset(asked)
    first = next((at for at, note in enumerate(told) if note.path[:1] == TRIED), 0)
    anew: list[Note] = []
    answered: list[Note] = []
    for at, note in enumerate(told):
        if note not in before:
            asks = at < first or (note.path and note.path[0] in ASKED)
            (anew if asks else answered).append(note)
    return places(anew) + ([] if passes else places(answered, REPLY))


def header(found: Sequence[str]) -> Headers:
    """The header, where there is something to tell."""
    return ((LOST, _line(found)),) if found else ()


def comment(found: Sequence[str]) -> bytes:
    """The same as a comment of an event stream, which every reader of one passes over."""
    return f": {LOST}: {_line(found)}\n\n".encode() if found else b""


def _line(found: Sequence[str]) -> str:
    line = "; ".join(dict.fromkeys(found))
    return UNSAYABLE.sub("?", line if len(line) <= MOST else f"{line[:MOST]}...")
