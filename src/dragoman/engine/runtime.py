"""llama.cpp in this process, through xllamacpp: loaded once a file, given a prompt, heard piece by piece."""

from __future__ import annotations

import ctypes
import secrets
import sys
from collections import deque
from collections.abc import Callable, Generator
from contextlib import closing
from functools import partial
from http.client import HTTPConnection, HTTPException
from pathlib import Path
from queue import SimpleQueue
from threading import Condition, Lock, Thread
from typing import Any, NamedTuple, TypeAlias
from urllib.parse import urlsplit

import msgspec

from dragoman.errors import ApiDetail, ApiError, UsageError
from dragoman.types.codes import ErrorCode

Chunk: TypeAlias = dict[str, Any]

NO_EXTRA = "local models need the extra: pip install 'dragoman[local]'"
SILENT = -1  # below every level that llama.cpp logs at: users must not meet its logs
CODES: dict[str, ErrorCode] = {
    "exceed_context_size_error": "context_overflow",
    "invalid_request_error": "invalid_request",
    "unavailable_error": "overloaded",
    "not_supported_error": "invalid_request",
}

# What C++ exceptions become. Source: https://docs.cython.org/en/latest/src/userguide/wrapping_CPlusPlus.html#exceptions
CPP = (RuntimeError, ValueError, MemoryError, IndexError, ArithmeticError, OSError, TypeError)
CLOSED = "the model is closed: open it again to ask it"
BATCH = 128  # tokens of a prompt that are read before llama.cpp looks whether anybody still wants the answer; 512 take as long each
ALIVE = 1.0  # seconds of waiting for a turn, after which a sign of life is given, at which the wait can be ended
WAITING: Chunk = {"waiting": True}
PATIENCE = 600.0  # seconds for a count, which waits while a prompt is read

_loaded: dict[tuple[Path, Room], _Held] = {}
_loading = Lock()


class Room(NamedTuple):
    """What a model may take of this machine: `context` tokens of a conversation, and `threads`.

    One thread by default: with two, llama.cpp's threads spin at a barrier for each other, and beside one other busy process
    on two cores 64 tokens took 10 to 15 s instead of 0.5 s. Alone on the machine, each thread more reads a prompt faster.
    """

    context: int = 8192
    threads: int = 1


class Runtime:
    """One loaded model. It answers one request at a time; others wait their turn, the first who came first, and whoever
    leaves meanwhile has asked it nothing.

    `key` is the one that its own server on loopback wants to see.
    """

    def __init__(self, server: Any, key: str = "") -> None:
        self._server = server
        self._key = key
        self._queue: deque[object] = deque()
        self._moved = Condition()

    def stream(self, body: Chunk) -> Generator[Chunk, None, None]:
        """The chunks of what the model makes of a prompt, as they are made; WAITING again and again while another request
        is answered. Closing the iterator ends the work.

        Raises ApiError for a request that is refused, with its own words, UsageError when it is closed.
        """
        chunks: SimpleQueue[Chunk | Exception | None] = SimpleQueue()
        turn = object()
        self._queue.append(turn)
        try:
            while not self._comes(turn):
                yield WAITING
            if self._server is None:
                raise UsageError("usage", CLOSED)
            worker = _Worker(self._server, {**body, "stream": True}, chunks, partial(self._leaves, turn))
            worker.start()
        except BaseException:
            self._leaves(turn)
            raise
        yield from _heard(worker, chunks)

    def _comes(self, turn: object) -> bool:
        with self._moved:
            return self._moved.wait_for(lambda: self._queue[0] is turn, ALIVE)

    def _leaves(self, turn: object) -> None:
        with self._moved:
            self._queue.remove(turn)
            self._moved.notify_all()

    def count(self, prompt: str) -> int:
        """The tokens of a prompt, as the model reads it. Raises as `stream`."""
        if self._server is None:
            raise UsageError("usage", CLOSED)
        at = urlsplit(self._server.listening_address)
        body = msgspec.json.encode({"content": prompt, "add_special": True, "parse_special": True})
        headers = {"authorization": f"Bearer {self._key}", "content-type": "application/json"}
        with closing(HTTPConnection(at.hostname or "", at.port, timeout=PATIENCE)) as line:
            try:
                line.request("POST", "/tokenize", body, headers)
                said: Any = msgspec.json.decode(line.getresponse().read())
            except (OSError, HTTPException, msgspec.DecodeError) as error:
                raise _refused(f"it did not count: {error}", "server_error") from None
        if not isinstance(said, dict) or not isinstance(said.get("tokens"), list):
            raise _error(said.get("error", said) if isinstance(said, dict) else said)
        return len(said["tokens"])

    def close(self) -> None:
        """Let go of the model; an answer that is under way comes to its end first."""
        self._server = None


