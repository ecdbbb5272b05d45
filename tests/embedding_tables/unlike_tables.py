"""Models of tables unlike each other, drawn or made, for the tests of tables one by one."""

from typing import Any

import numpy as np
from hypothesis import strategies as st

from engine.scenario.scenario import Scenario, with_values
from engine.scenario.storage import OPTIMIZERS, PRECISIONS
from tests.machines import TINY

DIMS = (4, 8, 16, 64)


def mixed_scenario(tables: int, seed: int = 1, **knobs: Any) -> Scenario:
    """Return a small model of so many tables of unlike rows, widths, lookups, precisions and optimizers."""
    draw = np.random.default_rng(seed)
    columns = {
        "num_embeddings": tuple(int(10**power) for power in draw.uniform(2, 5, tables)),
        "embedding_dim": tuple(map(int, draw.choice(DIMS, tables))),
        "pooling": tuple(map(int, draw.integers(1, 20, tables))),
        "row_precision": tuple(map(str, draw.choice(PRECISIONS, tables))),
        "optimizer": tuple(map(str, draw.choice(OPTIMIZERS, tables))),
    }
    shape = {
        "model.num_tables": tables,
        "model.interaction": "concat",
        **{f"model.{name}": column for name, column in columns.items()},
    }
    return with_values(TINY, {**shape, **knobs})


@st.composite
def scenarios_of_tables(draw: st.DrawFn) -> Scenario:
    """Return a scenario of 1 to 8 tables, each column of one value for all or one per table."""
    tables = draw(st.integers(1, 8))
    columns: dict[str, st.SearchStrategy[Any]] = {
        "num_embeddings": st.integers(1, 10**11),
        "pooling": st.integers(1, 10_000),
        "embedding_dim": st.integers(1, 4096),
        "row_precision": st.sampled_from(PRECISIONS),
        "optimizer": st.sampled_from(OPTIMIZERS),
    }
    lists = {
        f"model.{name}": draw(st.lists(strategy, min_size=tables, max_size=tables) | strategy.map(lambda common: [common]))
        for name, strategy in columns.items()
    }
    changes: dict[str, Any] = {
        path: column[0] if len(column) == 1 and "num" not in path and "pooling" not in path else tuple(column)
        for path, column in lists.items()
    }
    return with_values(TINY, {"model.num_tables": tables, "model.interaction": "concat", **changes})
