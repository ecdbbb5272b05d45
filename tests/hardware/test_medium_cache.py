"""A medium with a cache: does a step slow down where its tables outgrow the cache, in estimate and full run, and nowhere else?"""

from dataclasses import replace

import numpy as np
import pytest

from engine.amounts.expected import expected_amounts
from engine.analysis.uncertainty import find_turning_points, tornado
from engine.core.memo import clear_memos
from engine.core.work import RowReads, RowUpdates
from engine.estimate import estimate
from engine.estimates import _planned_batches, estimates
from engine.hardware.device import Slowdown, joules, seconds
from engine.hardware.devices.pmem import MEDIA
from engine.hardware.line_cache import NO_CACHE, line_cache
from engine.registry import load_variant, variant_names
from engine.scenario.scenario import with_values
from engine.schedule.machine import machine_of, settle
from engine.simulate import simulate
from tests.cases import each
from tests.machines import SYSTEMS, media_bytes, scenario

STEP, GB = "Step time [ms]", 1e9
ON_FLASH = tuple(name for name in SYSTEMS if load_variant("systems", name).memory == "pmem")
CMMH = MEDIA["cxl-flash"]
KNEE = (10, 40, 48, 56, 64, 96, 192, 384, 768)  # GB of tables, which fill one card at most


def large(size, system="cxl", medium="cxl-flash", **knobs):
    """Return RM1 with so many GB of tables, of 20 with 128 B rows."""
    rows = int(size * GB / (20 * 128))
    return scenario("trainingcxl-rm1", system, **{"model.num_embeddings": (rows,), "machine.pmem": medium, **knobs})


def small(capacity, system="cxl", **knobs):
    """Return a short run whose 51 MB of tables lie behind a cache of so many GB."""
    given = {"data.batch_size": 64, "model.pooling": (20,), "model.num_embeddings": (20_000,), "data.popularity": "zipf"}
    cache = {"machine.pmem": "cxl-flash", "machine.assume": (("pmem.cache-capacity", capacity),)}
    return scenario("trainingcxl-rm1", system, **{**given, "run.batches": 12, "run.training": False, **cache, **knobs})


@each("system", ON_FLASH)
@each("law", ["uniform", "meta"])
def test_the_knee_lies_where_the_tables_outgrow_the_cache(system, law):
    found = estimates([large(size, system, **{"data.popularity": law}) for size in KNEE])
    step = dict(zip(KNEE, (one.results[STEP] for one in found), strict=True))
    assert step[48] < 1.12 * step[10]  # of which the dirty set is a smaller part
    assert step[56] > 1.1 * step[48] and step[64] > 1.1 * step[56]
    slopes = np.diff([step[size] for size in KNEE]) / np.diff(KNEE)
    assert (slopes > -1e-9).all() and np.argmax(slopes) in (2, 3)  # steepest just beyond the cache, then towards all misses
    assert step[768] < 1.25 * step[384] and step[768] > 2 * step[56]


@each("medium", ["optane-100", "battery-dram"])
def test_a_medium_without_a_cache_has_no_knee(medium):
    small_one, large_one = (estimate(large(size, medium=medium, **{"data.popularity": "uniform"})) for size in (48, 64))
    assert large_one.results[STEP] < 1.001 * small_one.results[STEP]


@each("system", ON_FLASH, few=10)
@each(("capacity", "apart"), [(0.01, 0.03), (0.02, 0.03), (0.034, 0.01), (0.04, 0.01), (0.046, 0.01), (0.06, 0.01)])
def test_an_estimate_is_within_1_percent_of_a_full_run_and_3_where_a_batch_outgrows_the_cache(system, capacity, apart):
    asked = small(capacity, system)
    assert estimate(asked).results[STEP] == pytest.approx(simulate(asked).results[STEP], rel=apart)


@each("run", [estimate, simulate])
def test_a_step_never_slows_as_the_cache_grows(run):
    found = [run(small(capacity)).results[STEP] for capacity in (0.0005, 0.002, 0.01, 0.02, 0.03, 0.04, 0.06, 10.0)]
    assert (np.diff(found) <= 1e-9).all() and found[0] > 3 * found[-1]


