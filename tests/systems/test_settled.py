"""Is what is settled of a scenario handed down, worked out once, and never asked for again?"""

from dataclasses import replace

import pytest

from engine.amounts.counted import counted_traffic
from engine.amounts.expected import expected_traffic
from engine.analysis.uncertainty import bands
from engine.core.memo import clear_memos
from engine.errors import BadKnob, CannotRun
from engine.registry import load_variant, variant_names
from engine.scenario.presets import preset
from engine.scenario.scenario import Scenario, with_values
from engine.schedule.machine import settle, sized_scenario
from engine.systems.row_kinds import row_bytes
from engine.systems.system import Settled
from engine.systems.traffic import mlp_bytes
from tests.cases import each

DIVIDED = [name for name in variant_names("systems") if load_variant("systems", name).parts_kind]
# Systems with steps between parts, here; all batches of fae are hot, and ask its hosts nothing.
CROSSING = {
    "cxl",
    "cxl-b",
    "cxl-d",
    "dram",
    "all-hbm",
    "torchrec-uvm",
    "hierarchical-kv",
    "cached-embedding",
    "scratchpipe",
    "cpu-only",
    "cpu-gpu",
    "dram-hbm-nodes",
    "mtrains",
}
LINK = "machine.cxl_bandwidth_GBps"


def settled_by_hand(system: str, plan: str) -> Settled:
    """Return a model of three tables, each on the part that the plan says, of four parts in two groups."""
    machine = {"machine.num_gpus": 4, "machine.gpus_per_node": 2, "machine.embedding_servers": 4}
    if load_variant("systems", system).parts_kind == "modules":
        machine = {"machine.num_expanders": 2, "machine.pmem_module_GB": 1.0, "machine.pmem_capacity_GB": 4.0}
        machine["machine.expander_dram_channels"] = 4
    if load_variant("systems", system).parts_kind == "nodes":
        machine["machine.gpus_per_node"] = 1
    if load_variant("systems", system).parts_kind == "copied":
        machine |= {"machine.gpus_per_node": 4, "policy.cache_load_factor": 0.5}
    model = {"model.num_tables": 3, "model.num_embeddings": (1000, 40_000, 300), "model.pooling": (2, 1, 7)}
    knobs = {"system": system, "policy.plan": plan, "data.batch_size": 64, "run.batches": 3, "run.training": False}
    settled = settle(with_values(Scenario(), {**machine, **model, **knobs}))
    assert not settled.problems and settled.placement.balance
    return settled


@each("system", DIVIDED)
def test_amounts_and_plans_of_batches_follow_from_the_placement_that_is_handed_down(system):
    """As if of another's scenario it had all but the plan of tables: whoever asked the scenario again would find its own."""
    own, other = settled_by_hand(system, "0;1;2"), settled_by_hand(system, "3;0;3")
    mixed = replace(own, placement=other.placement)
    for traffic in (lambda settled: expected_traffic(settled, 3), counted_traffic):
        assert repr(traffic(mixed)) == repr(traffic(other)) != repr(traffic(own))
    t = expected_traffic(own, 3)
    assert repr(own.system.graph(mixed, t)) == repr(own.system.graph(other, t))
    assert (repr(own.system.graph(own, t)) != repr(own.system.graph(mixed, t))) == (system in CROSSING)


def test_the_fullest_gpu_holds_the_tables_that_the_plan_gives_it():
    settled = settled_by_hand("all-hbm", "3;0;3")
    rows, s = (1000 + 300, 40_000), settled.scenario
    assert settled.sizes.gpu_bytes == pytest.approx(max(rows) * row_bytes(s) + 2 * mlp_bytes(s))
    assert settled.sizes.gpu_bytes == pytest.approx(settled_by_hand("all-hbm", "0;1;2").sizes.gpu_bytes)
    assert settled_by_hand("all-hbm", "3;3;3").sizes.gpu_bytes == pytest.approx(sum(rows) * row_bytes(s) + 2 * mlp_bytes(s))


def test_the_log_policy_that_is_handed_down_is_planned_by():
    own, strict = (settle(with_values(preset("tiny").scenario, {"system": name})) for name in ("cxl", "cxl-b"))
    t = expected_traffic(own, 4)
    assert repr(own.system.graph(replace(own, log_policy=strict.log_policy), t)) == repr(strict.system.graph(strict, t))
    assert repr(own.system.graph(own, t)) != repr(strict.system.graph(strict, t))


@pytest.mark.parametrize("system", ["cxl", "all-hbm"])
def test_a_link_needs_no_new_settlement_and_a_batch_size_does(system):
    clear_memos()
    base = with_values(preset("optane-kaggle").scenario, {"system": system, "machine.pmem_capacity_GB": 768.0})
    some = [settle(with_values(base, {LINK: gbps, "policy.warm_caches": warm})) for gbps in (1.0, 9.0) for warm in (True, False)]
    assert all(one.placement is some[0].placement and one.sizes is some[0].sizes for one in some)
    assert [one.scenario.machine.cxl_bandwidth_GBps for one in some] == [1.0, 1.0, 9.0, 9.0]
    assert settle(with_values(base, {"data.batch_size": 64})).sizes is not some[0].sizes


def test_an_automatic_capacity_stays_along_a_link_and_follows_its_lanes():
    """Optane reads 6.6 GB/s a module: four lanes of generation 5, 12.9 GB/s, feed 2, and 6 are a set, whatever more there is."""
    base = with_values(preset("optane-kaggle").scenario, {"system": "cxl", "machine.pmem_capacity_GB": None})

    def modules(**machine: float) -> float:
        asked = with_values(base, {f"machine.{name}": value for name, value in machine.items()})
        return (settle(asked).scenario.machine.pmem_capacity_GB or 0.0) / 128

    assert [modules(cxl_bandwidth_GBps=gbps) for gbps in (1.0, 13.0, 200.0)] == [6, 6, 6]
    assert [modules(cxl_lanes=lanes) for lanes in (1, 4, 8, 16)] == [1, 2, 4, 6]


def test_a_policy_that_cannot_be_is_refused_by_what_plans_and_sizes_nothing_less():
    base = preset("tiny").scenario
    refused = with_values(base, {"system": "pmem", "policy.relaxed_lookup": True})
    with pytest.raises(BadKnob, match="looks rows up after the update"):
        settle(refused)
    with pytest.raises(CannotRun, match="looks rows up after the update"):
        bands(refused, 2)
    assert sized_scenario(refused).machine == sized_scenario(with_values(base, {"system": "pmem"})).machine != refused.machine


def test_what_is_chosen_makes_the_settled_scenario_and_nothing_else_does():
    base = with_values(preset("torchrec-terabyte").scenario, {"machine.num_gpus": 1, "machine.target_throughput": 1e5})
    settled = settle(base)
    assert settled.scenario == with_values(base, settled.sizes.knobs) == sized_scenario(base)
    assert {"machine.num_gpus", "machine.target_throughput"} <= settled.sizes.knobs.keys()
    again = settle(settled.scenario)
    assert again.scenario == settled.scenario and again.sizes.gpu_bytes == settled.sizes.gpu_bytes
