"""The sizes of a model's tables: number, rows, bytes in total and by width."""

from collections.abc import Mapping
from typing import NamedTuple

from ..core.arithmetic import total
from ..core.figures import count, figure
from ..scenario.scenario import Scenario, per_table
from ..systems.traffic import table_nbytes

MOST_WIDTHS = 4  # at most so many widths are named one by one


class TableSizes(NamedTuple):
    """The sizes of a model's tables.

    tables, rows: the number of tables and of rows.
    by_width: bytes with optimizer state by the tables' width, the most bytes first.
    """

    tables: int
    rows: int
    by_width: Mapping[int, float]


def table_sizes(s: Scenario) -> TableSizes:
    """Return the sizes of a scenario's tables."""
    by_width: dict[int, float] = {}
    for dim, nbytes in zip(per_table(s.model, "embedding_dim"), table_nbytes(s).tolist(), strict=True):
        by_width[dim] = by_width.get(dim, 0.0) + nbytes
    ordered = dict(sorted(by_width.items(), key=lambda pair: -pair[1]))
    return TableSizes(s.model.num_tables, total(per_table(s.model, "num_embeddings")), ordered)


def sizes_sentence(s: Scenario) -> str:
    """Return the sizes of a scenario's tables as one line of text.

    For example "30 tables, 1,200,000 rows, 1.94 GB with optimizer state: 1.60 GB 64 wide, 340 MB 8 wide".
    """
    sizes = table_sizes(s)
    widths = [f"{figure(nbytes, 'B')} {dim} wide" for dim, nbytes in sizes.by_width.items()]
    if len(widths) > MOST_WIDTHS:
        other_bytes = total([*sizes.by_width.values()][MOST_WIDTHS - 1 :])
        widths = [*widths[: MOST_WIDTHS - 1], f"{figure(other_bytes, 'B')} of {len(widths) - MOST_WIDTHS + 1} other widths"]
    nbytes_of_all = figure(total(sizes.by_width.values()), "B")
    rows = figure(sizes.rows, "rows") if sizes.rows >= 1e7 else count(sizes.rows, "row")
    start = f"{count(sizes.tables, 'table')}, {rows}, {nbytes_of_all} with optimizer state"
    return f"{start}, all {next(iter(sizes.by_width))} wide" if len(widths) == 1 else f"{start}: {', '.join(widths)}"