def test_a_run_that_begins_cold_waits_for_lines_that_a_warm_one_holds():
    cold, warm = (simulate(small(0.06, **{"policy.warm_caches": on})).results["Elapsed [s]"] for on in (False, True))
    assert cold > 1.1 * warm


def written(size):
    """Return how many times its rate's time a 64 B write takes, of rows drawn alike from so many GB."""
    settled = settle(
        scenario(
            "trainingcxl-rm1",
            "cxl",
            **{
                "model.num_tables": 1,
                "model.pooling": (1,),
                "model.embedding_dim": 16,
                "model.bottom_mlp": (13, 64, 16),
                "model.num_embeddings": (int(size * GB / 64),),
                "data.popularity": "uniform",
                "machine.pmem": "cxl-flash",
            },
        )
    )
    t, pmem = expected_amounts(settled), machine_of(settled).devices["pmem"]
    rows = float(t.rows[0])
    slow, full = (seconds(pmem, RowUpdates(rows, 64, "near-data", clean_lines=one)) for one in (float(t.clean_lines[0]), 0.0))
    return 1 + float(slow - full) / rows / (64 / (CMMH.stream_rate.value * GB))


def test_64_byte_writes_keep_their_rate_up_to_a_set_of_2_gb_and_take_twice_as_long_at_8():
    assert [written(size) for size in (0.5, 1, 1.9)] == [1, 1, 1]
    assert written(8) == pytest.approx(2, rel=0.01)
    assert 1 < written(3) < written(4) < written(8) < written(40) < 1 + CMMH.extra_writes.value


@each("system", ["cxl", "cxl-b", "cxl-d"])
def test_a_run_counts_the_lines_that_were_not_written_last_as_the_estimate_expects_them(system):
    asked = small(10.0, system)
    slow = with_values(asked, {"machine.assume": (*asked.machine.assume, ("pmem.dirty-set", 0.01))})
    for run in (estimate, simulate):
        found = [run(one).results[STEP] for one in (asked, slow)]
        assert found[1] > 1.003 * found[0]
    assert estimate(slow).results[STEP] == pytest.approx(simulate(slow).results[STEP], rel=0.01)


def test_cards_share_lines_and_each_brings_its_own_cache():
    two = settle(large(900, **{"machine.pmem_capacity_GB": 2000.0})).scenario
    one = settle(large(900, **{"machine.pmem_capacity_GB": 1000.0})).scenario
    assert line_cache(two.machine).lines == pytest.approx(2 * line_cache(one.machine).lines, abs=1)
    assert line_cache(one.machine) == (int(48e9 / 4096), 4096, int(2e9 / 4096))
    assert estimate(two).results[STEP] < 0.5 * estimate(one).results[STEP]


def pmem(**knobs):
    return load_variant("devices", "pmem").build(settle(large(10, **knobs)).scenario.machine)


def test_a_miss_takes_its_time_and_many_take_those_in_flight_at_a_time():
    device, hit = pmem(), float(seconds(pmem(), RowReads(1.0, 64, requester="near-data")))
    one = float(seconds(device, RowReads(1.0, 64, requester="near-data", missed_lines=1.0)))
    assert hit == pytest.approx(CMMH.latency.value * 1e-9, rel=0.01) and one - hit == pytest.approx(CMMH.miss.value * 1e-6)
    many = RowReads(1e6, 64, requester="near-data", missed_lines=1e6, written_back_lines=5e5)
    slots = CMMH.misses.value
    assert float(seconds(device, many)) == pytest.approx(1e6 * (CMMH.miss.value + CMMH.flush.value / 2) * 1e-6 / slots, rel=0.01)
    waiting = RowUpdates(1e6, 64, "near-data", 1e6)
    assert float(seconds(device, waiting)) == pytest.approx(1e6 * CMMH.miss.value * 1e-6 / slots, rel=0.03)


