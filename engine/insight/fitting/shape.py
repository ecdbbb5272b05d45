"""The shape of a data file: what a model must have to train on it."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ...scenario.scenario import Scenario
from ...workload.readers.file_tables import SampleShape, differences
from ...workload.readers.formats import read
from .counting import MOST_SAMPLES, blocks, counted


@dataclass(frozen=True, slots=True)
class FileShape:
    """A file's samples: the numbers and lookups of each, the rows of each field that were counted, the order of training."""

    name: str
    format: str
    order: str
    samples: int
    clicks: float
    dense: int
    pooling: tuple[int, ...]
    rows: tuple[int, ...]
    length_cv: tuple[float, ...]

    def changes(self, base: Scenario) -> Mapping[str, Any]:
        """Return the knobs that let a model train on the file: none where it can."""
        return differences(base, SampleShape(self.name, self.dense, self.pooling, self.length_cv, self.rows))


def shape_of(path: str, digest: str, most: int = MOST_SAMPLES) -> FileShape:
    """Return the shape of a file, which stays the same while its `digest` does; raises BadFile."""
    file = read(Path(path))
    parts = blocks(file.samples, most)
    distinct = enumerate(file.distinct)
    rows = tuple(count or max(counted(file, table, parts, not file.hashed).rows, 1) for table, count in distinct)
    clicks = float(file.labels.mean())
    return FileShape(
        file.name, file.format, file.order, file.samples, clicks, file.dense.shape[1], file.pooling, rows, file.length_cv
    )
