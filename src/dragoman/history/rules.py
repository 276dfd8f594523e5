"""The rules of a conversation's shape, by name: what each asks, where it comes from, and what repair does about it."""

from __future__ import annotations

from typing import Literal

import msgspec

from dragoman.types.note import Path

Severity = Literal["error", "warning"]


class Finding(msgspec.Struct, frozen=True, kw_only=True):
    """One place that breaks a rule. `message` says what, and what to do; `fixable`: `repair` mends it.

    `path` is a place in the middle format for `check`, in the wire's own body for `check_body`. An error is refused by
    the wire's own vendor; a warning is sent otherwise than it stands, or refused by some servers only.
    """

    rule: str
    path: Path
    message: str
    fixable: bool = False
    severity: Severity = "error"


class Rule(msgspec.Struct, frozen=True, kw_only=True):
    """What a rule asks in one sentence, its source, the wires or dialect facts it concerns, and its repair."""

    asks: str
    source: str
    concerns: str
    severity: Severity = "error"
    fix: str | None = None


EVERY = "every wire"

# --- calls and results
PAIRING: dict[str, Rule] = {
    "orphan-call": Rule(
        asks="Each call has a result.",
        source="dialects §8e.1; S0-48; S0-72",
        concerns=EVERY,
        fix="an error result says that no result was provided",
    ),
    "orphan-result": Rule(
        asks="Each result answers a call before it.",
        source="dialects §8e.2; S0-72; S4-25; REQ-002",
        concerns=EVERY + "; not while the server keeps the conversation",
        fix="its content becomes a user's text after the run of results",
    ),
    "result-without-id": Rule(
        asks="A result names the call it answers.",
        source="S4-25",
        concerns=EVERY,
        fix="it answers the next open call of its turn",
    ),
    "duplicate-result": Rule(
        asks="A call has one result.",
        source="dialects §8e.3",
        concerns=EVERY,
        fix="the last one stays",
    ),
    "duplicate-call-id": Rule(
        asks="The calls of one turn have different ids.",
        source="dialects §8d; AGT-014",
        concerns=EVERY,
        fix="the later call gets another id, and with it its result",
    ),
    "result-not-adjacent": Rule(
        asks="Results follow their calls at once.",
        source="dialects §8e.4",
        concerns="chat, messages",
        fix="the result moves behind its call's turn",
    ),
    "user-between-results": Rule(
        asks="Nobody speaks between two results of one batch.",
        source="S0-44; dialects §1.3",
        concerns="chat, messages",
        fix="the results move together, what was said follows them",
    ),
    "split-turn": Rule(
        asks="A turn with calls is one message.",
        source="dialects §1.1",
        concerns="chat",
        fix="the assistant messages become one",
    ),
    "misplaced-block": Rule(
        asks="Calls stand in assistant messages, results in tool messages.",
        source="S0-24; C-26",
        concerns=EVERY,
        fix="results go into a tool message; calls elsewhere are for you to move",
    ),
}

# --- what blocks hold
CONTENT: dict[str, Rule] = {
    "empty-text": Rule(
        asks="A text says something.",
        source="dialects §8e.6; S3-24; REQ-004",
        concerns="messages",
        fix="it is left out; a user's turn that would be empty gets the placeholder",
    ),
    "empty-reasoning": Rule(
        asks="Reasoning has words or a state.",
        source="S3-24",
        concerns="messages",
        fix="it is left out",
    ),
    "empty-message": Rule(
        asks="An assistant message says something.",
        source="dialects §1.1; S3-24; AGT-016",
        concerns="chat, messages",
        severity="warning",
        fix="it is left out",
    ),
    "trailing-whitespace": Rule(
        asks="The text of a last assistant message does not end in white space.",
        source="dialects §1.3",
        concerns="messages",
        fix="the white space is trimmed",
    ),
    "invalid-arguments": Rule(
        asks="Arguments are a JSON object.",
        source="dialects §8e.10",
        concerns="messages",
        fix="the text is wrapped in an object",
    ),
    "lone-surrogate": Rule(
        asks="Text is Unicode.",
        source="dialects §8e.12; REQ-019",
        concerns=EVERY,
        fix="half a pair becomes U+FFFD, two halves become their character",
    ),
    "image-in-assistant": Rule(
        asks="Assistant messages hold no images.",
        source="dialects §8e.14",
        concerns=EVERY,
        severity="warning",
    ),
    "call-id": Rule(
        asks="A call id has the form and length that the server takes.",
        source="dialects §8d; REQ-007; REQ-028",
        concerns=EVERY + "; call_id_pattern",
        severity="warning",
    ),
    "tool-name": Rule(
        asks="A tool's name is letters, digits, _ and -, at most 64.",
        source="dialects §8d; REQ-022",
        concerns=EVERY + "; tool_name_pattern",
        severity="warning",
    ),
    "foreign-reasoning": Rule(
        asks="Reasoning goes back only to where it came from.",
        source="architecture §6.3; S3-14",
        concerns=EVERY + "; replay",
        severity="warning",
    ),
}

