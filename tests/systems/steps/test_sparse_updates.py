"""Sparse updates that are not fused: does each table cost a GPU its time, and SGD nothing?"""

import numpy as np
import pytest

from engine.amounts.counted import counted_traffic
from engine.amounts.expected import expected_amounts
from engine.core.work import Pool
from engine.estimate import estimate
from engine.hardware.device import seconds
from engine.hardware.framework import FRAMEWORKS
from engine.registry import load_variant
from engine.scenario.machine import MachineKnobs
from engine.scenario.presets import preset
from engine.scenario.scenario import with_values
from engine.schedule.machine import settle
from engine.simulate import simulate
from tests.cases import each

STEP, APART, BYTES = "Step time [ms]", "host.sparse-update-of-a-table", "host.sparse-update-of-a-lookup"
TABLES = {
    "model.num_tables": 12,
    "model.num_embeddings": (20_000,),
    "model.pooling": (2,),
    "data.batch_size": 4096,
    "data.popularity": "uniform",
    "policy.cache_load_factor": 0.95,
    "run.training": False,
    "run.batches": 12,
}
SLOW = ((APART, 5000.0), (BYTES, 0.0))
XLA = {"machine.framework": "xla"}
WAYS = ("planner", "table-wise", "row-wise", "column-wise")


def under(system, optimizer="adagrad", gpus=1, **knobs):
    given = {"system": system, "model.optimizer": optimizer, "machine.num_gpus": gpus, "machine.framework": "xla"}
    return with_values(preset("torchrec-terabyte").scenario, {**TABLES, **given, **knobs})


def test_a_gpu_takes_so_long_for_each_table_and_nothing_where_there_is_nothing_to_update():
    fused, apart = (load_variant("devices", "gpu").build(MachineKnobs(framework=one)) for one in ("lean", "xla"))
    more = seconds(apart, Pool(1e6, tables=55)) - seconds(fused, Pool(1e6, tables=55))
    assert more == pytest.approx(55 * 335e-6) and seconds(apart, Pool(0.0, tables=55)) == 0
    assert seconds(apart, Pool(1e6)) == seconds(fused, Pool(1e6))


@each(("system",), ["all-hbm", "torchrec-uvm", "cached-embedding", "scratchpipe", "bagpipe", "remote-no-cache", "mtrains", "cxl"])
def test_every_system_whose_gpus_spread_gradients_pays_for_its_tables_with_state_and_none_without(system):
    near = {"machine.near_data_compute": False} if system == "cxl" else {}
    for optimizer, tables in (("adagrad", 12), ("rowwise-adagrad", 12), ("sgd", 0)):
        one = under(system, optimizer, **near)
        free = with_values(one, {"machine.assume": ((APART, 0.0), (BYTES, 0.0))})
        slow = with_values(one, {"machine.assume": SLOW})
        longer = estimate(slow).results[STEP] - estimate(free).results[STEP]
        spare = estimate(free).results[STEP]
        assert tables * 5.0 - spare <= longer <= tables * 5.0 + 1e-6
        assert (longer > 40) == (tables > 0)


def test_ids_are_made_unique_at_so_many_bytes_a_lookup():
    t, sgd = (expected_amounts(settle(under("all-hbm", one))) for one in ("adagrad", "sgd"))
    lookups = 4096 * 12 * 2
    assert (float(t.sort_bytes), float(sgd.sort_bytes)) == (lookups * (128 + 900), lookups * 128)


@each(("way", "most"), [("table-wise", 3), ("row-wise", 12), ("interleaved", 12), ("column-wise", None)])
def test_the_gpu_with_most_pieces_is_waited_for(way, most):
    settled = settle(under("all-hbm", gpus=4, **{"policy.sharding": way}))
    pieces = settled.placement.balance.pieces if settled.placement.balance else None
    if most is None:
        most = int(np.bincount(pieces.place).max())
        assert most > 3
    assert settled.placement.tables == most == expected_amounts(settled).tables == counted_traffic(settled).tables


def test_a_full_run_takes_what_the_estimate_says():
    one = under("all-hbm", gpus=4, **{"policy.sharding": "table-wise"})
    assert simulate(one).results[STEP] == pytest.approx(estimate(one).results[STEP], rel=0.01)


def test_only_a_framework_that_says_so_updates_tables_apart():
    rates = {name: load_variant("devices", "gpu").build(MachineKnobs(framework=name)).rates for name in FRAMEWORKS}
    assert {name for name, one in rates.items() if one.table > 0} == {"xla", "tensorflow"}


def test_replicated_rows_are_updated_table_by_table_too_and_so_are_not_chosen_for_it():
    whole = with_values(preset("dlrm-kaggle").scenario, {"system": "all-hbm", "model.optimizer": "adagrad", **XLA})
    one, two = (with_values(whole, {"machine.num_gpus": gpus}) for gpus in (1, 2))
    assert estimate(with_values(two, {"policy.replicated_rows": 4000.0})).results[STEP] > 26 * 0.335
    assert settle(two).placement.replicas.rows == 0
    assert 0.5 < estimate(two).results[STEP] / estimate(one).results[STEP] < 1


def test_the_planner_counts_what_a_piece_takes():
    """Of 16 like tables on 8 GPUs none is cut, though cut columns would share the work as well."""
    like = {"model.num_tables": 16, "policy.sharding": "planner"}
    plan = settle(under("all-hbm", gpus=8, **like)).placement
    assert plan.tables == 2
    uneven = {"model.num_tables": 12, "model.pooling": (1,) * 11 + (12,)}
    ways = {way: estimate(under("all-hbm", gpus=4, **uneven, **{"policy.sharding": way})).results[STEP] for way in WAYS}
    assert ways["planner"] <= min(ways.values()) * (1 + 1e-9)


def test_hotline_updates_its_tables_once_a_batch():
    asked = with_values(preset("dlrm-kaggle").scenario, {"system": "hotline", "model.optimizer": "adagrad", **XLA})
    two = with_values(asked, {"machine.num_gpus": 2})
    assert estimate(two).results[STEP] < 1.3 * 26 * 0.335
