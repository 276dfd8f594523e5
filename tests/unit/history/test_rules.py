"""Guards the rules of history: each fires at its place, says what to do, and is silent on a sound request (S0-72)."""

from __future__ import annotations

from typing import Any

import pytest

from dragoman.dialect.model import BASE, override
from dragoman.errors import LocalError, RemoteError, UsageError
from dragoman.history import RULES, Finding, check, check_body, repair, require, unfinished
from dragoman.history.rules import BODY
from dragoman.types import (
    Foreign,
    Media,
    Message,
    Origin,
    Reasoning,
    Request,
    ServerState,
    Text,
    Tool,
    ToolCall,
    ToolChoice,
    ToolResult,
    ToolsChange,
    assistant,
    system,
    tool,
    user,
)


def call(id: str = "t1", **fields: Any) -> ToolCall:
    return ToolCall(**{"id": id, "name": "read", "arguments": "{}", **fields})


def result(id: str = "t1", *content: Any) -> ToolResult:
    return ToolResult(call_id=id, content=content or (Text(text="ok"),))


ASK = user("Read it.")
READ = Tool(name="read")
PIXEL = Media(kind="image", url="https://example.org/a.png")


def talk(*messages: Message, **fields: Any) -> Request:
    return Request(messages=(ASK, *messages), **{"tools": (READ,), **fields})


DONE = talk(assistant(call()), tool(result()))

# rule → wire, dialect facts, a request that breaks it, where, one that does not
CASES: dict[str, tuple[str, dict[str, Any], Request, tuple[Any, ...], Request]] = {
    "orphan-call": ("chat", {}, talk(assistant(call())), (1, "content", 0), DONE),
    "orphan-result": ("chat", {}, talk(tool(result())), (1, "content", 0), DONE),
    "result-without-id": ("chat", {}, talk(assistant(call()), tool(result(""))), (2, "content", 0), DONE),
    "duplicate-result": (
        "chat",
        {},
        talk(assistant(call()), tool(result()), tool(result())),
        (2, "content", 0),
        talk(assistant(call()), tool(result()), ASK, assistant(call()), tool(result())),
    ),
    "duplicate-call-id": (
        "chat",
        {},
        talk(assistant(call(), call()), tool(result(), result())),
        (1, "content", 1),
        talk(assistant(call(), call("t2")), tool(result("t2"), result())),
    ),
    "result-not-adjacent": ("messages", {}, talk(assistant(call()), ASK, tool(result())), (3, "content", 0), DONE),
    "user-between-results": (
        "chat",
        {},
        talk(assistant(call(), call("t2")), tool(result(), Text(text="wait")), tool(result("t2"))),
        (3, "content", 0),
        talk(assistant(call(), call("t2")), tool(result()), tool(result("t2"), Text(text="wait"))),
    ),
    "split-turn": (
        "chat",
        {},
        talk(assistant(call()), assistant(call("t2")), tool(result(), result("t2"))),
        (2,),
        talk(assistant("First."), assistant(call("t2")), tool(result("t2"))),
    ),
    "misplaced-block": ("chat", {}, talk(assistant(call()), user(result())), (2, "content", 0), DONE),
    "empty-text": ("messages", {}, talk(assistant(" "), ASK), (1, "content", 0), DONE),
    "empty-reasoning": ("messages", {}, talk(assistant(Reasoning(text=" "), "Hi.")), (1, "content", 0), DONE),
    "empty-message": ("chat", {}, talk(assistant(""), ASK), (1,), talk(assistant(call()), tool(result()))),
    "trailing-whitespace": ("messages", {}, talk(assistant("Well \n")), (1, "content", 0), talk(assistant("A "), ASK)),
    "invalid-arguments": (
        "messages",
        {},
        talk(assistant(call(arguments="[1]")), tool(result())),
        (1, "content", 0, "arguments"),
        talk(assistant(call(arguments='{"a": 1e400}')), tool(result())),
    ),
    "lone-surrogate": ("chat", {}, talk(user("a\ud83d")), (1, "content", 0), talk(user("a👩🏽‍💻 读"))),
    "image-in-assistant": ("chat", {}, talk(assistant(PIXEL)), (1, "content", 0), talk(user(PIXEL))),
    "call-id": (
        "messages",
        {},
        talk(assistant(call("functions.run:0")), tool(result("functions.run:0"))),
        (1, "content", 0, "id"),
        DONE,
    ),
    "tool-name": (
        "chat",
        {},
        talk(assistant(call(name="a b")), tool(result())),
        (1, "content", 0, "name"),
        DONE,
    ),
    "roles-alternate": ("chat", {"alternate_roles": True}, talk(ASK), (1,), talk(assistant("Hi."), ASK)),
    "several-systems": (
        "chat",
        {"one_system_message": True},
        Request(messages=(system("A"), Message(role="developer", content=(Text(text="B"),)), ASK)),
        (1,),
        Request(messages=(system("A"), ASK)),
    ),
    "system-in-the-middle": (
        "messages",
        {"inline_system": "user_text"},
        talk(system("plan"), ASK),
        (1,),
        Request(messages=(system("plan"), ASK)),
    ),
    "assistant-last": ("messages", {"prefill": "refused"}, talk(assistant("{")), (1,), talk(assistant("{"), ASK)),
    "unfinished-turn": ("chat", {}, talk(unfinished(assistant("I was")), ASK), (1,), talk(assistant("I was"), ASK)),
}
# The same for rules whose place is not in a message.
OTHERS: dict[str, tuple[str, Request, tuple[Any, ...], Request]] = {
    "no-messages": ("messages", Request(messages=(system("S"),)), ("messages",), DONE),
    "tools-missing": ("messages", talk(assistant(call()), tool(result()), tools=None), ("tools",), DONE),
    "choice-without-tools": (
        "chat",
        talk(tools=None, tool_choice=ToolChoice(mode="auto")),
        ("tool_choice",),
        talk(user(ToolsChange(add=(READ,))), tools=None, tool_choice=ToolChoice(mode="auto")),
    ),
    "parallel-without-tools": (
        "chat",
        talk(tools=None, parallel_tools=True),
        ("parallel_tools",),
        talk(parallel_tools=True),
    ),
    "unknown-tool-choice": (
        "responses",
        talk(tool_choice=ToolChoice(mode="required", names=("write",))),
        ("tool_choice",),
        talk(tool_choice=ToolChoice(mode="required", names=("read",))),
    ),
    "duplicate-tool": ("chat", talk(tools=(READ, READ)), ("tools", 1), talk(tools=(READ, Tool(name="write")))),
}

