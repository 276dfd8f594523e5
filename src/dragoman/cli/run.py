"""`dragoman run`: a task, a model, and tools.

On stdout: what the model says as it says it, each call as `→ name arguments`, and under it the first line of its result.
On stderr: what is to be known about it (notices, notes, why it stopped, usage). With --json stdout holds one object.
"""

from __future__ import annotations

import shlex
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypedDict, Unpack

import click
import msgspec

from dragoman import config
from dragoman.agent import AgentEvent, Follow, Gate, Limits, Manner, Outcome, Policy, Run, RunResult, Session, drive
from dragoman.agent.drive import Keeper
from dragoman.cli import sessions
from dragoman.cli.accounts import Accounts
from dragoman.cli.main import FAILED, INTERRUPTED, LIMITED
from dragoman.cli.output import say, tell, typed, write_whole
from dragoman.cli.permit import Asker, interruptible
from dragoman.cli.screen import Screen
from dragoman.cli.settings import environment
from dragoman.cli.trace import trace
from dragoman.errors import UsageError
from dragoman.tools import AnyTool
from dragoman.tools.arguments import load_arguments
from dragoman.tools.coding import TOOLS
from dragoman.tools.rest import Rest
from dragoman.tools.result import text_of
from dragoman.tools.words import closest
from dragoman.transport.cancel import CancelToken
from dragoman.types.content import Invalid, ToolCall, ToolResult
from dragoman.types.message import user
from dragoman.types.note import show_path
from dragoman.types.reply import Reply, Usage
from dragoman.types.request import Request
from dragoman.types.save import Conversation, dumps
from dragoman.types.tool import ToolChoice

if TYPE_CHECKING:
    from dragoman.client import Model

MODEL_ENV = "DRAGOMAN_MODEL"
NO_MODEL = (
    "no model: `dragoman local install` and run again, or --model anthropic/MODEL with ANTHROPIC_API_KEY set, "
    f"or --model openai/MODEL with OPENAI_API_KEY set ({MODEL_ENV} holds a default)"
)
FIRST_CALL = "local model: it must call a tool in its first step, for so small a model does not think of it itself"
EXITS: dict[Outcome, int] = {
    "done": 0,
    "truncated": LIMITED,
    "limit": LIMITED,
    "refused": FAILED,
    "empty": FAILED,
    "failed": FAILED,
    "cancelled": INTERRUPTED,
}
HINTS = {
    "steps": "; --max-steps N allows more",
    "tokens": "; --max-tokens N allows more",
    "seconds": "; --max-seconds S allows more",
    "cost": "; --max-cost D allows more",
    "empty": "; ask again, or in other words",
}


class RunOptions(TypedDict):
    """The arguments of `dragoman run`."""

    prompt: str
    model: str | None
    template: Path | None
    tools: str
    system: str | None
    save: Path | None
    session: Path | None
    again: bool
    record: Path | None
    ledger: bool
    as_json: bool
    strict: bool
    max_steps: int
    max_tokens: int | None
    max_seconds: float | None
    max_cost: float | None
    eager: bool
    allow: tuple[str, ...]
    deny: tuple[str, ...]
    trace: bool