# --- who speaks when, and what is offered
SHAPE: dict[str, Rule] = {
    "no-messages": Rule(
        asks="Somebody asks something.",
        source="dialects §1.2; GWY-029",
        concerns="messages, responses",
        fix="the placeholder, as a user",
    ),
    "roles-alternate": Rule(
        asks="User and assistant take turns, the user first; runs of results are exempt.",
        source="S4-19; C-05; REQ-016",
        concerns="alternate_roles",
        fix="neighbours of one role become one message, else the placeholder stands between them",
    ),
    "several-systems": Rule(
        asks="There is one system message.",
        source="dialects §1.1; REQ-014",
        concerns="one_system_message",
        severity="warning",
    ),
    "system-in-the-middle": Rule(
        asks="System messages stand before the first turn.",
        source="dialects §8e.8; REQ-013",
        concerns="one_system_message, inline_system",
        severity="warning",
    ),
    "assistant-last": Rule(
        asks="The last message is not the assistant's.",
        source="dialects §8e.9",
        concerns="prefill",
        fix="where the server continues marked messages it is marked",
    ),
    "unfinished-turn": Rule(
        asks="An assistant's turn was finished.",
        source="dialects §8e.5; C-07; REA-004",
        concerns=EVERY,
        fix="the turn is left out with its results; its text stays where that is asked for",
    ),
    "tools-missing": Rule(
        asks="A history with calls comes with tools.",
        source="dialects §8e.11; PAR-004",
        concerns="messages",
        severity="warning",
        fix="the tools that were called are named again, and the choice is to call none",
    ),
    "choice-without-tools": Rule(
        asks="A tool choice comes with tools.",
        source="dialects §2",
        concerns="chat, messages",
        fix="the choice is left out",
    ),
    "parallel-without-tools": Rule(
        asks="A word about parallel calls comes with tools.",
        source="dialects §2",
        concerns="chat",
        fix="it is left out",
    ),
    "unknown-tool-choice": Rule(
        asks="A tool choice names a tool that is offered.",
        source="S1-15",
        concerns=EVERY,
    ),
    "duplicate-tool": Rule(
        asks="Tools have different names.",
        source="REQ-024",
        concerns=EVERY,
        fix="a copy is left out; two different tools of one name are for you to rename",
    ),
}

# --- raw bodies only: what no codec would read, or what reading hides
BODY: dict[str, Rule] = {
    "arguments-not-string": Rule(
        asks="Arguments are a string of JSON.",
        source="S0-72; C-03",
        concerns="chat, responses",
    ),
    "arguments-not-object": Rule(
        asks="The input of a call is an object.",
        source="S0-72; C-03",
        concerns="messages",
    ),
    "wrong-shape": Rule(
        asks="Each value is of the kind that the wire wants in its place.",
        source="S0-72",
        concerns=EVERY,
    ),
    "foreign-key": Rule(
        asks="Each key belongs to the wire.",
        source="S0-62; S0-72",
        concerns=EVERY,
    ),
    "foreign-role": Rule(
        asks="Each role belongs to the wire.",
        source="S0-62; REQ-015",
        concerns=EVERY,
    ),
    "foreign-part": Rule(
        asks="Each part of a content belongs to the wire.",
        source="S0-62",
        concerns=EVERY,
    ),
    "foreign-item": Rule(
        asks="Messages stand in messages, items in input.",
        source="S0-62",
        concerns=EVERY,
    ),
    "foreign-tool": Rule(
        asks="Each tool is defined in the wire's own form.",
        source="S0-72",
        concerns=EVERY,
    ),
    "text-before-result": Rule(
        asks="Results stand before any text of their turn.",
        source="dialects §1.3; REQ-017",
        concerns="messages",
    ),
    "repeated-call-id": Rule(
        asks="Call ids are unique in a request.",
        source="dialects §1.3",
        concerns="messages",
    ),
}

RULES: dict[str, Rule] = {**PAIRING, **CONTENT, **SHAPE, **BODY}


def find(rule: str, path: Path, message: str, *, fixable: bool | None = None) -> Finding:
    """A finding of a rule of the table; fixable where the table has a repair for it, unless said otherwise."""
    known = RULES[rule]
    can = known.fix is not None if fixable is None else fixable
    return Finding(rule=rule, path=path, message=message, fixable=can, severity=known.severity)
