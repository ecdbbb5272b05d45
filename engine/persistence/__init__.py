"""Persistent memory, the logs that protect training on it, and recovery.

Reading order: `media` (the seam, and a medium of bytes), `layout`, `records` (one log record and its flag), `protocol` (the
operations), `logs` (their order, undo or redo), `recovery`, `replay` (from a timeline's events to the bytes that survived);
`models` and `crash_media` (a medium that loses power, with what is on its way to it).
"""

from .crash_media import CrashMedia, Power
from .layout import MediumLayout
from .media import FunctionalMedia, Media, NearData, PowerLost
from .protocol import Position, format_media
from .recovery import Recovered, recover
from .replay import BatchChange, PersistEvent, Start, survive

__all__ = [
    "BatchChange",
    "CrashMedia",
    "FunctionalMedia",
    "Media",
    "MediumLayout",
    "NearData",
    "PersistEvent",
    "Position",
    "Power",
    "PowerLost",
    "Recovered",
    "Start",
    "format_media",
    "recover",
    "survive",
]
