"""A llama.cpp server as a process of its own.

`DRAGOMAN_LLAMA_SERVER` is the path of a llama-server, or `xllamacpp` for the server within that package; `DRAGOMAN_LLAMA_MODEL`
the path of a GGUF file, without which the model of `dragoman local install` is used. `python tools/llama_server.py` sets them.
"""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import threading
from collections.abc import Generator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path

from dragoman.engine.store import DEFAULT, find_installed

BINARY, MODEL = "DRAGOMAN_LLAMA_SERVER", "DRAGOMAN_LLAMA_MODEL"
WITHIN = "xllamacpp"
TEMPLATE = (
    Path(__file__).parent / "data" / "templates" / "qwen2.5.jinja"
)  # one that knows tools; the small model's does not
CONTEXT = 1024
READY = 60.0
SCRIPT = """
import sys, threading, xllamacpp
params = xllamacpp.CommonParams()
params.model.path, params.chat_template, params.n_ctx = sys.argv[1], open(sys.argv[2]).read(), int(sys.argv[3])
params.n_parallel, params.warmup, params.use_jinja, params.ui = 1, False, True, False
params.cpuparams.n_threads = params.cpuparams_batch.n_threads = 1
params.hostnames, params.port, params.model_alias = ["127.0.0.1"], 0, {"local"}
server = xllamacpp.Server(params)
print("listening on", server.listening_address, flush=True)
threading.Event().wait()
"""


def model() -> Path | None:
    """The model file, if there is one."""
    if said := os.environ.get(MODEL):
        return Path(said)
    found = find_installed(DEFAULT, os.environ)
    return None if found is None else Path(found.path)


def missing() -> str | None:
    """Why no server can be started here; None if one can."""
    if model() is None:
        return f"no model: dragoman local install, or a GGUF file in {MODEL}"
    if binary() is None:
        return "it is not asked for: python tools/llama_server.py"
    if binary() == WITHIN and find_spec(WITHIN) is None:
        return "no xllamacpp: pip install 'dragoman[local]'"
    return None


def binary() -> str | None:
    """The server that is meant, if there is one."""
    return os.environ.get(BINARY)


@contextmanager
def serving() -> Generator[str]:
    """Its address, as long as the block lasts. Raises RuntimeError with its last words when it does not start."""
    with subprocess.Popen(_argv(), stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, env=_env()) as server:
        watch = threading.Timer(READY, server.kill)
        watch.start()
        try:
            at = _listening(server)
            watch.cancel()
            yield at
        finally:
            watch.cancel()
            server.kill()
            if server.stdout is not None:
                server.stdout.close()


def _listening(server: subprocess.Popen[str]) -> str:
    said: list[str] = []
    for line in server.stdout or ():
        said.append(line)
        if "listening on http" in line:
            threading.Thread(target=_drained, args=(server,), daemon=True).start()
            return line.partition("listening on ")[2].strip()
    raise RuntimeError(f"{' '.join(_argv())[:200]}: ended with {server.wait()}: {''.join(said[-3:])}")


def _drained(server: subprocess.Popen[str]) -> None:
    """What it goes on to say is read, so that it can go on."""
    try:
        for _ in server.stdout or ():
            pass
    except ValueError:  # closed
        pass


def _argv() -> list[str]:
    at = [str(model()), str(TEMPLATE), str(CONTEXT)]
    program = binary() or WITHIN
    if program == WITHIN:
        return [sys.executable, "-c", SCRIPT, *at]
    options = [
        "-m",
        at[0],
        "--chat-template-file",
        at[1],
        "-c",
        at[2],
        "-np",
        "1",
        "-t",
        "1",
        "-tb",
        "1",
        "-a",
        "local",
    ]
    return [program, *options, "--jinja", "--no-webui", "--host", "127.0.0.1", "--port", str(_free())]


def _env() -> dict[str, str]:
    return {name: value for name, value in os.environ.items() if name in ("PATH", "HOME", "LANG", "LD_LIBRARY_PATH")}


def _free() -> int:
    with socket.create_server(("127.0.0.1", 0)) as found:
        port: int = found.getsockname()[1]
        return port
