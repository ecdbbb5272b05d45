"""Protections: does each say what it costs and gives back, for every system, and refuse what cannot be had in a sentence?"""

import pytest

from engine.campaign import batch_costs, fault_stream
from engine.campaign.compare import compare_protections, period_curve
from engine.campaign.protection import FIDELITIES, LOSSES
from engine.campaign.simulate import campaign_terms, run_campaign
from engine.errors import BadKnob, CannotRun
from engine.faults.fault import Hazard
from engine.registry import all_variants, variant_names
from engine.scenario.presets import preset
from engine.scenario.scenario import with_values
from engine.units import HOUR
from tests.cases import each
from tests.machines import TINY

KAGGLE = preset("optane-kaggle").scenario
HAZARDS = {"gpu-crash": Hazard(6 * HOUR), "power-loss": Hazard(100 * HOUR), "memory-loss": Hazard(2000 * HOUR)}
ALL = variant_names("protections")


@each("name", ALL)
def test_a_protection_says_of_every_loss_what_comes_back(name):
    protection = all_variants("protections")[name]
    assert set(protection.fidelity_by_loss) == set(LOSSES)
    assert set(protection.fidelity_by_loss.values()) <= set(FIDELITIES)
    assert protection.fidelity_after(frozenset()) == "exact"


@each("system", variant_names("systems"))
def test_every_protection_runs_or_says_why_not(system):
    scenario = with_values(TINY, {"system": system, "policy.cache_load_factor": 1.0, "machine.host_dram_GiB": 64.0})
    for name in ALL:
        try:
            found = run_campaign(scenario, name, HAZARDS, 48.0, 1)
        except (BadKnob, CannotRun) as error:
            assert str(error).startswith(f"protection={name} ") and str(error).endswith(".") and "choose" in str(error)
            continue
        assert 0 < found.ettr < 1 and found.goodput > 0
        assert sum(found.seconds.values()) == pytest.approx(48 * HOUR, rel=1e-9)
        assert found.plan.checkpoint_interval * found.plan.step >= found.plan.drain * (1 - 1e-9)


def test_what_cannot_be_is_refused_in_a_sentence():
    with pytest.raises(BadKnob, match="did you mean periodic-full"):
        run_campaign(TINY, "periodic-ful", {}, 1.0, 1)
    with pytest.raises(BadKnob, match=r"hazards has the unknown fault 'gpu-crush'; did you mean gpu-crash"):
        run_campaign(TINY, "none", {"gpu-crush": Hazard(1.0)}, 1.0, 1)
    with pytest.raises(BadKnob, match="late-detection"):
        run_campaign(TINY, "none", {"late-detection": Hazard(1.0)}, 1.0, 1)
    for hours in (0.0, -1.0, float("nan"), 1e9):
        with pytest.raises(BadKnob, match="is not possible"):
            run_campaign(TINY, "none", {}, hours, 1)
    with pytest.raises(BadKnob, match=r"have 201,600 faults, more than the limit of 200,000; shorten the campaign"):
        run_campaign(TINY, "none", {"gpu-crash": Hazard(1.0)}, 56.0, 1)
    with pytest.raises(BadKnob, match="no checkpoint period"):
        period_curve(TINY, "undo", HAZARDS, [60.0])
    with pytest.raises(BadKnob, match=r"protection=peer .* system=cxl has 1 node here; choose protection=periodic-full"):
        run_campaign(TINY, "peer", {}, 1.0, 1)
    with pytest.raises(BadKnob, match=r"protection=peer .* has 1 node here; raise machine\.num_gpus above 8 .* choose"):
        run_campaign(with_values(TINY, {"system": "all-hbm"}), "peer", {}, 1.0, 1)
    with pytest.raises(BadKnob, match="mlp_staleness_bound_batches=0"):
        run_campaign(with_values(TINY, {"policy.mlp_staleness_bound_batches": 0}), "relaxed", {}, 1.0, 1)


def test_without_its_log_a_system_is_as_fast_as_one_that_keeps_none():
    """CXL-D without its redo log and CXL-B without its undo log are the same machine doing the same work."""
    b, d = (batch_costs.unlogged_costs(with_values(KAGGLE, {"system": system})) for system in ("cxl-b", "cxl-d"))
    assert b == d
    assert b.step < batch_costs.logged_costs(with_values(KAGGLE, {"system": "cxl-b"}), {}).step
    plain = with_values(KAGGLE, {"system": "all-hbm"})
    assert batch_costs.unlogged_costs(plain).step == batch_costs.logged_costs(plain, {}).step


def test_a_log_s_pace_is_that_of_the_system_that_keeps_it():
    for name, system in (("undo", "cxl-b"), ("redo", "cxl-d")):
        own = with_values(KAGGLE, {"system": system})
        terms, _ = campaign_terms(with_values(KAGGLE, {"policy.relaxed_lookup": False}), name)
        assert terms.plan.step == batch_costs.logged_costs(own, {}).step


def test_all_protections_meet_the_same_faults():
    runs = [run_campaign(KAGGLE, name, HAZARDS, 240.0, 3) for name in ("undo", "periodic-full", "none")]
    struck = [{(recovery.fault_seconds, recovery.fault) for recovery in run.recoveries} for run in runs]
    assert runs[0].faults == runs[1].faults == runs[2].faults > 20
    assert len(struck[0] & struck[1] & struck[2]) > 20  # a fault during a recovery begins none of its own


