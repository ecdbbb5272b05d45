"""Cold rows in DRAM: popular rows in HBM, others read from host memory when needed.

It is the baseline for system proactive: reads of cold rows and exchanges between GPUs do not overlap. Only headline results are
known, as we have read only the abstract: IEEE CAL 23(2):203-206, 2024.
"""

from ...core.graph import Task
from ...scenario.scenario import Scenario
from ...workload.caching.expected_cache import hot_split
from ..steps import far_memory
from ..system import Settled, System
from ..traffic import Traffic, cached_rows, hottest_bytes, table_bytes


def plan(settled: Settled, t: Traffic) -> tuple[Task, ...]:
    """Return the tasks of a batch, whose cold rows are all but the hot rows."""
    s = settled.scenario
    cold = t.rows * (1 - hot_split(s, cached_rows(s)).hot)
    return far_memory.step_in_the_open(settled, t, "Read cold rows", cold)


def places(s: Scenario) -> dict[str, float]:
    """Return the bytes by memory: hot rows in HBM, cold rows in DRAM."""
    hot = hottest_bytes(s, cached_rows(s))
    return {"hbm": hot, "dram": table_bytes(s) - hot}


SYSTEM = System(
    title="Cold rows in DRAM",
    summary="Popular rows in HBM, other rows in host memory, read when needed; exchanges between GPUs do not overlap.",
    devices=("host", "gpu", "pcie", "network", "dram"),
    memory="dram",
    plan=plan,
    family="Cold rows",
    baseline="cold-in-dram",
    places=places,
    hbm_rows=cached_rows,
    cites=("the system without proactive reads of IEEE CAL 23(2):203-206, 2024, as we read its abstract",),
    confidence="headline only",
)