@click.command("run")
@click.argument("prompt")
@click.option("--model", metavar="MODEL", help=f"Which model: local, PROVIDER/MODEL or URL#WIRE:NAME. [{MODEL_ENV}]")
@click.option("--template", type=click.Path(path_type=Path), metavar="FILE", help="The chat template of URL#text:NAME.")
@click.option(
    "--tools",
    metavar="NAMES",
    default="read",
    show_default=True,
    help=f"By comma: {', '.join(TOOLS)}; or all, or none.",
)
@click.option("--system", metavar="TEXT", help="The system prompt.")
@click.option("--save", metavar="FILE", type=click.Path(dir_okay=False, path_type=Path), help="Save the conversation.")
@click.option("--session", metavar="FILE", type=click.Path(dir_okay=False, path_type=Path), help="Go on with this one.")
@click.option("--continue", "again", is_flag=True, help="Go on with the last session.")
@click.option(
    "--record", metavar="DIR", type=click.Path(file_okay=False, path_type=Path), help="Keep what is sent and got."
)
@click.option("--ledger/--no-ledger", default=True, help="Keep what it used and cost, never what was said.")
@click.option("--json", "as_json", is_flag=True, help="One JSON object on stdout, at the end.")
@click.option("--strict", is_flag=True, help="Refuse what the model's wire format would lose. [exit code 3]")
@click.option("--max-steps", type=click.IntRange(min=1), default=20, show_default=True, help="Replies at most.")
@click.option("--max-tokens", type=click.IntRange(min=1), metavar="N", help="Tokens at most, in and out.")
@click.option("--max-seconds", type=click.FloatRange(min=0, min_open=True), metavar="S", help="Time at most.")
@click.option("--max-cost", type=click.FloatRange(min=0, min_open=True), metavar="D", help="Dollars at most.")
@click.option("--eager", is_flag=True, help="Start calls that only read while the reply still streams.")
@click.option(
    "--allow", multiple=True, metavar="RULE", help="Let calls run unasked: edit, edit:src/*, 'shell:git status*'."
)
@click.option("--deny", multiple=True, metavar="RULE", help="Let calls never run. Beats --allow.")
@click.option("--trace", is_flag=True, help="Each request's messages and each step, on stderr.")
def command(**options: Unpack[RunOptions]) -> int:
    """Give a model a task and tools to do it with. They work in this folder, and ask before they change or run anything."""
    from dragoman.client import Model

    save = options["save"]
    if save is not None and not save.parent.is_dir():
        raise UsageError("usage", f"--save: there is no folder {save.parent}")
    tools, keep = pick_tools(options["tools"], Path.cwd())
    gate = Gate(Policy.of(allow=options["allow"], deny=options["deny"]), tools)
    env = environment()
    spec = choose_model(options["model"], env)
    session = sessions.chosen(options["session"], env, again=options["again"]) if kept_in(options) else None
    machine = _machine(options, tools, gate, session, must_call=is_local(spec) and bool(tools))
    screen = Screen() if not options["as_json"] else None
    asker, token = Asker(gate), CancelToken()
    accounts = Accounts(env, wanted=options["ledger"])

    def show(event: AgentEvent) -> None:
        if options["trace"]:
            trace(event)
        if screen is not None:
            screen.show(event)

    try:
        kept = Model(
            spec,
            env=env,
            strict=options["strict"],
            template=options["template"],
            record=options["record"],
            observers=accounts.observers,
        )
        with kept as model, interruptible(token, asker):
            if is_local(spec) and tools:
                tell(FIRST_CALL, dim=True)
            price = _price(model, options["max_cost"])
            follow = None if session is None else Follow(session, machine)
            manner = Manner(
                permit=asker, cancel=token, keep=keep, eager=options["eager"], price=price, checkpoint=follow
            )
            speaker = model if session is None else sessions.compacting(session, model)
            result = drive.run(machine, speaker, tools, on_event=show, manner=manner)
    finally:
        accounts.close()
        if screen:
            screen.close()
        if session is not None:
            session.close()
        if save is not None and machine.replies:
            write_whole(save, dumps(conversation(machine)))
    if options["as_json"]:
        say(msgspec.json.encode(report(result, spec)).decode())
    code = _tell_end(result, asker.denied)
    if accounts.told:
        tell(accounts.told, dim=True)
    return code


def kept_in(options: RunOptions) -> bool:
    """Whether this run is part of a session."""
    return options["session"] is not None or options["again"]


def _machine(options: RunOptions, tools: list[AnyTool], gate: Gate, session: Session | None, *, must_call: bool) -> Run:
    request = Request(tools=tuple(item.definition for item in tools) or None)
    if session is not None:
        session.settle()
        request = session.request(request)
    request = msgspec.structs.replace(request, messages=(*request.messages, user(typed(options["prompt"]))))
    if options["system"] is not None:
        request = request.with_system(typed(options["system"]))
    limits = Limits(
        steps=options["max_steps"],
        tokens=options["max_tokens"],
        seconds=options["max_seconds"],
        cost=None if options["max_cost"] is None else round(options["max_cost"] * 1e9),
        polling=tuple(item.definition.name for item in tools if item.traits.polls),
    )
    return Run(request, limits=limits, first_choice=ToolChoice(mode="required") if must_call else None, judge=gate)


def _price(model: Model, limit: float | None) -> Callable[[Reply], int | None] | None:
    """What a reply of `model` costs, where there is a limit of money to hold; told where nobody knows."""
    if limit is None or model.target is None:
        return None
    from dragoman.money.bill import bill
    from dragoman.money.prices import catalogued

    prices = catalogued(model.target.provider, model.target.model)
    if prices is None:
        tell(f"no price is known for {model.target.model}: --max-cost holds only if the service reports what it costs")
    return lambda reply: None if reply.usage is None else bill(reply.usage, prices).cost


