"""A fault of the model behind the server: the client is told that it is the model's service, the operator where and why."""

from __future__ import annotations

import msgspec

from dragoman.catalog.target import Target
from dragoman.errors import ApiError, DragomanError, RemoteError, TransportError, UsageError
from dragoman.gateway import faults, known
from dragoman.gateway.alarm import Alarm
from dragoman.transport.base import address
from dragoman.types.events import Failure
from dragoman.types.note import Path, show_path


class Behind(msgspec.Struct, frozen=True):
    """The model that answers one request: `target` None for one in this process. Each method gives what the client is told."""

    alarm: Alarm
    target: Target | None

    def broken(self, error: DragomanError) -> ApiError:
        """Of a request that was taken and got no answer."""
        self._tell(reason(error, self.target))
        if isinstance(error, UsageError) and error.code == "usage" and self.target is None:
            return faults.refusal(error)  # what this model cannot do, said by itself
        return faults.broken(error)

    def spoken(self, failure: Failure) -> Failure:
        """Of a stream that failed after its first word."""
        self._tell(reason(faults.raised(failure), self.target))
        return faults.spoken(failure)

    def _tell(self, why: str) -> None:
        if why:
            self.alarm.say(f"{'the local model' if self.target is None else self.target.label}: {why}")


def reason(error: DragomanError, target: Target | None) -> str:
    """What the operator can mend of an error, without the service's own words, which may quote what it was sent; empty for
    what is the client's to mend, or nobody's."""
    at = "" if target is None else address(target.base_url)
    match error:
        case ApiError():
            return _refused(error, target, at)
        case TransportError():
            return _broke(error, target, at)
        case RemoteError():
            return _unread(error.code, at, error.path)
        case UsageError() if error.code != "usage" or target is not None:  # of how this server is set up
            return error.message if target is None else target.hidden(error.message)
        case _:
            return ""


def _refused(error: ApiError, target: Target | None, at: str) -> str:
    status = error.status
    if error.code in faults.NEVER_SAID:
        return _unread(error.code, at)
    if target is None:
        return ""
    if status in faults.OURS or error.code == "auth":
        key = f" in {target.key_env}" if target.key_env else ""
        return f"{at} does not take the key{key} ({status or error.code})"
    if error.code == "quota":
        return f"{at} says that the account is empty ({status or error.code})"
    if status == 404:
        return f"{at} knows no model {target.model!r}, or is the wrong address ({status})"
    if 300 <= status < 400:
        return f"{at} sends elsewhere ({status}): give its new address"
    return ""


def _broke(error: TransportError, target: Target | None, at: str) -> str:
    """Our own words, and of a library's those that can hold nothing of what was sent."""
    said = None if target is None else known.told(error.message, at)
    if said is not None and target is not None:
        return target.hidden(said)
    if error.code == "timeout":
        return f"{at or 'its service'} was silent for too long"
    return f"the connection{at and f' to {at}'} broke"


def _unread(code: str, at: str, path: Path = ()) -> str:
    place = f" at {show_path(path)}" if path else ""
    return f"the answer{at and f' of {at}'} broke off or cannot be read ({code}{place})"
