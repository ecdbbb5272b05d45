"""What happens at the edges of what can be asked: no hang, no warning, no joule and no batch counted wrongly?"""

import numpy as np
import pytest

from engine.estimate import estimate
from engine.run.segment import cut
from engine.scenario.scenario import with_values
from engine.schedule.machine import machine_of, schedule
from engine.schedule.timeline import fraction_done
from engine.simulate import simulate
from engine.systems.capacity import fit
from engine.systems.traffic import traffic
from tests.machines import TINY, flow, ready
from tests.machines import scenario as preset_scenario

SYSTEMS = ("ssd", "pmem", "pcie", "cxl-d", "cxl-b", "cxl", "dram")


def tiny(**changes):
    untrained = {"run.training": False, **changes}
    return with_values(TINY, untrained)


def lasting(scenario, batches):
    """Return the machine of a scenario and the timeline of `batches` equal batches of ten rows."""
    m = machine_of(fit(scenario))
    rows = np.full(batches, 10.0)
    return m, schedule(m, traffic(m.scenario, rows=rows))


def test_power_that_always_fails_during_the_recovery_is_given_up_with_a_sentence():
    result = simulate(tiny(**{"faults.power_loss_mtbf_hours": 1e-6}))
    assert not result.ran
    assert "10,000 faults struck during one recovery" in result.outcome


@pytest.mark.parametrize("system", ["pmem", "cxl-d", "cxl-b", "cxl"])
def test_a_recovery_pays_for_the_rows_it_puts_back_and_for_the_log_it_reads(system):
    wait = {"faults.detect_seconds": 0.0, "faults.restart_seconds": 0.0}
    scenario = tiny(system=system, **{"machine.gpu": "a100-80", "run.batches": 20})
    whole = simulate(scenario)
    middle = whole.results["Elapsed [s]"] / 2
    struck = simulate(with_values(scenario, {**wait, "faults.power_loss_at_seconds": (middle,)}))
    again = simulate(with_values(scenario, {**wait, "faults.power_loss_at_seconds": (middle, middle)}))
    # a second loss at the very instant of the first ends an attempt that had not begun: nothing more is spent
    assert again.results["Energy [J]"] == struck.results["Energy [J]"]
    late = middle + 0.9 * struck.results["Recovery time [s]"]
    twice = simulate(with_values(scenario, {**wait, "faults.power_loss_at_seconds": (middle, late)}))
    assert twice.results["PMEM written [GB]"] > struck.results["PMEM written [GB]"]


def test_work_without_duration_is_no_division_by_almost_nothing():
    _, line = lasting(tiny(), 8)
    assert np.any(line.durations == 0)
    done = fraction_done(line, line.course.last_part, 1e3)
    assert np.all((done >= 0) & (done <= 1))


def test_tables_beyond_the_largest_automatic_capacity_are_not_told_to_set_it_to_auto():
    many = {"model.num_tables": 10_000, "model.num_embeddings": (10**11,), "model.pooling": (1,)}
    result = estimate(tiny(**many))
    assert not result.ran
    assert "set it to auto" not in result.outcome
    assert "lower model.num_embeddings" in result.outcome


def test_a_run_that_never_gets_past_its_first_batch_has_trained_for_nothing():
    never = {"faults.power_loss_mtbf_hours": 2e-9, "faults.detect_seconds": 0.0, "faults.restart_seconds": 0.0}
    scenario = tiny(system="pcie", **{"machine.pcie_bandwidth_GBps": 0.1, **never})
    result = simulate(scenario)
    assert not result.ran
    seconds = {row["Account"]: row["Time [s]"] for row in result.ledger}
    assert seconds["useful"] == 0 and sum(seconds.values()) == pytest.approx(result.results["Elapsed [s]"])
    assert result.results["Effective training time ratio"] == pytest.approx(0, abs=1e-9)


@pytest.mark.parametrize("answer", [simulate, estimate])
def test_passes_without_a_data_file_are_said_to_have_no_effect(answer):
    assert any("run.passes=2" in warning for warning in answer(tiny(**{"run.passes": 2})).warnings)
    assert not any("run.passes" in warning for warning in answer(tiny()).warnings)


def test_home_writes_that_lookups_interrupt_are_done_evenly_between_their_start_and_their_end():
    asked = preset_scenario("optane-rm2", "ssd")
    whole = schedule(ready(asked), flow(asked, 8))
    home, batch = whole.graph.index("Home write"), 5
    start, end = whole.start[batch, home], whole.end[batch, home]
    assert end - start > 1.5 * whole.lasting[0, home], "the next batch's lookups and updates interrupt it"
    assert whole.start[batch + 1, whole.graph.index("Embedding log")] == end
    for share in (0.25, 0.5, 0.9):
        at = float(start + share * (end - start))
        (written,) = [one.done_share for one in cut(whole, at).events if (one.op, one.batch) == ("home write", batch)]
        assert written == pytest.approx(share)
        assert fraction_done(whole, whole.course.last_part, at)[batch, home] == pytest.approx(share)
