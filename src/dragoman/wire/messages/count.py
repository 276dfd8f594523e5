"""How many tokens a request has, asked of the service.

Source: https://platform.claude.com/docs/en/api/messages-count-tokens; what is not named there is refused.
"""

from __future__ import annotations

from msgspec.structs import replace

from dragoman.wire import jsonio
from dragoman.wire.base import Http
from dragoman.wire.jsonio import refuse

PATH = "messages/count_tokens"
TAKEN = frozenset(
    ("model", "messages", "system", "tools", "tool_choice", "thinking", "output_config", "cache_control", "mcp_servers")
)


def count_request(http: Http) -> Http:
    """The question, for a request as it would be sent. Raises RemoteError for a body that is no object."""
    body, _ = jsonio.decode_object(http.body)
    asked = {key: value for key, value in body.items() if key in TAKEN}
    return replace(http, path=PATH, body=jsonio.encode(asked))


def decode_count(body: bytes) -> int:
    """The answer. Raises RemoteError for one without a count."""
    said, _ = jsonio.decode_object(body)
    count = said.get("input_tokens")
    if type(count) is not int:
        refuse("expected a count (a whole number)", "input_tokens")
    return count