def test_flash_is_worn_and_paid_by_the_line_and_a_hit_by_its_bytes():
    device = pmem()
    assert media_bytes(device, RowUpdates(100.0, 128)) == 0
    assert media_bytes(device, RowReads(100.0, 128, written_back_lines=3.0)) == 3 * 4096
    hits = float(joules(device, RowReads(100.0, 128)))
    assert hits == pytest.approx(100 * 128 * CMMH.cached_energy.value * 1e-9)
    missed = float(joules(device, RowReads(100.0, 128, missed_lines=3.0, written_back_lines=2.0))) - hits
    assert missed == pytest.approx(4096 * (3 * CMMH.read_energy.value + 2 * CMMH.write_energy.value) * 1e-9)


def test_a_cache_can_be_assumed_of_any_medium():
    behind = {"machine.assume": (("pmem.cache-capacity", 48.0),), "data.popularity": "uniform"}
    assert (
        estimate(large(96, medium="optane-100", **behind)).results[STEP]
        > 2 * estimate(large(96, medium="optane-100")).results[STEP]
    )
    assert "pmem.cache-capacity [GB]" not in " ".join(
        load_variant("devices", "pmem").build(settle(large(9, medium="optane-100")).scenario.machine).constant_values
    )


@each("system", variant_names("systems"))
def test_only_tables_in_such_a_medium_have_lines(system):
    assert settle(large(9, system)).medium.lines == (ON_FLASH.count(system) and int(48e9 / 4096))
    assert settle(large(9, system, "optane-100")).medium == NO_CACHE


def test_media_without_a_cache_share_one_plan_whatever_is_assumed():
    machines = [large(9, medium="optane-100"), large(9, medium="battery-dram"), large(9, medium="optane-200")]
    machines.append(with_values(machines[0], {"machine.assume": (("pmem.read-rate", 3.0),)}))
    settled = [settle(with_values(one, {"machine.pmem_capacity_GB": 1024.0})) for one in machines]
    clear_memos()  # what others planned, so that none of these is in its way
    plans = [_planned_batches(one) for one in settled]
    assert all(plan is plans[0] for plan in plans)


def test_machines_of_one_medium_are_estimated_together_as_each_alone():
    base = large(40)
    asked = [with_values(base, {"machine.assume": (("pmem.write-beyond-the-dirty-set", more),)}) for more in (0.0, 0.7, 1.9)]
    together, alone = ([one.results[STEP] for one in found] for found in (estimates(asked), map(estimate, asked)))
    assert together == alone
    assert together[0] < together[1] < together[2]
    assert tornado(base, STEP) and isinstance(find_turning_points(base, large(40, "pcie"), STEP), tuple)


@each("row_bytes", [64, 128, 4096, 4104, 8192])
def test_no_row_is_written_slower_than_each_of_its_writes(row_bytes):
    pmem, rows = machine_of(settle(large(9))).devices["pmem"], 1e5
    lines = rows * np.ceil(row_bytes / 4096)
    slow, full = (float(seconds(pmem, RowUpdates(rows, row_bytes, "near-data", clean_lines=one))) for one in (lines, 0.0))
    assert slow / full == pytest.approx(1 + CMMH.extra_writes.value / 2, rel=0.01)  # half of an update is its write


def test_a_slowed_card_writes_beyond_its_dirty_set_slower_too():
    pmem = machine_of(settle(large(9))).devices["pmem"]
    half = replace(pmem, slowdown=Slowdown(bandwidth=0.5))
    for clean in (0.0, 1e5):
        work = RowUpdates(1e6, 64, "near-data", clean_lines=clean)
        assert float(seconds(half, work)) == pytest.approx(2 * float(seconds(pmem, work)), rel=1e-3)


@each(("dirty", "lines"), [(0.0, 0), (1e-9, 1), (2.0, int(2e9 / 4096)), (1000.0, int(48e9 / 4096))])
def test_a_dirty_set_is_a_line_at_least_and_the_cache_at_most(dirty, lines):
    machine = settle(with_values(large(9), {"machine.assume": (("pmem.dirty-set", dirty),)})).scenario.machine
    assert line_cache(machine).dirty == lines
