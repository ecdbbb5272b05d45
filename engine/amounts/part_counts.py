"""Lookups and unique rows of each part in a batch, counted from the batch's ids.

The parts are those among which the plan divides the tables, or the GPUs among which the samples are divided.
"""

from collections.abc import Callable
from math import ceil

import numpy as np

from ..core.arrays import Floats, Ints
from ..scenario.scenario import Scenario
from ..systems.sharding import Pieces
from ..systems.table_placement import Weight
from ..workload.batch import bag_layout, offsets, table_ends
from ..workload.row_spread import counted_spread, row_layout

Counter = Callable[[Ints, Ints], Floats]


def part_counter(s: Scenario, parts: int, pieces: Pieces, weight: Weight = None) -> Counter:
    """Return a function that counts a batch's lookups and unique rows by part, (2, parts).

    The function's arguments are the ids of a batch and the unique rows by table. Lookups and rows of a table are multiplied by
    `weight`, (2, T), if it is given.
    """
    first_rows, rows_layout, weights = offsets(s.model), row_layout(s), None if weight is None else np.array(weight)
    is_undivided = pieces.place >= 0
    table, width, part = (column[is_undivided] for column in (pieces.table, pieces.width, pieces.place))
    divided_columns = (column[~is_undivided].tolist() for column in (pieces.table, pieces.width, ~pieces.place))
    spread = [(divided_table, share, pieces.runs[run]) for divided_table, share, run in zip(*divided_columns, strict=True)]

    def count(ids: Ints, unique: Ints) -> Floats:
        ends = table_ends(ids, first_rows)
        lookups = np.diff(ends).astype(np.float64)
        counts = (lookups, unique) if weights is None else (lookups * weights[0], unique * weights[1])
        part_amounts = np.array(
            [np.bincount(part, weights=width * table_amounts[table], minlength=parts) for table_amounts in counts],
            dtype=np.float64,  # of whole numbers if no table is whole
        )
        for divided_table, share, run_parts in spread:
            hashed = counted_spread(ids[ends[divided_table] : ends[divided_table + 1]], len(run_parts))
            run_amounts = share * rows_layout.spread(divided_table, hashed)
            if weights is not None:
                run_amounts = run_amounts * weights[:, divided_table, None]
            for row, amounts in zip(part_amounts, run_amounts, strict=True):
                np.add.at(row, list(run_parts), amounts)
        return part_amounts

    return count


def gpu_rows(s: Scenario) -> Callable[[Ints, Ints | None], Ints]:
    """Return a function to the unique rows of each GPU's own samples.

    They are one GPU's after the other's. The function's arguments are the ids of a batch, and the positions in them where
    uneven bags start; None for even bags. A GPU has as many neighbouring samples as the others, the last one perhaps fewer.
    """
    samples, num_rows = s.data.batch_size, int(offsets(s.model)[-1])
    gpu_samples, layout = ceil(samples / s.machine.num_gpus), bag_layout(s.model, samples)
    bag_sizes = np.diff(layout) // samples
    even = np.concatenate([np.repeat(np.arange(samples) // gpu_samples, size) for size in bag_sizes.tolist()])

    def rows_of(ids: Ints, starts: Ints | None) -> Ints:
        gpus = even if starts is None else np.repeat(np.arange(len(starts) - 1) % samples // gpu_samples, np.diff(starts))
        return np.unique(gpus * num_rows + ids) % num_rows

    return rows_of
