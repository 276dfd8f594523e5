"""Reading and changing the address in a body without reading its messages."""

from __future__ import annotations

import msgspec

from dragoman.wire import jsonio
from dragoman.wire.base import Http, Peek

CARRIER = b"drg1"  # what every carrier begins with (architecture §6.2)


class _Address(msgspec.Struct):
    model: str | None = None
    stream: bool | None = None


_address = msgspec.json.Decoder(_Address)
_members = msgspec.json.Decoder(dict[str, msgspec.Raw])


def peek_body(body: bytes) -> Peek:
    """Model and stream of a body that says both on top. Raises RemoteError for a body that is no such object."""
    try:
        address = _address.decode(body)
    except (msgspec.MsgspecError, UnicodeError, RecursionError) as error:
        raise jsonio.strict_error(body, error) from None
    return Peek(model=address.model, stream=bool(address.stream), carriers=CARRIER in body)


def readdress_body(http: Http, model: str) -> Http:
    """The same request to another model: every other member keeps its bytes."""
    try:
        members = _members.decode(http.body)
    except (msgspec.MsgspecError, UnicodeError, RecursionError) as error:
        raise jsonio.strict_error(http.body, error) from None
    members["model"] = msgspec.Raw(msgspec.json.encode(model))
    return msgspec.structs.replace(http, body=msgspec.json.encode(members))
