"""What a client is to this harness: what is installed, what it speaks, and how it is run in a place made for one run."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, Literal

import msgspec
from msgspec import Struct

PROMPT = "Call the tools you were told of, then say what came of it."


class Pins(Struct, frozen=True, kw_only=True):
    """Packages of one registry at exact versions, in a folder of their own: `openai==3.57.0`, `@openai/codex@0.171.0`.

    `after` is installed before and its executables are found: npm packages name the Node that they need."""

    folder: str
    packages: tuple[str, ...]
    kind: Literal["pip", "npm"] = "pip"
    alone: tuple[str, ...] = ()  # more packages, whose own requirements are left out
    after: tuple[Pins, ...] = ()


class Call(Struct, frozen=True):
    """A tool of the client that the model calls in its first turn. Text instead of an object: a tool that takes free text."""

    name: str
    arguments: dict[str, Any] | str


class Fault(Struct, frozen=True, kw_only=True):
    """What a client tells its user when it got no answer: the kind of error in its own words, and the wait it was told."""

    kind: str
    message: str = ""
    retry_after: str | None = None


class Ran(Struct, frozen=True, kw_only=True):
    """What became of one run. `answer` is the last text that the client shows its user, `fault` the error that it shows."""

    code: int
    out: str
    err: str
    seconds: float
    answer: str | None = None
    fault: Fault | None = None


class Place(Struct, frozen=True, kw_only=True):
    """Where a client runs once: an address to ask, an empty home, an empty folder to work in, and what was installed.

    `url` has no path (`http://127.0.0.1:PORT`). `scene` is what the back end is going to do (scenes.py); most clients need
    not know. `leave` returns when the client shall be killed, as by a user who has waited enough;
    it is told whether the client still runs."""

    url: str
    bins: tuple[Path, ...]
    home: Path
    work: Path
    scene: str = "turns"
    model: str = "any"
    prompt: str = PROMPT
    patience: float = 120.0
    leave: Callable[[Callable[[], bool]], object] | None = None

    def run(self, argv: Sequence[str | Path], env: Mapping[str, str] | None = None, stdin: str = "") -> Ran:
        """A command with nothing of our environment but where programs are; it ends with its children, whatever happens.

        The executables of `bins` come first. `answer` and `fault` are for the client's module to read from `out`."""
        begun = time.monotonic()
        path = ":".join([*map(str, self.bins), "/usr/local/bin", "/usr/bin", "/bin"])
        own = {"PATH": path, "HOME": str(self.home), "LANG": "C.UTF-8", "TERM": "xterm", **(env or {})}
        process = subprocess.Popen(
            [str(each) for each in argv],
            env=own,
            cwd=self.work,
            stdin=subprocess.PIPE if stdin else subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            start_new_session=True,
        )
        try:
            if self.leave is not None:
                self.leave(lambda: process.poll() is None)
                _end(process)
            out, err = process.communicate(stdin.encode() or None, timeout=self.patience)
        except subprocess.TimeoutExpired:
            _end(process)
            out, err = process.communicate()
            err += f"\nstill running after {self.patience:.0f} s".encode()
        finally:
            _end(process)
        return Ran(
            code=process.returncode,
            out=out.decode("utf-8", "replace"),
            err=err.decode("utf-8", "replace"),
            seconds=time.monotonic() - begun,
        )

    def script(self, path: Path, *more: str) -> Ran:
        """A script of `sdk/` in the client's own Python. Its last line says what came of it, as `{"answer", "fault"}`."""
        python = self.bins[0] / "python"
        ran = self.run([python, "-I", path, self.url, self.model, self.scene, self.prompt, *more])
        lines = ran.out.strip().splitlines()
        try:
            said = msgspec.json.decode(lines[-1] if lines else "{}", type=Said)
        except msgspec.MsgspecError:
            return ran
        return msgspec.structs.replace(ran, answer=said.answer, fault=said.fault)


class Said(Struct, frozen=True):
    """The last line of a script."""

    answer: str | None = None
    fault: Fault | None = None


class Local(Struct, frozen=True, kw_only=True):
    """What is asked before the local model, and whether a call of a tool must come before the answer. `demo` is the model that
    `dragoman local install` brings; `bigger` has the context that coding agents need."""

    model: Literal["demo", "bigger"] = "demo"
    prompt: str = "What is the weather like in Paris?"
    calls: bool = True


class Client(Struct, frozen=True, kw_only=True):
    """One client, in one way of using it.

    `wire` is what it speaks to us; `pins` what is installed, the first folder's executables first; `run` runs it once and
    reads its answer or error; `calls` are what the model calls in its first turn, of the tools that the client offers.
    `agent`: it goes on as long as the model calls tools. `shows_wait`: its error holds the wait that it was told. `local` is what is asked
    before the local model. `skips` names scenes (or `scene/back end`) that make no sense with it, each with the reason."""

    name: str
    wire: str
    pins: tuple[Pins, ...]
    run: Callable[[Place], Ran]
    calls: tuple[Call, ...]
    agent: bool = False
    shows_wait: bool = False
    local: Local = Local()
    skips: Mapping[str, str] = {}


def _end(process: subprocess.Popen[bytes]) -> None:
    """Its whole group: a client's own children would keep the connection open."""
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
