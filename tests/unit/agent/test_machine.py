"""Guards the loop itself: who may run, in what order it is stored, and that every end has a name (S0.a, C-08, C-16, C-26)."""

from __future__ import annotations

from typing import Any

import pytest

from dragoman.agent import Answer, Done, Limits, NeedModel, NeedTools, OpenCall, Run
from dragoman.errors import UsageError
from dragoman.tools import Bounds, ToolOutput
from dragoman.types import (
    Media,
    Message,
    Note,
    Reasoning,
    Reply,
    Request,
    Stop,
    Text,
    Tool,
    ToolCall,
    ToolChoice,
    ToolResult,
    Usage,
    assistant,
    system,
    tool,
    user,
)
from dragoman.types.reply import StopReason
from unit.agent.scripted import call, calls, says

READ = Tool(name="read", description="Read.", parameters={"type": "object"})
LIST = Tool(name="list", description="List.", parameters={"type": "object"})
AUTO = ToolChoice(mode="auto")
REQUIRED = ToolChoice(mode="required")


def started(*tools: Tool, **more: Any) -> Run:
    return Run(Request(messages=(system("Be brief."), user("Go.")), tools=tools or None), **more)


def output(text: str, **more: Any) -> ToolOutput:
    return ToolOutput(content=(Text(text=text),), **more)


def result(id: str, text: str, name: str = "read", error: bool | None = None) -> ToolResult:
    return ToolResult(call_id=id, name=name, content=(Text(text=text),), is_error=error)


@pytest.mark.req("S4-23")
@pytest.mark.req("S0-17")
@pytest.mark.req("C-18")
def test_one_tool_use_is_two_requests_and_both_offer_the_tools() -> None:
    run = started(READ)
    first = run.step()
    assert first == NeedModel(
        request=Request(messages=(system("Be brief."), user("Go.")), tools=(READ,), tool_choice=AUTO)
    )
    made = call("t1", "read", '{"path":"说明.md"}')
    run.give(calls(made))
    assert run.step() == NeedTools(calls=(OpenCall(position=0, call=made, arguments={"path": "说明.md"}),))
    run.give(Answer(position=0, output=output("启动命令:npm run dev")))
    messages = (system("Be brief."), user("Go."), assistant(made), tool(result("t1", "启动命令:npm run dev")))
    assert run.step() == NeedModel(request=Request(messages=messages, tools=(READ,), tool_choice=AUTO))
    run.give(says("npm run dev"))
    assert run.step() == Done(outcome="done")
    assert run.history == [*messages[1:], assistant("npm run dev")]


@pytest.mark.req("S4-28")
@pytest.mark.req("S0-53")
@pytest.mark.req("S0-54")
def test_without_tools_neither_tools_nor_a_choice_are_sent() -> None:
    for tools in (None, ()):
        run = Run(Request(messages=(user("Hi"),), tools=tools, tool_choice=REQUIRED))
        assert run.step() == NeedModel(request=Request(messages=(user("Hi"),)))


@pytest.mark.req("S0-65")
def test_the_call_is_stored_before_its_tool_can_run() -> None:
    run = started(READ)
    made = call("t1", "read")
    run.give(calls(made))
    assert run.history == [user("Go."), assistant(made)]
    assert isinstance(run.step(), NeedTools)


@pytest.mark.req("S0-45")
def test_results_are_stored_in_the_order_of_the_calls_whatever_finishes_first() -> None:
    run = started(READ, LIST)
    run.give(calls(call("t1", "read"), call("t2", "list"), call("t3", "read")))
    for position in (2, 0):
        run.give(Answer(position=position, output=output(f"out {position}")))
    assert len(run.history) == 2
    left = run.step()
    assert isinstance(left, NeedTools)
    assert [item.position for item in left.calls] == [1]
    run.give(Answer(position=1, output=output("out 1")))
    assert run.history[-1] == tool(result("t1", "out 0"), result("t2", "out 1", "list"), result("t3", "out 2"))


