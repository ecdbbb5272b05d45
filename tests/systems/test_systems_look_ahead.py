"""Look-ahead: do the systems that fetch rows ahead move the right bytes, and is each as fast as its slowest part?"""

from functools import cache

import numpy as np
import pytest

from engine.amounts.expected import expected_amounts
from engine.core.work import AllReduce, AllToAll, Copy, Direct, Fetch, HostRows
from engine.estimate import estimate
from engine.hardware.device import seconds
from engine.scenario.presets import preset
from engine.scenario.scenario import with_values
from engine.schedule.machine import machine_of, schedule
from engine.simulate import simulate
from engine.systems.capacity import fit
from engine.systems.steps.wires import is_passed_again
from engine.systems.traffic import repeat_batch
from engine.workload.batch import recent, tally_batch
from engine.workload.caching.unique_rows import expected_unique, look_ahead_rows, single_use_shares, unique_copies
from engine.workload.source import source

SYSTEMS = ("torchrec-uvm", "scratchpipe", "remote-no-cache", "bagpipe")
SMALL = {
    "model.num_embeddings": (4000,) * 26,
    "model.embedding_dim": 32,
    "model.bottom_mlp": (13, 32, 32),
    "model.top_mlp": (32, 1),
    "data.batch_size": 128,
    "policy.cache_load_factor": 0.15,
    "policy.look_ahead_batches": 10,
    "machine.framework": "lean",
    "run.training": False,
    "run.batches": 80,
}
SEVERAL = {"machine.num_gpus": 4, "machine.gpus_per_node": 1, "machine.network_bandwidth_GBps": 1.0}


def small(system, **knobs):
    return with_values(preset("cached-embedding-kaggle").scenario, {**SMALL, "system": system, **knobs})


@cache
def planned(asked):
    """Return the machine, the expected traffic and the graph of a scenario."""
    m = machine_of(fit(asked))
    amounts = expected_amounts(m.settled)
    return m, amounts, m.system.graph(m.settled, amounts)


def held(asked):
    return planned(asked)[0].system.nbytes_by_memory(asked)


def takes(asked, *names):
    """Return the seconds of some tasks, one after another, at the pace of each one's slowest device."""
    m, _, graph = planned(asked)
    tasks = [graph.tasks[graph.index(name)] for name in names]
    return sum(max(float(np.max(seconds(m.devices[d.device], d.work))) for d in task.demands) for task in tasks)


def step(asked):
    """Return the seconds from the end of a batch to the end of the next, long after the start."""
    m, amounts, _ = planned(asked)
    ends = schedule(m, repeat_batch(amounts, 64)).batch_ends
    return float(ends[-7] - ends[-47]) / 40


def moved(asked, kind, *names):
    _, _, graph = planned(asked)
    own = (d for name in names for d in graph.tasks[graph.index(name)].demands if not is_passed_again(d))
    works = [d.work for d in own if isinstance(d.work, kind)]
    row = 128 if kind is Direct else 1
    return sum(float(np.sum(row * work.rows if kind in (HostRows, Direct) else work.nbytes)) for work in works)


def test_what_crosses_the_link_is_misses_in_and_evictions_out():
    for system, kind, come, go in (
        ("torchrec-uvm", Direct, "Missing rows to GPU", "Evicted rows to host"),
        ("cached-embedding", Copy, "Missing rows to GPU", "Evicted rows to host"),
    ):
        asked = small(system)
        amounts = planned(asked)[1]
        assert moved(asked, kind, come) == pytest.approx(float(amounts.misses[0]) * 128)
        assert moved(asked, kind, go) == pytest.approx(float(amounts.evicted[0]) * 128)
    asked = small("scratchpipe")
    assert moved(asked, Copy, "Exchange") == pytest.approx(2 * float(planned(asked)[1].misses[0]) * 128)


def test_trainers_without_a_cache_each_fetch_the_whole_batch_sum_all_gradients_and_one_of_them_writes_back():
    bare = small("remote-no-cache", **SEVERAL)
    rows = float(planned(bare)[1].rows[0])
    assert moved(bare, HostRows, "Gather remote rows") == pytest.approx(4 * rows)
    assert moved(bare, Fetch, "Rows over network") == pytest.approx(4 * rows * (128 + 8))
    assert moved(bare, AllToAll, "Gather gradients") == pytest.approx(3 * unique_copies(bare, 4) * rows * (128 + 8))
    assert moved(bare, HostRows, "Scatter remote rows") == pytest.approx(rows)
    one_card = 20e-6 + rows * (128 + 8) / 1e9  # of 1 GB/s, all that it sustains; others have nothing to send
    assert takes(bare, "Rows to servers") == pytest.approx(one_card, rel=0.02)
    assert not any(task.name == "Gather gradients" for task in planned(small("remote-no-cache"))[2].tasks)


