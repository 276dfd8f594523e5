"""What a GGUF file says about itself, read without loading it.

The format: ggml-org's gguf.md. Only single values are kept; arrays (the vocabulary) are passed over.
"""

from __future__ import annotations

import struct
from pathlib import Path
from typing import BinaryIO, TypeAlias

from dragoman.errors import UsageError

Scalar: TypeAlias = str | int | float | bool

MAGIC = b"GGUF"
MAX_ENTRIES = 10_000
MAX_STRING = 16 * 1024 * 1024
STRING, ARRAY = 8, 9
FIXED = {0: "<B", 1: "<b", 2: "<H", 3: "<h", 4: "<I", 5: "<i", 6: "<f", 7: "<?", 10: "<Q", 11: "<q", 12: "<d"}


def metadata(path: Path) -> dict[str, Scalar]:
    """The single values of a GGUF file by their names (`general.name`, `tokenizer.chat_template` …).

    Raises UsageError for a file that is not there, cannot be read, or is no GGUF.
    """
    try:
        with path.open("rb") as file:
            return _read(file)
    except OSError as error:
        raise UsageError("unknown_model", f"{path}: {error.strerror or error}") from None
    except (struct.error, UnicodeDecodeError, ValueError) as error:
        raise UsageError("unknown_model", f"{path} is not a whole GGUF file: {error}") from None


def chat_template(values: dict[str, Scalar]) -> str:
    """The template by which the model was taught to chat; empty when the file has none."""
    return str(values.get("tokenizer.chat_template", ""))


def context_length(values: dict[str, Scalar]) -> int | None:
    """The tokens that the model was trained to look at."""
    length = values.get(f"{values.get('general.architecture')}.context_length")
    return length if isinstance(length, int) and length > 0 else None


def _read(file: BinaryIO) -> dict[str, Scalar]:
    if file.read(4) != MAGIC:
        raise ValueError("it does not begin with GGUF")
    _version, _tensors, entries = struct.unpack("<IQQ", file.read(20))
    if entries > MAX_ENTRIES:
        raise ValueError(f"{entries} entries")
    found: dict[str, Scalar] = {}
    for _ in range(entries):
        name = _string(file)
        value = _value(file, _number(file, "<I"))
        if value is not None:
            found[name] = value
    return found


def _value(file: BinaryIO, kind: int) -> Scalar | None:
    if kind == STRING:
        return _string(file)
    if kind == ARRAY:
        _pass_over_array(file)
        return None
    if kind not in FIXED:
        raise ValueError(f"an unknown kind of value: {kind}")
    return struct.unpack(FIXED[kind], file.read(struct.calcsize(FIXED[kind])))[0]


def _pass_over_array(file: BinaryIO) -> None:
    kind, count = _number(file, "<I"), _number(file, "<Q")
    if kind in FIXED:
        file.seek(count * struct.calcsize(FIXED[kind]), 1)
    elif kind == STRING:
        for _ in range(count):
            file.seek(_length(file), 1)
    else:
        raise ValueError(f"an array of kind {kind}")


def _string(file: BinaryIO) -> str:
    length = _length(file)
    data = file.read(length)
    if len(data) < length:
        raise ValueError("it ends in the middle of a string")
    return data.decode()


def _length(file: BinaryIO) -> int:
    length = _number(file, "<Q")
    if length > MAX_STRING:
        raise ValueError(f"a string of {length} bytes")
    return length


def _number(file: BinaryIO, form: str) -> int:
    return struct.unpack(form, file.read(struct.calcsize(form)))[0]
