"""Check and repair the shape of a conversation, always on the copy being sent."""

from dragoman.history.append import append as append
from dragoman.history.body import check_body as check_body
from dragoman.history.check import check as check
from dragoman.history.check import require as require
from dragoman.history.repair import Repaired as Repaired
from dragoman.history.repair import repair as repair
from dragoman.history.rules import RULES as RULES
from dragoman.history.rules import Finding as Finding
from dragoman.history.rules import Rule as Rule
from dragoman.history.unfinished import unfinished as unfinished
