"""A medium that costs time: the protocol at full size, charged by the same formulas of a device as the schedule.

It keeps flags alone, since nothing else is read back while training; what a region's writes are, its name says.
"""

from collections import Counter, defaultdict
from collections.abc import Callable

from ..core.work import HomeWrites, Persist, RowLog, RowUpdates, Stream, Work
from ..hardware.device import Device, joules, seconds, stored
from .layout import Layout
from .media import LINE, Octets
from .protocol import LogName


class TimedMedia:
    """Counts the bytes of each region between fences; a fence turns them into the device's seconds and joules.

    `seconds`, `joules`, `written` and `stored` (bytes that wear the media) are by region; `clock` is all seconds so far.
    Reading flags, and waiting for a fence with nothing to write, costs nothing here, as it costs nothing in the schedule.
    """

    def __init__(self, memory: Device, layout: Layout, log: LogName) -> None:
        self.seconds: defaultdict[str, float] = defaultdict(float)
        self.joules: defaultdict[str, float] = defaultdict(float)
        self.stored: defaultdict[str, float] = defaultdict(float)
        self.written: Counter[str] = Counter()
        self._memory, self._layout, self._home = memory, layout, RowUpdates if log == "undo" else HomeWrites
        self._pending: Counter[str] = Counter()
        self._flags: dict[int, bytes] = {}

    @property
    def clock(self) -> float:
        """Seconds of all writes, one after the other."""
        return sum(self.seconds.values())

    def load(self, address: int, nbytes: int) -> bytes:
        """Return a flag as it was stored last, or zeros."""
        return self._flags.get(address, bytes(nbytes))[:nbytes]

    def store(self, address: int, data: Octets) -> None:
        """Count bytes, and keep a flag."""
        region = self._layout.region(address)
        self._pending[region] += data.size
        if region == "flags":
            self._flags[address] = data.tobytes()

    def device_write(self, address: int, data: Octets) -> None:
        """Count bytes; whose logic writes them is no matter to the medium."""
        self.store(address, data)

    def flush(self, address: int, nbytes: int) -> None:
        """Do nothing: the write is charged when it is awaited."""

    def poisoned(self, address: int, nbytes: int) -> bool:
        """Say that nothing is lost."""
        return False

    def fence(self) -> None:
        """Charge what was written since the last fence."""
        for region, nbytes in self._pending.items():
            work = self._works[region](nbytes)
            self.seconds[region] += float(seconds(self._memory, work))
            self.joules[region] += float(joules(self._memory, work).sum())
            self.stored[region] += float(stored(self._memory, work).sum())
        self.written += self._pending
        self._pending.clear()

    @property
    def _works(self) -> dict[str, Callable[[int], Work]]:
        row, entry = self._layout.stored_bytes, self._layout.entry_bytes
        return {
            "superblock": lambda nbytes: Stream(nbytes),
            "row log": lambda nbytes: RowLog(nbytes / entry, row, entry),
            "mlp log": lambda nbytes: Stream(nbytes),
            "flags": lambda nbytes: Persist(nbytes / LINE),
            "data": lambda nbytes: self._home(nbytes / row, row),
        }
