"""Files of cancelled runs beside the store: a run that is asked for again goes on from the batch that it had reached.

A file is NumPy's archive of plain arrays, without pickle, and a JSON text with all else. The checksums of the archive find
damage. A file is only read by the code that wrote it; whatever else is found counts as no file, and the run begins anew.
"""

import io
import json
import os
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from .. import version
from ..core.arithmetic import arithmetic
from ..core.figures import count
from ..run.run import Resumption
from ..run.training_curve import StoppedRun
from ..store.files import make_private
from ..training.lookup import Early, Uses
from ..training.loop import Evaluation, KeptMlp, Recorded, Trained
from ..training.weights import RowBlock, Weights, guide
from ..units import MiB

MOST_BYTES = 256 * MiB  # of one run's arrays
MOST_FILES = 4
MOST_SECONDS = 1.5  # for writing one: workers that do not stop soon are ended
LEFT_SECONDS = 60.0  # after which a file that is still being written was left by a worker that died
TOO_LARGE = f"what it had learned takes more than {count(MOST_BYTES / MiB)} MiB and is not kept"
NO_ROOM = "what it had learned could not be written beside the store: the disk is full or slow"
ARRAY = "array"  # JSON's name for one of the archive's arrays


@dataclass(frozen=True)
class StoppedRunFile:
    """The file of a store's cancelled run, by the key of its point."""

    store: Path
    key: str

    @property
    def folder(self) -> Path:
        """The folder of the store's files."""
        return Path(f"{self.store}.stopped")

    @property
    def path(self) -> Path:
        """The path of the file."""
        return self.folder / f"{self.key}.npz"

    def batch(self) -> int | None:
        """Return the batch from which the run goes on, or None for the first."""
        found = self._read(lambda content, _: int(content["batch"]))
        return found if isinstance(found, int) else None

    def load(self) -> StoppedRun | None:
        """Return the cancelled run, or None."""
        found = self._read(_stopped_run)
        return found if isinstance(found, StoppedRun) else None

    def save(self, run: StoppedRun) -> str:
        """Keep a cancelled run in place of an earlier one, or return why not; the oldest runs make room for it."""
        arrays: list[Any] = []
        content = json.dumps(_named(self.key) | {"run": _written(_content(run), arrays), "batch": run.batch}).encode()
        if sum(array.nbytes for array in arrays) + len(content) > MOST_BYTES:
            self.remove()
            return TOO_LARGE
        part = self.path.with_suffix(f".{os.getpid()}.part")
        try:
            make_private(self.folder)
            with _Timely(part) as file:
                np.savez(file, allow_pickle=False, content=np.frombuffer(content, np.uint8), **_numbered(arrays))
            os.replace(part, self.path)
            self._tidy()
        except OSError:
            with suppress(OSError):
                part.unlink(missing_ok=True)
            return NO_ROOM
        return ""

    def remove(self) -> None:
        """Delete the file."""
        with suppress(OSError):
            self.path.unlink(missing_ok=True)

    def _read(self, read: Callable[[dict[str, Any], Any], object]) -> object:
        """Return what `read` finds in the file, None where it is missing, damaged or of other code."""
        try:
            with self.path.open("rb") as file, np.load(file, allow_pickle=False) as archive:
                content: dict[str, Any] = json.loads(archive["content"].tobytes())
                return read(content, archive) if content.items() >= _named(self.key).items() else None
        except Exception:  # damage can raise nearly anything
            return None

    def _tidy(self) -> None:
        """Delete all but the newest files, and those that a dead worker has left half written."""
        for file in sorted(self.folder.glob("*.npz"), key=_changed, reverse=True)[MOST_FILES:]:
            file.unlink(missing_ok=True)
        for file in self.folder.glob("*.part"):
            if not 0 <= time.time() - _changed(file) < LEFT_SECONDS:
                file.unlink(missing_ok=True)


class _Timely(io.FileIO):
    """A new file for its owner alone; writing it raises OSError after MOST_SECONDS."""

    def __init__(self, path: Path) -> None:
        super().__init__(os.open(path, os.O_CREAT | os.O_TRUNC | os.O_RDWR, 0o600), "w+")
        self.end = time.monotonic() + MOST_SECONDS

    def write(self, data: Any, /) -> int:
        """Write all of the data."""
        rest = memoryview(data).cast("B")
        size = len(rest)
        while rest:
            if time.monotonic() > self.end:
                raise OSError("The file takes too long to write.")
            rest = rest[super().write(rest[: 1 << 22]) or 0 :]
        return size