@pytest.mark.req("C-16")
@pytest.mark.req("S1-27")
@pytest.mark.req("S4-34")
@pytest.mark.parametrize("name", ["readFile", "os.system", "eval", ""])
def test_only_registered_names_run(name: str) -> None:
    run = started(READ, LIST)
    made = call("t1", name)
    run.give(calls(made))
    assert isinstance(run.step(), NeedModel)
    meant = " Did you mean `read`?" if name == "readFile" else ""
    said = f"unknown tool `{name}`, nothing was executed.{meant} Available: `read`, `list`."
    assert run.history[-2:] == [assistant(made), tool(result("t1", said, name, error=True))]


@pytest.mark.req("S1-23")
@pytest.mark.req("S1-30")
@pytest.mark.parametrize("arguments", ['{"path":"READ', "[1]", "7", '"x"', "{'path': 1}"])
def test_arguments_that_are_no_object_never_execute_and_the_model_is_told(arguments: str) -> None:
    run = started(READ)
    run.give(calls(call("t1", "read", arguments), call("t2", "read", '{"path":"a"}')))
    need = run.step()
    assert isinstance(need, NeedTools)
    assert [item.call.id for item in need.calls] == ["t2"]
    run.give(Answer(position=1, output=output("A")))
    refused, kept = run.history[-1].content
    assert kept == result("t2", "A")
    assert isinstance(refused, ToolResult)
    assert refused.is_error
    why = refused.content[0]
    assert isinstance(why, Text)
    assert ("invalid JSON" in why.text) or ("expected a JSON object" in why.text)
    assert "call it again" in why.text


@pytest.mark.parametrize("arguments", ["", "null", "{}"])
def test_no_arguments_are_no_fault(arguments: str) -> None:
    run = started(READ)
    made = call("t1", "read", arguments)
    run.give(calls(made))
    assert run.step() == NeedTools(calls=(OpenCall(position=0, call=made, arguments={}),))


@pytest.mark.req("C-08")
@pytest.mark.parametrize("reason", ["end", "stop_sequence", "other", "tool_calls", "refusal", "filter"])
def test_calls_beat_the_word_of_the_vendor(reason: StopReason) -> None:
    run = started(READ)
    run.give(calls(call("t1", "read"), reason=reason))
    assert isinstance(run.step(), NeedTools)


@pytest.mark.req("C-08")
@pytest.mark.parametrize(
    ("reason", "done"),
    [
        ("end", Done(outcome="done")),
        ("stop_sequence", Done(outcome="done")),
        ("other", Done(outcome="done")),
        ("length", Done(outcome="truncated", detail="the model stopped: length")),
        ("context", Done(outcome="truncated", detail="the model stopped: context")),
        ("refusal", Done(outcome="refused", detail="the model stopped: refusal")),
        ("filter", Done(outcome="refused", detail="the model stopped: filter")),
        ("malformed", Done(outcome="failed", detail="the model stopped: malformed")),
        ("tool_calls", Done(outcome="failed", detail="the model announced a tool call, and none came")),
    ],
)
def test_a_reply_without_calls_ends_the_run_with_a_name(reason: StopReason, done: Done) -> None:
    run = started(READ)
    run.give(says("Well.", reason))
    assert run.step() == done
    assert run.history == [user("Go."), assistant("Well.")]


@pytest.mark.req("C-08")
def test_a_call_cut_off_by_the_output_limit_is_not_run_and_not_asked_for_again() -> None:
    for arguments in ('{"path":"REA', ""):  # the empty text would otherwise be a valid empty object
        run = started(READ)
        cut = call("t1", "read", arguments)
        run.give(calls(cut, reason="length"))
        assert run.step() == Done(outcome="truncated", detail="the reply was cut off in the middle of a tool call")
        stored = call("t1", "read", '{"_raw":"{\\"path\\":\\"REA"}' if arguments else "")
        why = "the call of `read` was cut off by the output limit and not executed. Make it shorter."
        assert run.history == [user("Go."), assistant(stored), tool(result("t1", why, error=True))]


def test_whole_calls_before_the_one_that_was_cut_off_run() -> None:
    run = started(READ)
    run.give(calls(call("t1", "read", '{"path":"a"}'), call("t2", "read", '{"pa'), reason="length"))
    need = run.step()
    assert isinstance(need, NeedTools)
    assert [item.call.id for item in need.calls] == ["t1"]


