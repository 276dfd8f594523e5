"""`dragoman show`: one conversation side by side in the wire formats."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import click
import msgspec

from dragoman.cli.output import dimmed, note_lines, one_line, plain
from dragoman.cli.show_prompt import show_prompt
from dragoman.dialect.model import BASE
from dragoman.errors import RemoteError, UsageError
from dragoman.positions import Position, positions
from dragoman.types.content import Reasoning, Text, ToolCall, ToolResult
from dragoman.types.note import Note
from dragoman.types.save import Conversation, is_saved, loads
from dragoman.wire import LIBRARY, WIRES, find, jsonio
from dragoman.wire.base import Exchange, Http
from dragoman.wire.tree import rewritten

LONGEST = 2_000  # characters of one string shown without --full
# A plain body fits more than one wire: the first that can read it, if it has a key that such a body cannot lack.
GUESSES = {
    "ollama": ("options", "keep_alive", "think"),
    "chat": ("messages",),
    "messages": ("messages",),
    "completions": ("prompt",),
    "responses": ("input", "instructions", "prompt", "previous_response_id"),
}


@click.command("show")
@click.argument("file", type=click.Path(path_type=Path, allow_dash=True))
@click.option("--wires", default=",".join(WIRES), show_default=True, help="The wire formats to show, in this order.")
@click.option("--from", "source", type=click.Choice(LIBRARY), help="The wire format of a raw request body.")
@click.option("--full", is_flag=True, help=f"Show strings of more than {LONGEST} characters whole.")
@click.option("--prompt", "as_prompt", is_flag=True, help="Show it as a local model has it: prompt, raw text, blocks.")
@click.option("--model", metavar="SPEC", help="With --prompt: the model that reads it.  [default: local]")
@click.option("--template", type=click.Path(path_type=Path), help="A GGUF file, tokenizer_config.json or template.")
@click.option("--json", "as_json", is_flag=True, help="One JSON object instead.")
def command(
    *,
    file: Path,
    wires: str,
    source: str | None,
    full: bool,
    as_prompt: bool,
    model: str | None,
    template: Path | None,
    as_json: bool,
) -> None:
    """Show FILE, a saved conversation or a raw request body of any wire, in each wire format.

    The nine positions with their paths, the raw request of each, usage as each vendor would report it, and what each
    conversion could not carry over. With --prompt instead: what the chat template of a model makes of it, `local` or
    URL#text:MODEL.
    """
    if as_prompt or template is not None or model is not None:
        show_prompt(read_conversation(file, source)[1].request, model, template, as_json)
        return
    asked = tuple(name.strip() for name in wires.split(",") if name.strip())
    for name in asked:
        find(name)
    if not asked:
        raise UsageError("usage", f"--wires names no wire: one or more of {','.join(LIBRARY)}")
    what, conversation = read_conversation(file, source)
    views = [view_in(conversation, wire) for wire in asked]
    table = positions(conversation.request, asked)
    if as_json:
        out = {"file": str(file), "kind": what, "positions": table, "wires": views}
        sys.stdout.buffer.write(jsonio.encode(out) + b"\n")
        return
    lines = [f"{file}: {what}", "", *transcript(conversation), "", *position_table(table, asked), ""]
    for view in views:
        lines += [*view_lines(view, full), ""]
    click.echo("\n".join(plain(line) for line in lines).rstrip() if sys.stdout.isatty() else "\n".join(lines).rstrip())


class View(msgspec.Struct, frozen=True, kw_only=True):
    """A conversation in one wire: where it is posted, its body, usage in the vendor's words, and the notes."""

    wire: str
    path: str
    body: Any
    usage: Any
    notes: tuple[Note, ...]


