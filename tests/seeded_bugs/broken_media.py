"""Bugs of the medium, or of the code that talks to it: given as wrappers, as outsiders would write them."""

import numpy as np

from engine.persistence.media import LINE, WORD
from tests.seeded_bugs import media_bug


class Through:
    """Passes everything on; each bug changes what it needs."""

    def __init__(self, media):
        self.media = media
        self.count = 0

    def turn(self, every):
        """Count a call, and say whether it is one of every so many."""
        self.count += 1
        return self.count % every == 0

    def load(self, address, nbytes):
        return self.media.load(address, nbytes)

    def store(self, address, data):
        self.media.store(address, data)

    def flush(self, address, nbytes):
        self.media.flush(address, nbytes)

    def fence(self):
        self.media.fence()

    def device_write(self, address, data):
        self.media.device_write(address, data)

    def poisoned(self, address, nbytes):
        return self.media.poisoned(address, nbytes)


@media_bug(evidence="I2")
class EverySeventhFlushIsDropped(Through):
    def flush(self, address, nbytes):
        if not self.turn(7):
            self.media.flush(address, nbytes)


@media_bug(evidence="I1")
class EveryFifthFenceReturnsAtOnce(Through):
    def fence(self):
        if not self.turn(5):
            self.media.fence()


@media_bug(evidence="I5")
class OnlyTheTenthFenceReturnsAtOnce(Through):
    def fence(self):
        self.count += 1
        if self.count != 10:
            self.media.fence()


@media_bug(evidence="I2")
class FlushMissesTheLastLine(Through):
    def flush(self, address, nbytes):
        last = (address + nbytes - 1) // LINE * LINE
        if last > address:
            self.media.flush(address, last - address)
        elif nbytes < LINE:
            self.media.flush(address, nbytes)


@media_bug(on="undo-near", evidence="I5")
class ADeviceWriteIsHeldOverTheNextFence(Through):
    held = ()

    def device_write(self, address, data):
        if self.turn(6):
            self.held = (address, data.copy())
        else:
            self.media.device_write(address, data)

    def fence(self):
        self.media.fence()
        if self.held:
            self.media.device_write(*self.held)
            self.held = ()


@media_bug(on="undo-near", evidence="I2")
class NearDataWritesAreHostStoresThatNobodyFlushes(Through):
    def device_write(self, address, data):
        self.media.store(address, data)


@media_bug(evidence="I1")
class LongStoresLoseTheirLastWord(Through):
    def store(self, address, data):
        self.media.store(address, data[:-WORD] if data.size > LINE else data)


@media_bug(evidence="I3")
class EveryThirtiethStoreFlipsABit(Through):
    def store(self, address, data):
        if self.turn(30):
            data = data.copy()
            data[data.size // 2] ^= 16
        self.media.store(address, data)


@media_bug(evidence="I1")
class EveryNinthLoadOfARecordIsStale(Through):
    def load(self, address, nbytes):
        found = self.media.load(address, nbytes)
        return bytes(nbytes) if nbytes == LINE and self.turn(9) else found


@media_bug(evidence="I2")
class LongLoadsFlipABit(Through):
    def load(self, address, nbytes):
        found = bytearray(self.media.load(address, nbytes))
        if nbytes > 4 * LINE:
            found[nbytes // 3] ^= 1
        return bytes(found)


@media_bug(evidence="I5")
class PoisonIsReadAsZeros(Through):
    def poisoned(self, address, nbytes):
        return False


@media_bug(evidence="I1")
class AWriteIsRepeatedThreeFencesLater(Through):
    def __init__(self, media):
        super().__init__(media)
        self.past = [()]

    def store(self, address, data):
        self.past[-1] = (address, data.copy())
        self.media.store(address, data)

    def fence(self):
        self.media.fence()
        if len(self.past) > 3 and self.past[-4]:
            self.media.store(*self.past[-4])
            self.media.flush(self.past[-4][0], self.past[-4][1].size)
        self.past.append(())


@media_bug(evidence="exception")
class TheFortiethOperationRaises(Through):
    def store(self, address, data):
        if self.turn(40):
            raise OSError("input/output error")
        self.media.store(address, data)


@media_bug(evidence="no end")
class AFenceNeverReturns(Through):
    def fence(self):
        self.media.fence()
        while self.turn(1) and self.count > 12:
            self.media.load(0, 8)


@media_bug(on="redo", evidence="I2")
class HeaderIsStoredBeforeThePayloadOfTheSameRecord(Through):
    """Queues stores between fences and issues short ones first, without their fence between."""

    def __init__(self, media):
        super().__init__(media)
        self.waiting = []

    def load(self, address, nbytes):
        self.settle()
        return self.media.load(address, nbytes)

    def store(self, address, data):
        self.waiting.append((address, np.array(data)))

    def flush(self, address, nbytes):
        """Is done with the store."""

    def fence(self):
        if not self.turn(2):
            self.settle()
            self.media.fence()

    def settle(self):
        for address, data in sorted(self.waiting, key=lambda one: one[1].size):
            self.media.store(address, data)
            self.media.flush(address, data.size)
        self.waiting = []


@media_bug(evidence="I5")
class WordsAreTornInHalves(Through):
    def store(self, address, data):
        for at in range(0, data.size, WORD // 2):
            self.media.store(address + at, data[at : at + WORD // 2])