CALL = {"id": "t1", "type": "function", "function": {"name": "read", "arguments": "{}"}}
ANSWER = {"role": "tool", "tool_call_id": "t1", "content": "ok"}
HI = {"role": "user", "content": "Read it."}
CHAT = {"messages": [HI, {"role": "assistant", "content": None, "tool_calls": [CALL]}, ANSWER]}
USE = {"type": "tool_use", "id": "t1", "name": "read", "input": {}}
USED = {"type": "tool_result", "tool_use_id": "t1", "content": "ok"}
SAID = {"type": "text", "text": "And?"}
MESSAGES = {"messages": [HI, {"role": "assistant", "content": [USE]}, {"role": "user", "content": [USED, SAID]}]}
ITEM = {"type": "function_call", "call_id": "t1", "name": "read", "arguments": "{}"}
OUTPUT = {"type": "function_call_output", "call_id": "t1", "output": "ok"}
RESPONSES = {"input": [HI, ITEM, OUTPUT], "instructions": "Be brief."}
SOUND: dict[str, dict[str, Any]] = {"chat": CHAT, "messages": MESSAGES, "responses": RESPONSES}


def chat(*messages: Any) -> dict[str, Any]:
    return {"messages": [HI, *messages]}


def calling(*calls: Any) -> dict[str, Any]:
    return {"role": "assistant", "content": None, "tool_calls": list(calls)}


