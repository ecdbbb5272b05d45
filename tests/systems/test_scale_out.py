"""Systems of many nodes: is each row fetched once, from where it is, at the pace of what limits it, and overlapped with what?"""

from dataclasses import replace

import numpy as np
import pytest

from engine.core.work import AllToAll, Copy, RowReads, RowUpdates, Stream
from engine.estimate import estimate
from engine.registry import load_variant
from engine.scenario.presets import preset
from engine.scenario.scenario import Scenario, with_values
from engine.schedule.machine import machine_of, schedule, settle
from engine.simulate import simulate
from engine.systems.placement import (
    USABLE,
    dram_room,
    hbm_dram_bytes,
    level_shares,
    nbytes_by_tier,
    placement,
    share_of_rows,
    table_tiers,
)
from engine.systems.row_kinds import row_bytes
from engine.systems.scale_out.mtrains import COMPACTION, scm_rows
from engine.systems.steps.wires import is_passed_again
from engine.systems.traffic import cached_rows, table_bytes
from engine.workload.accesses import expected_accesses
from engine.workload.caching.expected_cache import hot_split
from tests.machines import flow

SYSTEMS = ("dram-hbm-nodes", "mtrains", "cold-in-dram", "proactive")
# Eight tables of 2 KiB to 20 GB on GPUs of 60 MB and a host of 1 GiB: each memory of a node has something to hold.
SMALL = {
    "model.num_tables": 8,
    "model.num_embeddings": (4, 2000, 50_000, 200_000, 400_000, 1_000_000, 2_000_000, 40_000_000),
    "model.embedding_dim": 128,
    "model.pooling": (2,),
    "model.bottom_mlp": (13, 64, 128),
    "model.top_mlp": (64, 1),
    "data.popularity": "zipf",
    "data.batch_size": 1024,
    "run.batches": 12,
    "run.training": False,
    "machine.num_gpus": 2,
    "machine.gpus_per_node": 1,
    "machine.host_dram_GiB": 1.0,
    "machine.pmem_capacity_GB": 1.0,
    "machine.pmem_module_GB": 1.0,
    "machine.assume": (("gpu.memory", 0.06),),
    "policy.cache_load_factor": 0.02,
}
FAR = {**SMALL, "machine.host_dram_GiB": 32.0, "policy.cache_load_factor": 0.001}


def small(system, **knobs):
    base = SMALL if system == "mtrains" else FAR
    return with_values(Scenario(), {**base, "system": system, **knobs})


def planned(scenario, batches=12):
    """Return the scenario's machine, expected batches, and task graph by name of task."""
    m, t = machine_of(settle(scenario)), flow(scenario, batches)
    graph = m.system.graph(m.settled, t)
    return m, t, {task.name: task for task in graph.tasks}


def works(task, kind):
    own = (demand for demand in task.demands if not is_passed_again(demand))
    return [(demand.device, demand.work) for demand in own if isinstance(demand.work, kind)]


@pytest.mark.parametrize("system", SYSTEMS)
def test_the_small_machine_holds_the_model_and_uses_every_memory_it_has(system):
    settled = settle(small(system))
    assert settled.problems == ()
    places = load_variant("systems", system).nbytes_by_memory(settled.scenario)
    assert all(nbytes > 0 for nbytes in places.values())
    assert sum(places.values()) >= 0.999 * table_bytes(settled.scenario)


def test_tables_with_more_lookups_for_a_row_lie_nearer():
    dense = placement(small("mtrains"))
    assert dense.hbm and dense.dram and dense.below_dram
    assert sorted(dense.hbm + dense.dram + dense.below_dram) == list(range(8))
    assert max(dense.hbm) < min(dense.dram) < min(dense.below_dram)
    _, in_dram, below_dram = nbytes = nbytes_by_tier(small("mtrains"), dense)
    assert below_dram > 0 < in_dram <= dram_room(small("mtrains"))
    assert sum(nbytes) == pytest.approx(table_bytes(small("mtrains")))


def test_of_tables_of_one_size_the_one_with_most_lookups_takes_the_room_in_hbm():
    alike = {"model.num_embeddings": (100_000,), "model.pooling": (1, 1, 1, 1, 1, 9, 1, 1)}
    assert placement(small("dram-hbm-nodes", **alike)).hbm == (5,)


