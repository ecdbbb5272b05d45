"""How many nodes does a model need: for its bytes, for a throughput asked for, and where the answer is a sentence?"""

import inspect
from math import ceil

import numpy as np
import pytest

from engine.core.hashing import Purpose, key
from engine.estimate import estimate
from engine.hardware.devices.gpu import memory_bytes
from engine.registry import load_variant
from engine.scenario.presets import preset
from engine.scenario.scenario import Scenario, with_values
from engine.schedule import machine
from engine.schedule.machine import MAX_NODES, fewest_nodes, with_nodes
from engine.systems.capacity import fit
from engine.systems.placement import USABLE
from engine.systems.traffic import activation_bytes, mlp_bytes, table_bytes
from engine.units import GiB
from engine.validation.workload_figures import META_REUSE, reuse_shares
from engine.workload.popularity import popularities
from engine.workload.sampling import draw_ids, sampler

MTRAINS = preset("mtrains-capacity").scenario
NODES, RATE = "Nodes", "Throughput [samples/s]"


def test_capacity_takes_the_tables_bytes_over_what_a_nodes_memories_can_hold():
    asked = with_values(MTRAINS, {"system": "dram-hbm-nodes"})
    count = fewest_nodes(asked, load_variant("systems", asked.system))
    assert count is not None
    m = with_nodes(asked, count).machine
    gpu = memory_bytes(m) - 2 * mlp_bytes(asked) - activation_bytes(with_nodes(asked, count))
    usable = USABLE.value * (m.gpus_per_node * gpu + m.host_dram_GiB * GiB)
    assert count == pytest.approx(ceil(table_bytes(asked) / usable), abs=1)  # whole tables leave gaps
    assert 8 <= count <= 32
    assert not fit(with_nodes(asked, count)).problems
    assert fit(with_nodes(asked, count - 1)).problems


def first_that_holds(asked):
    counts = range(1, MAX_NODES + 1)
    return next((count for count in counts if not fit(with_nodes(asked, count)).problems), None)


@pytest.mark.parametrize(("dim", "tried_at_most"), [(8, 2), (128, 12), (4096, 18)])
def test_few_counts_of_nodes_are_tried_most_of_them_low(dim, tried_at_most, monkeypatch):
    tried = []
    asked = with_values(MTRAINS, {"system": "dram-hbm-nodes", "model.embedding_dim": dim, "model.bottom_mlp": (13, dim)})
    place = machine.place_and_size
    monkeypatch.setattr(machine, "place_and_size", lambda s, system: tried.append(s.machine.num_gpus) or place(s, system))
    count = inspect.unwrap(fewest_nodes)(asked, load_variant("systems", asked.system))
    assert count == first_that_holds(asked) and len(tried) <= tried_at_most
    assert count is None or max(tried) <= 2 * count * asked.machine.gpus_per_node


def test_a_target_takes_the_fewest_nodes_that_reach_it():
    result = estimate(MTRAINS)
    count = int(result.results[NODES])
    assert result.results[RATE] >= MTRAINS.machine.target_throughput
    assert count > 1
    fewer = estimate(with_nodes(MTRAINS, count - 1))
    assert fewer.results[RATE] < MTRAINS.machine.target_throughput
    assert estimate(with_nodes(MTRAINS, count)).results == result.results
    more = estimate(with_values(MTRAINS, {"machine.target_throughput": 1.01 * result.results[RATE]}))
    assert more.results[NODES] == count + 1


def test_the_presets_target_is_what_two_nodes_train_when_memory_is_no_limit():
    free = with_values(with_nodes(MTRAINS, 2), {"system": "dram-hbm-nodes", "machine.assume": (("gpu.memory", 1e5),)})
    assert 0.82 <= MTRAINS.machine.target_throughput / estimate(free).results[RATE] <= 0.88


def test_a_target_out_of_reach_is_answered_with_the_most_there_is():
    result = estimate(with_values(Scenario(), {"system": "all-hbm", "machine.target_throughput": 1e12}))
    assert not result.ran
    assert "machine.target_throughput=1e+12 samples/s is out of reach" in result.outcome


def test_a_model_that_no_number_of_nodes_holds_says_what_it_lacks():
    result = estimate(
        with_values(MTRAINS, {"system": "dram-hbm-nodes", "model.embedding_dim": 4096, "model.bottom_mlp": (13, 4096)})
    )
    assert not result.ran
    assert f"each of {MAX_NODES} nodes" in result.outcome


def test_a_system_of_one_node_refuses_a_target():
    result = estimate(with_values(Scenario(), {"machine.target_throughput": 1e3}))
    assert "machine.target_throughput is not possible: system=cxl trains on one node of up to 8 GPUs" in result.outcome


def test_an_estimate_of_856_tables_is_quick_once_their_popularity_is_known():
    asked = with_nodes(preset("meta-856").scenario, 2)
    assert asked.model.num_tables == 856
    assert sum(rows > 1 for rows in asked.model.num_embeddings) == 587
    assert sum(asked.model.num_embeddings) == pytest.approx(2.33e9, rel=0.01)
    used = [lookups for lookups, rows in zip(asked.model.pooling, asked.model.num_embeddings, strict=True) if rows > 1]
    assert np.mean(used) == pytest.approx(8.3, abs=0.05)
    assert estimate(asked).ran


def test_the_reuse_of_metas_rows_is_what_drawn_ids_have():
    law = popularities(with_values(Scenario(), {"data.popularity": "meta", "model.num_embeddings": (300_000,)}))[0]
    ids = draw_ids(sampler((law,)), key(5, Purpose.IDS), np.array([0, 2_500_000]), np.array([0, 2**50]))
    uses = np.unique(ids, return_counts=True)[1]
    rows, accesses = reuse_shares(law, uses.mean())
    assert rows == pytest.approx([(uses > often).mean() for often in META_REUSE], abs=0.004)
    assert accesses == pytest.approx([uses[uses > often].sum() / uses.sum() for often in META_REUSE], abs=0.004)
