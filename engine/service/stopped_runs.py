"""Files of cancelled runs, next to the store; a repeated request continues such a run.

A file is a NumPy archive of plain arrays, without pickles, and a JSON text with all other content. The checksums of the archive
show damage. Only the code that wrote a file reads it, with the same kernels and packages. Any other file counts as missing, and
the run begins again.
"""

import fcntl
import io
import json
import os
import time
from array import array
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from .. import version
from ..core.arithmetic import arithmetic, numeric_packages, total
from ..core.figures import count
from ..run.curve import Curve
from ..run.run import Resumption
from ..run.training_curve import CurvePoint, StoppedRun
from ..store.files import make_private_folder
from ..training.lookup import EarlyLookup, RowUses
from ..training.loop import Evaluation, MlpSnapshot, RowChange, TrainedStretch
from ..training.weights import RowBlock, Weights, row_index
from ..units import MiB

MOST_BYTES = 256 * MiB  # of one run's arrays
MOST_FILES = 4
MOST_SECONDS = 1.5  # to write a file: workers that do not stop soon are ended
TOO_LARGE = f"what it had learned takes more than {count(MOST_BYTES / MiB)} MiB and is not kept"
NO_ROOM = "what it had learned could not be written beside the store: the disk is full or slow"
ARRAY = "array"  # JSON's name for one of the archive's arrays


@dataclass(frozen=True)
class StoppedRunFile:
    """The file of a cancelled run.

    store: the path of the store.
    key: the key of the run's point.
    """

    store: Path
    key: str

    @property
    def folder(self) -> Path:
        """The folder with the cancelled runs of the store."""
        return Path(f"{self.store}.stopped")

    @property
    def path(self) -> Path:
        """The path of the cancelled run's file."""
        return self.folder / f"{self.key}.npz"

    def batch(self) -> int | None:
        """Return the batch at which the cancelled run continues, or None without a file."""
        batch_number = self._parse_file(lambda content, _: int(content["batch"]))
        return batch_number if isinstance(batch_number, int) else None

    def load(self) -> StoppedRun | None:
        """Return the cancelled run, or None without a readable file."""
        stopped_run = self._parse_file(_stopped_run)
        return stopped_run if isinstance(stopped_run, StoppedRun) else None

    def save(self, run: StoppedRun) -> str:
        """Write a cancelled run, and replace an earlier file of it.

        The oldest runs are deleted to make room. Return "" or the reason why the run could not be written.
        """
        arrays: list[Any] = []
        content = json.dumps(_header(self.key) | {"run": _json_content(_run_content(run), arrays), "batch": run.batch}).encode()
        if total(array.nbytes for array in arrays) + len(content) > MOST_BYTES:
            self.remove()
            return TOO_LARGE
        part = self.path.with_suffix(f".{os.getpid()}.part")
        try:
            make_private_folder(self.folder)
            with _Timely(part) as file:
                np.savez(file, allow_pickle=False, content=np.frombuffer(content, np.uint8), **_archive_arrays(arrays))
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

    def _parse_file(self, parse: Callable[[dict[str, Any], Any], object]) -> object:
        """Return `parse` of the file's content.

        None where the file is missing, damaged or of other code.
        """
        try:
            with self.path.open("rb") as file, np.load(file, allow_pickle=False) as archive:
                content: dict[str, Any] = json.loads(archive["content"].tobytes())
                return parse(content, archive) if content.items() >= _header(self.key).items() else None
        except Exception:  # damage can raise nearly anything
            return None

    def _tidy(self) -> None:
        """Delete old files beyond MOST_FILES, and files that a dead worker left half written.

        Files of a later time, as a clock that was set back leaves them, count as those of now, and the newest file stays.
        """
        clock_seconds = _modified_seconds(self.path)
        for file in (later for later in self.folder.glob("*.npz") if _modified_seconds(later) > clock_seconds):
            os.utime(file, (clock_seconds, clock_seconds))
        newest_first = sorted(self.folder.glob("*.npz"), key=lambda file: (file != self.path, -_modified_seconds(file)))
        for file in newest_first[MOST_FILES:]:
            file.unlink(missing_ok=True)
        for file in filter(_is_abandoned, self.folder.glob("*.part")):
            file.unlink(missing_ok=True)


class _Timely(io.FileIO):
    """A new file for its owner alone; writing it raises OSError after MOST_SECONDS."""

    def __init__(self, path: Path) -> None:
        super().__init__(os.open(path, os.O_CREAT | os.O_TRUNC | os.O_RDWR, 0o600), "w+")
        fcntl.flock(self, fcntl.LOCK_EX | fcntl.LOCK_NB)
        self.end = time.monotonic() + MOST_SECONDS

    def write(self, content: Any, /) -> int:
        """Write all of the data."""
        rest = memoryview(content).cast("B")
        size = len(rest)
        while rest:
            if time.monotonic() > self.end:
                raise OSError("The file takes too long to write.")
            rest = rest[super().write(rest[: 1 << 22]) or 0 :]
        return size


def _is_abandoned(file: Path) -> bool:
    """Return whether no living worker writes a file: a writer holds its lock."""
    with suppress(OSError), file.open("rb") as part:
        fcntl.flock(part, fcntl.LOCK_EX | fcntl.LOCK_NB)
        return True
    return False


def _modified_seconds(file: Path) -> float:
    with suppress(OSError):
        return file.stat().st_mtime
    return 0.0


