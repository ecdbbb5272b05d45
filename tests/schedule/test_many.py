"""Do estimates of many points together, by what was remembered of others, say what each says alone and computed anew?"""

import random
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.amounts.expected import expected_traffic
from engine.core import memo
from engine.core.graph import TaskGraph
from engine.core.work import Stream
from engine.errors import EmberpoolError
from engine.estimate import estimate
from engine.estimates import estimates
from engine.insight.knob_effect import moved
from engine.registry import names
from engine.scenario.keys import key
from engine.scenario.presets import preset
from engine.scenario.scenario import KNOBS, with_values
from engine.schedule import averages
from engine.schedule.averages import schedule_alone
from engine.schedule.kernels.periodic import CHECKS, LEAPT
from engine.schedule.machine import expected_line, machine_of, run_line, schedule, settle
from engine.schedule.timeline import timeline
from engine.service import worker
from engine.service.queue import open_points, turns
from engine.store import kept, requests
from engine.store.database import opened
from tests.cases import each, examples
from tests.machines import TINY, every_machine
from tests.schedule.test_schedule import BENCH, random_graphs, seconds
from tests.strategies import under_any_system

STEP = "Step time [ms]"


def anew(scenario):
    """Return what an estimate says when nothing is remembered."""
    memo.forget()
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
    some = [base, *(next(iter(moved(base, knob)), base) for knob in KNOBS.values())]
    random.Random(system).shuffle(some)
    estimates(some[::3])
    warm = [told(result) for result in estimates(some)]
    assert warm == [anew(scenario) for scenario in some]


MACHINES = [*dict(every_machine()).items()][::12] + [
    (f"{name} {system}", with_values(preset(name).scenario, {"system": system}))
    for name in ("dlrm-kaggle", "cached-embedding-kaggle")
    for system in names("systems")
]


@each(("name", "scenario"), MACHINES)
def test_an_estimate_is_the_average_of_its_timeline_simulated_batch_by_batch(name, scenario):
    settled = settle(scenario)
    if settled.problems:
        assert not estimates([scenario])[0].ran
        return
    m = machine_of(settled.scenario)
    line = run_line(m)
    line = replace(line, averages=batch_by_batch(line)[1])
    average, (found,) = line.steady, estimates([scenario])
    assert found.results[STEP] == pytest.approx(1e3 * average.step, rel=1e-9)
    assert found.results["Energy per batch [J]"] == pytest.approx(average.energy, rel=1e-9)
    assert found.results["Checkpoint energy [J]"] == pytest.approx(estimate(scenario).ledger[1]["Energy [J]"], rel=1e-9)


def batch_by_batch(line):
    """Return the schedule and its averages without leaps: to it, no two batches are alike."""
    template = line.template._replace(alike=np.arange(len(line.kind)))
    return schedule_alone(template, line.kind, line.layout.accounts, line.taken, line.layout.stretch)


def same(leaping, plain):
    one, other = leaping.tasks, plain.tasks
    np.testing.assert_allclose(one["start"], other["start"], rtol=1e-9, atol=0)
    np.testing.assert_allclose(one["end"], other["end"], rtol=1e-9, atol=0)
    unlike = one["cause"] != other["cause"]  # two that end in one instant, but for rounding, are both the cause
    causes = one["cause"][unlike], other["cause"][unlike]
    assert (np.minimum(*causes) >= 0).all()
    np.testing.assert_allclose(other["end"][causes[0]], other["end"][causes[1]], rtol=1e-9, atol=0)
    np.testing.assert_array_equal(leaping.stale, plain.stale)


@each(("name", "scenario"), MACHINES)
def test_turns_that_are_leapt_over_are_filled_in_as_if_simulated(name, scenario):
    settled = settle(scenario)
    if not settled.problems:
        line = expected_line(machine_of(settled.scenario))
        same(line.state, batch_by_batch(line)[0])


@each("system", names("systems"), few=6)
def test_a_training_loop_that_runs_ahead_of_its_batches_keeps_no_system_from_leaping(system, monkeypatch):
    kept, real = [], averages.Past.empty
    monkeypatch.setattr(averages.Past, "empty", lambda *given: kept.append(real(*given)) or kept[-1])
    m = machine_of(settle(with_values(preset("dlrm-kaggle").scenario, {"system": system})).scenario)
    line = schedule(m, expected_traffic(m.scenario, system, 2000))
    assert kept[-1].counts[LEAPT] or kept[-1].counts[CHECKS] < 400, "it was simulated batch by batch"
    same(line.state, batch_by_batch(line)[0])


@examples(60)
@given(graph=random_graphs(), data=st.data())
def test_random_graphs_of_equal_batches_leap_to_where_they_would_have_come(graph, data):
    times = np.array([data.draw(seconds) for _ in graph.tasks])
    times += [1e-4 * np.sqrt(2 + k) if task.during else 1e-4 * np.sqrt(11 + k) for k, task in enumerate(graph.tasks)]
    odd = data.draw(st.integers(0, 60))  # a batch that is not like the others
    rows = np.where(np.arange(60) == odd, 2.0, 1.0)[:, None] * times
    tasks = [replace(task, demands=(replace(task.demands[0], work=Stream(rows[:, k])),)) for k, task in enumerate(graph.tasks)]
    line = timeline(TaskGraph(tuple(tasks)), BENCH, 60)
    same(line.state, batch_by_batch(line)[0])


POINTS = [with_values(TINY, {"machine.cxl_bandwidth_GBps": 1.0 + n}) for n in range(5)]
REFUSED = with_values(POINTS[0], {"system": "cxl-d", "policy.relaxed_lookup": True})
FULL = with_values(POINTS[0], {"system": "pmem", "machine.pmem_capacity_GB": 1.0, "model.num_embeddings": (4 * 10**9,)})


def test_a_worker_estimates_its_chunk_together_and_each_point_ends_in_its_own_way(tmp_path, monkeypatch):
    path, asked = tmp_path / "store.sqlite", [*POINTS, REFUSED, FULL]
    computed_alone = []
    alone = worker._ending
    monkeypatch.setattr(worker, "_ending", lambda *given: computed_alone.append(given[1]) or alone(*given))
    number = requests.submit(path, asked, "estimate")
    with opened(path) as store:
        (turn,), points = turns(store, {}), tuple(open_points(store, number, -1, 99))
    ended = worker.compute_chunk(worker.Chunk(str(path), turn, points))
    changes = {point.key: point.changes for point in points}
    assert (ended.trouble, computed_alone) == ("", [changes[key(REFUSED, "estimate")]])
    found = [result for _, result in kept.outcomes(path, asked, "estimate")]
    assert [told(one)[:2] for one in found] == [anew(one)[:2] for one in asked]
    assert "looks rows up after the update" in found[5].outcome
    assert "cannot hold" in found[6].outcome and not any(one.timeline or one.breakdown for one in found)


@each("knobs", [{}, {"machine.energy_level": "wall"}, {"machine.constant_power": True}])
def test_machines_that_differ_in_one_device_share_all_others(knobs):
    base = with_values(TINY, {"system": "cached-embedding", **knobs})
    machines = [machine_of(with_values(base, {"machine.pcie_bandwidth_GBps": rate})).devices for rate in (8.0, 16.0)]
    assert {name for name in machines[0] if machines[0][name] is not machines[1][name]} == {"pcie"}