@pytest.mark.slow
@pytest.mark.parametrize("locality", [0.0, 0.8])
@pytest.mark.parametrize("ahead", [1, 10])
def test_bagpipe_moves_and_sums_for_all_trainers_but_what_one_lookup_alone_wants(ahead, locality):
    asked = small("bagpipe", **SEVERAL, **{"policy.look_ahead_batches": ahead, "data.locality": locality, "data.batch_size": 512})
    used, once = np.zeros((2, 40, 26 * 4000), dtype=bool)
    for n in range(40):
        rows, times = np.unique(source(asked).ids(n), return_counts=True)
        used[n, rows], once[n, rows[times == 1]] = True, True
    fetched = passing = last = 0
    for n in range(ahead, 40 - ahead):
        new, gone = ~used[n - ahead : n].any(axis=0), ~used[n + 1 : n + 1 + ahead].any(axis=0)
        fetched += (used[n] & new).sum()
        passing, last = passing + (once[n] & new & gone).sum(), last + (once[n] & gone).sum()
    near = {"rel": 0.02 if locality == 0 else 0.12}
    assert single_use_shares(asked) == (pytest.approx(passing / fetched, **near), pytest.approx(last / fetched, **near))
    amounts, (through, own) = planned(asked)[1], single_use_shares(asked)
    rows, cold, misses = (float(part[0]) for part in (amounts.rows, amounts.cold, amounts.misses))
    assert moved(asked, HostRows, "Gather remote rows") == pytest.approx((4 - 3 * through) * misses)
    assert moved(asked, AllReduce, "Sync rows used next") == pytest.approx((rows - cold) * 128)
    assert moved(asked, AllReduce, "Sync other rows") == pytest.approx((cold - own * misses) * 128)
    assert moved(asked, HostRows, "Scatter remote rows") == pytest.approx(misses)
    assert asked.system == "bagpipe" and held(asked)["hbm"] == pytest.approx(4 * look_ahead_rows(asked) * 128)


def test_what_looks_ahead_at_tables_that_never_leave_moves_nothing():
    asked = small("bagpipe", **SEVERAL, **{"model.num_embeddings": (1,) * 26})
    assert single_use_shares(asked) == (0.0, 0.0) and moved(asked, HostRows, "Gather remote rows") == 0 and estimate(asked).ran


def test_parts_of_a_batch_use_as_many_rows_between_them_as_counted():
    asked = small("bagpipe", **{"data.batch_size": 256})
    whole, part = with_values(asked, {}), with_values(asked, {"data.batch_size": 64})
    ids = source(whole).ids(0).reshape(26, 256)
    unique = tally_batch(recent(whole.model, 256), ids.ravel())[0].sum()
    parts = [
        tally_batch(recent(part.model, 64), ids[:, first : first + 64].copy().ravel())[0].sum() for first in (0, 64, 128, 192)
    ]
    assert unique_copies(asked, 4) == pytest.approx(sum(parts) / unique, rel=0.03)
    assert unique_copies(asked, 1) == pytest.approx(1)


def test_rows_held_by_look_ahead_are_those_between_two_uses_close_enough():
    asked = small("bagpipe", **{"data.popularity": "uniform"})
    uses = [np.unique(source(asked).ids(n)) for n in range(30)]
    last, following = (np.full(26 * 4000, far) for far in (-99, 99))
    for n in range(15):
        last[uses[n]] = n
    for n in reversed(range(15, 30)):
        following[uses[n]] = n
    held = (following - last <= 10).sum()
    assert look_ahead_rows(asked) == pytest.approx(held, rel=0.05)


SLOW_HOST = {"machine.assume": (("host.row-gather", 4000.0),)}
SLOW_LINK = {"machine.pcie_bandwidth_GBps": 0.1}
TRAIN = ("Embedding lookup", "Bottom MLP forward", "Top MLP", "Bottom MLP backward", "Gradient spreading", "Embedding update")


@pytest.mark.parametrize(
    ("knobs", "stage"),
    [(SLOW_HOST, ("Collect", "Insert")), (SLOW_LINK, ("Exchange",)), ({"data.popularity": "kaggle"}, TRAIN)],
)
def test_scratchpipe_is_as_fast_as_its_slowest_stage(knobs, stage):
    # Collect and Insert share the host's CPU: together they are one stage, with a small gap when they take turns
    asked = small("scratchpipe", **{"machine.pcie_bandwidth_GBps": 1000.0, **knobs})
    stages = {names: takes(asked, *names) for names in (("Plan",), ("Collect", "Insert"), ("Exchange",), TRAIN)}
    assert max(stages, key=stages.get) == stage
    assert step(asked) == pytest.approx(stages[stage], rel=0.005 if stage == ("Collect", "Insert") else 1e-6)


