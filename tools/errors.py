"""What can go wrong, what it means and what is done about it: docs/errors.md.

python tools/errors.py            write the page
python tools/errors.py --check    exit 1 if the page is stale
"""

from __future__ import annotations

import sys
from collections.abc import Iterable
from pathlib import Path
from typing import get_args

from dragoman.cli.main import FAILED, INTERRUPTED, LIMITED, REFUSED, WRONG_USAGE
from dragoman.explain.causes import causes
from dragoman.explain.lessons import Row, lessons
from dragoman.types.codes import RETRYABLE, ErrorCode
from dragoman.wire.faults import STATUSES, WORDS

PAGE = Path(__file__).resolve().parent.parent / "docs" / "errors.md"
HEAD = """\
# When a service says no

Written by `make docs` from `src/dragoman/explain/`, `wire/faults.py` and the command line; do not edit.

```python
from dragoman import ApiError, Model
from dragoman.testing import FakeProvider

with FakeProvider("chat", quirks=["overflow"]) as fake, Model(fake.spec, env={}) as model:
    try:
        model.chat("Hello")
    except ApiError as error:
        print(error)
        assert (error.code, error.status, error.retryable) == ("context_overflow", 400, False)
        assert error.explanation is not None and error.explanation.name == "overflow"
```

One line tells it: whose error, the status, the first 500 characters of the service's own words with every key taken out,
then, after a dash, what they mean and what to do. The words always come first; what we add is a clue. On the command line it
is the same line.

| `error.` | |
|---|---|
| `code` | one of the closed list below |
| `status` | of HTTP, or the one that an error inside a success names; 0 for none |
| `retryable` | the service's word, else our table |
| `detail` | `message`, `vendor_code`, `vendor_type`, `param`, `retry_after`, the whole `body`; `tokens` and `limit` of an overflow |
| `explanation` | `name`, `cause`, `fix`, `source`, and `path`: the place in the conversation, such as `messages[3].content[0]` |

An error body from anywhere, a log say, is explained by `dragoman explain FILE --wire messages --request BODY`.

No answer at all is a `TransportError`, an answer that cannot be read a `RemoteError`, what you asked for and cannot be a
`UsageError`. All are `DragomanError`s with a `code` and one line of `message`.

"""
CODES = """## Codes

*Again*: a call is tried again by itself ([retries](retries.md)). An empty account (`quota`) is no rate limit, a conversation
that is too long (`context_overflow`) no throttling, and too many bytes (`too_large`) not too many tokens.

| code | again | status | the service's own codes |
|---|---|---|---|
"""
EXITS = f"""
## Exit codes

| | |
|---|---|
| 0 | done |
| {FAILED} | the model, the service or a tool failed |
| {WRONG_USAGE} | wrong usage, or input that cannot be read |
| {REFUSED} | strict mode refused a loss |
| {LIMITED} | permission denied, or a limit reached |
| {INTERRUPTED} | interrupted |
"""
CAUSES = """
## Causes

What a service says is looked up in `causes.toml`; the first row that matches names the cause. The place is the most exact one
known: a call id in the words, a rule of [history](history.md) that is broken, a content of that kind, a path or a key in the
words, whatever the wire made of them. Words that are in no row are shown as they are.

| cause | means | what to do | source |
|---|---|---|---|
"""
LESSONS = """
## Adapting to a 400

A server that refuses a parameter says so, and with that how the request must be written. `Model` then writes it again, at
once, and remembers for its later calls what was learned; an agent meets the refusal once.

```python
from dragoman import Model
from dragoman.testing import FakeProvider

with FakeProvider("chat", quirks=["no-max-tokens", "no-temperature"]) as fake, Model(fake.spec, env={}) as model:
    outcome = model.outcome("Hello", max_output=500, temperature=0.2)
    assert [attempt.status for attempt in outcome.attempts] == [400, 400, 200]
    assert fake.seen[2].body["max_completion_tokens"] == 500
    assert [note.path for note in outcome.notes if note.loss] == [("sampling", "temperature")]
    assert model.outcome("Hello", max_output=500).requests == 1
```

- Only a **quoted** match counts: the words must quote a key, a role or a value that was in fact sent. "'max_completion_tokens'
  too large" is about a value, and teaches nothing.
- One thing a request, each once a call. An unknown refusal costs one request, and a server that refuses both spellings is
  believed after each was tried.
- It is no retry: nothing is waited for, and the budget of retries stays. It is in `attempts`, with a note; what is left out for
  it has a note of its own, as a loss.
- It is remembered as facts of the model's [dialect](providers.md) (`model.target.dialect`), once the server has taken the
  request. Write them into your [configuration](configuration.md), and the first request is right too.
- **`strict=True`** takes what loses nothing, such as a key's other name; what would lose something is the service's error, with
  the reason.
- `Model(…, adapt=False)` leaves requests alone.

| the words quote | the request is then written with | source |
|---|---|---|
"""
PIPE = "\\|"
TRANSPORT = {
    "network": "no answer",
    "timeout": "no answer in time",
    "incomplete": "an answer without its end",
    "server_error": "any other 5xx",
}


def page() -> str:
    """The text of docs/errors.md."""
    return HEAD + CODES + _lines(_codes()) + EXITS + CAUSES + _lines(_causes()) + LESSONS + _lines(_lessons())


def _codes() -> Iterable[tuple[str, ...]]:
    for code in get_args(ErrorCode):
        statuses = [str(status) for status, named in STATUSES.items() if named == code]
        words = [f"`{word}`" for word, named in WORDS.items() if named == code]
        said = ", ".join(statuses) or TRANSPORT.get(code, "")
        yield f"`{code}`", "yes" if code in RETRYABLE else "", said, ", ".join(words)


def _causes() -> Iterable[tuple[str, ...]]:
    for row in causes():
        yield f"`{row.name}`", _words(row.cause), _words(row.fix), row.source


def _lessons() -> Iterable[tuple[str, ...]]:
    for row in lessons():
        yield ", ".join(f"`{key}`" for key in row.keys) or row.name, _facts(row), row.source


def _facts(row: Row) -> str:
    said = [f"`{name} = {_toml(value)}`" for name, value in row.set.items()]
    said += [f"`{name}` unsaid" for name in row.unset]
    said += [f"the key in `{row.add}`"] if row.add else []
    said += [f"`{name}` without `{value}`" for name, value in row.remove.items()]
    said += [f"`{row.learn}` as the words list them"] if row.learn else []
    return ", ".join(said)


def _toml(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else f'"{value}"' if isinstance(value, str) else str(value)


def _words(text: str) -> str:
    return text.replace("{what}", "what it names").replace("{", "*").replace("}", "*")


def _lines(rows: Iterable[tuple[str, ...]]) -> str:
    return "".join(f"| {' | '.join(cell.replace('|', PIPE) for cell in row)} |\n" for row in rows)


def main(arguments: list[str]) -> int:
    """Write, or only compare."""
    text = page()
    if arguments not in ([], ["--check"]):
        print(f"unknown argument {arguments[0]!r}: there is --check", file=sys.stderr)
        return 1
    if not arguments:
        PAGE.write_text(text, encoding="utf-8")
    elif not PAGE.is_file() or PAGE.read_text(encoding="utf-8") != text:
        print("docs/errors.md is stale: run `make docs` and commit it", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
