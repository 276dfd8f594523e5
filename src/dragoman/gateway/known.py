"""What may be told of a line that failed: our own sentences, and of a library's reasons those that are known word for word.

A library says in its own words what a service or a proxy has sent, quoted in one way or another or not at all.
"""

from __future__ import annotations

import errno
import os
import re

PATH = r"[\w./%-]*"  # of an address, behind the base that its owner gave
N = r"[\d.e+]+"
# The sentences of our transports and deadlines, each with the reason that may follow and what to do about it.
SENTENCE = (
    r"(?:no connection to {at} within {n} s"
    r"|{at} (?:was silent for|said nothing within|sent nothing but signs of life for|did not end its answer within) {n} s"
    r"|{at} did not answer within {n} s in all"
    r"|cannot connect to {at}|the connection to {at} broke|(?P<proxy>the proxy on the way to {at} refused))(?=: |; | — | \(after |$)"
)
ADVICE = re.compile(
    r"; (?:check the address, the network and any proxy|check that the server runs and that the base address is right"
    r"|check HTTPS_PROXY|if the model needs longer, raise Limits\((?:first|idle|progress|request|total)=…\))"
)
TRIES = re.compile(r" \(after \d{1,4} attempts\)$")

NAMES = (  # of hosts: what resolvers say (getaddrinfo of glibc, musl, macOS and Windows)
    "Name or service not known",
    "Temporary failure in name resolution",
    "No address associated with hostname",
    "Non-recoverable failure in name resolution",
    "nodename nor servname provided, or not known",
    "Name does not resolve",
    "Try again",
    "getaddrinfo failed",
)
LIBRARY = (  # asyncio, anyio, aiohttp, httpx2, h11: whole sentences without a place for anything that was sent
    "All connection attempts failed",
    "Server disconnected without sending a response",
    "Server disconnected",
    "Connection lost",
    "Connection closed",
    "Cannot write to closing transport",
    "Response payload is not completed",
    "peer closed connection without sending complete message body",
    "Can not decode content-encoding",
    "what was sent is no HTTP",
    "ConnectError",
    "ReadError",
    "WriteError",
    "Invalid username/password",
)
UNHTTP = re.compile(
    r"400\b|illegal |malformed |bad Content-Length|conflicting |multiple |Receive buffer too long|Only Transfer"
)
STATUS = re.compile(r"\d{3}\b")


def _reasons() -> re.Pattern[str]:
    """The system's words, the resolver's, and those of TLS, in which what follows the colon is a reason of its library's
    own list, or the name of the host that we asked for."""
    system = sorted({*map(os.strerror, errno.errorcode), *NAMES}, key=len, reverse=True)
    plain = "|".join(map(re.escape, system))
    one = rf"(?:\[Errno -?\d+\] )?(?:{plain}|Connect call failed \('[\w.:%]*', \d+(?:, \d+, \d+)?\))"
    several = rf"(?:Multiple exceptions: )?{one}(?:, {one})*"
    secured = r"(?:\[SSL: [A-Z0-9_]+\] [\w ,.:'-]+|EOF occurred in violation of protocol )\(_ssl\.c:\d+\)"
    slow = r"SSL handshake is taking longer than [\d.]+ seconds"
    return re.compile("|".join((several, secured, slow, *map(re.escape, LIBRARY))))


REASON = _reasons()


def told(message: str, at: str) -> str | None:
    """The part of an error's message that may be told, of a service at the address `at`; None where it is no sentence of
    ours."""
    sentence = re.match(SENTENCE.format(at=re.escape(at) + PATH, n=N), message)
    if sentence is None:
        return None
    rest = message[sentence.end() :]
    why = _why(rest.removeprefix(": "), by_proxy=sentence["proxy"] is not None) if rest.startswith(": ") else ""
    advice, tries = ADVICE.search(rest), TRIES.search(rest)
    return "".join([sentence[0], why and f": {why}", *(each[0] for each in (advice, tries) if each)])


def _why(said: str, *, by_proxy: bool) -> str:
    known = REASON.match(said) or (STATUS.match(said) if by_proxy else None)
    if known is not None:
        return known[0]
    return "what was sent is no HTTP" if UNHTTP.match(said) else ""