def test_a_pause_of_the_provider_goes_on_with_what_was_said() -> None:
    run = started(READ)
    run.give(says("Searching.", "pause"))
    need = run.step()
    assert isinstance(need, NeedModel)
    assert need.request.messages == (system("Be brief."), user("Go."), assistant("Searching."))


@pytest.mark.parametrize("content", [(), (Text(text=" \n"),), (Reasoning(text="Hm."),)])
def test_a_reply_of_nothing_is_no_success_and_no_turn(content: tuple[Any, ...]) -> None:
    run = started(limits=Limits(empty_turns=2))
    reply = Reply(message=Message(role="assistant", content=content), stop=Stop(reason="end"))
    asked = run.step()
    run.give(reply)
    assert run.step() == asked
    run.give(reply)
    assert run.step() == Done(outcome="empty", detail="the model answered with nothing")
    assert (run.history, run.incomplete) == ([user("Go.")], reply)


@pytest.mark.parametrize("reason", ["error", "cancelled"])
def test_a_reply_that_broke_off_is_kept_apart_and_none_of_its_calls_run(reason: StopReason) -> None:
    run = started(READ)
    content = (Text(text="Let me"), call("t1", "read"))
    reply = Reply(message=assistant(*content), stop=Stop(reason=reason, detail="connection lost"))
    run.give(reply)
    outcome = "failed" if reason == "error" else "cancelled"
    assert run.step() == Done(outcome=outcome, detail="connection lost")
    assert (run.history, run.incomplete, run.replies) == ([user("Go.")], reply, [reply])


def test_the_step_limit_leaves_no_call_open() -> None:
    run = started(READ, limits=Limits(steps=2))
    for id in ("t1", "t2"):
        assert isinstance(run.step(), NeedModel)
        run.give(calls(call(id, "read")))
        run.give(Answer(position=0, output=output(id)))
    assert run.step() == Done(outcome="limit", detail="stopped after 2 steps: the step limit", limit="steps")
    assert run.history[-1] == tool(result("t2", "t2"))


@pytest.mark.req("S1-16")
def test_a_forced_tool_that_is_not_called_is_a_note_and_no_crash() -> None:
    run = started(READ, LIST, first_choice=ToolChoice(mode="required", names=("read",)))
    need = run.step()
    assert isinstance(need, NeedModel)
    assert need.request.tool_choice == ToolChoice(mode="required", names=("read",))
    run.give(says("No need."))
    assert run.step() == Done(outcome="done")
    reason = "forced tool not honoured: the model was to call `read` and did not"
    assert run.notes == [Note(path=("tool_choice",), action="dropped", reason=reason, loss=False)]


@pytest.mark.req("S1-16")
def test_another_tool_than_the_forced_one_is_a_note_too_and_a_broken_reply_is_none() -> None:
    choice = ToolChoice(mode="required", names=("read",))
    for reply, notes in ((calls(call("t1", "list")), 1), (says("", "error"), 0), (calls(call("t1", "read")), 0)):
        run = started(READ, LIST, first_choice=choice)
        run.give(reply)
        assert len(run.notes) == notes


def test_the_choice_of_the_first_step_is_gone_with_it() -> None:
    run = started(READ, first_choice=REQUIRED)
    run.give(calls(call("t1", "read")))
    run.give(Answer(position=0, output=output("A")))
    need = run.step()
    assert isinstance(need, NeedModel)
    assert need.request.tool_choice == AUTO
    run.give(says("A."))
    assert run.notes == []


@pytest.mark.req("S0-48")
def test_cancelling_keeps_the_results_that_came_and_answers_the_other_calls() -> None:
    run = started(READ)
    run.give(calls(call("t1", "read"), call("t2", "read")))
    run.give(Answer(position=1, output=output("files")))
    run.cancel()
    assert run.step() == Done(outcome="cancelled", detail="cancelled by user")
    gone = result("t1", "cancelled by user: no result", error=True)
    assert run.history[-1] == tool(gone, result("t2", "files"))
    run.cancel("again")
    assert run.step() == Done(outcome="cancelled", detail="cancelled by user")