def test_each_table_brings_its_bytes_and_a_batchs_unique_rows_to_the_memory_that_has_it():
    asked = small("mtrains", **{"data.popularity": "uniform"})
    dense, tiers = placement(asked), table_tiers(asked)
    for table, rows in enumerate(SMALL["model.num_embeddings"]):
        unique, nbytes = rows * (1 - (1 - 1 / rows) ** (1024 * 2)), 4 * 128 * rows
        assert tiers.far_rows[:, table] == pytest.approx([unique * (table in dense.dram), unique * (table in dense.below_dram)])
        assert tiers.nbytes_by_memory["hbm"][table] == nbytes * (table in dense.hbm)
        assert tiers.nbytes_by_memory["dram"][table] == nbytes * (table in dense.dram)


def test_a_rows_levels_are_shares_that_sum_to_what_is_not_in_hbm():
    asked = small("mtrains")
    level = level_shares(asked, cached_rows(asked), scm_rows(asked))
    assert min(level) > 0
    near = share_of_rows(asked, placement(asked, cached_rows(asked) * row_bytes(asked)).hbm)
    assert sum(level) == pytest.approx(1 - near)


@pytest.mark.parametrize("prefetch", [True, False])
def test_mtrains_reads_each_missing_row_as_one_block_and_writes_one_out_with_compaction(prefetch):
    asked = small("mtrains", **{"policy.prefetch": prefetch})
    m, t, tasks = planned(asked)
    uneven = replace(t, rows=t.rows * np.arange(1.0, 13.0), levels=t.levels * np.arange(1.0, 13.0)[:, None])
    tasks = {task.name: task for task in m.system.graph(m.settled, uneven).tasks}
    level = level_shares(m.scenario, cached_rows(m.scenario), scm_rows(m.scenario))
    fetch = tasks["Prefetch" if prefetch else "Fetch rows"]
    read = {device: work.rows.sum() for device, work in works(fetch, RowReads)}
    every = uneven.rows.sum()
    assert read["ssd"] == pytest.approx(every * level.drives)
    assert read["pmem"] == pytest.approx(every * level.scm)
    [(_, copied)] = works(fetch, Copy)
    assert copied.nbytes.sum() == pytest.approx(every * sum(level) * t.row_bytes)
    [(_, written)] = works(tasks["Evict rows"], Stream)
    assert written.nbytes.sum() == pytest.approx(every * level.drives * t.row_bytes * COMPACTION.value)


@pytest.mark.parametrize("system", ["dram-hbm-nodes", "cold-in-dram"])
def test_rows_in_dram_cross_pcie_once_each_way_and_pooled_vectors_the_network_twice(system):
    m, t, tasks = planned(small(system))
    share = 1 - (
        share_of_rows(m.scenario, placement(m.scenario).hbm)
        if system == "dram-hbm-nodes"
        else hot_split(m.scenario, cached_rows(m.scenario)).hot
    )
    moved = [work.nbytes for name in tasks for _, work in works(tasks[name], Copy) if name != "Sparse features"]
    assert len(moved) == 2
    assert all(one == pytest.approx(t.rows * share * t.row_bytes) for one in moved)
    exchanged = [work.nbytes for task in tasks.values() for _, work in works(task, AllToAll)]
    assert sum(exchanged) == (2 * t.pooled_bytes + t.feature_bytes) / 2  # half of it is for the GPU that has it
    [(_, written), _] = works(tasks["Embedding update"], RowUpdates)[::-1]
    assert written.rows == pytest.approx(t.rows * share)


def durations(scenario):
    m, t, _ = planned(scenario)
    line = schedule(m, t)
    return dict(zip((task.name for task in line.graph.tasks), line.durations[5], strict=True)), step_of(line)


def step_of(line):
    return float(line.batch_ends[-2] - line.batch_ends[5]) / (len(line.batch_ends) - 7)


@pytest.mark.parametrize("system", ["dram-hbm-nodes", "cold-in-dram"])
def test_without_overlap_a_step_is_the_sum_of_its_tasks(system):
    lasts, step = durations(small(system, **{"machine.network_bandwidth_GBps": 1.0}))
    aside = {"Training loop", "Sparse features", "Index all-to-all", "Bottom MLP forward", "Bottom MLP backward"}
    hidden = ("Gradient spreading", "Embedding update")  # beside the all-reduce, or the other way round
    serial = sum(seconds for name, seconds in lasts.items() if name not in {*aside, *hidden, "All-reduce"})
    assert step == pytest.approx(serial + max(sum(lasts[name] for name in hidden), lasts["All-reduce"]), rel=0.02)


