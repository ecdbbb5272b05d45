"""The caches before a machine's persistent media, taken together as one cache of lines."""

from typing import NamedTuple

from ..scenario.machine import MachineKnobs
from ..units import GB
from .device import assumed_value, nodes
from .devices.pmem import MEDIA, modules


class LineCache(NamedTuple):
    """The caches before the media of all modules of a machine, as one cache.

    lines, nbytes: number of lines, and bytes of a line.
    dirty: the number of lines written last that can be written at full rate; 0 if all lines can.
    """

    lines: int = 0
    nbytes: float = 1.0
    dirty: int = 0

    @property
    def written_last(self) -> "LineCache":
        """The lines written last (`dirty`) as a cache of their own.

        Every line that a batch looks up is also written, so this cache holds the lines used last.
        """
        return LineCache(self.dirty, self.nbytes)


NO_CACHE = LineCache()


def line_cache(machine: MachineKnobs) -> LineCache:
    """Return the caches before a machine's media as one cache with evenly spread lines.

    A medium without a cache gives a cache of 0 lines. The capacity must be chosen.
    """
    media = MEDIA[machine.pmem]
    capacity = assumed_value(machine, "pmem", media.cache) * GB
    if not capacity:
        return NO_CACHE
    line = assumed_value(machine, "pmem", media.cache_line)
    cards, dirty = modules(machine) * nodes(machine), assumed_value(machine, "pmem", media.dirty_set) * GB
    dirty_lines = max(1, int(cards * min(dirty, capacity) / line)) if dirty else 0
    return LineCache(max(1, int(cards * capacity / line)), line, dirty_lines)
