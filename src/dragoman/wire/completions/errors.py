"""Error bodies of text completions: those of the chat wire, which the same servers send."""

from __future__ import annotations

from dragoman.wire.chat.errors import error_in as error_in
from dragoman.wire.refusals import decode_error as decode_error
from dragoman.wire.refusals import encode_error as encode_error
