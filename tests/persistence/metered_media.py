"""Media that meter: the bytes of each region, and at full size what they cost by a device's own formulas, as in the schedule."""

from collections import Counter, defaultdict
from collections.abc import Callable

from engine.core.arrays import Bytes
from engine.core.work import HomeWrites, Persist, RowLog, RowUpdates, Stream, Work
from engine.hardware.device import Device, joules, seconds
from engine.persistence.layout import TABLE_START, MediumLayout
from engine.persistence.media import LINE
from engine.persistence.protocol import LogName
from tests.machines import media_bytes


def region(layout: MediumLayout, address: int) -> str:
    """Name the region that holds an address: superblock, data, flags, row log or mlp log."""
    if address < TABLE_START:
        return "superblock"
    if address < layout.row_slots[0].header:
        return "data"
    if any(slot.header <= address < slot.payload for slot in layout.slots):
        return "flags"
    return "row log" if address < layout.mlp_slots[0].header else "mlp log"


class TimedMedia:
    """Counts the bytes of each region between fences; a fence turns them into the device's seconds and joules.

    Of its content it keeps flags alone, since nothing else is read back while training.

    `seconds`, `joules`, `written` and `stored` (bytes that wear the media) are by region.
    Reading flags, and waiting for a fence with nothing to write, costs nothing here, as it costs nothing in the schedule.
    """

    def __init__(self, memory: Device, layout: MediumLayout, log: LogName) -> None:
        self.seconds: defaultdict[str, float] = defaultdict(float)
        self.joules: defaultdict[str, float] = defaultdict(float)
        self.stored: defaultdict[str, float] = defaultdict(float)
        self.written: Counter[str] = Counter()
        self._memory, self._layout, self._home = memory, layout, RowUpdates if log == "undo" else HomeWrites
        self._pending: Counter[str] = Counter()
        self._flags: dict[int, bytes] = {}

    def load(self, address: int, nbytes: int) -> bytes:
        """Return a flag as it was stored last, or zeros."""
        return self._flags.get(address, bytes(nbytes))[:nbytes]

    def store(self, address: int, content: Bytes) -> None:
        """Count bytes, and keep a flag."""
        place = region(self._layout, address)
        self._pending[place] += content.size
        if place == "flags":
            self._flags[address] = content.tobytes()

    def device_write(self, address: int, content: Bytes) -> None:
        """Count bytes; whose logic writes them is no matter to the medium."""
        self.store(address, content)

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
            self.stored[region] += float(media_bytes(self._memory, work).sum())
        self.written += self._pending
        self._pending.clear()

    @property
    def _works(self) -> dict[str, Callable[[int], Work]]:
        (span,) = self._layout.spans
        row_bytes, entry_bytes = span.stored_bytes, span.entry_bytes
        return {
            "superblock": lambda nbytes: Stream(nbytes),
            "row log": lambda nbytes: RowLog(nbytes / entry_bytes, row_bytes, entry_bytes),
            "mlp log": lambda nbytes: Stream(nbytes),
            "flags": lambda nbytes: Persist(nbytes / LINE),
            "data": lambda nbytes: self._home(nbytes / row_bytes, row_bytes),
        }
