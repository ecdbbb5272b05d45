"""Changes that look like bugs and are none: no crash state tells them from the protocol as it is, and here is why.

`test_seeded_bugs.py` explores each to the last combination of line prefixes on tiny runs, and further on small ones.
"""

from contextlib import contextmanager
from unittest.mock import patch

import numpy as np

from engine.persistence import records
from engine.persistence.media import WORD
from tests.seeded_bugs.broken_media import Through


class StoresAreIssuedLastWordFirst(Through):
    """Between two fences the protocol relies on no order, not even inside a flag."""

    def store(self, address, data):
        for at in reversed(range(0, data.size, WORD)):
            self.media.store(address + at, data[at : at + WORD])


class EveryStoreIsMadeTwice(Through):
    """A store made again before anything else changes nothing."""

    def store(self, address, data):
        self.media.store(address, np.zeros_like(data))
        self.media.store(address, data)


class EveryStoreIsFlushedAndFencedAtOnce(Through):
    """More order than asked for is slow, and safe."""

    def store(self, address, data):
        self.media.store(address, data)
        self.media.flush(address, data.size)
        self.media.fence()


@contextmanager
def poison_is_not_asked_for_when_a_record_is_read():
    """A lost line reads as zeros, with which no record's checksum agrees; the table's lines are asked for elsewhere."""
    with patch.object(records, "intact_bytes", lambda media, address, nbytes: media.load(address, nbytes)):
        yield


WRAPS = (StoresAreIssuedLastWordFirst, EveryStoreIsMadeTwice, EveryStoreIsFlushedAndFencedAtOnce)
PATCHES = (poison_is_not_asked_for_when_a_record_is_read,)
