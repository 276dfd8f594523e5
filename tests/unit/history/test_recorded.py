"""Guards the rules against being stricter than the services: what got an answer breaks none of them (recordings)."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from dragoman import translate
from dragoman.dialect.model import BASE
from dragoman.history import Finding, check, check_body
from dragoman.wire import WIRES, find
from dragoman.wire.base import Exchange, Http
from matrix import recordings

pytestmark = [
    pytest.mark.corpus,
    pytest.mark.skipif(not recordings.present(), reason="the recordings are not beside this checkout"),
]

# Answered although the rules refuse them, each with the reason.
TOLERATED = {"dd-trace-py-a5f1f86d4902": "a result of another id than the call's, accepted by claude-3-opus in 2024"}


def errors(findings: tuple[Finding, ...]) -> list[Finding]:
    return [finding for finding in findings if finding.severity == "error"]


def answered(wire: str) -> list[recordings.Entry]:
    return [entry for entry in recordings.entries(wire) if entry["status"] == 200 and entry["id"] not in TOLERATED]


@pytest.mark.req("S0-72")
@pytest.mark.parametrize("wire", WIRES)
def test_what_a_service_answered_breaks_no_rule(wire: str) -> None:
    refused: dict[str, list[Finding]] = {}
    count = 0
    for entry in answered(wire):
        if not isinstance(entry["request"], dict):
            continue
        count += 1
        body = recordings.request_body(entry)
        found = errors(check_body(wire, body))
        incoming = find(wire).decode_request(Http(body=body), BASE, Exchange())
        found += errors(check(incoming.request, wire))
        if found:
            refused[entry["id"]] = found
    print(f"{wire}: {count} answered requests")
    assert refused == {}
    assert count > 450


@pytest.mark.parametrize("target", WIRES)
@pytest.mark.parametrize("source", WIRES)
def test_what_is_translated_breaks_no_rule_there(source: str, target: str) -> None:
    wrong: dict[str, list[Finding]] = {}
    for entry in answered(source):
        if source == target or not isinstance(entry["request"], dict) or entry["request"].get("previous_response_id"):
            continue  # a tail of a conversation that only the source's server holds: noted, never guessed at
        done = translate.request(Http(body=recordings.request_body(entry)), find(source), find(target))
        found = errors(check_body(target, done.http.body))
        if found:
            wrong[entry["id"]] = found
    assert wrong == {}


def test_what_real_clients_send_breaks_no_rule(shared: Path) -> None:
    wrong: dict[str, list[Finding]] = {}
    count = 0
    for file in sorted((shared / "captures").glob("*/*.json")):
        wire, body = captured(file)
        if wire is None:
            continue
        count += 1
        found = errors(check_body(wire, body))
        if found:
            wrong["/".join(file.parts[-2:])] = found
    assert set(wrong) <= {"sdk-anthropic/10.json"}, wrong  # a script that sends a result without its call
    assert count > 150


def captured(file: Path) -> tuple[str | None, dict[str, Any]]:
    try:
        value: Any = json.loads(file.read_text(encoding="utf-8"))
    except ValueError:
        return None, {}
    body = value.get("body") if isinstance(value, dict) else None
    if not isinstance(body, dict):
        return None, {}
    path = str(value.get("path")).partition("?")[0]
    ends = {"chat/completions": "chat", "/messages": "messages", "/responses": "responses"}
    return next((wire for end, wire in ends.items() if path.endswith(end)), None), body
