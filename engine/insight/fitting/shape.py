"""The shape of a data file: what a model must have to train on it."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ...errors import BadInput
from ...scenario.scenario import Scenario
from ...workload.readers.digest_check import digest_check
from ...workload.readers.formats import read
from ...workload.source import check_fits
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
        try:
            check_fits(base, self.name, self.dense, self.pooling, self.length_cv)
        except BadInput:
            return {
                "model.num_tables": len(self.pooling),
                "model.num_embeddings": self.rows,
                "model.pooling": self.pooling,
                "model.bottom_mlp": (self.dense, *base.model.bottom_mlp[1:]),
                "data.popularity": "zipf",
                "data.bag_length_cv": self.length_cv if any(self.length_cv) else (),
            }
        return {}


def shape_of(path: str, digest: str, most: int = MOST_SAMPLES) -> FileShape:
    """Return the shape of the file of this digest; raises BadFile, also where it is another file now."""
    with digest_check(Path(path), digest):
        file = read(Path(path))
        parts = blocks(file.samples, most)
        rows = tuple(counted(file, table, parts, not file.hashed).rows for table in range(file.tables))
        clicks = float(file.labels.mean())
        return FileShape(
            file.name, file.format, file.order, file.samples, clicks, file.dense.shape[1], file.pooling, rows, file.length_cv
        )