class _Held:
    """A loaded model, and how many use it."""

    def __init__(self, runtime: Runtime) -> None:
        self.runtime, self.users = runtime, 0


class _Worker(Thread):
    """The thread in which llama.cpp calls back: its call returns only when the answer is complete. Then, whether it was
    read or not, the next one's turn has come."""

    def __init__(
        self, server: Any, body: Chunk, chunks: SimpleQueue[Chunk | Exception | None], done: Callable[[], None]
    ) -> None:
        super().__init__(name="dragoman-local-model", daemon=True)
        self._done = done
        self.enough = False
        self._server = server
        self._body = body
        self._chunks = chunks

    def run(self) -> None:
        try:
            self._server.handle_completions(self._body, self._hear)
        except CPP as error:
            self._chunks.put(error)
        finally:
            self._done()
            self._chunks.put(None)  # whatever happened: somebody waits

    def _hear(self, chunk: Chunk) -> bool:
        self._chunks.put(chunk)
        return self.enough


def _heard(worker: _Worker, chunks: SimpleQueue[Chunk | Exception | None]) -> Generator[Chunk, None, None]:
    """What a worker hears, until it is at its end or enough was heard."""
    try:
        while (chunk := chunks.get()) is not None:
            if isinstance(chunk, Exception):
                raise _refused(str(chunk), "invalid_request" if isinstance(chunk, ValueError) else "server_error")
            if "error" in chunk:
                raise _error(chunk["error"])
            yield chunk
    finally:
        worker.enough = True
        worker.join()  # it must not be inside llama.cpp when the interpreter ends


def load(path: Path, room: Room) -> Runtime:
    """The model of a GGUF file with so much room; shared by all in this process who load the same.

    Raises UsageError without the extra, or for a file that llama.cpp cannot load.
    """
    with _loading:
        key = (path.resolve(), room)
        held = _loaded.get(key)
        if held is None:
            held = _loaded[key] = _Held(_server(key[0], room))
        held.users += 1
        return held.runtime


def release(runtime: Runtime) -> None:
    """Say that one who loaded it needs it no more: with the last of them its memory is free."""
    with _loading:
        for key, held in _loaded.items():
            if held.runtime is runtime:
                held.users -= 1
                if not held.users:
                    del _loaded[key]
                    runtime.close()
                    _give_back()
                return


def _give_back() -> None:
    """What llama.cpp's threads freed is the system's again: the C library of Linux keeps some of it for threads that have
    ended, 30 MB more with every few models."""
    if sys.platform == "linux":
        trim = getattr(ctypes.CDLL(None), "malloc_trim", None)
        if trim is not None:
            trim(0)


def grammar(schema: Chunk) -> str:
    """The grammar that holds a model to a JSON Schema, in the syntax of this build. Raises ApiError invalid_request for a
    schema that none is made of."""
    try:
        return str(_library().json_schema_to_grammar(schema))
    except (ValueError, RuntimeError) as error:
        raise _refused(f"it cannot be held to this schema: {error}", "invalid_request") from None


def _library() -> Any:
    try:
        import xllamacpp
    except ImportError as error:
        missing = f" ({error.name} is missing)" if isinstance(error, ModuleNotFoundError) else f" ({error})"
        raise UsageError("missing_extra", NO_EXTRA + missing) from None
    return xllamacpp


def _server(path: Path, room: Room) -> Runtime:
    library = _library()
    params = library.CommonParams()
    params.model.path = str(path)
    params.n_ctx = room.context
    params.n_parallel = 1
    params.n_batch = BATCH
    params.cpuparams.n_threads = room.threads
    params.cpuparams_batch.n_threads = room.threads
    params.verbosity = SILENT
    params.warmup = False
    params.cache_ram_mib = 0  # no second cache of prompts beside the one of the context
    # xllamacpp also opens an HTTP port on loopback: without the key, which is told to nobody, it answers nobody.
    key = secrets.token_urlsafe(32)
    params.api_keys = [key]
    params.endpoint_slots = False
    params.ui = False
    try:
        return Runtime(library.Server(params), key)
    except (ValueError, RuntimeError) as error:
        raise UsageError("unknown_model", f"{path}: llama.cpp cannot load it: {error}") from None


def _error(said: Any) -> ApiError:
    if not isinstance(said, dict):
        return _refused(str(said), "server_error")
    kind = str(said.get("type"))
    status = said.get("code")
    code = CODES.get(kind, "server_error")
    detail = ApiDetail(status=status if isinstance(status, int) else 0, vendor_type=kind, body=said)
    return ApiError(code, f"local model: {said.get('message') or kind}", detail)


def _refused(message: str, code: ErrorCode) -> ApiError:
    return ApiError(code, f"local model: {' '.join(message.split())}", ApiDetail(retryable=False))
