"""Cold rows in DRAM: the most popular rows in HBM, all others read from host memory when their batch needs them."""

from .. import blocks_far
from ..core.graph import TaskGraph
from ..scenario.scenario import Scenario
from ..system import System, Ways
from ..traffic import Traffic, cached_rows, row_bytes, table_bytes
from ..workload.tiers import hot_split


def plan(s: Scenario, w: Ways, t: Traffic) -> TaskGraph:
    """Cold rows are read between the exchange of indices and the lookup, and nothing else runs meanwhile."""
    cold = t.rows * (1 - hot_split(s, cached_rows(s)).hot)
    arrived = blocks_far.index_exchange(s, t)[1]
    fetch = blocks_far.read(t, "Read cold rows", cold, arrived, blocks_far.end_of_batch(s))
    return TaskGraph((fetch, *blocks_far.step(s, t, cold, (fetch.name,))))


def places(s: Scenario) -> dict[str, float]:
    """Hot rows in HBM, cold ones in DRAM."""
    hot = cached_rows(s) * row_bytes(s)
    return {"hbm": hot, "dram": table_bytes(s) - hot}


SYSTEM = System(
    title="Cold rows in DRAM",
    summary="Scale-out: popular rows in HBM, cold rows in DRAM, read when needed; exchanges between GPUs in the open.",
    devices=("host", "gpu", "pcie", "network", "dram"),
    memory="dram",
    plan=plan,
    ways=Ways("", 0, False),
    family="Cold rows",
    baseline="cold-in-dram",
    scales=True,
    places=places,
    cites=("the system without proactive reads of IEEE CAL 23(2):203-206, 2024, as we read its abstract",),
    confidence="headline only",
)
