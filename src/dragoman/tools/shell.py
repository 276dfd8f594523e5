"""The tool that runs commands: with a time limit, bounded output, and nothing of it left behind."""

from __future__ import annotations

import codecs
import os
import re
import selectors
import signal
import subprocess
from collections.abc import Mapping
from pathlib import Path
from time import monotonic
from typing import Annotated

from msgspec import Meta

from dragoman.tools.base import ToolError, ToolOutput, Traits
from dragoman.tools.function import FunctionTool, tool
from dragoman.transport.cancel import CancelToken
from dragoman.types.content import Text

SECONDS = 120
LONGEST = 3600
HEAD, TAIL = 400_000, 200_000  # bytes of output that are kept of each end
PIECE = 65_536
WAIT = 0.5  # seconds for the last output of what was killed
SECRET = re.compile(r"(_|^)(API_?KEY|KEY|TOKEN|SECRET|PASSWORD|PASSWD|CREDENTIALS?)$", re.IGNORECASE)
COLOURS = re.compile(r"\x1b\[[0-9;?]*[ -/]*[@-~]|\x1b\][^\x07\x1b]*(?:\x07|\x1b\\)")


def shell_tool(root: str | os.PathLike[str], *, env: Mapping[str, str] | None = None) -> FunctionTool:
    """The `shell` tool: commands run in the folder `root`, but are not kept within it; what may run is for the policy.

    `env` is the commands' environment: by default this process's, without the variables whose names end like those of
    secrets (…_KEY, …_TOKEN, …_SECRET, …_PASSWORD).
    """
    base = Path(root).resolve()

    @tool(access="execute", traits=Traits(command="command"))
    def shell(
        stop: CancelToken,
        command: Annotated[str, "The command line, for sh"],
        timeout: Annotated[float, Meta(gt=0, le=LONGEST, description="Seconds until it is stopped")] = SECONDS,
    ) -> ToolOutput:
        """Run a command line in the working folder and show its output. Programs that wait for input get none."""
        with _Process(command, base, _kept(os.environ) if env is None else env) as process:
            why = process.watch(stop, timeout)
        return _told(process, why)

    return shell


def _kept(env: Mapping[str, str]) -> dict[str, str]:
    return {name: value for name, value in env.items() if not SECRET.search(name)}


class _Process:
    """One command in a group of processes of its own; leaving the context ends the whole group."""

    def __init__(self, command: str, folder: Path, env: Mapping[str, str]) -> None:
        self._head = bytearray()
        self._tail = bytearray()
        self.size = 0
        try:
            self._process = subprocess.Popen(
                ["/bin/sh", "-c", command],
                cwd=folder,
                env=dict(env),
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
        except (OSError, ValueError) as error:
            raise ToolError(f"the command cannot be run: {error}") from None

    def __enter__(self) -> _Process:
        return self

    def __exit__(self, *_: object) -> None:
        self.kill()
        self._process.wait()
        if self._process.stdout is not None:
            self._process.stdout.close()

    @property
    def code(self) -> int | None:
        """The exit code of the command; below zero: the signal that ended it."""
        return self._process.returncode

    @property
    def output(self) -> str:
        """What it wrote; the middle of very much is left out."""
        gap = self.size - len(self._head) - len(self._tail)
        told = f"\n[… {gap} bytes left out …]\n".encode() if gap else b""
        text = codecs.decode(bytes(self._head) + told + bytes(self._tail), "utf-8", "replace")
        return COLOURS.sub("", text).replace("\r\n", "\n")

    def watch(self, stop: CancelToken, seconds: float) -> str | None:
        """Gather the output until the command ends; why it was ended otherwise."""
        pipe = self._process.stdout
        assert pipe is not None
        until, ended = monotonic() + seconds, None
        with stop.watched(self.kill), selectors.DefaultSelector() as selector:
            selector.register(pipe, selectors.EVENT_READ)
            while (left := until - monotonic()) > 0:
                if selector.select(min(left, WAIT / 5)):
                    piece = os.read(pipe.fileno(), PIECE)
                    if not piece:
                        break
                    self._keep(piece)
                elif ended is None and self._process.poll() is not None:
                    ended = monotonic()
                if ended is not None and monotonic() - ended > WAIT:
                    break  # it is done, and what it left behind holds the pipe
            else:
                self.kill()
                self._drain(selector, pipe.fileno())
                return f"stopped after {seconds:g} seconds"
        self._process.wait()
        return "cancelled" if stop.cancelled else None

    def kill(self) -> None:
        """End the group."""
        try:
            os.killpg(self._process.pid, signal.SIGKILL)
        except (ProcessLookupError, PermissionError):
            self._process.kill()

    def _drain(self, selector: selectors.BaseSelector, pipe: int) -> None:
        until = monotonic() + WAIT
        while monotonic() < until and selector.select(0.05):
            piece = os.read(pipe, PIECE)
            if not piece:
                return
            self._keep(piece)

    def _keep(self, piece: bytes) -> None:
        self.size += len(piece)
        room = HEAD - len(self._head)
        self._head += piece[:room] if room > 0 else b""
        self._tail += piece[max(room, 0) :]
        if len(self._tail) > TAIL * 2:
            del self._tail[:-TAIL]


def _told(process: _Process, why: str | None) -> ToolOutput:
    text = process.output.rstrip("\n")
    code = process.code
    if why is not None:
        ending = f"[{why}]"
    elif code is not None and code < 0:
        ending = f"[ended by signal {-code}]"
    else:
        ending = f"[exit code {code}]" if code else ""
    if not text and not ending:
        text = "(no output)"
    joined = "\n".join(part for part in (text, ending) if part)
    return ToolOutput(content=(Text(text=joined),), is_error=bool(ending))