@pytest.mark.req("I-07")
@pytest.mark.req("S0-47")
def test_what_is_for_people_only_never_enters_the_history() -> None:
    run = started(READ)
    run.give(calls(call("t1", "read")))
    (shown,) = run.give(Answer(position=0, output=output("for the model", display="FOR PEOPLE")))
    assert "FOR PEOPLE" in repr(shown)
    assert "FOR PEOPLE" not in repr(run.history)


def test_images_stay_in_their_result() -> None:
    picture = Media(kind="image", media_type="image/png", data="AA==")
    run = started(READ)
    run.give(calls(call("t1", "read")))
    run.give(Answer(position=0, output=ToolOutput(content=(Text(text="Read image file [image/png]"), picture))))
    stored = run.history[-1].content[0]
    assert isinstance(stored, ToolResult)
    assert stored.content == (Text(text="Read image file [image/png]"), picture)


def test_no_result_is_larger_than_the_limit_whatever_the_tool() -> None:
    run = started(READ, limits=Limits(result=Bounds(bytes=1000)))
    run.give(calls(call("t1", "read")))
    run.give(Answer(position=0, output=output("始" * 5000 + "终")))
    stored = run.history[-1].content[0]
    assert isinstance(stored, ToolResult)
    text = stored.content[0]
    assert isinstance(text, Text)
    assert len(text.text.encode()) < 1100
    assert text.text.startswith("始始")
    assert text.text.endswith("始终")
    assert "bytes left out of 15003" in text.text


def test_half_a_character_in_a_result_does_not_stop_the_run() -> None:
    run = started(READ)
    run.give(calls(call("t1", "read")))
    run.give(Answer(position=0, output=output("caf\udce9.txt")))
    assert run.history[-1] == tool(result("t1", "caf\ufffd\ufffd\ufffd.txt"))


@pytest.mark.req("C-26")
@pytest.mark.req("S0-24")  # as C-26 reads it: five roles can be asked, three are stored
@pytest.mark.parametrize("role", ["system", "developer"])
def test_only_three_kinds_of_message_are_stored(role: Any) -> None:
    strange = Message(role=role, content=(Text(text="x"),))
    with pytest.raises(UsageError, match="a history holds user, assistant and tool messages"):
        Run(Request(messages=(user("a"), strange)))


@pytest.mark.req("S0-16")
def test_the_same_history_gives_the_same_request_and_can_go_on_in_another_run() -> None:
    run = started(READ)
    run.give(says("First."))
    assert run.request == run.request
    again = Run(run.request)
    assert (again.request, again.history) == (run.request, run.history)


def test_usage_is_the_sum_of_what_was_reported() -> None:
    run = started(READ)
    assert run.usage is None
    run.give(calls(call("t1", "read"), usage=Usage(input=10, output=2, cache_read=4)))
    run.give(Answer(position=0, output=output("A")))
    run.give(says("B", usage=Usage(input=20, output=3)))
    assert run.usage == Usage(input=30, output=5, cache_read=4)


@pytest.mark.case("AGT-014")
def test_two_calls_of_one_id_are_two_calls() -> None:
    run = started(READ)
    run.give(calls(call("t1", "read", '{"path":"a"}'), call("t1", "read", '{"path":"b"}')))
    for position, text in enumerate("AB"):
        run.give(Answer(position=position, output=output(text)))
    assert run.history[-1] == tool(result("t1", "A"), result("t1_2", "B"))


def test_a_custom_call_of_a_function_is_refused() -> None:
    run = started(READ)
    run.give(calls(ToolCall(id="t1", name="read", arguments="README.md", kind="custom")))
    stored = run.history[-1].content[0]
    assert isinstance(stored, ToolResult)
    assert (stored.is_error, stored.kind) == (True, "custom")


def test_a_run_that_is_over_takes_nothing_more() -> None:
    run = started()
    run.give(says("Done."))
    with pytest.raises(UsageError, match="the run is over"):
        run.give(says("More."))
