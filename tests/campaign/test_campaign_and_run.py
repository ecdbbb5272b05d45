"""A campaign and a full run of the same batches under the same faults: two computations of one thing."""

import pytest

from engine.campaign.simulate import campaign
from engine.faults.fault import Hazard
from engine.scenario.presets import preset
from engine.scenario.scenario import with_values
from engine.simulate import simulate
from engine.units import HOUR

BATCHES = 3000


@pytest.mark.parametrize(
    ("name", "system", "protection"),
    [("tiny", "cxl-b", "undo"), ("tiny", "cxl", "relaxed"), ("tiny", "pmem", "redo"), ("dlrm-kaggle", "cxl-d", "redo")],
)
def test_a_campaign_trains_as_many_batches_as_a_full_run_that_simulates_each(name, system, protection):
    waits = {"faults.detect_seconds": 0.02, "faults.restart_seconds": 0.05}
    scenario = with_values(preset(name).scenario, {"system": system, "run.batches": BATCHES, "run.training": False, **waits})
    free = simulate(scenario).results["Elapsed [s]"]
    at = tuple(free * share for share in (0.21, 0.5, 0.83))
    run = simulate(with_values(scenario, {"faults.gpu_crash_at_seconds": at})).results
    found = campaign(scenario, protection, {"gpu-crash": Hazard(at=at)}, run["Elapsed [s]"] / HOUR, 1)
    assert found.batches == pytest.approx(BATCHES, rel=0.003)
    assert sum(recovery.detect + recovery.restart + recovery.restore for recovery in found.recoveries) == pytest.approx(
        3 * run["Recovery time [s]"], rel=0.01
    )
    if system != "pmem":  # whose hand-off to the log a full run counts as a transfer
        assert found.ettr == pytest.approx(run["Effective training time ratio"], abs=0.002)