def test_prefetch_bound_mtrains_takes_drives_then_update():
    lasts, step = durations(small("mtrains", **{"machine.assume": (("gpu.memory", 0.06), ("ssd.software-threads", 1.0))}))
    ends = lasts["Gradient spreading"] + lasts["Embedding update"]
    assert lasts["Prefetch"] > 2 * lasts["Top MLP"]
    assert step == pytest.approx(max(lasts["Evict rows"], lasts["Embedding lookup"]) + lasts["Prefetch"] + ends, rel=0.02)


def test_mtrains_hides_a_fetch_that_is_shorter_than_exchange_and_layers():
    slow = {"machine.network_bandwidth_GBps": 0.3}
    lasts, step = durations(small("mtrains", **slow))
    later, without = durations(small("mtrains", **slow, **{"policy.prefetch": False}))
    hidden = lasts["Pooled all-to-all"] + lasts["Top MLP"] + lasts["Gradient all-to-all"]
    assert lasts["Prefetch"] + lasts["Evict rows"] < hidden
    assert without - step == pytest.approx(later["Fetch rows"], rel=0.05)


def test_proactive_hides_exactly_the_reads_that_fit_into_exchanges():
    slow = {"machine.network_bandwidth_GBps": 0.3}
    reactive, before = durations(small("cold-in-dram", **slow))
    proactive, after = durations(small("proactive", **slow))
    assert proactive["Read cold rows ahead"] < proactive["Pooled all-to-all"]
    assert before - after == pytest.approx(reactive["Read cold rows"] - proactive["Read trained rows again"], rel=0.03)


def test_proactive_without_prefetch_is_its_baseline_to_the_byte():
    off = small("proactive", **{"policy.prefetch": False})
    m, t, _ = planned(off)
    assert repr(m.system.plan(m.settled, t)) == repr(load_variant("systems", "cold-in-dram").plan(m.settled, t))


def test_the_unique_rows_of_a_batch_that_the_one_before_did_not_touch_are_read_anew():
    asked = with_values(Scenario(), {"data.batch_size": 2048})
    touched, split = expected_accesses(asked), hot_split(asked, 0)
    assert split.cold_repeated == pytest.approx(touched.shared_rows.sum() / touched.unique_rows.sum(), abs=0.005)
    assert hot_split(asked, 1e12) == pytest.approx((1, 0))


def test_the_best_point_of_the_proactive_sweep_gains_what_its_abstract_says_and_never_half():
    gains = {}
    for gpus in (4, 16, 64):
        for network in (12.5, 26.0):
            for cold in (3.25, 26.0):
                point = {
                    "machine.num_gpus": gpus,
                    "data.batch_size": 2048 * gpus,
                    "machine.network_bandwidth_GBps": network,
                    "machine.pcie_bandwidth_GBps": cold,
                }
                asked = with_values(preset("proactive-cold").scenario, point)
                base, ours = (estimate(with_values(asked, {"system": name})) for name in ("cold-in-dram", "proactive"))
                gains[gpus, network, cold] = 100 * (base.results["Step time [ms]"] / ours.results["Step time [ms]"] - 1)
    assert 41 <= max(gains.values()) <= 50  # what is read ahead must still be written back: at most half
    assert min(gains.values()) > -1


@pytest.mark.parametrize("system", SYSTEMS)
def test_the_estimate_agrees_with_a_full_run(system):
    asked = small(system, **{"machine.network_bandwidth_GBps": 2.0})
    full, quick = simulate(asked).results, estimate(asked).results
    for name in ("Step time [ms]", "Energy per batch [J]"):
        assert quick[name] == pytest.approx(full[name], rel=0.05), name


def test_what_hbm_cannot_hold_must_fit_dram_with_what_the_host_needs():
    places = hbm_dram_bytes(small("dram-hbm-nodes"))
    assert places["hbm"] + USABLE.value * places["dram"] == pytest.approx(table_bytes(small("dram-hbm-nodes")))
