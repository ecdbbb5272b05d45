"""What each protection asks of a machine, against formulas by hand from the machine's own rates."""

from math import ceil

import pytest

from engine.campaign import batch_costs, fault_stream
from engine.campaign.closed_form import daly_period
from engine.campaign.compare import pmem_endurance, wilson_interval
from engine.campaign.simulate import campaign_terms, run_campaign
from engine.errors import BadKnob
from engine.faults.fault import Hazard
from engine.scenario.presets import preset
from engine.scenario.scenario import with_values
from engine.systems.row_kinds import row_bytes
from engine.systems.traffic import mlp_bytes, table_bytes
from engine.units import GB, HOUR, GiB
from engine.workload.caching.unique_rows import expected_unique

ONE_MODULE = {"machine.pmem_capacity_GB": 128.0}  # so that its writes bound what is restored
KAGGLE = with_values(preset("optane-kaggle").scenario, {"model.optimizer": "sgd", **ONE_MODULE})
SHARDED = with_values(KAGGLE, {"system": "all-hbm", "machine.num_gpus": 16, "machine.network_bandwidth_GBps": 10.0})
STATE = table_bytes(KAGGLE) + mlp_bytes(KAGGLE)
MTBF = 6 * HOUR


def plan_of(name, scenario=KAGGLE, mtbf=MTBF, period=None):
    return campaign_terms(scenario, name, {"gpu-crash": Hazard(mtbf)}, period)[0].plan


def test_a_full_checkpoint_goes_at_the_pace_of_storage_or_of_the_memory_it_leaves():
    plan = plan_of("periodic-full")
    assert plan.pause == pytest.approx(STATE / 1e9) and plan.restore == pytest.approx(STATE / 1e9)
    assert plan.checkpoint_interval == pytest.approx(daly_period(plan.pause, MTBF) / plan.step, rel=0.02)
    # Of PMEM behind the link, one module reads 6.6 and writes 2.28 GB/s; two nodes write to storage at 2 GB/s.
    drives = plan_of("periodic-ssd")
    assert (drives.pause, drives.restore) == pytest.approx((STATE / 6.2e9, STATE / 2.28e9))
    assert plan_of("periodic-full", SHARDED).pause == pytest.approx(STATE / 2e9)
    thin = with_values(KAGGLE, {"machine.network_bandwidth_GBps": 0.5})
    assert plan_of("periodic-full", thin).pause == pytest.approx(STATE / 0.5e9)


def test_an_overlapped_checkpoint_pauses_for_a_copy_where_host_memory_holds_one():
    plan = plan_of("periodic-overlapped")
    assert (plan.pause, plan.drain) == pytest.approx((STATE / 6.6e9, STATE / 1e9))
    small = plan_of("periodic-overlapped", with_values(KAGGLE, {"machine.host_dram_GiB": 2.0}))
    assert (small.pause, small.drain) == pytest.approx((STATE / 1e9, 0.0))


def test_check_n_run_writes_changed_rows_in_four_bits_a_word():
    plan = plan_of("check-n-run", mtbf=None, period=10.0)
    every = round(10.0 / plan.step)
    changed = expected_unique(KAGGLE, every)
    # 16 words of 4 bits, smallest value and step in 4 B each, the row's number in 8 B.
    assert plan.checkpoint_bytes["remote"] == pytest.approx(changed * (8 + 8 + 8) + mlp_bytes(KAGGLE))
    assert plan.checkpoint_interval == every < plan_of("check-n-run", mtbf=None).checkpoint_interval == round(1800 / plan.step)
    assert plan.drain == pytest.approx(plan.checkpoint_bytes["remote"] / 1e9)


@pytest.mark.parametrize(("name", "line"), [("optane-kaggle", 256), ("dlrm-kaggle", 64), ("trainingcxl-rm1", 64)])
def test_an_undo_log_writes_each_changed_row_with_its_number_and_the_mlps_and_no_more(name, line):
    """And four flags, each a line of the medium; the update at home would be written without a log too."""
    scenario = with_values(preset(name).scenario, {"system": "cxl-b"})
    payload = expected_unique(scenario, 1) * (row_bytes(scenario) + 8) + mlp_bytes(scenario)
    assert plan_of("undo", scenario).batch_bytes["pmem"] == pytest.approx(payload + 4 * line, rel=1e-4)


@pytest.mark.parametrize("name", ["dlrm-terabyte", "torchrec-terabyte", "cached-embedding-terabyte", "meta-856"])
def test_check_n_run_s_reductions_lie_in_the_published_range_for_rows_of_512_bytes(name):
    scenario = preset(name).scenario
    terms, site = campaign_terms(scenario, "check-n-run")
    written = site.state / terms.plan.checkpoint_bytes["remote"]
    assert 6 <= written <= 17
    room = site.state * site.remote.joules / terms.plan.restore_joules
    assert 2.5 <= room <= 8


