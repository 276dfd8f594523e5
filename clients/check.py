"""What one run must show, and what it is called: done, degraded or WRONG."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Any, Literal

from msgspec import Struct

from clients.backend import ANSWER, SIGNATURE, THOUGHT
from clients.client import Client, Ran
from clients.read import Asked, read
from clients.tee import Exchanged
from dragoman.testing import Received

Weight = Literal["degraded", "WRONG"]
Fault = tuple[Weight, str]
LOST = "dragoman-lost"
SOON = 2.0  # seconds in which the back end must be let go
REFUSED = re.compile(r"rate.?limit|\b429\b|too many requests", re.IGNORECASE)


class Cell(Struct, frozen=True, kw_only=True):
    """One client before one back end, in one scene. `faults` are sentences; none of them: done. `told` is what the
    gateway itself said that the back end's wire cannot hold."""

    client: str
    speaks: str
    wire: str
    scene: str
    outcome: Literal["done", "degraded", "WRONG", "skipped"]
    faults: tuple[str, ...] = ()
    told: tuple[str, ...] = ()
    seconds: float = 0.0


class Seen(Struct, frozen=True, kw_only=True):
    """A run from outside: what became of it, what the client said, what reached the back end, and how long after the client
    had gone the back end was let go (None: not in time)."""

    client: Client
    wire: str
    scene: str
    ran: Ran = Ran(code=-1, out="", err="it did not run", seconds=0.0)
    said: Sequence[Exchanged] = ()
    got: Sequence[Received] = ()
    left: float | None = None


def cell(seen: Seen) -> Cell:
    """What is to be said of a run."""
    checks = {"turns": _turns, "anew": _turns, "demand": _turns, "limit": _limit, "cut": _cut, "local": _local}
    faults = list(checks.get(seen.scene, _leave)(seen))
    weights = [weight for weight, _ in faults]
    outcome = "WRONG" if "WRONG" in weights else "degraded" if faults else "done"
    told = {each.headers[LOST] for each in seen.said if LOST in each.headers}
    return Cell(
        client=seen.client.name,
        speaks=seen.client.wire,
        wire=seen.wire,
        scene=seen.scene,
        outcome=outcome,
        faults=tuple(dict.fromkeys(f"{weight}: {fault}" for weight, fault in faults)),
        told=tuple(sorted(told)),
        seconds=round(seen.ran.seconds, 2),
    )


def _ended(ran: Ran) -> str:
    said = ran.fault or ran.answer or (ran.err or ran.out)[-300:]
    return f"exit code {ran.code}, {said!r}"


def _turns(seen: Seen) -> Iterator[Fault]:
    """Call, result, answer: and at the back end what the client said, all of it."""
    if seen.ran.answer is None or ANSWER not in seen.ran.answer:
        yield "WRONG", f"no answer: {_ended(seen.ran)}"
    said = [each for each in seen.said if _is_turn(each)]
    got = [each for each in seen.got if _is_turn(each)]
    if len(said) != len(got):
        yield "WRONG", f"{len(said)} requests of the client became {len(got)}"
    theirs = [(read(seen.client.wire, each.body), each) for each in said]
    ours = [(read(seen.wire, each.body), each) for each in got]
    shown = [asked for asked, _ in ours if asked.results]
    if seen.client.calls and not shown:
        yield "WRONG", "no result of a call reached the back end"
    for asked, exchanged in theirs:
        match = next((each for each in ours if _same_turn(asked, each[0])), None)
        if match is None:
            yield "WRONG", f"a request with {len(asked.results)} results and {len(asked.tools)} tools did not arrive"
            continue
        ours.remove(match)
        yield from _kept(seen, asked, match[0], exchanged)
        if seen.client.wire == seen.wire:
            for key in exchanged.body.keys() - match[1].body.keys():
                yield "degraded", f"{key} dropped"


def _is_turn(each: Exchanged | Received) -> bool:
    """Whether an answer was asked for, not a count or a list."""
    counts = each.path.partition("?")[0].endswith(("count_tokens", "input_tokens"))
    return (
        isinstance(each.body, dict) and not counts and any(key in each.body for key in ("messages", "input", "prompt"))
    )


