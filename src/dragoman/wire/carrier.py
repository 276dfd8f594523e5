"""State of one wire hidden in a value that a client of another wire echoes: packed, authenticated, size-capped.

Format: `drg1`, then base32 of a 16-byte MAC and a zlib stream of JSON, padded so that the whole length is a multiple
of 4: letters and digits only, which every client that echoes anything echoes unchanged (docs/architecture.md,
"Carriers"; 18 clients were tried).
"""

from __future__ import annotations

import binascii
import hmac
import zlib
from base64 import b32decode, b32encode

import msgspec

from dragoman.types.base import Origin
from dragoman.types.content import Content

PREFIX = "drg1"
MAC_BYTES = 16
MAX_STATE = 4 * 1024 * 1024  # of JSON; a larger state is not carried, and a value that unpacks to more is refused
BASE32_UNIT = 5


class State(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What travels: the blocks a client's wire cannot say, in order, and who made them."""

    blocks: tuple[Content, ...]
    origin: Origin | None = None


_decoder = msgspec.json.Decoder(State)


def pack(state: State, key: bytes) -> str | None:
    """The value to hide; None when the state is over the size cap. Deterministic: the same state, the same value."""
    return seal(msgspec.json.encode(state), key)


def unpack(value: str, key: bytes) -> State | None:
    """The state in a value we packed with this key; None for anything else: forged, cut, altered, too large, foreign."""
    text = unseal(value, key)
    if text is None:
        return None
    try:
        return _decoder.decode(text)
    except (msgspec.MsgspecError, UnicodeError, RecursionError):
        return None


def seal(text: bytes, key: bytes) -> str | None:
    """`text` as a carrier value."""
    if len(text) > MAX_STATE:
        return None
    packed = zlib.compress(text, 6)
    body = _mac(packed, key) + packed
    body += bytes(-len(body) % BASE32_UNIT)
    return PREFIX + b32encode(body).decode()


def unseal(value: str, key: bytes) -> bytes | None:
    """The text in a carrier value, or None."""
    if not value.startswith(PREFIX) or len(value) > 2 * MAX_STATE:
        return None
    try:
        body = b32decode(value[len(PREFIX) :].encode("ascii"))
    except (binascii.Error, UnicodeError):
        return None
    packed = _authentic(body[MAC_BYTES:], body[:MAC_BYTES], key)
    if packed is None:
        return None
    inflate = zlib.decompressobj()
    text = inflate.decompress(packed, MAX_STATE)
    return text if inflate.eof else None


def is_carrier(value: object) -> bool:
    """Whether a value looks like one of ours."""
    return isinstance(value, str) and value.startswith(PREFIX)


def _authentic(padded: bytes, mac: bytes, key: bytes) -> bytes | None:
    """What we packed, without its padding; None for anything else. Nothing that others made is ever inflated."""
    for padding in range(BASE32_UNIT):
        packed = padded[: len(padded) - padding]
        if not any(padded[len(packed) :]) and hmac.compare_digest(mac, _mac(packed, key)):
            return packed
    return None


def _mac(packed: bytes, key: bytes) -> bytes:
    return hmac.digest(key, packed, "sha256")[:MAC_BYTES]
