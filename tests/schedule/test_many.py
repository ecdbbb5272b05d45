"""Do estimates of many points together, by what was remembered of others, say what each says alone and computed anew?"""

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st
from numba.extending import is_jitted

from engine.core import memo
from engine.errors import EmberpoolError
from engine.estimate import estimate
from engine.estimates import design_points, estimates
from engine.insight.knobs.effect import moved_scenarios
from engine.registry import variant_names
from engine.scenario.keys import key
from engine.scenario.presets import preset
from engine.scenario.scenario import KNOBS, with_values
from engine.schedule import averages
from engine.schedule.kernels import totals
from engine.schedule.machine import expected_timeline, machine_of, run_timeline, settle
from engine.service import worker
from engine.service.queue import live_requests, open_points
from engine.store import requests, result_rows
from engine.store.database import open_store
from tests.cases import each, examples
from tests.machines import TINY, every_machine
from tests.strategies import under_any_system

STEP = "Step time [ms]"


def anew(scenario):
    """Return what an estimate says when nothing is remembered."""
    memo.clear_memos()
    try:
        found = estimate(scenario)
        return found.results, found.outcome, found.warnings, found.finding
    except EmberpoolError as error:
        return {}, str(error), (), ""


def told(result):
    return result.results, result.outcome, result.warnings, result.finding


@examples(12)
@given(st.lists(under_any_system(), min_size=2, max_size=5))
def test_points_estimated_together_say_to_the_bit_what_each_says_alone(some):
    alone = [anew(scenario) for scenario in some]
    for order in (some, some[::-1]):
        found = dict(zip(order, map(told, estimates(order)), strict=True))
        assert [found[scenario] for scenario in some] == alone


@each("system", ["cxl", "mtrains", "bagpipe", "fae"], few=1)
def test_whichever_knob_changes_what_is_remembered_is_not_taken_for_it(system):
    base = with_values(TINY, {"system": system})
    some = [base, *(next(iter(moved_scenarios(base, knob)), base) for knob in KNOBS.values())]
    random.Random(system).shuffle(some)
    estimates(some[::3])
    warm = [told(result) for result in estimates(some)]
    assert warm == [anew(scenario) for scenario in some]


MACHINES = [*dict(every_machine()).items()][::12] + [
    (f"{name} {system}", with_values(preset(name).scenario, {"system": system}))
    for name in ("dlrm-kaggle", "cached-embedding-kaggle")
    for system in variant_names("systems")
]


@each(("name", "scenario"), MACHINES, few=26)
def test_an_estimate_is_the_average_of_its_timeline(name, scenario):
    settled = settle(scenario)
    if settled.problems:
        assert not estimates([scenario])[0].ran
        return
    average, (found,) = run_timeline(machine_of(settled)).steady, estimates([scenario])
    assert found.results[STEP] == pytest.approx(1e3 * average.step, rel=1e-9)
    assert found.results["Energy per batch [J]"] == pytest.approx(average.energy, rel=1e-9)
    assert found.results["Checkpoint energy [J]"] == pytest.approx(estimate(scenario).ledger[1]["Energy [J]"], rel=1e-9)


POINTS = [with_values(TINY, {"machine.cxl_bandwidth_GBps": 1.0 + n}) for n in range(5)]
REFUSED = with_values(POINTS[0], {"system": "cxl-d", "policy.relaxed_lookup": True})
FULL = with_values(POINTS[0], {"system": "pmem", "machine.pmem_capacity_GB": 1.0, "model.num_embeddings": (4 * 10**9,)})


def test_a_worker_estimates_its_chunk_together_and_each_point_ends_in_its_own_way(tmp_path, monkeypatch):
    path, asked = tmp_path / "store.sqlite", [*POINTS, REFUSED, FULL]
    computed_alone = []
    alone = worker._ending
    monkeypatch.setattr(worker, "_ending", lambda *given: computed_alone.append(given[1]) or alone(*given))
    number = requests.submit(path, asked, "estimate")
    with open_store(path) as store:
        (turn,), points = live_requests(store, {}), tuple(open_points(store, number, -1, 99))
    ended = worker.compute_chunk(worker.Chunk(str(path), turn, points))
    changes = {point.key: point.changes for point in points}
    assert (ended.trouble, computed_alone) == ("", [changes[key(REFUSED, "estimate")]])
    found = [result for _, result in result_rows.stored_results(path, asked, "estimate")]
    assert [told(one)[:2] for one in found] == [anew(one)[:2] for one in asked]
    assert "looks rows up after the update" in found[5].outcome
    assert "cannot hold" in found[6].outcome and not any(one.timeline or one.breakdown for one in found)


@each("knobs", [{}, {"machine.energy_level": "room"}, {"machine.constant_power": True}])
def test_machines_that_differ_in_one_device_share_all_others(knobs):
    base = with_values(TINY, {"system": "cached-embedding", **knobs})
    machines = [machine_of(settle(with_values(base, {"machine.pcie_bandwidth_GBps": rate}))).devices for rate in (8.0, 16.0)]
    assert {name for name in machines[0] if machines[0][name] is not machines[1][name]} == {"pcie"}


def test_every_kernel_is_compiled_for_one_layout_of_its_arrays():
    """A second layout, such as a slice's, would compile again at somebody's first question, for five seconds."""
    slow_and_fast = [
        with_values(preset("optane-kaggle").scenario, {"machine.cxl_bandwidth_GBps": rate}) for rate in (0.1, 1.0, 1000.0)
    ]
    queues = {int(expected_timeline(machine_of(settle(one))).log_queue) for one in slow_and_fast}
    assert len(queues) > 1, "the log waits at the link of some, at the memory of others"
    estimates([*slow_and_fast, *(with_values(TINY, {"system": name}) for name in variant_names("systems"))])
    kernels = [kernel for module in (averages, totals) for kernel in vars(module).values() if is_jitted(kernel)]
    several = {kernel.__name__: kernel.signatures for kernel in kernels if len(kernel.signatures) > 1}
    assert len(kernels) > 8 and several == {}


def test_a_plan_keeps_the_costs_of_few_of_the_machines_that_it_has_met():
    # A server's visitors move a link to ever other bandwidths, one at a time; the plan stays for all of them.
    start = preset("tiny").scenario
    bandwidths = [{"machine.cxl_bandwidth_GBps": 4.0 + link / 8} for link in range(200)]
    plans = {}
    for bandwidth in bandwidths:
        (point,) = design_points([with_values(start, bandwidth)])
        point.plan.layout.demand_costs([point.machine.devices])
        plans[id(point.plan)] = point.plan
    assert len(plans) == 2  # links slower than a GPU's port, and links that fill it
    assert all(1 < len(plan.layout.costs) <= 64 for plan in plans.values())