def _header(key: str) -> dict[str, str]:
    computed_with = {"arithmetic": arithmetic(), "packages": numeric_packages()}
    return {"key": key, "model": version.MODEL, "code": version.CODE, **computed_with}


def _archive_arrays(arrays: Sequence[Any]) -> dict[str, Any]:
    return {f"{ARRAY}{number}": array for number, array in enumerate(arrays)}


def _json_content(content: Any, arrays: list[Any]) -> Any:
    """Return content for JSON; arrays are moved to `arrays` and replaced by their numbers."""
    if isinstance(content, np.ndarray):
        arrays.append(content)
        return {ARRAY: len(arrays) - 1}
    if isinstance(content, list | tuple):
        return [_json_content(part, arrays) for part in content]
    return content


def _restored_content(content: Any, archive: Any) -> Any:
    """Return the content that `_json_content` was given, with lists for tuples."""
    if isinstance(content, dict) and ARRAY in content:
        return archive[f"{ARRAY}{content[ARRAY]}"]
    return [_restored_content(part, archive) for part in content] if isinstance(content, list) else content


def _run_content(run: StoppedRun) -> list[Any]:
    trained, w = run.stretch, run.stretch.weights
    return [
        run.batches_done,
        np.array(trained.losses),
        [
            [n, evaluation.loss, evaluation.auc, evaluation.accuracy, evaluation.auc_error]
            for n, evaluation in trained.evaluations.items()
        ],
        [[n, mlp.mlp, mlp.mlp_state] for n, mlp in trained.kept.items()],
        [[n, rows.places, rows.before, rows.after] for n, rows in trained.recorded.items()],
        [w.rows, w.blocks, w.mlp, w.mlp_state, w.seed],
        trained.early,
        [np.array(values) for values in (run.curve.batches, run.curve.ends, run.curve.losses)],
        [[i, *auc] for i, auc in run.curve.aucs.items()],
        _joined_predictions([(n, *prediction) for n, prediction in run.predictions.items()]),
        [point for point, _ in run.unfinished],
        _joined_predictions([(0, *prediction) for _, prediction in run.unfinished]),
        [[r.embedding_batch, r.mlp_batch, r.fatal] for r in run.resumptions],
        run.flipped_bits,
        run.is_shared,
    ]


def _joined_predictions(predictions: Sequence[tuple[int, float, Any, Any]]) -> list[Any]:
    """Return predictions with all batches' labels and logits in one array each.

    An archive of many arrays is slow.
    """
    no_arrays = [np.zeros(0, np.float32)]
    labels, logits = (np.concatenate(no_arrays + [prediction[k] for prediction in predictions]) for k in (2, 3))
    return [[[n, loss, len(part)] for n, loss, part, _ in predictions], labels, logits]


def _split_predictions(content: list[Any]) -> list[tuple[int, float, Any, Any]]:
    """Return the predictions that `_joined_predictions` was given."""
    heads, labels, logits = content
    ends = np.cumsum([size for _, _, size in heads], dtype=np.int64)
    parts = zip(np.split(labels, ends)[:-1], np.split(logits, ends)[:-1], strict=True)
    return [(n, loss, *part) for (n, loss, _), part in zip(heads, parts, strict=True)]


def _blocks(content: list[list[Any]]) -> tuple[RowBlock, ...]:
    return tuple(RowBlock(*arrays) for arrays in content)


def _curve(columns: list[Any], aucs: list[list[Any]]) -> Curve:
    curve = Curve()
    curve.batches, curve.ends, curve.losses = (array(kind, column) for kind, column in zip("qdd", columns, strict=True))
    curve.aucs = {i: (area, error) for i, area, error in aucs}
    return curve


def _curve_point(content: list[Any]) -> CurvePoint:
    batch, end, loss, auc_with_error = content
    return batch, end, loss, auc_with_error and (auc_with_error[0], auc_with_error[1])


def _stopped_run(content: dict[str, Any], archive: Any) -> StoppedRun:
    (
        done_batches,
        losses,
        evaluations,
        kept_mlps,
        recorded,
        (rows, blocks, mlp, mlp_state, seed),
        early_uses,
        curve_columns,
        aucs,
        predictions,
        unfinished,
        unfinished_predictions,
        resumptions,
        flipped,
        is_shared,
    ) = _restored_content(content["run"], archive)
    trained = TrainedStretch(
        array("d", losses),
        {n: Evaluation(*scores) for n, *scores in evaluations},
        {n: MlpSnapshot(*arrays) for n, *arrays in kept_mlps},
        {
            n: RowChange(tuple(places), _blocks(rows_before), _blocks(rows_after))
            for n, places, rows_before, rows_after in recorded
        },
        Weights(rows, row_index(rows), _blocks(blocks), mlp, mlp_state, seed),
        EarlyLookup(early_uses[0], tuple(RowUses(*uses) for uses in early_uses[1])) if early_uses else None,
    )
    return StoppedRun(
        content["batch"],
        done_batches,
        trained,
        _curve(curve_columns, aucs),
        {n: (loss, labels, logits) for n, loss, labels, logits in _split_predictions(predictions)},
        tuple(
            zip(
                map(_curve_point, unfinished),
                ((loss, y, z) for _, loss, y, z in _split_predictions(unfinished_predictions)),
                strict=True,
            )
        ),
        tuple(Resumption(*fields) for fields in resumptions),
        tuple((row, byte, bit) for row, byte, bit in flipped),
        is_shared,
    )
