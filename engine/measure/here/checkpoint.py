"""A real checkpoint on this machine: state of so many bytes written, flushed and read back, beside what the drive's part says."""

import os
from contextlib import suppress
from pathlib import Path
from time import perf_counter
from typing import NamedTuple

import numpy as np

from ...core import catalog
from ...core.arrays import Ints
from ...core.figures import figure, signed
from ...hardware.devices.ssd import DRIVES
from ...units import GB, MiB
from ..drive import long_accesses
from ..part_files import NAME

STATE = 512 * MiB
LEAST_FREE = 2 * STATE


class CheckpointTrial(NamedTuple):
    """Seconds of writing with the flush, and of reading back: predicted by the drive's long rates, and measured.

    `past` the page cache, None where that is refused, and `through` it, as most software writes.
    """

    nbytes: float
    predicted: tuple[float, float]
    past: tuple[float, float] | None
    through: tuple[float, float]

    @property
    def sentence(self) -> str:
        """The trial in a sentence."""
        write, read = (self._words(way) for way in (0, 1))
        return f"A checkpoint of {figure(self.nbytes / GB, 'GB')}: {write}; its restore: {read}."

    def _words(self, way: int) -> str:
        ours, through = self.predicted[way], self.through[way]
        direct = f", {figure(self.past[way], 's')} past the page cache ({_off(ours, self.past[way])})" if self.past else ""
        return f"{figure(ours, 's')} predicted{direct}, {figure(through, 's')} through the page cache ({_off(ours, through)})"


def _off(ours: float, theirs: float) -> str:
    return signed(100 * (ours / theirs - 1), "%")


def checkpoint_trial(folder: Path, nbytes: int = int(STATE)) -> CheckpointTrial | None:
    """Write, flush and restore a state in a folder; None where no drive was measured, or the folder has too little room."""
    room = os.statvfs(folder)
    if NAME not in catalog.names("drive") or room.f_bavail * room.f_frsize < LEAST_FREE:
        return None
    drive = DRIVES[NAME]
    predicted = nbytes / (drive.write.value * GB), nbytes / (drive.read.value * GB)
    state = np.random.default_rng(1).integers(0, 2**63, nbytes // 8, dtype=np.int64)
    path = folder / ".emberpool-checkpoint"
    try:
        through = _written(path, state), _restored(path, state)
        return CheckpointTrial(float(nbytes), predicted, _past(path, nbytes), through)
    finally:
        with suppress(OSError):
            path.unlink(missing_ok=True)


def _past(path: Path, nbytes: int) -> tuple[float, float] | None:
    try:
        return long_accesses(path, nbytes)
    except OSError:
        return None


def _written(path: Path, state: Ints) -> float:
    begun = perf_counter()
    with path.open("wb") as file:
        file.write(state.data)
        file.flush()
        os.fsync(file.fileno())
    return perf_counter() - begun


def _restored(path: Path, state: Ints) -> float:
    """Read the state back from the drive, not from pages that memory still holds."""
    into = np.empty_like(state)
    with path.open("rb", buffering=0) as file:
        if hasattr(os, "posix_fadvise"):
            os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
        begun = perf_counter()
        view, at = into.data.cast("B"), 0
        while at < len(view):
            at += file.readinto(view[at:]) or len(view)
        return perf_counter() - begun
