"""Bugs of the medium, or of the code that talks to it: given as wrappers, as outsiders would write them."""

import numpy as np

from engine.persistence.media import LINE, WORD
from tests.seeded_bugs import media_bug


class MediumWrapper:
    """Passes everything on; each bug changes what it needs."""

    def __init__(self, media):
        self.media = media
        self.count = 0

    def turn(self, period):
        """Count a call, and say whether it is one of every so many."""
        self.count += 1
        return self.count % period == 0

    def load(self, address, nbytes):
        return self.media.load(address, nbytes)

    def store(self, address, content):
        self.media.store(address, content)

    def flush(self, address, nbytes):
        self.media.flush(address, nbytes)

    def fence(self):
        self.media.fence()

    def device_write(self, address, content):
        self.media.device_write(address, content)

    def poisoned(self, address, nbytes):
        return self.media.poisoned(address, nbytes)


@media_bug(evidence="I2")
class EverySeventhFlushIsDropped(MediumWrapper):
    def flush(self, address, nbytes):
        if not self.turn(7):
            self.media.flush(address, nbytes)


@media_bug(evidence="I1")
class EveryFifthFenceReturnsAtOnce(MediumWrapper):
    def fence(self):
        if not self.turn(5):
            self.media.fence()


@media_bug(evidence="I5")
class OnlyTheTenthFenceReturnsAtOnce(MediumWrapper):
    def fence(self):
        self.count += 1
        if self.count != 10:
            self.media.fence()


@media_bug(evidence="I2")
class FlushMissesTheLastLine(MediumWrapper):
    def flush(self, address, nbytes):
        last_line = (address + nbytes - 1) // LINE * LINE
        if last_line > address:
            self.media.flush(address, last_line - address)
        elif nbytes < LINE:
            self.media.flush(address, nbytes)


@media_bug(on="undo-near", evidence="I5")
class ADeviceWriteIsHeldOverTheNextFence(MediumWrapper):
    late_write = ()

    def device_write(self, address, content):
        if self.turn(6):
            self.late_write = (address, content.copy())
        else:
            self.media.device_write(address, content)

    def fence(self):
        self.media.fence()
        if self.late_write:
            self.media.device_write(*self.late_write)
            self.late_write = ()


@media_bug(on="undo-near", evidence="I2")
class NearDataWritesAreHostStoresThatNobodyFlushes(MediumWrapper):
    def device_write(self, address, content):
        self.media.store(address, content)


@media_bug(evidence="I1")
class LongStoresLoseTheirLastWord(MediumWrapper):
    def store(self, address, content):
        self.media.store(address, content[:-WORD] if content.size > LINE else content)


@media_bug(evidence="I3")
class EveryThirtiethStoreFlipsABit(MediumWrapper):
    def store(self, address, content):
        if self.turn(30):
            content = content.copy()
            content[content.size // 2] ^= 16
        self.media.store(address, content)


@media_bug(evidence="I1")
class EveryNinthLoadOfARecordIsStale(MediumWrapper):
    def load(self, address, nbytes):
        content = self.media.load(address, nbytes)
        return bytes(nbytes) if nbytes == LINE and self.turn(9) else content


@media_bug(evidence="I2")
class LongLoadsFlipABit(MediumWrapper):
    def load(self, address, nbytes):
        content = bytearray(self.media.load(address, nbytes))
        if nbytes > 4 * LINE:
            content[nbytes // 3] ^= 1
        return bytes(content)


@media_bug(evidence="I5")
class PoisonIsReadAsZeros(MediumWrapper):
    def poisoned(self, address, nbytes):
        return False


@media_bug(evidence="I1")
class AWriteIsRepeatedThreeFencesLater(MediumWrapper):
    def __init__(self, media):
        super().__init__(media)
        self.past = [()]

    def store(self, address, content):
        self.past[-1] = (address, content.copy())
        self.media.store(address, content)

    def fence(self):
        self.media.fence()
        if len(self.past) > 3 and self.past[-4]:
            self.media.store(*self.past[-4])
            self.media.flush(self.past[-4][0], self.past[-4][1].size)
        self.past.append(())


@media_bug(evidence="exception")
class TheFortiethOperationRaises(MediumWrapper):
    def store(self, address, content):
        if self.turn(40):
            raise OSError("input/output error")
        self.media.store(address, content)


@media_bug(evidence="no end")
class AFenceNeverReturns(MediumWrapper):
    def fence(self):
        self.media.fence()
        while self.turn(1) and self.count > 12:
            self.media.load(0, 8)


@media_bug(on="redo", evidence="I2")
class HeaderIsStoredBeforeThePayloadOfTheSameRecord(MediumWrapper):
    """Queues stores between fences and issues short ones first, without their fence between."""

    def __init__(self, media):
        super().__init__(media)
        self.waiting = []

    def load(self, address, nbytes):
        self.settle()
        return self.media.load(address, nbytes)

    def store(self, address, content):
        self.waiting.append((address, np.array(content)))

    def flush(self, address, nbytes):
        """Is done with the store."""

    def fence(self):
        if not self.turn(2):
            self.settle()
            self.media.fence()

    def settle(self):
        for address, content in sorted(self.waiting, key=lambda write: write[1].size):
            self.media.store(address, content)
            self.media.flush(address, content.size)
        self.waiting = []


@media_bug(evidence="I5")
class WordsAreTornInHalves(MediumWrapper):
    def store(self, address, content):
        for offset in range(0, content.size, WORD // 2):
            self.media.store(address + offset, content[offset : offset + WORD // 2])
