"""Changes that look like bugs and are none: no crash state tells them from the protocol as it is, and here is why.

`test_seeded_bugs.py` explores each to the last combination of line prefixes on tiny runs, and further on small ones.
"""

from contextlib import contextmanager
from unittest.mock import patch

import numpy as np

from engine.persistence import records
from engine.persistence.media import LINE, WORD, line_ranges
from tests.seeded_bugs.broken_media import MediumWrapper


class StoresAreIssuedLastWordFirst(MediumWrapper):
    """Between two fences the protocol relies on no order, not even inside a flag; only a store of a whole line repairs it."""

    def store(self, address, content):
        if self.poisoned(address, content.size):
            self.media.store(address, content)
            return
        for offset in reversed(range(0, content.size, WORD)):
            self.media.store(address + offset, content[offset : offset + WORD])


class EveryStoreIsMadeTwice(MediumWrapper):
    """A store made again before anything else changes nothing."""

    def store(self, address, content):
        self.media.store(address, np.zeros_like(content))
        self.media.store(address, content)


class EveryStoreIsFlushedAndFencedAtOnce(MediumWrapper):
    """More order than asked for is slow, and safe."""

    def store(self, address, content):
        self.media.store(address, content)
        self.media.flush(address, content.size)
        self.media.fence()


@contextmanager
def poison_is_not_asked_for_when_a_record_is_read():
    """A lost line reads as zeros, with which no record's checksum agrees; the table's lines are asked for elsewhere."""
    with patch.object(records, "intact_bytes", lambda media, address, nbytes: media.load(address, nbytes)):
        yield


@contextmanager
def ranges_of_gpus_overlap_by_a_line():
    """Both GPUs write the same bytes of the line, and the flag waits for both; a line written twice only costs time."""

    def overlapping(address, nbytes, writers):
        return [slice(max(part.start - LINE, 0), part.stop) for part in line_ranges(address, nbytes, writers)]

    with patch.object(records, "line_ranges", overlapping):
        yield


WRAPS = (StoresAreIssuedLastWordFirst, EveryStoreIsMadeTwice, EveryStoreIsFlushedAndFencedAtOnce)
PATCHES = (poison_is_not_asked_for_when_a_record_is_read, ranges_of_gpus_overlap_by_a_line)
