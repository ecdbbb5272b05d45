"""The working set: step time over the bytes of the tables, by medium.

The curve bends where the tables outgrow the cache of the medium's modules.
"""

from dataclasses import dataclass

from ...estimates import steady_states
from ...hardware.devices.pmem import MEDIA
from ...registry import load_variant
from ...scenario.scenario import Scenario, per_table, with_values
from ...schedule.evaluate import NotScheduled
from ...systems.traffic import table_bytes
from ...units import GB
from ..knobs.stops import CAPACITY

SIZES = (1, 2, 4, 8, 16, 24, 32, 40, 48, 56, 64, 80, 96, 128, 192, 256, 384, 512)  # GB of tables
ROWS = "model.num_embeddings"


@dataclass(frozen=True)
class WorkingSet:
    """Seconds of a batch with tables of `nbytes` on a medium.

    `cache` is the cache of one of its modules, in bytes.
    """

    memory: str
    nbytes: float
    seconds: float
    cache: float


def working_set(scenario: Scenario) -> tuple[WorkingSet, ...]:
    """Return the step time for several sizes of all tables, by medium of PMEM.

    Each medium has as many modules as the tables need. PMEM belongs to the scenario's system, or to `cxl` if that system has no
    PMEM. Machines that cannot run are left out.
    """
    system = load_variant("systems", scenario.system)
    name = scenario.system if system.memory == "pmem" else "cxl"
    rows, own_bytes = per_table(scenario.model, "num_embeddings"), table_bytes(scenario)
    cases = [(medium, size) for medium in MEDIA for size in SIZES]
    grown = {size: {ROWS: tuple(max(1, round(n * size * GB / own_bytes)) for n in rows), CAPACITY: None} for size in SIZES}
    points = [with_values(scenario, {"system": name, "machine.pmem": medium, **grown[size]}) for medium, size in cases]
    return tuple(
        WorkingSet(medium, table_bytes(point), steady.step, MEDIA[medium].cache.value * GB)
        for (medium, _), point, steady in zip(cases, points, steady_states(points), strict=True)
        if not isinstance(steady, NotScheduled)
    )
