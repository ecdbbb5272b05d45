"""The shape of a data file: the sizes that a model needs for it."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ...core import figures
from ...core.arithmetic import total
from ...scenario.scenario import Scenario, per_table
from ...workload.readers.digest_check import digest_check
from ...workload.readers.file_tables import HASHED, SampleShape, knob_changes
from ...workload.readers.formats import read_file
from ...workload.readers.recording import held_out_count
from ...workload.readers.samples import Watch, unwatched
from .counting import MOST_SAMPLES, blocks, count_table


@dataclass(frozen=True, slots=True)
class FileShape:
    """The sizes of a file's samples.

    name, format, order: the file's name, its format, and the order of its samples.
    samples: the number of samples.
    clicks: share of clicks; None for a file without labels.
    dense, pooling: dense features of a sample, and lookups of each field in a sample.
    rows: rows of each field that were counted.
    distinct: distinct ids of each field; None where they were not counted.
    length_cv: spread of bag lengths of each field.
    where_they_fit: whether ids are numbered where they fit into a table.
    fields: names of the fields' columns; () where none is known.
    """

    name: str
    format: str
    order: str
    samples: int
    clicks: float | None
    dense: int
    pooling: tuple[int, ...]
    rows: tuple[int, ...]
    distinct: tuple[int | None, ...]
    length_cv: tuple[float, ...]
    where_they_fit: bool
    fields: tuple[str, ...] = ()

    @property
    def training_samples(self) -> int:
        """The samples of one pass of training."""
        return self.samples - held_out_count(self.samples)

    def changes(self, base: Scenario) -> Mapping[str, Any]:
        """Return the knobs to change so that the base's model can train on the file.

        Empty where the model can train on the file already.
        """
        return knob_changes(base, SampleShape(self.name, self.dense, self.pooling, self.length_cv, self.rows))

    def numbering(self, scenario: Scenario) -> str:
        """Return a sentence on how the file's ids become rows; "" where nothing is known.

        It also tells how many rows stay empty.
        """
        sizes_by_table = per_table(scenario.model, "num_embeddings")
        if scenario.data.id_numbering == HASHED or not self.where_they_fit or len(sizes_by_table) != len(self.distinct):
            return ""
        pairs = list(zip(self.distinct, sizes_by_table, strict=True))
        fits = [(ids, size) for ids, size in pairs if ids is not None and ids <= size]
        hashed = len(pairs) - len(fits)
        words = (
            [f"hashed into fewer rows than there are ids in {hashed} of {figures.count(len(pairs), 'table')}"] if hashed else []
        )
        if fits:
            empty, sizes = total(size - ids for ids, size in fits), total(size for _, size in fits)
            words.insert(
                0, f"numbered in the order first seen, and {figures.count(empty)} of {figures.count(sizes, 'row')} stay empty"
            )
        return f"Ids are {'; others are '.join(words)}." if words else ""


def training_samples_of(path: str, digest: str) -> int:
    """Return the samples of one training pass over the file with this digest.

    Raises BadFile, also if the file has changed.
    """
    with digest_check(Path(path), digest):
        return read_file(Path(path), labels=False).training_samples


def shape_of(path: str, digest: str, max_samples: int = MOST_SAMPLES, watch: Watch = unwatched) -> FileShape:
    """Return the shape of the file with this digest.

    Raises BadFile, also if the file has changed.
    """
    with digest_check(Path(path), digest):
        file = read_file(Path(path), watch, labels=False)
        parts = blocks(file.samples, max_samples)
        distinct = enumerate(file.distinct)
        rows = tuple(count or max(count_table(file, table, parts, not file.hashed).rows, 1) for table, count in distinct)
        return FileShape(
            file.name,
            file.format,
            file.order,
            file.samples,
            float(file.labels.mean()) if file.labelled else None,
            file.dense.shape[1],
            file.pooling,
            rows,
            file.distinct,
            file.length_cv,
            file.where_they_fit,
            file.fields,
        )
