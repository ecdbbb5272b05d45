"""HierarchicalKV: does a table over two memories read, write and fill what its formulas say, and at the published rates?"""

from math import ceil

import numpy as np
import pytest

from engine.amounts.expected import expected_amounts
from engine.caches.batch_cache import serve_by_hash
from engine.core.row_sizes import mean_bytes
from engine.core.work import Direct
from engine.estimate import estimate
from engine.hardware.device import seconds
from engine.scenario.presets import preset
from engine.scenario.scenario import with_values
from engine.schedule.machine import machine_of, settle
from engine.simulate import simulate
from engine.systems.row_kinds import kind_bytes
from engine.workload.accesses import expected_accesses
from tests.cases import each

SMALL = {
    "system": "hierarchical-kv",
    "model.num_embeddings": (3000,) * 26,
    "model.pooling": 1,
    "data.batch_size": 512,
    "run.training": False,
    "run.batches": 40,
    "machine.framework": "none",
    "policy.cache_load_factor": 0.5,
}
HYBRID = {"policy.cache_policy": "hash"}


def small(**knobs):
    return with_values(preset("torchrec-terabyte").scenario, {**SMALL, "machine.num_gpus": 1, **knobs})


def planned(s):
    """Return the seconds of each task, and the bytes of rows that the GPU accesses across the host's link, by direction."""
    m = machine_of(settle(s))
    tasks = m.system.graph(m.settled, expected_amounts(m.settled)).tasks
    takes = {task.name: max(float(np.max(seconds(m.devices[d.device], d.work))) for d in task.demands) for task in tasks}
    links = {
        (task.name, d.lane): float(np.max(d.work.rows * mean_bytes(d.work.row_bytes)))
        for task in tasks
        for d in task.demands
        if isinstance(d.work, Direct)
    }
    return takes, links


@each(("share", "published"), [(1.0, 1.98), (0.5, 0.124)])
def test_published_rates_of_finding_a_million_keys_on_an_a100(share, published):
    """NVIDIA-Merlin/HierarchicalKV: G keys/s of dimension 64, 32 GB in HBM or half of it in host memory; nothing is fitted."""
    one = {
        "model.num_tables": 1,
        "model.num_embeddings": 2**27,
        "model.embedding_dim": 64,
        "model.bottom_mlp": (13, 64),
        "model.optimizer": "sgd",
        "data.popularity": "uniform",
        "data.batch_size": 1_000_000,
        "machine.gpu": "a100-80",
    }
    takes, _ = planned(small(**one, **HYBRID, **{"policy.cache_load_factor": share}))
    assert 1e6 / takes["Find rows"] / 1e9 == pytest.approx(published, rel=0.25)


def test_one_table_over_two_memories_reads_and_writes_its_far_rows_once_a_batch():
    s = small(**HYBRID, **{"model.pooling": 7})
    far, row, vector = 0.5 * expected_accesses(s).unique_rows, kind_bytes(s, "row"), kind_bytes(s, "vector")
    _, links = planned(s)
    assert links["Find rows", "to GPU"] == pytest.approx(float(far @ vector), rel=1e-3)
    settled = settle(s)
    near = settled.system.graph(settled, expected_amounts(settled)).tasks[-1].demands[0].work.rows
    assert float(near[0]) == pytest.approx(0.5 * expected_accesses(s).unique_rows.sum(), rel=1e-3), (
        "rows in HBM alone are updated there"
    )
    for lane in ("to GPU", "from GPU"):
        assert links["Embedding update", lane] == pytest.approx(float(far @ row), rel=1e-3)
    assert not any(name == "Missing rows to GPU" for name, _ in links)


def test_as_a_cache_missing_rows_come_before_the_lookup_and_nothing_overlaps():
    s = small(**{"policy.cache_load_factor": 0.2})
    takes, links = planned(s)
    amounts = expected_amounts(settle(s))
    assert links["Missing rows to GPU", "to GPU"] == pytest.approx(float(amounts.misses[0] * amounts.moved_nbytes))
    assert takes["Missing rows to GPU"] > 0 and ("Embedding update", "to GPU") not in links
    exposed = (
        estimate(s).results["Step time [ms]"] - estimate(small(**{"policy.cache_load_factor": 1.0})).results["Step time [ms]"]
    )
    assert exposed == pytest.approx(1e3 * max(takes["Missing rows to GPU"], takes["Evicted rows to host"]), rel=0.02)


@each(
    "knobs",
    [HYBRID, {**HYBRID, "policy.cache_load_factor": 1.0}, {"policy.cache_load_factor": 0.8}, {"policy.cache_policy": "lfu"}],
    few=4,
)
@each("popularity", ["kaggle", "uniform"])
def test_estimate_and_full_run_agree(knobs, popularity):
    s = small(**{"data.popularity": popularity, **knobs})
    ours, counted = estimate(s).results, simulate(s).results
    assert ours["Step time [ms]"] == pytest.approx(counted["Step time [ms]"], rel=0.03)
    if popularity == "uniform":
        assert ours["Cache hit rate [%]"] == pytest.approx(counted["Cache hit rate [%]"], abs=1.5)


@each("optimizer", ["adam", "rowwise-adagrad"])
@each("hybrid", [False, True])
def test_memory_of_rows_and_index(optimizer, hybrid):
    """Rows begin at multiples of 16 bytes; each slot has key, score and digest in HBM, and each 128 a count of 4 bytes."""
    s = small(**{"model.optimizer": optimizer, **(HYBRID if hybrid else {})})
    settled = settle(s)
    held, rows = settled.system.nbytes_by_memory(s), 26 * 3000
    each_row = ceil(float(kind_bytes(s, "row")[0]) / 16) * 16
    slots = ceil(rows / 128) * 128 + (0 if hybrid else ceil(rows / 2 / 128) * 128)
    assert held["hbm"] == pytest.approx(rows / 2 * each_row + slots * (8 + 8 + 1 + 4 / 128))
    assert held["dram"] == pytest.approx(rows * each_row * (0.5 if hybrid else 1))


def test_a_cache_must_hold_the_rows_of_a_batch_and_one_table_need_not():
    assert "1 batch together use" in "; ".join(settle(small(**{"policy.cache_load_factor": 0.001})).problems)
    assert not settle(small(**{"policy.cache_load_factor": 0.001}, **HYBRID)).problems
    (none,) = settle(small(**{"policy.cache_load_factor": 0.0})).problems
    share = float(none.partition("raise it to ")[2].split(",")[0])
    assert not settle(small(**{"policy.cache_load_factor": share})).problems


@each("share", [0.0, 0.3, 1.0])
def test_a_share_of_all_rows_lies_in_hbm_and_the_same_ones_in_each_batch(share):
    every = np.arange(100_000)
    moves = serve_by_hash(share, np.concatenate([every, every]))
    assert moves.misses == moves.refused == moves.missed_lookups / 2 == pytest.approx(1e5 * (1 - share), rel=0.02)
    parts = [serve_by_hash(share, part) for part in np.array_split(np.random.default_rng(1).permutation(every), 3)]
    assert sum(part.misses for part in parts) == moves.misses
