"""Files below one folder: no path, `..` or link leads out of it, whatever happens to the folder meanwhile."""

from __future__ import annotations

import difflib
import os
import secrets
import stat
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

from dragoman.tools.base import ToolError


def _flags(*names: str) -> int:
    """Read-only, with those of `names` that this system has."""
    return os.O_RDONLY | sum(getattr(os, name, 0) for name in names)


# The path was resolved, so a link met on the way was put there since: O_NOFOLLOW refuses it. A pipe must not block.
FILE_FLAGS = _flags("O_NOFOLLOW", "O_NONBLOCK", "O_CLOEXEC", "O_BINARY")
NEW_FLAGS = os.O_WRONLY | os.O_CREAT | os.O_EXCL | _flags("O_NOFOLLOW", "O_CLOEXEC", "O_BINARY")
FOLDER_FLAGS = _flags("O_NOFOLLOW", "O_DIRECTORY", "O_CLOEXEC")


def open_file(base: Path, path: str) -> int:
    """The file descriptor of a regular file below `base`; raises ToolError with the reason for anything else."""
    try:
        target = (base / path).resolve()
        parts = below(base, target, path)
        if os.open not in os.supports_dir_fd:  # Windows
            return _open_regular(None, str(target), path)
        with _opened(base, parts[:-1]) as folder:
            return _open_regular(folder, parts[-1] if parts else ".", path)
    except FileNotFoundError:
        raise ToolError(_missing(base, path)) from None
    except NotADirectoryError:
        raise ToolError(f"{path} cannot be read: a part of the path is not a folder") from None
    except PermissionError:
        raise ToolError(f"{path} cannot be read: permission denied") from None
    except (OSError, RuntimeError, ValueError) as error:  # too long, a loop of links, a zero byte, a lone surrogate
        raise ToolError(f"{path[:100]!r} cannot be read: {getattr(error, 'strerror', None) or error}") from None


def _open_regular(folder: int | None, name: str, path: str) -> int:
    """Looks before opening, for opening a device can do things, and again after, for the file may have changed."""
    _must_be_regular(os.stat(name, dir_fd=folder, follow_symlinks=False).st_mode, path)
    descriptor = os.open(name, FILE_FLAGS, dir_fd=folder)
    try:
        _must_be_regular(os.fstat(descriptor).st_mode, path)
    except ToolError:
        os.close(descriptor)
        raise
    return descriptor


def _must_be_regular(mode: int, path: str) -> None:
    if stat.S_ISDIR(mode):
        raise ToolError(f"{path or '.'} is a folder, not a file")
    if not stat.S_ISREG(mode):
        raise ToolError(f"{path} is not a regular file (a pipe, a socket, a device or a changed link)")


def below(base: Path, target: Path, path: str) -> tuple[str, ...]:
    try:
        return target.relative_to(base).parts
    except ValueError:
        raise ToolError(f"{path} is outside the working folder: only what is below it can be used") from None


def _missing(base: Path, path: str) -> str:
    """Names the file that is not there, and those of like names that are (S0-49)."""
    folder = (base / path).resolve().parent
    try:
        below(base, folder, path)
        held = [entry.name + "/" * entry.is_dir() for entry in os.scandir(folder)]
    except (OSError, ToolError):
        held = []
    close = difflib.get_close_matches(Path(path).name, held)
    return f"{path} does not exist" + (f". Did you mean: {', '.join(close)}" if close else "")


def folder_of(base: Path, path: str) -> Path:
    """The real path of a folder below `base`; raises ToolError with the reason for anything else."""
    try:
        target = (base / path).resolve()
        below(base, target, path)
        mode = target.stat().st_mode
    except FileNotFoundError:
        raise ToolError(_missing(base, path)) from None
    except (OSError, RuntimeError, ValueError) as error:
        raise ToolError(f"{path[:100]!r} cannot be looked at: {getattr(error, 'strerror', None) or error}") from None
    if not stat.S_ISDIR(mode):
        raise ToolError(f"{path} is a file, not a folder")
    return target


def put_file(base: Path, path: str, data: bytes) -> bool:
    """Write a file below `base`, with the folders it needs, whole or not at all; whether it was there before.

    A file keeps its mode. Raises ToolError with the reason where it cannot be written.
    """
    try:
        target = (base / path).resolve()
        parts = below(base, target, path)
        if not parts:
            raise ToolError(f"{path} is the working folder itself")
        if os.open not in os.supports_dir_fd:  # Windows
            target.parent.mkdir(parents=True, exist_ok=True)
            return _put(None, target.name, path, data, str(target.parent))
        with _opened(base, parts[:-1], make=True) as folder:
            return _put(folder, parts[-1], path, data)
    except PermissionError:
        raise ToolError(f"{path} cannot be written: permission denied") from None
    except NotADirectoryError:
        raise ToolError(f"{path} cannot be written: a part of the path is not a folder") from None
    except (OSError, RuntimeError, ValueError) as error:
        raise ToolError(f"{path[:100]!r} cannot be written: {getattr(error, 'strerror', None) or error}") from None


@contextmanager
def _opened(base: Path, parts: tuple[str, ...], *, make: bool = False) -> Generator[int]:
    """The descriptor of a folder below `base`, reached step by step, so that no link put there meanwhile is followed."""
    folder = os.open(base, FOLDER_FLAGS)
    try:
        for part in parts:
            if make and not _is_there(folder, part):
                os.mkdir(part, dir_fd=folder)
            inner = os.open(part, FOLDER_FLAGS, dir_fd=folder)
            os.close(folder)
            folder = inner
        yield folder
    finally:
        os.close(folder)


def _is_there(folder: int, name: str) -> bool:
    try:
        os.stat(name, dir_fd=folder, follow_symlinks=False)
    except FileNotFoundError:
        return False
    return True


def _put(folder: int | None, name: str, path: str, data: bytes, within: str = "") -> bool:
    place = os.path.join(within, name)
    try:
        mode = os.stat(place, dir_fd=folder, follow_symlinks=False).st_mode
    except FileNotFoundError:
        mode = None
    if mode is not None:
        _must_be_regular(mode, path)
    draft = os.path.join(within, f".{name[:100]}.{secrets.token_hex(4)}")
    descriptor = os.open(draft, NEW_FLAGS, 0o666, dir_fd=folder)
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(data)
            if mode is not None and hasattr(os, "fchmod"):
                os.fchmod(file.fileno(), stat.S_IMODE(mode))
        os.replace(draft, place, src_dir_fd=folder, dst_dir_fd=folder)
    except BaseException:
        os.unlink(draft, dir_fd=folder)
        raise
    return mode is not None