def test_a_prefetch_that_is_shorter_than_training_costs_nothing():
    hidden = {"machine.pcie_bandwidth_GBps": 1000.0}
    assert step(small("torchrec-uvm", **hidden)) == pytest.approx(step(small("all-hbm", **hidden)), rel=1e-6)


def test_a_longer_prefetch_of_torchrec_is_exposed_beside_the_features_that_come_the_same_way():
    asked = small("torchrec-uvm", **SLOW_LINK)
    names = ("Sparse features", "Find misses", "Missing rows to GPU")  # rows go as others come
    assert step(asked) == pytest.approx(takes(asked, *names), rel=1e-6)


FETCH = ("Gather remote rows", "Rows over network", "Rows to GPU")


def test_without_a_cache_remote_rows_and_training_take_turns():
    asked = small("remote-no-cache", **{"machine.assume": (("host.training-loop", 0.0),)})
    back = ("Rows from GPU", "Rows to servers", "Scatter remote rows")
    # the next batch's bottom MLP comes before this one's update
    assert step(asked) == pytest.approx(takes(asked, *FETCH, *TRAIN, *back), rel=1e-6)
    blocked = small("remote-no-cache", **{"machine.framework": "pytorch"})
    assert step(blocked) == pytest.approx(takes(blocked, *FETCH, "Training loop", *back), rel=1e-6)


def test_bagpipe_hides_all_but_what_is_longer():
    hidden = small("bagpipe", **{"machine.framework": "pytorch"})
    loop = takes(hidden, "Training loop")
    assert step(hidden) == pytest.approx(loop, rel=1e-6) and loop > takes(hidden, *FETCH) and loop > takes(hidden, *TRAIN)
    exposed = small("bagpipe", **{"machine.network_bandwidth_GBps": 0.1, "machine.pcie_bandwidth_GBps": 1000.0})
    assert step(exposed) == pytest.approx(takes(exposed, *FETCH, "Embedding lookup"), rel=1e-6)


def test_bagpipe_waits_only_for_rows_that_the_next_batch_uses():
    asked = small("bagpipe", **{**SEVERAL, "machine.network_bandwidth_GBps": 0.1})
    amounts = planned(asked)[1]
    near = takes(asked, "Sync rows used next") / takes(asked, "Sync rows used next", "Sync other rows")
    later = float(amounts.cold[0]) - single_use_shares(asked).last_use * float(amounts.evicted[0])
    assert near == pytest.approx(1 / (1 + later / float(amounts.rows[0] - amounts.cold[0])), rel=0.05)


@pytest.mark.parametrize("system", SYSTEMS)
def test_estimate_and_full_run_agree(system):
    asked = small(system)
    ours, counted = estimate(asked).results, simulate(asked).results
    assert ours["Step time [ms]"] == pytest.approx(counted["Step time [ms]"], rel=0.05)
    if ours["Cache hit rate [%]"] is not None:
        long = simulate(with_values(asked, {"run.batches": 300})).results
        assert ours["Cache hit rate [%]"] == pytest.approx(long["Cache hit rate [%]"], abs=2)


def test_a_scratchpad_smaller_than_its_window_is_refused_with_its_size():
    refused = estimate(small("scratchpipe", **{"policy.cache_load_factor": 0.02}))
    need = expected_unique(small("scratchpipe"), 6)
    assert not refused.ran
    assert f"keeps 2,080 rows, but 6 batches together use {int(need):,}" in refused.outcome


def test_tables_too_large_for_their_servers_are_refused_with_a_number_of_servers():
    large = {"model.num_embeddings": (40_000_000,) * 26, "machine.server_dram_GiB": 64.0}
    refused = estimate(small("bagpipe", **large))
    assert not refused.ran and "raise it to 2 or lower model.num_embeddings" in refused.outcome
    assert estimate(small("bagpipe", **large, **{"machine.embedding_servers": 2})).ran


def test_servers_of_their_own_are_paid_for_only_by_systems_that_use_them():
    powered = {"machine.all_powered": True}
    assert "remote" not in {row["Device"] for row in estimate(small("scratchpipe", **powered)).devices}
    assert "remote" in {row["Device"] for row in estimate(small("bagpipe", **powered)).devices}