# rule → wire, a raw body that breaks it, where in the body
BODIES: list[tuple[str, str, dict[str, Any], tuple[Any, ...]]] = [
    (
        "arguments-not-string",
        "chat",
        chat(calling({**CALL, "function": {"name": "read", "arguments": {"path": "a"}}}), ANSWER),
        ("messages", 1, "tool_calls", 0, "function", "arguments"),
    ),
    (
        "arguments-not-string",
        "responses",
        {"input": [HI, {**ITEM, "arguments": {}}, OUTPUT]},
        ("input", 1, "arguments"),
    ),
    (
        "arguments-not-object",
        "messages",
        {
            "messages": [
                HI,
                {"role": "assistant", "content": [{**USE, "input": "{}"}]},
                {"role": "user", "content": [USED]},
            ]
        },
        ("messages", 1, "content", 0, "input"),
    ),
    (
        "orphan-result",
        "chat",
        chat(calling(CALL), ANSWER, {**ANSWER, "tool_call_id": "t9"}),
        ("messages", 3, "tool_call_id"),
    ),
    ("orphan-call", "chat", chat(calling(CALL)), ("messages", 1, "tool_calls", 0)),
    ("orphan-call", "responses", {"input": [HI, ITEM]}, ("input", 1)),
    (
        "result-without-id",
        "chat",
        chat(calling(CALL), {"role": "tool", "content": "ok"}),
        ("messages", 2, "tool_call_id"),
    ),
    ("wrong-shape", "chat", {"messages": "Read it."}, ("messages",)),
    ("wrong-shape", "chat", chat(calling("read"), HI), ("messages", 1, "tool_calls", 0)),
    ("wrong-shape", "messages", {**MESSAGES, "tool_choice": "auto"}, ("tool_choice",)),
    ("foreign-key", "chat", {**CHAT, "input": []}, ("input",)),
    ("foreign-key", "messages", {"messages": [HI, {**calling(CALL), "content": "x"}]}, ("messages", 1, "tool_calls")),
    ("foreign-key", "responses", {"messages": [HI]}, ("messages",)),
    ("foreign-role", "messages", {"messages": [HI, ANSWER]}, ("messages", 1, "role")),
    ("foreign-role", "responses", {"input": [HI, ANSWER]}, ("input", 1, "role")),
    ("foreign-part", "chat", chat({"role": "user", "content": [USED]}), ("messages", 1, "content", 0)),
    (
        "foreign-part",
        "messages",
        {"messages": [{"role": "user", "content": [{"type": "image_url", "image_url": {"url": "a"}}]}]},
        ("messages", 0, "content", 0),
    ),
    ("foreign-part", "responses", {"input": [{"role": "user", "content": [SAID]}]}, ("input", 0, "content", 0)),
    ("foreign-item", "chat", chat(OUTPUT), ("messages", 1)),
    ("foreign-item", "responses", {"input": [HI, USED]}, ("input", 1)),
    ("foreign-tool", "chat", {**CHAT, "tools": [{"name": "read", "input_schema": {}}]}, ("tools", 0, "input_schema")),
    (
        "foreign-tool",
        "messages",
        {**MESSAGES, "tools": [{"type": "function", "function": {"name": "read"}}]},
        ("tools", 0, "function"),
    ),
    (
        "foreign-tool",
        "responses",
        {**RESPONSES, "tools": [{"type": "function", "function": {"name": "read"}}]},
        ("tools", 0, "function"),
    ),
    (
        "text-before-result",
        "messages",
        {"messages": [HI, {"role": "assistant", "content": [USE]}, {"role": "user", "content": [SAID, USED]}]},
        ("messages", 2, "content", 1),
    ),
    (
        "repeated-call-id",
        "messages",
        {
            "messages": [
                *MESSAGES["messages"],
                {"role": "assistant", "content": [USE]},
                {"role": "user", "content": [USED]},
            ]
        },
        ("messages", 3, "content", 0),
    ),
    (
        "empty-text",
        "messages",
        {"messages": [{"role": "user", "content": [{"type": "text", "text": " "}]}]},
        ("messages", 0, "content", 0),
    ),
    (
        "user-between-results",
        "chat",
        chat(calling(CALL, {**CALL, "id": "t2"}), ANSWER, HI, {**ANSWER, "tool_call_id": "t2"}),
        ("messages", 4, "tool_call_id"),
    ),
]


def at(findings: tuple[Finding, ...], rule: str) -> list[tuple[Any, ...]]:
    return [finding.path for finding in findings if finding.rule == rule]


@pytest.mark.parametrize("rule", CASES)
def test_a_rule_fires_at_its_place_and_not_on_a_sound_conversation(rule: str) -> None:
    wire, facts, broken, place, sound = CASES[rule]
    dialect = override(BASE, facts)
    assert at(check(broken, wire, dialect), rule) == [("messages", *place)]
    assert at(check(sound, wire, dialect), rule) == []


