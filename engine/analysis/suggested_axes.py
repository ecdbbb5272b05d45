"""Suggested axes for a first grid: knobs that change a preset's time or cost."""

from collections.abc import Iterator

from ..estimates import estimates
from ..registry import all_variants
from ..scenario import knobs
from ..scenario.scenario import Scenario, declaration, values
from ..sweep.axes import Axis
from ..sweep.sweep import RefusedPlace, scenario_at
from .choice import COST

MAX_POINTS = 2048
TIME = "Step time [ms]"
# In order of preference, while the grid has room: parts that one buys first, then their use.
SUGGESTED_KNOBS = (
    ("machine.pmem", "optane-100,optane-200,battery-dram,cxl-flash"),
    ("machine.pmem_capacity_GB", "auto,512,2048"),
    ("machine.gpu", "v100,a100-80,h100-sxm"),
    ("machine.num_gpus", "1,2,4,8"),
    ("machine.near_data_compute", "on,off"),
    ("policy.mlp_staleness_bound_batches", "auto,0"),
    ("machine.cxl_lanes", "4,16"),
    ("policy.cache_load_factor", "0.005,0.01,0.05,0.1"),
    ("policy.hot_rows_MiB", "64,256,1024"),
    ("machine.embedding_servers", "1,2,4"),
    ("machine.num_ssds", "1,4"),
    ("machine.network_bandwidth_GBps", "11.25,22.5,45"),
    ("machine.pcie_bandwidth_GBps", "13,26,52"),
    ("policy.look_ahead_batches", "50,200"),
    ("machine.host_dram_channels", "4,8"),
    ("machine.expander_dram_channels", "4,8"),
    ("machine.num_expanders", "1,2"),
    ("machine.matrix_precision", "fp32,tf32,bf16"),
    ("policy.prefetch", "on,off"),
)


def suggested_axes(base: Scenario, max_points: int = MAX_POINTS) -> tuple[Axis, ...]:
    """Return axes: all systems of the base's family, then knobs that change time or cost.

    Each axis includes the base's own value. An axis that would make more than `max_points` points is left out.
    """
    family = all_variants("systems")[base.system].family
    chosen_axes = [Axis("system", tuple(name for name, system in all_variants("systems").items() if system.family == family))]
    points = len(chosen_axes[0].values)
    for axis in _candidates(base):
        if points * len(axis.values) <= max_points and _acts(base, chosen_axes[0].values, axis):
            chosen_axes.append(axis)
            points *= len(axis.values)
    return tuple(chosen_axes)


def _candidates(base: Scenario) -> Iterator[Axis]:
    for path, text in SUGGESTED_KNOBS:
        listed_values = [knobs.parse(declaration(path), word) for word in text.split(",")]
        base_value = values(base)[path]
        yield Axis(path, tuple(listed_values) if base_value in listed_values else (base_value, *listed_values))


def _acts(base: Scenario, systems: tuple[str, ...], axis: Axis) -> bool:
    """Return whether, under any of the systems, the knob's values give different times or costs."""
    for system in systems:
        points = [scenario_at(base, {"system": system, axis.path: setting}) for setting in axis.values]
        results = estimates([point for point in points if not isinstance(point, RefusedPlace)])
        if len({(result.results[TIME], result.results[COST]) for result in results if result.ran}) > 1:
            return True
    return False