def _same_turn(asked: Asked, arrived: Asked) -> bool:
    """Requests of a client may be under way side by side."""
    counts = [(len(each.results), bool(each.tools)) for each in (asked, arrived)]
    return counts[0] == counts[1] and (not asked.users or asked.users[-1] in "".join(arrived.users))


def _kept(seen: Seen, asked: Asked, arrived: Asked, exchanged: Exchanged) -> Iterator[Fault]:
    """Each part of a request, as it arrived."""
    told = exchanged.headers.get(LOST, "")
    yield from _texts(asked, arrived)
    yield from _tools(asked, arrived, told)
    yield from _history(seen, asked, arrived)
    yield from _reasoning(seen, asked, arrived, exchanged)
    if seen.wire == "messages":
        if arrived.marks < asked.marks:
            yield "degraded", f"{asked.marks} cache marks became {arrived.marks}"
        if not arrived.limit:
            yield "WRONG", "no max_tokens, which the real API refuses"
    elif arrived.marks > (asked.marks if seen.client.wire == seen.wire else 0):
        yield "degraded", f"{arrived.marks} cache marks on a wire that has none"
    if asked.limit and asked.limit != arrived.limit:
        yield "degraded", f"the output limit {asked.limit} became {arrived.limit}"
    if asked.thinks and not arrived.thinks:
        yield "degraded", "reasoning was asked for, and is not any more"
    if arrived.alone and not asked.alone:
        yield "degraded", "one call at a time, which nobody asked for"


def _texts(asked: Asked, arrived: Asked) -> Iterator[Fault]:
    system, users = "\n".join(arrived.system), "\n".join(arrived.users)
    for text in asked.system:
        if text not in system:
            where = "moved to a user's turn" if text in users else "LOST"
            yield ("degraded" if text in users else "WRONG"), f"a system text of {len(text)} letters {where}"
    for text in asked.users:
        if text not in users:
            yield "WRONG", f"a user's text of {len(text)} letters lost"
    for text in asked.texts:
        if text not in "\n".join(arrived.texts):
            yield "WRONG", f"an assistant's text of {len(text)} letters lost"


def _tools(asked: Asked, arrived: Asked, told: str) -> Iterator[Fault]:
    for name, schema in asked.tools.items():
        there = next((each for each in arrived.tools if each == name or each.endswith(f"__{name}")), None)
        if there is None:
            yield "WRONG", f"the tool {name} is lost"
            continue
        found = arrived.tools[there]
        if schema is None:  # free text, or a function of one string where the wire has none
            if found is not None and list(found.get("properties", {})) != ["input"]:
                yield "WRONG", f"the tool {name} takes text, and became something else"
        elif not found or schema.get("properties", {}).keys() - found.get("properties", {}).keys():
            yield "WRONG", f"the tool {name} lost parameters"
        elif found != schema:
            yield "degraded", f"the schema of {name} changed: {', '.join(_differences(schema, found))}"
    kinds = "".join(arrived.hosted)
    for kind in asked.hosted:
        if not any(known in kinds for known in (kind, kind.rsplit("_", 1)[0])) and "tools" not in told:
            yield "degraded", f"{kind}, which a vendor runs, was dropped without a word"


def _differences(one: Any, other: Any, at: str = "") -> list[str]:
    if isinstance(one, dict) and isinstance(other, dict):
        keys = sorted({*one, *other})
        return [
            each for key in keys for each in _differences(one.get(key, ABSENT), other.get(key, ABSENT), f"{at}/{key}")
        ]
    return [] if one == other else [f"{'-' if other is ABSENT else '+' if one is ABSENT else ''}{at}"]


ABSENT = object()


