"""The suggested axes, a grid to begin with: knobs worth asking about that change a preset's time or cost."""

from collections.abc import Iterator

from ..estimates import estimates
from ..registry import every
from ..scenario import knobs
from ..scenario.scenario import Scenario, known, values
from ..sweep.axes import Axis
from ..sweep.sweep import RefusedPlace, made
from .choice import COST

MOST_POINTS = 2048
TIME = "Step time [ms]"
# In the order in which they are taken while there is room: what one buys first, then how it is used.
WORTH_ASKING = (
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


def axes(base: Scenario, most: int = MOST_POINTS) -> tuple[Axis, ...]:
    """Return the base's family of systems, then all knobs worth asking that act, with the base's own value, as room allows."""
    family = every("systems")[base.system].family
    chosen = [Axis("system", tuple(name for name, one in every("systems").items() if one.family == family))]
    points = len(chosen[0].values)
    for axis in _candidates(base):
        if points * len(axis.values) <= most and _acts(base, chosen[0].values, axis):
            chosen.append(axis)
            points *= len(axis.values)
    return tuple(chosen)


def _candidates(base: Scenario) -> Iterator[Axis]:
    for path, text in WORTH_ASKING:
        listed = [knobs.parse(known(path), word) for word in text.split(",")]
        own = values(base)[path]
        yield Axis(path, tuple(listed) if own in listed else (own, *listed))


def _acts(base: Scenario, systems: tuple[str, ...], axis: Axis) -> bool:
    """Whether, under any of the systems, another value of the knob gives another time or another cost."""
    for system in systems:
        points = [made(base, {"system": system, axis.path: value}) for value in axis.values]
        found = estimates([one for one in points if not isinstance(one, RefusedPlace)])
        if len({(one.results[TIME], one.results[COST]) for one in found if one.ran}) > 1:
            return True
    return False