def choose_model(said: str | None, env: Mapping[str, str]) -> str:
    """The model that was asked for, else the one of the environment, of dragoman.toml, or the local one if installed.

    Never a paid service because a key happens to be set. Raises UsageError with the three ways to get a model.
    """
    kept = config.load(env)
    spec = said or env.get(MODEL_ENV, "").strip() or kept.model
    if spec:
        return kept.named(spec)
    from dragoman.client import Model

    try:
        Model("local", env=env).close()
    except UsageError:
        raise UsageError("unknown_model", NO_MODEL) from None
    return "local"


def is_local(spec: str) -> bool:
    """Whether a model runs on this machine, in this process."""
    return spec.partition(":")[0] == "local"


def pick_tools(said: str, folder: Path) -> tuple[list[AnyTool], Keeper | None]:
    """The tools of a list of names, and where their long results are kept. Raises UsageError for a name there is none of."""
    wanted = [name.strip() for name in said.split(",") if name.strip()]
    if wanted == ["none"]:
        return [], None
    if wanted == ["all"]:
        wanted = list(TOOLS)
    for name in wanted:
        if name not in TOOLS:
            meant = closest(name, TOOLS)
            hint = f" (did you mean {meant}?)" if meant else ""
            raise UsageError("usage", f"--tools: there is no tool {name!r}{hint}; there are: {', '.join(TOOLS)}, all")
    tools: list[AnyTool] = [TOOLS[name](folder) for name in dict.fromkeys(wanted)]
    if wanted == ["read"]:  # it reads on by itself
        return tools, None
    rest = Rest()
    return [*tools, rest.tool], rest.keep


def conversation(machine: Run) -> Conversation:
    """What --save keeps: the request with the whole history, every reply (one that broke off is marked so), the notes."""
    return Conversation(request=machine.request, replies=tuple(machine.replies), notes=tuple(machine.notes))


def report(result: RunResult, spec: str) -> dict[str, Any]:
    """The object that --json prints."""
    blocks = [block for message in result.history for block in message.content]
    calls = [block for block in blocks if isinstance(block, ToolCall)]
    results = [block for block in blocks if isinstance(block, ToolResult)]
    said: dict[str, Any] = {
        "outcome": result.outcome,
        "detail": result.detail,
        "text": result.text,
        "model": next((reply.model for reply in reversed(result.replies) if reply.model), None) or spec,
        "steps": result.steps,
        "calls": [_call(call, answer) for call, answer in zip(calls, results, strict=True)],
        "usage": msgspec.to_builtins(msgspec.structs.replace(result.usage, opaque=None)) if result.usage else None,
        "notes": msgspec.to_builtins(result.notes),
    }
    return {key: value for key, value in said.items() if value is not None}


def _call(call: ToolCall, answer: ToolResult) -> dict[str, Any]:
    found = load_arguments(call)
    arguments = found.raw if isinstance(found, Invalid) else found.arguments
    return {
        "name": call.name,
        "arguments": arguments,
        "result": text_of(answer.content),
        "is_error": bool(answer.is_error),
    }


def _tell_end(result: RunResult, denied: list[str]) -> int:
    """Say what is to be known about the end, and give the exit code."""
    for note in result.notes:
        tell(f"note: {show_path(note.path)} {note.action}: {note.reason}")
    if result.outcome == "cancelled":
        tell("dragoman: interrupted")
    elif result.outcome != "done":
        hint = HINTS.get(result.limit or result.outcome, "")
        tell(f"dragoman: {result.outcome}: {result.detail}{hint}")
    if denied:
        allowing = " ".join(f"--allow {shlex.quote(rule)}" for rule in denied)
        tell(f"dragoman: not permitted, and nobody to ask: {allowing} would allow it")
    tell(_summary(result.steps, result.usage), dim=True)
    return LIMITED if denied and result.outcome == "done" else EXITS[result.outcome]


def _summary(steps: int, usage: Usage | None) -> str:
    parts = [f"{steps} step{'s' * (steps != 1)}"]
    if usage is not None and usage.input is not None:
        cached = f" ({usage.cache_read} cached)" if usage.cache_read else ""
        parts.append(f"{usage.input} tokens in{cached}")
    if usage is not None and usage.output is not None:
        parts.append(f"{usage.output} tokens out")
    return " · ".join(parts)
