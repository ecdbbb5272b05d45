"""Does an axis of a map scale what it names, and stop at the least that a model can have?"""

from typing import Any

import pytest

from engine.analysis.verdict.outlook.axes import AXES, scaled_lookups
from engine.analysis.verdict.outlook.variants import BATCH, SIZE
from engine.scenario.presets import preset
from engine.scenario.scenario import Scenario, per_table, with_values
from engine.systems.traffic import table_bytes
from engine.units import GB
from tests.cases import each


def model(**knobs: Any) -> Scenario:
    """Return a scenario of three tables whose knobs of the model are some others."""
    shape = {"num_tables": 3, "num_embeddings": (100,), "pooling": (6,), **knobs}
    return with_values(preset("tiny").scenario, {f"model.{name}": setting for name, setting in shape.items()})


@each(
    ("knobs", "factor", "lookups"),
    [
        ({}, 2.0, (12,)),
        ({}, 1 / 6, (1,)),
        ({}, 0.01, (1,)),
        ({"pooling": (6, 4, 2)}, 0.5, (3, 2, 1)),
        ({"pooling": (6, 4, 2), "features": 2}, 0.5, (3, 2, 2)),
        ({"features": (1, 4, 1)}, 0.5, (3, 4, 3)),
        ({"pooling": (6, 4, 2), "features": (6, 1, 1)}, 0.25, (6, 1, 1)),
    ],
)
def test_each_feature_keeps_a_lookup_where_lookups_are_scaled(
    knobs: dict[str, Any], factor: float, lookups: tuple[int, ...]
) -> None:
    assert scaled_lookups(model(**knobs).model, factor) == lookups


@each(
    ("num_lookups", "tables", "lookups", "rows"),
    [(1.0, 1, 1, 300), (2.0, 2, 2, 300), (2.9, 3, 3, 300), (3.0, 3, 3, 300), (6.0, 3, 6, 300), (36.0, 3, 36, 300)],
)
def test_fewer_lookups_than_tables_leave_out_tables_but_no_rows(num_lookups: float, tables: int, lookups: int, rows: int) -> None:
    changed, factors = AXES["lookups"].scenario_at(model(), num_lookups)
    assert (changed.model.num_tables, AXES["lookups"].value_of(changed), factors) == (tables, lookups, ())
    assert sum(per_table(changed.model, "num_embeddings")) == rows


def test_as_many_lookups_as_tables_keep_the_kinds_of_tables() -> None:
    kinds = model(embedding_dim=(16, 32, 64), bottom_mlp=(13, 64), interaction="concat")
    for num_lookups, widths in ((3.0, (16, 32, 64)), (2.0, (16, 32)), (1.0, (16,))):
        changed, _ = AXES["lookups"].scenario_at(kinds, num_lookups)
        assert per_table(changed.model, "embedding_dim") == widths


@each(("factor", "rows"), [(1.0, (1, 50, 200)), (0.5, (1, 25, 100)), (0.01, (1, 1, 2)), (1e-6, (1, 1, 1)), (4.0, (4, 200, 800))])
def test_each_table_keeps_a_row(factor: float, rows: tuple[int, ...]) -> None:
    tables = model(num_embeddings=(1, 50, 200))
    gigabytes = table_bytes(tables) / GB * factor
    assert AXES["size"].scenario_at(tables, gigabytes)[0].model.num_embeddings == rows
    assert SIZE.changes(tables, factor)[0] == {"model.num_embeddings": rows}


@each(("factor", "samples"), [(2.0, 16), (1 / 8, 1), (0.01, 1)])
def test_a_batch_keeps_a_sample(factor: float, samples: int) -> None:
    small = with_values(model(), {"data.batch_size": 8})
    assert BATCH.changes(small, factor)[0] == {"data.batch_size": samples}


def test_failures_are_those_of_a_day_and_absent_without_power_losses() -> None:
    axis = AXES["failures"]
    assert axis.scenario_at(model(), 4.0)[0].faults.power_loss_mtbf_hours == 6
    assert axis.value_of(axis.scenario_at(model(), 4.0)[0]) == pytest.approx(4.0)
    assert axis.value_of(model()) is axis.value_of(with_values(model(), {"faults.power_loss_at_seconds": (9.0,)})) is None


def test_lists_of_data_go_where_their_tables_go() -> None:
    spread = with_values(model(), {"data.bag_length_cv": (0.5, 0.6, 0.7)})
    assert AXES["lookups"].scenario_at(spread, 2.0)[0].data.bag_length_cv == ()
    assert AXES["lookups"].scenario_at(spread, 3.0)[0].data.bag_length_cv == (0.5, 0.6, 0.7)
    alike = with_values(model(), {"data.bag_length_cv": (0.5,)})
    assert AXES["lookups"].scenario_at(alike, 2.0)[0].data.bag_length_cv == (0.5,)
    two = with_values(model(num_tables=2), {"data.bag_length_cv": (0.5, 0.6)})
    assert AXES["lookups"].scenario_at(two, 1.0)[0].data.bag_length_cv == ()