def _changed(file: Path) -> float:
    with suppress(OSError):
        return file.stat().st_mtime
    return 0.0


def _named(key: str) -> dict[str, str]:
    return {"key": key, "model": version.MODEL, "code": version.CODE, "arithmetic": arithmetic()}


def _numbered(arrays: Sequence[Any]) -> dict[str, Any]:
    return {f"{ARRAY}{number}": array for number, array in enumerate(arrays)}


def _written(content: Any, arrays: list[Any]) -> Any:
    """Return content as JSON can write it; arrays are added to `arrays` and leave their numbers."""
    if isinstance(content, np.ndarray):
        arrays.append(content)
        return {ARRAY: len(arrays) - 1}
    if isinstance(content, list | tuple):
        return [_written(part, arrays) for part in content]
    return content


def _read_back(content: Any, archive: Any) -> Any:
    """Return what `_written` was given, with lists for tuples."""
    if isinstance(content, dict) and ARRAY in content:
        return archive[f"{ARRAY}{content[ARRAY]}"]
    return [_read_back(part, archive) for part in content] if isinstance(content, list) else content


def _content(run: StoppedRun) -> list[Any]:
    trained, w = run.trained, run.trained.weights
    return [
        run.done,
        trained.losses,
        [[n, found.loss, found.auc, found.accuracy, found.auc_error] for n, found in trained.evaluations.items()],
        [[n, kept.mlp, kept.mlp_state] for n, kept in trained.kept.items()],
        [[n, rows.places, rows.before, rows.after] for n, rows in trained.recorded.items()],
        [w.rows, w.blocks, w.mlp, w.mlp_state, w.seed],
        trained.early,
        run.rows,
        _joined([(n, *prediction) for n, prediction in run.predictions.items()]),
        [row for row, _ in run.unfinished],
        _joined([(0, *prediction) for _, prediction in run.unfinished]),
        [[r.embedding_batch, r.mlp_batch, r.fatal] for r in run.resumptions],
        run.flipped,
        run.shared,
    ]


def _joined(predictions: Sequence[tuple[int, float, Any, Any]]) -> list[Any]:
    """Return predictions with the labels and logits of all batches in one array each: an archive of many is slow."""
    none = [np.zeros(0, np.float32)]
    labels, logits = (np.concatenate(none + [prediction[k] for prediction in predictions]) for k in (2, 3))
    return [[[n, loss, len(part)] for n, loss, part, _ in predictions], labels, logits]


def _parted(content: list[Any]) -> list[tuple[int, float, Any, Any]]:
    """Return what `_joined` was given."""
    heads, labels, logits = content
    ends = np.cumsum([size for _, _, size in heads], dtype=np.int64)
    parts = zip(np.split(labels, ends)[:-1], np.split(logits, ends)[:-1], strict=True)
    return [(n, loss, *part) for (n, loss, _), part in zip(heads, parts, strict=True)]


def _blocks(content: list[list[Any]]) -> tuple[RowBlock, ...]:
    return tuple(RowBlock(*arrays) for arrays in content)


def _stopped_run(content: dict[str, Any], archive: Any) -> StoppedRun:
    (
        done,
        losses,
        evaluations,
        kept,
        recorded,
        (rows, blocks, mlp, mlp_state, seed),
        early,
        curve,
        predictions,
        unfinished,
        unfinished_predictions,
        resumptions,
        flipped,
        shared,
    ) = _read_back(content["run"], archive)
    trained = Trained(
        losses,
        {n: Evaluation(*found) for n, *found in evaluations},
        {n: KeptMlp(*arrays) for n, *arrays in kept},
        {n: Recorded(tuple(places), _blocks(before), _blocks(after)) for n, places, before, after in recorded},
        Weights(rows, guide(rows), _blocks(blocks), mlp, mlp_state, seed),
        Early(early[0], tuple(Uses(*uses) for uses in early[1])) if early else None,
    )
    return StoppedRun(
        content["batch"],
        done,
        trained,
        tuple(curve),
        {n: (loss, labels, logits) for n, loss, labels, logits in _parted(predictions)},
        tuple(zip(unfinished, ((loss, y, z) for _, loss, y, z in _parted(unfinished_predictions)), strict=True)),
        tuple(Resumption(*found) for found in resumptions),
        tuple((row, byte, bit) for row, byte, bit in flipped),
        shared,
    )