def _history(seen: Seen, asked: Asked, arrived: Asked) -> Iterator[Fault]:
    """Calls with their names, arguments and results, each paired by an id of its own."""
    ids = [call.id for call in arrived.calls]
    if len(set(ids)) != len(ids):
        yield "WRONG", "two calls share one id"
    if {*ids} != {*arrived.results}:
        yield "WRONG", f"calls {ids} have results {[*arrived.results]}"
    if len(asked.calls) != len(arrived.calls) or len(asked.results) != len(arrived.results):
        yield "WRONG", f"{len(asked.calls)} calls became {len(arrived.calls)}"
        return
    for one, other in zip(asked.calls, arrived.calls, strict=True):
        if one.arguments != other.arguments or not other.name.endswith(one.name):
            yield "WRONG", f"the call {one.name} {one.arguments} became {other.name} {other.arguments}"
    for one, other in zip(asked.results.values(), arrived.results.values(), strict=True):
        if one != other:
            yield "WRONG", f"the result {one[:60]!r} became {other[:60]!r}"
    made = [call.id for call in arrived.calls][: len(seen.client.calls)]
    if seen.client.wire != "ollama" and made != [f"call_{number}" for number, _ in enumerate(made, 1)]:
        yield "WRONG", f"the calls of the back end came back as {made}"


def _reasoning(seen: Seen, asked: Asked, arrived: Asked, exchanged: Exchanged) -> Iterator[Fault]:
    """What the back end thought comes back to it, with its seal, and as nothing else."""
    if any(THOUGHT in text for text in arrived.texts):
        yield "WRONG", "reasoning came back as the answer's text"
    thought = seen.wire != "messages" or arrived.thinks  # that back end thinks only when it is asked to
    told = LOST in exchanged.headers and seen.client.wire == "ollama"  # which has no slot for a model's state
    direct = seen.client.wire == seen.wire and not asked.thoughts  # asked directly, this client sends none back either
    if not arrived.calls or not thought or told or direct:
        return
    if THOUGHT not in arrived.thoughts:
        yield "degraded", "the reasoning was not sent back"
    if seen.wire != "chat" and SIGNATURE not in arrived.states:
        yield "WRONG" if arrived.thoughts else "degraded", "the reasoning came back without its seal"


def _local(seen: Seen) -> Iterator[Fault]:
    """A call with arguments, its result, and an answer: the model is real, so what it says is its own."""
    if not (seen.ran.answer or "").strip():
        yield "WRONG", f"no answer: {_ended(seen.ran)}"
    if seen.client.local.calls:
        asked = [read(seen.client.wire, each.body) for each in seen.said if _is_turn(each)]
        calls = [call for each in asked for call in each.calls]
        if not any(each.results for each in asked) or not all(isinstance(call.arguments, dict) for call in calls):
            yield "WRONG", f"no call with its result: {calls}"


def _limit(seen: Seen) -> Iterator[Fault]:
    """The service's words and its wait, as the client's own error."""
    fault = seen.ran.fault
    if fault is None:
        yield "WRONG", f"a rate limit is no error: {_ended(seen.ran)}"
    elif not REFUSED.search(f"{fault.kind} {fault.message}"):
        yield "WRONG", f"a rate limit is told as {fault.kind}: {fault.message}"
    elif seen.client.shows_wait and fault.retry_after != "2":
        yield "degraded", f"the error says to wait {fault.retry_after}"
    waits = {each.headers.get("retry-after") for each in seen.said if each.status == 429}
    if waits != {"2"}:
        yield "degraded", f"the client was told to wait {sorted(map(str, waits))}"


def _cut(seen: Seen) -> Iterator[Fault]:
    """An answer that broke off is an error, never an end."""
    if not seen.got:
        yield "WRONG", f"no request reached the back end: {_ended(seen.ran)}"
    if seen.ran.fault is None and seen.ran.code == 0:
        yield "WRONG", f"an answer that broke off is no error: {_ended(seen.ran)}"


def _leave(seen: Seen) -> Iterator[Fault]:
    if not seen.got:
        yield "WRONG", f"no request reached the back end: {_ended(seen.ran)}"
    elif seen.left is None:
        yield "WRONG", f"the back end was not let go within {SOON:.0f} s"
