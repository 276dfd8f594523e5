"""Guards `dragoman schema`: the schema on one stream, what it costs on the other, and what a pipe can read."""

from __future__ import annotations

import json
from pathlib import Path

from unit.cli_run.command import dragoman

SCHEMA = '{"type": "object", "properties": {"名": {"type": "string", "minLength": 2}}, "required": ["名"]}'
COMPILED = {
    "type": "object",
    "properties": {"名": {"type": "string", "description": "(minLength: 2)"}},
    "required": ["名"],
    "additionalProperties": False,
}
CLOSED = "/additionalProperties: synthesised: false must be said: no other properties are described"
MOVED = "/properties/名/minLength: moved: this subset has no minLength: told in the description (no longer enforced)"


def test_the_schema_is_the_answer_and_each_loss_a_note(tmp_path: Path) -> None:
    (tmp_path / "s.json").write_text(SCHEMA, encoding="utf-8")
    done = dragoman("schema", "s.json", "--for", "openai-strict", home=tmp_path)
    assert (done.returncode, json.loads(done.stdout), done.stderr) == (0, COMPILED, f"note: {MOVED}\n")
    assert "名" in done.stdout


def test_explain_is_one_line_a_change_or_one_object(tmp_path: Path) -> None:
    (tmp_path / "s.json").write_text(SCHEMA, encoding="utf-8")
    lines = dragoman("schema", "s.json", "--for", "openai-strict", "--explain", home=tmp_path)
    assert (lines.returncode, lines.stdout, lines.stderr) == (0, f"{CLOSED}\n{MOVED}\n", "")
    whole = dragoman("schema", "s.json", "--for", "openai-strict", "--explain", "--json", home=tmp_path)
    report = json.loads(whole.stdout)
    assert (report["schema"], report["beyond"]) == (COMPILED, [])
    assert [change["path"] for change in report["changes"]] == ["/additionalProperties", "/properties/名/minLength"]


def test_what_is_no_schema_is_wrong_usage_in_one_line(tmp_path: Path) -> None:
    (tmp_path / "s.json").write_text("[1]", encoding="utf-8")
    for arguments in (
        ("s.json", "--for", "openai-strict"),
        ("s.json", "--for", "nothing"),
        ("absent.json", "--for", "plain"),
    ):
        done = dragoman("schema", *arguments, home=tmp_path)
        assert (done.returncode, done.stdout, done.stderr.count("\n")) == (2, "", 1)
