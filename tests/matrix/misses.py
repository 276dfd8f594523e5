"""The recordings that do not come out right, each with its reason: exactly these, or a test fails."""

from __future__ import annotations

# Replies read otherwise than the oracle reads them.
READ: dict[str, str] = {}

# Requests that encode(decode(request)) changes.
REQUESTS: dict[str, str] = {
    "dd-trace-py-a85d335f8c60": "no request: messages[0] is a string; the service answered 400, we say the same",
}

# Whole replies that encode(decode(reply)) changes.
REPLIES: dict[str, str] = {}

# Streams that say something else, or go through other events, when they are decoded and written again.
STREAMS: dict[str, str] = {
    "pydantic-ai-10d08fc4f4c9": "its error chunk also holds the usage; an error chunk of ours holds the error only",
    "ai-8135a20141dc": "message_start holds a finished call; written again the call has events of its own",
    "ruby_llm-3284504e9721": "one server says response.reasoning_part.added where the format has content_part.added",
    "pydantic-ai-e1542982e07d": "the server never finishes two of its items; written again each item is finished",
}
