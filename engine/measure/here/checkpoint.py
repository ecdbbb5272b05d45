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
from ..part_files import NAME

STATE = 512 * MiB
LEAST_FREE = 2 * STATE


class CheckpointTrial(NamedTuple):
    """Seconds of writing with the flush, and of reading back, each predicted by the drive's long rates, and measured."""

    nbytes: float
    predicted_write: float
    predicted_read: float
    measured_write: float
    measured_read: float

    @property
    def sentence(self) -> str:
        """The trial in a sentence."""
        pairs = ((self.predicted_write, self.measured_write), (self.predicted_read, self.measured_read))
        write, read = (
            f"{figure(ours, 's')} predicted, {figure(theirs, 's')} measured ({_off(ours, theirs)})" for ours, theirs in pairs
        )
        return f"A checkpoint of {figure(self.nbytes / GB, 'GB')}: {write}; its restore: {read}."


def _off(ours: float, theirs: float) -> str:
    return f"{signed(100 * (ours / theirs - 1))} %"


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
        return CheckpointTrial(float(nbytes), *predicted, _written(path, state), _restored(path, state))
    finally:
        with suppress(OSError):
            path.unlink(missing_ok=True)


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
