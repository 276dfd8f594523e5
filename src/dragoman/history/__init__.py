"""Check, repair and cut the shape of a conversation, always on the copy being sent."""

from dragoman.history.append import append as append
from dragoman.history.append import enqueue as enqueue
from dragoman.history.body import check_body as check_body
from dragoman.history.check import check as check
from dragoman.history.check import require as require
from dragoman.history.repair import Repaired as Repaired
from dragoman.history.repair import repair as repair
from dragoman.history.rounds import groups as groups
from dragoman.history.rounds import last_messages as last_messages
from dragoman.history.rounds import last_rounds as last_rounds
from dragoman.history.rounds import rounds as rounds
from dragoman.history.rules import RULES as RULES
from dragoman.history.rules import Finding as Finding
from dragoman.history.rules import Rule as Rule
from dragoman.history.settle import settled as settled
from dragoman.history.unfinished import unfinished as unfinished
from dragoman.history.weigh import calibrated as calibrated
from dragoman.history.weigh import weigh as weigh
from dragoman.history.window import Cut as Cut
from dragoman.history.window import Window as Window
from dragoman.history.window import composed as composed
