"""The question for the count of a request.

Source: https://platform.claude.com/docs/en/api/messages-count-tokens; what is not named there is refused.
"""

from __future__ import annotations

from dragoman.wire.base import Http
from dragoman.wire.counting import question

PATH = "messages/count_tokens"
TAKEN = frozenset(
    ("model", "messages", "system", "tools", "tool_choice", "thinking", "output_config", "cache_control", "mcp_servers")
)


def count_request(http: Http) -> Http:
    """See `Counting`."""
    return question(http, PATH, TAKEN)