def test_cpr_s_period_loses_a_tenth_of_the_samples():
    """A fault of one of N shards loses half a period of a shard's updates: period / (2 N M) of all samples."""
    plan = plan_of("cpr", SHARDED)
    assert plan.checkpoint_interval * plan.step / (2 * 16 * MTBF) == pytest.approx(0.1, rel=1e-3)
    assert plan.partial
    found = run_campaign(SHARDED, "cpr", {"gpu-crash": Hazard(MTBF)}, 2000.0, 1)
    samples = sum(recovery.embedding_batches for recovery in found.recoveries) / 16 / found.batches
    assert samples == pytest.approx(0.1, rel=0.2)
    assert found.seconds["replay"] == 0


def test_a_peer_s_copy_takes_the_idle_time_of_the_network():
    plan = plan_of("peer", SHARDED)
    bare = batch_costs.unlogged_costs(SHARDED)
    sent = STATE / (2 * 8 * 10e9)
    assert bare.network > 0 and plan.checkpoint_interval == ceil(sent / (bare.step - bare.network)) > 1
    assert (plan.step, plan.pause) == (bare.step, 0.0)
    assert plan.drain == pytest.approx(sent / (bare.step - bare.network) * bare.step)
    assert plan.backup_interval == round(3 * HOUR / plan.step)
    room = 2 * STATE / GiB / 2  # two copies on two nodes, whose tables lie in HBM
    assert plan_of("peer", with_values(SHARDED, {"machine.host_dram_GiB": 1.01 * room})) == plan
    with pytest.raises(Exception, match=r"needs .* GiB of host memory for two copies"):
        plan_of("peer", with_values(SHARDED, {"machine.host_dram_GiB": 0.99 * room}))


def test_a_parity_lengthens_the_step_where_the_network_has_no_time_for_it():
    assert plan_of("parity", SHARDED).step == batch_costs.unlogged_costs(SHARDED).step
    slow = with_values(SHARDED, {"machine.network_bandwidth_GBps": 0.1, "data.batch_size": 1024})
    bare, more = batch_costs.unlogged_costs(slow), expected_unique(slow, 1) * (64 + 8) / (2 * 8 * 0.1e9)
    assert (
        plan_of("parity", slow, period=bare.step).step == pytest.approx(bare.network + more)
        and more < bare.step < bare.network + more
    )
    with pytest.raises(BadKnob, match="parity of a node's rows on others"):
        plan_of("parity", KAGGLE)


def test_useful_is_a_batch_without_its_log():
    terms, _ = campaign_terms(KAGGLE, "undo")
    assert terms.useful_seconds == batch_costs.unlogged_costs(KAGGLE).step < terms.plan.step


@pytest.mark.parametrize(("capacity", "modules"), [(128.0, 1), (None, 6)])
def test_optane_bears_so_many_full_writes(capacity, modules):
    _, site = campaign_terms(with_values(KAGGLE, {"machine.pmem_capacity_GB": capacity}), "undo")
    assert pmem_endurance(site) == pytest.approx(1.4e6 * modules * 128 * GB)


def test_the_chance_of_an_unrecoverable_run_has_wilson_s_interval():
    for hits, of in ((0, 10), (3, 8), (20, 20), (1, 200)):
        from scipy.stats import binomtest  # late, since importing it takes a second

        expected = binomtest(hits, of).proportion_ci(0.95, method="wilson")
        assert wilson_interval(hits, of) == pytest.approx((expected.low, expected.high), abs=1e-6)


def test_two_classes_of_one_rate_strike_at_instants_of_their_own():
    hazards = dict.fromkeys(("gpu-crash", "host-crash"), Hazard(100.0))
    found = fault_stream.fault_arrivals(KAGGLE, hazards, 1, 1e5)
    instants = {name: {arrival.seconds for arrival in found if arrival.fault == name} for name in hazards}
    assert not instants["gpu-crash"] & instants["host-crash"]


def test_a_slow_device_lengthens_a_batch_by_what_the_estimate_says():
    slow = batch_costs.slowdown(KAGGLE)
    assert slow > 2
    assert batch_costs.slowdown(with_values(KAGGLE, {"faults.fail_slow_bandwidth": 1.0, "faults.fail_slow_latency": 1.0})) == 1.0
    found = run_campaign(KAGGLE, "undo", {"fail-slow": Hazard(None, 1.0, (1000.0,))}, 1.0, 1)
    assert found.seconds["slow"] == pytest.approx(60 * (1 - 1 / slow))
