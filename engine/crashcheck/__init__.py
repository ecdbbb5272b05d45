"""Explores what power losses can leave of the log protocol, and judges every recovery from it.

Reading order: `story` (a small run and its oracle), `states` (what can be left, point by point), `judge` (recovery, and what
is asked of it), `visit`, `deeper` and `search` (one configuration), `whole` (all of them), `lines` (one line, one state),
`bugs` and `ladder` (the checker checked), `leash` (an end to what has none).
"""

from .bugs import broken, hunt
from .exploration import check, explore
from .reference_run import Configuration, configuration, configurations
from .replay_line import read, replay
from .report import CrashReport, Inconsistency
from .visit import Effort

__all__ = [
    "Configuration",
    "CrashReport",
    "Effort",
    "Inconsistency",
    "broken",
    "check",
    "configuration",
    "configurations",
    "explore",
    "hunt",
    "read",
    "replay",
]
