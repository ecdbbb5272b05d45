"""Groups of embedding tables: those of one width, one precision and one optimizer, which hold and update rows alike."""

from functools import lru_cache
from typing import NamedTuple

from .groups import Model
from .scenario import per_table


class TableGroup(NamedTuple):
    """Tables alike, by number, ascending, with their rows' width, precision and optimizer."""

    dim: int
    precision: str
    optimizer: str
    tables: tuple[int, ...]


def table_groups(model: Model) -> tuple[TableGroup, ...]:
    """Return the groups of a model's tables, in the order of their first tables; one where all tables are alike."""
    if not any(isinstance(own, tuple) for own in (model.embedding_dim, model.row_precision, model.optimizer)):
        return (TableGroup(model.embedding_dim, model.row_precision, model.optimizer, tuple(range(model.num_tables))),)
    return _groups(*(per_table(model, name) for name in ("embedding_dim", "row_precision", "optimizer")))


@lru_cache(maxsize=64)
def _groups(dims: tuple[int, ...], precisions: tuple[str, ...], optimizers: tuple[str, ...]) -> tuple[TableGroup, ...]:
    found: dict[tuple[int, str, str], list[int]] = {}
    for table, kind in enumerate(zip(dims, precisions, optimizers, strict=True)):
        found.setdefault(kind, []).append(table)
    return tuple(TableGroup(*kind, tuple(tables)) for kind, tables in found.items())