def read_conversation(file: Path, source: str | None) -> tuple[str, Conversation]:
    """What the file is, and the conversation in it. Raises RemoteError when no wire can read it."""
    data = sys.stdin.buffer.read() if str(file) == "-" else file.read_bytes()
    body, _ = jsonio.decode(data)
    if is_saved(body):
        saved = loads(data)
        return f"a saved conversation of {len(saved.request.messages)} messages", saved
    if not isinstance(body, dict):
        raise RemoteError("bad_shape", f"expected a JSON object, got {jsonio.kind(body)}")
    first: RemoteError | None = None
    for name in (source,) if source else GUESSES:
        if not source and not any(key in body for key in GUESSES[name]):
            continue
        try:
            request = find(name).decode_request(Http(body=data), BASE, Exchange()).request
        except RemoteError as error:
            first = first or error
            continue
        return f"a request body of the {name} wire", Conversation(request=request)
    reason = f": {first.message}" if first is not None else ""
    raise RemoteError("bad_shape", f"neither a saved conversation nor a request body of a wire we know{reason}")


def view_in(conversation: Conversation, wire: str) -> View:
    """The conversation written in one wire."""
    codec = find(wire)
    outgoing = codec.encode_request(conversation.request, BASE, Exchange())
    usage = None
    if conversation.replies:
        encoded = codec.encode_reply(conversation.replies[-1], BASE, Exchange())
        usage = jsonio.decode(encoded.body)[0].get("usage")
    body = jsonio.decode(outgoing.http.body)[0]
    return View(wire=wire, path=outgoing.http.path, body=body, usage=usage, notes=outgoing.notes)


def transcript(conversation: Conversation) -> list[str]:
    """The conversation for people: a line a text, a call, a result."""
    lines: list[str] = []
    for message in conversation.request.messages:
        for block in message.content:
            match block:
                case Text():
                    lines.append(f"{message.role:>9}  {one_line(block.text, 100)}")
                case Reasoning():
                    lines.append(f"{message.role:>9}  (reasoning) {one_line(block.text or '', 80)}")
                case ToolCall():
                    lines.append(f"{message.role:>9}  → {block.name} {one_line(block.arguments, 90)}")
                case ToolResult():
                    texts = [item.text for item in block.content if isinstance(item, Text)]
                    lines.append(f"{message.role:>9}    {one_line(texts[0] if texts else '(no text)', 96)}")
                case _:
                    lines.append(f"{message.role:>9}  ({type(block).__struct_config__.tag})")
    return lines


def position_table(table: list[Position], wires: tuple[str, ...]) -> list[str]:
    """The nine positions as a table, and how many of them the other wires have elsewhere than the first."""
    rows = [["", *wires]]
    for number, position in enumerate(table, 1):
        places = [position.places[wire] for wire in wires]
        cells = ["-" if place is None else f"{place.path} ({place.form})" for place in places]
        rows.append([f"{number} {position.part}", *cells])
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    lines = ["  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows]
    if len(wires) < 2:
        return lines
    return [
        *lines,
        f"{sum(position.differs for position in table)} of {sum(map(_is_present, table))} stand elsewhere than in {wires[0]}",
    ]


def _is_present(position: Position) -> bool:
    return any(position.places.values())


def view_lines(view: View, full: bool) -> list[str]:
    """One wire: the request, the usage, the notes."""
    title = f"== {view.wire}: POST {view.path}"
    body = view.body if full else _shortened(view.body)
    text = msgspec.json.format(jsonio.encode(body), indent=2).decode()
    lines = [dimmed(title, sys.stdout), *text.split("\n")]
    if view.usage is not None:
        lines.append(f"usage as this vendor reports it: {jsonio.text(view.usage)}")
    return [*lines, *(note_lines(view.notes) if view.notes else ["nothing lost"])]


def _shortened(value: Any) -> Any:
    return rewritten(value, _short)


def _short(value: Any) -> Any:
    if isinstance(value, str) and len(value) > LONGEST:
        return f"{value[: LONGEST // 2]}… ({len(value)} characters; --full shows all)"
    return value