@pytest.mark.parametrize("rule", OTHERS)
def test_a_rule_about_the_whole_request_fires_and_not_on_a_sound_one(rule: str) -> None:
    wire, broken, place, sound = OTHERS[rule]
    assert at(check(broken, wire), rule) == [place]
    assert at(check(sound, wire), rule) == []


def test_reasoning_of_another_model_is_told_where_the_target_is_known() -> None:
    thought = Reasoning(text="hm", origin=Origin(wire="messages", model="a"))
    request = talk(assistant(thought, "Hi."), ASK)
    there, back = Origin(wire="messages", model="b"), Origin(wire="messages", model="a")
    assert at(check(request, "messages", target=there), "foreign-reasoning") == [("messages", 1, "content", 0)]
    assert at(check(request, "messages", target=back), "foreign-reasoning") == []


@pytest.mark.req("S0-62", "S0-72", "S4-25")
@pytest.mark.parametrize(("rule", "wire", "body", "place"), BODIES)
def test_a_rule_fires_on_a_raw_body_at_its_place_in_it(
    rule: str, wire: str, body: dict[str, Any], place: tuple[Any, ...]
) -> None:
    assert at(check_body(wire, body), rule) == [place]


@pytest.mark.parametrize("wire", SOUND)
def test_a_sound_raw_body_breaks_no_rule(wire: str) -> None:
    assert check_body(wire, SOUND[wire]) == ()


def test_every_rule_is_tried_and_every_finding_can_be_looked_up() -> None:
    tried = {*CASES, *OTHERS, "foreign-reasoning", *(rule for rule, *_ in BODIES)}
    assert tried == set(RULES)
    assert set(BODY) <= {rule for rule, *_ in BODIES}


@pytest.mark.parametrize("rule", [*CASES, *OTHERS])
def test_what_the_table_says_can_be_mended_is_mended(rule: str) -> None:
    if rule in CASES:
        wire, facts, broken = CASES[rule][:3]
    else:
        (wire, broken), facts = OTHERS[rule][:2], {}
    dialect = override(BASE, facts)
    mends = [finding.fixable for finding in check(broken, wire, dialect) if finding.rule == rule]
    left = at(check(repair(broken, wire, dialect).request, wire, dialect), rule)
    assert bool(left) is not mends[0]


def test_while_the_server_keeps_the_conversation_halves_of_a_pair_are_right() -> None:
    tail = Request(messages=(tool(result("t0")),), state=ServerState(previous_id="resp_1"))
    assert check(tail, "responses") == ()
    assert repair(tail, "responses").request is tail
    assert check_body("responses", {"previous_response_id": "resp_1", "input": [OUTPUT]}) == ()
    reference = Foreign(wire="responses", kind="item_reference", payload={"id": "fc_1"})
    assert check(talk(assistant(reference), tool(result("t0"))), "responses") == ()


@pytest.mark.req("S4-25")
def test_what_is_required_is_raised_with_its_place_its_fix_and_its_rule() -> None:
    with pytest.raises(LocalError) as raised:
        require(talk(tool(result("t9"))), "chat")
    assert raised.value.code == "invalid_request"
    assert raised.value.message == (
        "messages[1].content[0]: the result of 't9' answers no call before it: "
        "send the call too, or leave the result out (rule orphan-result)"
    )
    require(DONE, "chat")
    require(talk(assistant(""), ASK), "chat")  # a warning


def test_bytes_that_are_no_object_and_wires_that_do_not_exist_are_refused() -> None:
    with pytest.raises(RemoteError):
        check_body("chat", b"[]")
    with pytest.raises(RemoteError):
        check_body("chat", b"not json")
    with pytest.raises(UsageError):
        check_body("telex", b"{}")
    with pytest.raises(UsageError):
        repair(DONE, "chat", placeholder=" ")


@pytest.mark.req("S1-15")
def test_a_choice_of_a_tool_that_is_not_offered_is_for_people_to_mend() -> None:
    request = talk(tool_choice=ToolChoice(mode="required", names=("write",)))
    (finding,) = check(request, "chat")
    assert not finding.fixable
    assert finding.message == "no tool is named 'write': one of read"
