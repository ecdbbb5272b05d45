"""A real checkpoint on this machine, compared with the prediction from the drive's part.

A state is written, flushed and read back.
"""

import os
from contextlib import suppress
from pathlib import Path
from time import perf_counter
from typing import Any, NamedTuple

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
    """Seconds of writing and flushing a state, and of reading it back.

    nbytes: bytes of the state.
    predicted_seconds: seconds by the drive's long rates, write and read.
    direct_seconds: write and read without the page cache, None where the system refuses that.
    cached_seconds: write and read through the page cache, as most software does.
    """

    nbytes: float
    predicted_seconds: tuple[float, float]
    direct_seconds: tuple[float, float] | None
    cached_seconds: tuple[float, float]

    @property
    def sentence(self) -> str:
        """The predicted and measured times as a sentence."""
        write, restore = (self._words(way) for way in (0, 1))
        return f"A checkpoint of {figure(self.nbytes / GB, 'GB')}: {write}; its restore: {restore}."

    def as_json(self) -> dict[str, Any]:
        """Return the trial as one JSON-ready object."""
        return {
            "nbytes": self.nbytes,
            "predicted": self.predicted_seconds,
            "past": self.direct_seconds,
            "through": self.cached_seconds,
        }

    def _words(self, way: int) -> str:
        predicted_seconds, cached_seconds = self.predicted_seconds[way], self.cached_seconds[way]
        direct_seconds = self.direct_seconds[way] if self.direct_seconds else None
        direct = (
            f", {figure(direct_seconds, 's')} past the page cache ({_error_text(predicted_seconds, direct_seconds)})"
            if direct_seconds is not None
            else ""
        )
        cached_text = f"{figure(cached_seconds, 's')} through the page cache ({_error_text(predicted_seconds, cached_seconds)})"
        return f"{figure(predicted_seconds, 's')} predicted{direct}, {cached_text}"


def _error_text(predicted_seconds: float, measured_seconds: float) -> str:
    return signed(100 * (predicted_seconds / measured_seconds - 1), "%")


def checkpoint_trial(folder: Path, nbytes: int = int(STATE)) -> CheckpointTrial | None:
    """Write, flush and read back a state in a folder; return the trial.

    Return None where no drive was measured, or the folder has too little room.
    """
    file_system = os.statvfs(folder)
    if NAME not in catalog.part_names_of("drive") or file_system.f_bavail * file_system.f_frsize < LEAST_FREE:
        return None
    drive = DRIVES[NAME]
    predicted = nbytes / (drive.sequential_write_rate.value * GB), nbytes / (drive.sequential_read_rate.value * GB)
    state = np.random.default_rng(1).integers(0, 2**63, nbytes // 8, dtype=np.int64)
    path = folder / ".emberpool-checkpoint"
    try:
        cached_seconds = _write_seconds(path, state), _restore_seconds(path, state)
        return CheckpointTrial(float(nbytes), predicted, _direct_seconds(path, nbytes), cached_seconds)
    finally:
        with suppress(OSError):
            path.unlink(missing_ok=True)


def _direct_seconds(path: Path, nbytes: int) -> tuple[float, float] | None:
    try:
        return long_accesses(path, nbytes)
    except OSError:
        return None


def _write_seconds(path: Path, state: Ints) -> float:
    start_time = perf_counter()
    with path.open("wb") as file:
        file.write(state.data)
        file.flush()
        os.fsync(file.fileno())
    return perf_counter() - start_time


def _restore_seconds(path: Path, state: Ints) -> float:
    """Read the state back from the drive, not from pages that memory still holds."""
    buffer = np.empty_like(state)
    with path.open("rb", buffering=0) as file:
        if hasattr(os, "posix_fadvise"):
            os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
        start_time = perf_counter()
        view, offset = buffer.data.cast("B"), 0
        while offset < len(view):
            offset += file.readinto(view[offset:]) or len(view)
        return perf_counter() - start_time
