"""Guards `dragoman doctor` end to end: recordings of real sockets, bodies a line, saved conversations; exit codes; JSON."""

from __future__ import annotations

import json
from pathlib import Path

import msgspec
import pytest
from click.testing import CliRunner

from dragoman.cli.main import group as cli
from dragoman.client import Model
from dragoman.doctor import Sent, examine, load
from dragoman.errors import RemoteError, UsageError
from dragoman.testing import FakeProvider
from dragoman.types import Reply, Request, Stop, Usage, assistant, system, user
from dragoman.types.save import Conversation, dumps

WIRES = ("chat", "messages", "responses")


def doctor(path: Path, *options: str) -> tuple[int, str]:
    done = CliRunner().invoke(cli, ["doctor", str(path), *options], catch_exceptions=False, standalone_mode=False)
    return done.return_value, done.output


def record(wire: str, folder: Path, prompts: list[str], *, stream: bool = False) -> None:
    """A conversation of as many turns, with these system prompts."""
    reads = [0, *(2000 + at for at in range(1, len(prompts)))]
    script = [
        {
            "text": f"answer {at}",
            "usage": {"input": 3000 + at, "output": 5, "cache_read": read if prompts[at] == prompts[0] else 294},
        }
        for at, read in enumerate(reads)
    ]
    history = [user("Begin.")]
    with FakeProvider(wire, script=script) as fake, Model(fake.spec, env={}, record=folder) as model:
        for prompt in prompts:
            reply = model.chat(Request(messages=tuple(history), stream=stream or None), system=prompt)
            history += [reply.message, user("Go on.")]


def test_what_holds_no_request_is_not_called_sound(tmp_path: Path) -> None:
    (tmp_path / "empty.jsonl").write_bytes(b"\n")
    with pytest.raises(UsageError, match="holds no request to a model"):
        doctor(tmp_path / "empty.jsonl")


@pytest.mark.req("S3-44", "I-05", "I-11")
@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("wire", WIRES)
def test_a_recording_with_the_time_in_its_system_prompt(wire: str, stream: bool, tmp_path: Path) -> None:
    record(wire, tmp_path / "rec", [*["It is 12:00:00."] * 3, "It is 12:04:10."], stream=stream)
    code, out = doctor(tmp_path / "rec")
    place = {"chat": "messages[0].content", "messages": "system[0]", "responses": "instructions"}[wire]
    assert (code, out.splitlines()) == (
        1,
        [
            f"000004 (turn 4, after 000003) timestamp {place}",
            '  a time in the system prompt changed at character 10: "It is 12:00:00." → "It is 12:04:10."',
            "  1,708 tokens were read anew: the hit went from 2,002 to 294",
            "  take the time out of it, or say it in the latest user turn",
            "4 requests in 1 conversation: 1 finding, 1,708 tokens read anew",
        ],
    )


@pytest.mark.req("S3-45")
@pytest.mark.parametrize("wire", WIRES)
def test_a_recording_in_order(wire: str, tmp_path: Path) -> None:
    record(wire, tmp_path / "rec", ["Be brief."] * 3)
    assert doctor(tmp_path / "rec") == (
        0,
        "3 requests in 1 conversation: each began with the whole of the one before it\n",
    )


def test_json_says_the_same(tmp_path: Path) -> None:
    record("chat", tmp_path / "rec", ["Be brief.", "Be kind."])
    code, out = doctor(tmp_path / "rec", "--json")
    assert (code, json.loads(out)) == (
        1,
        {
            "requests": 2,
            "conversations": 1,
            "tokens": 17,
            "findings": [
                {
                    "request": "000002",
                    "before": "000001",
                    "turn": 2,
                    "path": "messages[0].content",
                    "cause": "system_rebuilt",
                    "seen": 'the system prompt changed at character 3: "Be brief." → "Be kind."',
                    "advice": "build the system prompt once; say what is new in the latest user turn",
                    "tokens": 17,
                    "label": "estimated",
                    "hit": None,
                }
            ],
        },
    )


def test_bodies_a_line_in_each_of_their_forms(tmp_path: Path) -> None:
    body = {"messages": [{"role": "user", "content": "a"}]}
    chat = {"prompt_tokens": 9, "prompt_tokens_details": {"cached_tokens": 4}}
    lines = [
        body,
        {"request": body, "usage": chat},
        {"body": body, "number": 3},
        {"request": body, "response": {"usage": {"input_tokens": 5, "cache_read_input_tokens": 4}}},
        {"request": {"input": "a"}, "usage": {"input_tokens": 9, "input_tokens_details": {"cached_tokens": 4}}},
    ]
    file = tmp_path / "bodies.jsonl"
    file.write_text("\n".join(json.dumps(line) for line in lines) + "\n\n", "utf-8")
    sent = load(file)
    assert [each.name for each in sent] == [f"line {at}" for at in range(1, 6)]
    assert [each.body for each in sent] == [body] * 4 + [{"input": "a"}]
    assert [each.usage and (each.usage.input, each.usage.cache_read) for each in sent] == [
        None,
        (9, 4),
        None,
        (9, 4),
        (9, 4),
    ]
    (tmp_path / "array.json").write_text(json.dumps(lines), "utf-8")
    assert load(tmp_path / "array.json") == sent
    (tmp_path / "one.json").write_text(json.dumps(body, indent=1), "utf-8")
    assert load(tmp_path / "one.json") == [Sent(name="line 1", body=body)]


def test_a_saved_conversation_is_the_requests_of_its_turns(tmp_path: Path) -> None:
    request = Request(messages=(system("S"), user("a"), assistant("b"), user("c"), assistant("d")))
    replies = tuple(
        Reply(message=assistant(word), stop=Stop(reason="end"), usage=Usage(input=1000, cache_read=read, output=1))
        for word, read in (("b", 900), ("d", 0))
    )
    file = tmp_path / "talk.json"
    file.write_bytes(dumps(Conversation(request=request, replies=replies)))
    assert [(each.name, len(each.body["messages"])) for each in load(file)] == [("turn 1", 2), ("turn 2", 4)]
    assert [finding.cause for finding in examine(load(file)).findings] == ["expired"]


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (b'{"input": 1}\n{', "line 2"),
        (b'{"hello": 1}', "line 1: no request to a model"),
        (b"[1]", "line 1: no request to a model"),
        (b"", None),
    ],
)
def test_what_is_no_request_is_told_with_its_line(data: bytes, said: str | None, tmp_path: Path) -> None:
    (tmp_path / "x").write_bytes(data)
    if said is None:
        assert load(tmp_path / "x") == []
        return
    with pytest.raises(RemoteError, match=said):
        load(tmp_path / "x")


def test_a_folder_without_a_recording(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="holds no recording"):
        load(tmp_path)


def test_real_clients_send_what_they_sent_before(shared: Path) -> None:
    clean = (
        "codex",
        "codex-gpt55",
        "claude-code",
        "claude-code-thinking",
        "pi-lant-reasoning",
        "pi-lchat",
        "qwen-openai",
        "llm-gw",
    )
    for name in clean:
        files = sorted((shared / "captures" / name).glob("*.json"), key=lambda path: int(path.stem))
        bodies = [msgspec.json.decode(path.read_bytes())["body"] for path in files]
        sent = [
            Sent(name=str(at), body=body)
            for at, body in enumerate(bodies)
            if isinstance(body, dict) and {"messages", "input"} & set(body)
        ]
        exam = examine(sent)
        assert (exam.requests > 1, exam.conversations, exam.findings) == (True, 1, ()), name
