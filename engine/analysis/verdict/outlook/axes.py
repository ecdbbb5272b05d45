"""The axes of a map: size of the tables, lookups, failures, price of persistent memory, CXL link and year of prices."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from ....campaign.fault_stream import hazards_of
from ....scenario.data import BY_TABLE
from ....scenario.groups import Model
from ....scenario.machine import YEARS
from ....scenario.scenario import DIM, PROJECTION, ROW_KNOBS, Scenario, per_table, projection_dim, with_values
from ....systems.traffic import table_bytes
from ....units import GB, HOUR
from ..decide import PRICES

Scaled = tuple[tuple[str, float], ...]


@dataclass(frozen=True)
class MapAxis:
    """An axis of a map: its title with the unit, its values from low to high, and a scenario at one of them.

    `at` returns the scenario with constants that are so many times as large; `here` says where a scenario stands.
    """

    title: str
    values: tuple[float, ...]
    at: Callable[[Scenario, float], tuple[Scenario, Scaled]]
    here: Callable[[Scenario], float | None]
    log: bool = True


def _bytes_at(s: Scenario, value: float) -> tuple[Scenario, Scaled]:
    """Return a model whose tables have so many GB, each so many times as large as before."""
    factor = value * GB / table_bytes(s)
    return with_values(s, {"model.num_embeddings": tuple(max(1, round(rows * factor)) for rows in s.model.num_embeddings)}), ()


def _lookups_at(s: Scenario, value: float) -> tuple[Scenario, Scaled]:
    """Return a model that looks up so many rows a sample: more in each table, or, of less than one each, in fewer tables."""
    tables = s.model.num_tables
    if value >= tables:
        return with_values(s, {"model.pooling": scaled_lookups(s.model, value / sum(per_table(s.model, "pooling")))}), ()
    fewer, rows = max(1, round(value)), sum(per_table(s.model, "num_embeddings"))
    alike: dict[str, Any] = {f"data.{name}": () for name in BY_TABLE if len(getattr(s.data, name)) > 1}
    alike |= {"data.bag_length_cv": ()} if len(s.data.bag_length_cv) > 1 else {}
    return with_values(
        s,
        {
            "model.num_tables": fewer,
            "model.num_embeddings": (max(1, round(rows / fewer)),),
            "model.pooling": (1,),
            "model.features": 1,
            "policy.plan": "",
            **_kinds_of_fewer(s.model, fewer),
            **alike,
        },
    ), ()


def scaled_lookups(model: Model, factor: float) -> tuple[int, ...]:
    """Return so many times the lookups of each table, whose features have one each at least."""
    features = model.features if isinstance(model.features, tuple) else (model.features,) * len(model.pooling)
    pooling = model.pooling if len(features) == len(model.pooling) else per_table(model, "pooling")
    return tuple(max(least, round(count * factor)) for least, count in zip(features, pooling, strict=True))


def _kinds_of_fewer(model: Model, fewer: int) -> dict[str, Any]:
    """Return width, precision and optimizer of fewer tables, taken evenly from lists; nothing where all tables are alike."""
    lists = {f"model.{name}": own for name in ROW_KNOBS if isinstance(own := getattr(model, name), tuple)}
    found = {path: tuple(own[table * len(own) // fewer] for table in range(fewer)) for path, own in lists.items()}
    return found | ({PROJECTION: projection_dim(model)} if DIM in lists else {})


def _failures_at(s: Scenario, value: float) -> tuple[Scenario, Scaled]:
    """Return a machine whose site loses its power so many times a day, beside its own faults."""
    return with_values(s, {"faults.power_loss_mtbf_hours": 24 / value}), ()


def _losses_a_day(s: Scenario) -> float | None:
    found = hazards_of(s).get("power-loss")
    return 24 * HOUR / found.mtbf if found and found.mtbf else None


def _year_at(s: Scenario, value: float) -> tuple[Scenario, Scaled]:
    return with_values(s, {PRICES: str(round(value))}), ()


def _year(s: Scenario) -> float | None:
    return float(s.machine.prices) if s.machine.prices in YEARS else None


def _scaled(name: str) -> Callable[[Scenario, float], tuple[Scenario, Scaled]]:
    return lambda s, value: (s, ((name, value),))


def _evenly(low: float, high: float, count: int) -> tuple[float, ...]:
    return tuple(float(f"{one:.3g}") for one in np.geomspace(low, high, count))


AXES: Mapping[str, MapAxis] = {
    "size": MapAxis("Embedding tables [GB]", _evenly(10, 1e5, 25), _bytes_at, lambda s: table_bytes(s) / GB),
    "lookups": MapAxis(
        "Lookups of a sample [rows]", _evenly(1, 1e4, 17), _lookups_at, lambda s: float(sum(per_table(s.model, "pooling")))
    ),
    "failures": MapAxis("Power losses [a day]", _evenly(0.01, 100, 17), _failures_at, _losses_a_day),
    "pmem-price": MapAxis(
        "Price of persistent memory [times today's]", _evenly(1 / 16, 16, 17), _scaled("pmem.price"), lambda s: 1.0
    ),
    "dram-price": MapAxis("Price of DRAM [times today's]", _evenly(1 / 16, 16, 17), _scaled("dram.price"), lambda s: 1.0),
    "link": MapAxis("CXL link [times its rate]", _evenly(1 / 8, 8, 17), _scaled("cxl.raw-lane-rate"), lambda s: 1.0),
    "year": MapAxis("Prices of [year]", tuple(map(float, YEARS)), _year_at, _year, log=False),
}
