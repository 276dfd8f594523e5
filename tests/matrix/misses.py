"""The recordings that do not come out right, each with its reason: exactly these, or a test fails."""

from __future__ import annotations

# Replies read otherwise than the oracle reads them.
READ: dict[str, str] = {}

# Requests that encode(decode(request)) changes.
REQUESTS: dict[str, str] = {}

# Whole replies that encode(decode(reply)) changes.
REPLIES: dict[str, str] = {}
