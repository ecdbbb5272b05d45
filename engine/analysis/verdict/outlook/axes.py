"""The axes of a map: size of tables, lookups, failures, prices, CXL link and year."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from ....campaign.fault_stream import hazards_of
from ....core.arithmetic import total
from ....scenario.data import LISTS
from ....scenario.groups import Model
from ....scenario.machine import YEARS
from ....scenario.scenario import DIM, PROJECTION, ROW_KNOBS, Scenario, per_table, projection_dim, with_values
from ....systems.traffic import table_bytes
from ....units import GB, HOUR
from ..question import PRICES

Scaled = tuple[tuple[str, float], ...]


@dataclass(frozen=True)
class MapAxis:
    """An axis of a map.

    title: title with the unit.
    values: values from low to high.
    scenario_at: returns, for a scenario and a value, the changed scenario and factors of constants by name.
    value_of: returns the value of a scenario, None where it has none.
    log: whether the axis is logarithmic.
    """

    title: str
    values: tuple[float, ...]
    scenario_at: Callable[[Scenario, float], tuple[Scenario, Scaled]]
    value_of: Callable[[Scenario], float | None]
    log: bool = True


def _bytes_at(s: Scenario, gigabytes: float) -> tuple[Scenario, Scaled]:
    """Scale all tables of a model by one factor to a sum of so many GB."""
    factor = gigabytes * GB / table_bytes(s)
    return with_values(s, {"model.num_embeddings": tuple(max(1, round(rows * factor)) for rows in s.model.num_embeddings)}), ()


def _lookups_at(s: Scenario, num_lookups: float) -> tuple[Scenario, Scaled]:
    """Return a model with so many lookups a sample; with less than one a table it has fewer tables."""
    tables = s.model.num_tables
    if num_lookups >= tables:
        return with_values(s, {"model.pooling": scaled_lookups(s.model, num_lookups / total(per_table(s.model, "pooling")))}), ()
    fewer, rows = round(num_lookups), total(per_table(s.model, "num_embeddings"))
    reset_lists: dict[str, Any] = {f"data.{name}": () for name in LISTS if len(getattr(s.data, name)) > 1}
    return with_values(
        s,
        {
            "model.num_tables": fewer,
            "model.num_embeddings": (round(rows / fewer),),
            "model.pooling": (1,),
            "model.features": 1,
            "policy.plan": "",
            **_kinds_of_fewer(s.model, fewer),
            **reset_lists,
        },
    ), ()


def scaled_lookups(model: Model, factor: float) -> tuple[int, ...]:
    """Return each table's lookups times a factor, at least one for each feature."""
    features = model.features if isinstance(model.features, tuple) else (model.features,) * len(model.pooling)
    pooling = model.pooling if len(features) == len(model.pooling) else per_table(model, "pooling")
    return tuple(max(minimum, round(count * factor)) for minimum, count in zip(features, pooling, strict=True))


def _kinds_of_fewer(model: Model, fewer: int) -> dict[str, Any]:
    """Return width, precision and optimizer of fewer tables, taken evenly from lists; {} without lists."""
    lists = {f"model.{name}": table_list for name in ROW_KNOBS if isinstance(table_list := getattr(model, name), tuple)}
    fewer_lists = {
        path: tuple(table_list[table * len(table_list) // fewer] for table in range(fewer)) for path, table_list in lists.items()
    }
    return fewer_lists | ({PROJECTION: projection_dim(model)} if DIM in lists else {})


def _failures_at(s: Scenario, losses_a_day: float) -> tuple[Scenario, Scaled]:
    """Return a scenario with so many power losses a day, beside its own faults."""
    return with_values(s, {"faults.power_loss_mtbf_hours": 24 / losses_a_day}), ()


def _losses_a_day(s: Scenario) -> float | None:
    power_loss = hazards_of(s).get("power-loss")
    return 24 * HOUR / power_loss.mtbf if power_loss and power_loss.mtbf else None


def _year_at(s: Scenario, year: float) -> tuple[Scenario, Scaled]:
    return with_values(s, {PRICES: str(round(year))}), ()


def _year(s: Scenario) -> float | None:
    return float(s.machine.prices) if s.machine.prices in YEARS else None


def _scaled(name: str) -> Callable[[Scenario, float], tuple[Scenario, Scaled]]:
    return lambda s, factor: (s, ((name, factor),))


def _evenly(low: float, high: float, count: int) -> tuple[float, ...]:
    return tuple(float(f"{number:.3g}") for number in np.geomspace(low, high, count))


AXES: Mapping[str, MapAxis] = {
    "size": MapAxis("Embedding tables [GB]", _evenly(10, 1e5, 25), _bytes_at, lambda s: table_bytes(s) / GB),
    "lookups": MapAxis(
        "Lookups of a sample [rows]", _evenly(1, 1e4, 17), _lookups_at, lambda s: float(total(per_table(s.model, "pooling")))
    ),
    "failures": MapAxis("Power losses [a day]", _evenly(0.01, 100, 17), _failures_at, _losses_a_day),
    "pmem-price": MapAxis(
        "Price of persistent memory [times today's]", _evenly(1 / 16, 16, 17), _scaled("pmem.price"), lambda s: 1.0
    ),
    "dram-price": MapAxis("Price of DRAM [times today's]", _evenly(1 / 16, 16, 17), _scaled("dram.price"), lambda s: 1.0),
    "link": MapAxis("CXL link [times its rate]", _evenly(1 / 8, 8, 17), _scaled("cxl.raw-lane-rate"), lambda s: 1.0),
    "year": MapAxis("Prices of [year]", tuple(map(float, YEARS)), _year_at, _year, log=False),
}
