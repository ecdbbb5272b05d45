"""Is the protocol that the crash explorer breaks the one whose time and energy the schedule charges, at full size?"""

import numpy as np
import pytest

from engine.core.work import written_bytes
from engine.hardware.device import joules, seconds
from engine.persistence.layout import MediumLayout
from engine.persistence.logs import LOGS
from engine.persistence.protocol import log_mlp
from engine.persistence.records import Stamp
from engine.systems.system import System
from engine.systems.traffic import num_rows, table_bytes
from tests.cases import each
from tests.machines import counted_flow, media_bytes, ready, scenario
from tests.persistence.metered_media import TimedMedia

REGION = {
    "embedding log": "row log",
    "mlp log": "mlp log",
    "commit": "flags",
    "embedding update": "data",
    "home write": "data",
}


def charged(machine, amounts):
    """Return (seconds, joules, bytes, stored) that the schedule asks of the memory for each region, one batch."""
    system: System = machine.system
    found = {}
    for task in system.graph(machine.settled, amounts).tasks:
        for demand in task.demands:
            if task.persists and demand.device == system.memory:
                device, work = machine.devices[demand.device], demand.work
                costs = (seconds(device, work), joules(device, work), np.asarray(written_bytes(work)), media_bytes(device, work))
                found[REGION[task.persists]] = tuple(float(np.ravel(cost)[0]) for cost in costs)
    return found


def protocol_batches(machine, amounts, batches=3):
    """Run batches of the protocol with as many rows as the first one touches; return the last one's costs."""
    traffic, log = amounts, LOGS[machine.log_policy.log]
    touched, total = int(traffic.rows[0]), int(num_rows(machine.scenario))
    checks = machine.scenario.policy.row_checksums
    place = MediumLayout(total, traffic.row_bytes - 8 * checks, int(traffic.mlp_bytes), touched, checks)
    assert place.num_rows * place.spans[0].stored_bytes == table_bytes(machine.scenario)
    media = TimedMedia(machine.devices[machine.system.memory], place, machine.log_policy.log)
    rows = np.sort(np.random.default_rng(1).choice(total, touched, replace=False))
    values, mlp = np.zeros((touched, place.row_bytes), np.uint8), np.zeros(place.mlp_bytes, np.uint8)
    for batch in range(batches):
        media.fence()
        before = costs(media)
        row_log = log.log_rows(media, place, batch, rows, values)
        mlp_log = log_mlp(media, place, batch + log.batches_ahead, mlp)
        log.commit(media, place, row_log, mlp_log, Stamp(0, (0, 0), 0))
        log.rewrite(media, place, row_log, mlp_log, rows, values)
    media.fence()
    after = costs(media)
    return {region: tuple(np.subtract(after[region], before[region])) for region in after}


def costs(media):
    """Return what each region has cost so far."""
    return {
        region: (media.seconds[region], media.joules[region], media.written[region], media.stored[region])
        for region in REGION.values()
    }


SYSTEMS = ("ssd", "pmem", "pcie", "cxl-d", "cxl-b", "cxl")
CASES = [
    *(("dlrm-kaggle", system, False) for system in SYSTEMS),
    ("dlrm-kaggle", "pmem", True),
    ("dlrm-kaggle", "cxl-b", True),
    ("trainingcxl-rm1", "cxl", False),
]


@each(("name", "system", "checks"), CASES, few=4)
def test_a_batch_of_the_protocol_costs_what_the_schedule_charges_the_memory(name, system, checks):
    asked = scenario(name, system, **{"policy.row_checksums": checks})
    machine = ready(asked)
    amounts = counted_flow(asked, 1)
    spent = protocol_batches(machine, amounts)
    asked_of_memory = charged(machine, amounts)
    for region, (time, energy, nbytes, wear) in asked_of_memory.items():
        assert spent[region][0] == pytest.approx(time, rel=1e-9), region
        assert spent[region][1] == pytest.approx(energy, rel=1e-9), region
        assert spent[region][3] == pytest.approx(wear, rel=1e-9), region
        if region != "data" or machine.log_policy.log == "undo":
            assert spent[region][2] == pytest.approx(nbytes, rel=1e-9), region
    assert set(asked_of_memory) == {"row log", "mlp log", "flags", "data"}
