"""The question for the count of a request.

Source: openai-python 3.57.0 resources/responses/input_tokens.py; what is not named there is refused.
"""

from __future__ import annotations

from dragoman.wire.base import Http
from dragoman.wire.counting import question

PATH = "responses/input_tokens"
TAKEN = frozenset(
    (
        *("model", "input", "instructions", "tools", "tool_choice", "parallel_tool_calls", "reasoning", "text"),
        *("conversation", "previous_response_id", "truncation"),
    )
)


def count_request(http: Http) -> Http:
    """See `Counting`."""
    return question(http, PATH, TAKEN)
