"""Persistent memory, the logs that protect training on it, and recovery.

Reading order: `media` (the seam), `layout`, `records` (one log record and its flag), `protocol` (the operations),
`undo` and `redo` (their orders), `recovery`, `cut` (from a timeline's events to the bytes that survived), and
the media: `functional` (bytes), `pending` and `crash` (bytes and what is on its way to them), `timed` (seconds
and joules at full size), and `counting` (bytes moved).
"""

from .counting import CountingMedia
from .crash_media import CrashMedia, Power
from .layout import Layout
from .media import FunctionalMedia, Media, NearData, PowerLost
from .protocol import BatchBytes, Position, format_media, log_bytes
from .recovery import Recovered, recover
from .replay import BatchChange, PersistEvent, Start, survive
from .timed import TimedMedia

__all__ = [
    "BatchBytes",
    "BatchChange",
    "CountingMedia",
    "CrashMedia",
    "FunctionalMedia",
    "Layout",
    "Media",
    "NearData",
    "PersistEvent",
    "Position",
    "Power",
    "PowerLost",
    "Recovered",
    "Start",
    "TimedMedia",
    "format_media",
    "log_bytes",
    "recover",
    "survive",
]
