"""JSON Schema in the form that a server takes, and the way back for the values that come."""

from __future__ import annotations

from dragoman.wire.schema.compile import compile as compile
from dragoman.wire.schema.compile import explain as explain
from dragoman.wire.schema.compiled import Change as Change
from dragoman.wire.schema.compiled import Compiled as Compiled
from dragoman.wire.schema.reverse import Reverse as Reverse