def test_I11_the_same_seed_gives_the_same_events():
    again = [run_campaign(KAGGLE, "check-n-run", HAZARDS, 240.0, seed) for seed in (4, 4, 5)]
    assert again[0] == again[1] != again[2]


def test_strict_logs_lose_one_batch_at_most_and_periodic_ones_a_period():
    undo, full = (run_campaign(KAGGLE, name, {"gpu-crash": Hazard(6 * HOUR)}, 240.0, 1) for name in ("undo", "periodic-full"))
    assert {recovery.embedding_batches for recovery in undo.recoveries} == {0}
    assert 0 < max(recovery.embedding_batches for recovery in full.recoveries) <= full.plan.checkpoint_interval


def test_what_lies_in_one_medium_is_gone_with_it():
    lost = {"memory-loss": Hazard(24 * HOUR)}
    assert run_campaign(KAGGLE, "undo", lost, 240.0, 1).unrecoverable > 0
    assert run_campaign(KAGGLE, "periodic-full", lost, 240.0, 1).unrecoverable == 0
    site = {"power-loss": Hazard(24 * HOUR)}
    two_nodes = with_values(KAGGLE, {"system": "all-hbm", "machine.num_gpus": 16})
    assert run_campaign(two_nodes, "parity", site, 240.0, 1).unrecoverable > 0
    rare = run_campaign(two_nodes, "peer", site, 240.0, 1)
    assert rare.unrecoverable == 0
    assert 0 < max(recovery.embedding_batches for recovery in rare.recoveries) < 1.01 * rare.plan.backup_interval
    assert run_campaign(KAGGLE, "undo", site, 240.0, 1).unrecoverable == 0


def test_a_rare_backup_gives_back_what_a_log_in_the_same_memory_cannot_and_costs_little():
    lost = {"memory-loss": Hazard(24 * HOUR)}
    alone, backed = (run_campaign(KAGGLE, name, lost, 240.0, 1) for name in ("relaxed", "relaxed-backup"))
    assert alone.unrecoverable > 0 == backed.unrecoverable
    oldest = max(recovery.embedding_batches for recovery in backed.recoveries)
    assert 0 < oldest < 1.01 * backed.plan.backup_interval
    read = backed.site.state / backed.plan.backup_interval / backed.site.home.read_rate
    assert backed.plan.step - alone.plan.step == pytest.approx(read)
    calm = {"gpu-crash": Hazard(24 * HOUR)}
    without, paid = (run_campaign(KAGGLE, name, calm, 240.0, 1).ettr for name in ("relaxed", "relaxed-backup"))
    assert without > paid > 0.99 * without


def test_a_fault_of_the_whole_site_is_worse_than_one_of_a_node():
    kept = {
        name: all_variants("protections")[name].fidelity_after
        for name in ("undo", "relaxed", "cpr", "peer", "parity", "check-n-run")
    }
    crash, outage = fault_stream.destroyed_parts("gpu-crash"), fault_stream.destroyed_parts("power-loss")
    assert {name: gives(crash) for name, gives in kept.items()} == {
        "undo": "exact", "relaxed": "lossy", "cpr": "lossy", "peer": "exact", "parity": "exact", "check-n-run": "lossy",
    }  # fmt: skip
    assert {name: gives(outage) for name, gives in kept.items()} == {
        "undo": "exact", "relaxed": "lossy", "cpr": "exact", "peer": "older", "parity": "lost", "check-n-run": "lossy",
    }  # fmt: skip
    assert kept["undo"](fault_stream.destroyed_parts("flush-failure")) == "lost"


def test_a_relaxed_recovery_finds_an_old_mlp_whatever_stopped_the_job():
    """As in a full run: whoever restarts the processes loads the MLP from its log."""
    for name in ("gpu-crash", "host-crash", "link-down", "memory-reset", "power-loss"):
        found = run_campaign(KAGGLE, "relaxed", {name: Hazard(24 * HOUR)}, 240.0, 1)
        assert found.recoveries and {recovery.mlp_batches for recovery in found.recoveries} == {found.plan.mlp_age} != {0}, name


def test_many_rows_have_intervals_and_tell_refusals():
    rows = {row["Protection"]: row for row in compare_protections(KAGGLE, ("undo", "none", "cpr"), HAZARDS, 240.0, range(5))}
    assert "keeps them in 1; choose protection=periodic-full" in rows["cpr"]["Refused"]
    undo, none = rows["undo"], rows["none"]
    assert undo["Effective training time ratio"] > none["Effective training time ratio"]
    assert none["Unrecoverable [%]"] == 100 and 40 < none["Unrecoverable, low [%]"] < 100
    shares = [value for name, value in undo.items() if name.startswith("Energy, ")]
    assert sum(shares) == pytest.approx(100)
    assert undo["PMEM wear [% of endurance a year]"] > none["PMEM wear [% of endurance a year]"]


def test_a_period_curve_has_its_best_near_daly_and_agrees_with_the_closed_form():
    hazards = {"gpu-crash": Hazard(HOUR)}
    curve = period_curve(KAGGLE, "periodic-full", hazards, [15.0, 120.0, 1800.0])
    assert curve.points[0].simulated < curve.points[1].simulated > curve.points[2].simulated
    assert 60 < curve.daly_period < curve.young_period < 240
    for point in curve.points:
        assert point.simulated == pytest.approx(point.closed_form, abs=0.025)
    mixed = period_curve(KAGGLE, "periodic-full", {"gpu-crash": Hazard(HOUR, shape=0.7)}, [120.0])
    assert mixed.points[0].closed_form is None
