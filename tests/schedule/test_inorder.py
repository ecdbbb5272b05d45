"""Do machines that follow one order of service have, to the bit, the times that events give each of them, or are refused?"""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.core import memo
from engine.core.graph import Task, TaskGraph
from engine.full_runs import runs
from engine.scenario.presets import preset
from engine.scenario.scenario import with_values
from engine.schedule import averages
from engine.schedule.kernels.totals import empty_totals
from engine.schedule.layout import accounts_of, template_of
from tests.cases import examples
from tests.schedule.test_schedule import _demand, random_graphs, seconds

MACHINES = 12


def foreground(graph):
    """Return a graph without its background work and rolling log."""
    tasks = [task for task in graph.tasks if not task.during]
    there = {task.name for task in tasks}
    parts = [tuple(name for name in waits if name in there) for task in tasks for waits in (task.after, task.after_previous)]
    pairs = zip(tasks, parts[::2], parts[1::2], strict=True)
    return TaskGraph(tuple(replace(task, after=a, after_previous=p or ("entry",), background=False) for task, a, p in pairs))


def observed(graph, times, enough, monkeypatch):
    """Return all that is observed of machines whose tasks take `times`, (P, N, K), and how many of them followed an order."""
    (points, batches, tasks), held = times.shape, []
    accounts, cells = accounts_of(graph.tasks, ("bench",))
    table = np.ascontiguousarray(times.transpose(0, 2, 1).reshape(points * tasks, batches))
    watts = np.ones((points, 1))
    taken = averages.Taken(
        np.arange(points * tasks).reshape(points, tasks), table, 3 * table, 5 * table, np.ones((tasks, batches)), watts, watts
    )
    room, real = empty_totals(points, (batches, tasks), len(cells), True), averages._in_order
    monkeypatch.setattr(averages, "ENOUGH", enough)
    monkeypatch.setattr(averages, "_in_order", lambda *given: held.append(real(*given)) or held[-1])
    template = template_of(graph, np.zeros((batches, tasks)))
    found = averages.observe(template, np.arange(batches), accounts, taken, room)
    monkeypatch.undo()
    return (*found, *room), sum(some.sum() for some in held)


@examples(40)
@given(graph=random_graphs().map(foreground), data=st.data())
def test_random_machines_that_follow_an_order_have_the_times_of_their_events(graph, data):
    batches = data.draw(st.integers(2, 6))
    row = st.lists(seconds, min_size=batches, max_size=batches)
    base = np.array([data.draw(row) for _ in graph.tasks]).T
    changed = data.draw(st.integers(0, len(graph.tasks) - 1))
    times = base * 2.0 ** np.arange(MACHINES)[:, None, None]  # in the same order, ties included
    times[::3, :, changed] = np.array(data.draw(row)) * 1.7
    with pytest.MonkeyPatch.context() as patch:
        together, _ = observed(graph, times, 2, patch)
        alone, held = observed(graph, times, 10**9, patch)
    assert not held
    for one, other in zip(together, alone, strict=True):
        np.testing.assert_array_equal(one, other)


def test_a_machine_on_which_another_task_is_ready_first_does_not_follow(monkeypatch):
    lanes = {"entry": "a", "x": "b", "y": "c", "p": "d", "q": "d", "last": "a"}
    after = {"entry": (), "x": ("entry",), "y": ("entry",), "p": ("x",), "q": ("y",), "last": ("p", "q")}
    tasks = [Task(name, "Other", (_demand(lanes[name]),), waits, () if waits else ("last",)) for name, waits in after.items()]
    times = np.ones((MACHINES, 4, len(tasks)))
    times[:, :, 1] = np.where(np.arange(MACHINES) % 3 == 1, 2.5, 0.5)[:, None]  # x ends after y on every third machine
    times[:, :, 4] = 3.0
    together, held = observed(TaskGraph(tuple(tasks)), times, MACHINES, monkeypatch)
    alone, _ = observed(TaskGraph(tuple(tasks)), times, 10**9, monkeypatch)
    assert held == MACHINES - MACHINES // 3 - 1
    for one, other in zip(together, alone, strict=True):
        np.testing.assert_array_equal(one, other)


def sweep(system, batches=30):
    """Return machines whose links differ, from slow to fast."""
    base = with_values(preset("tiny").scenario, {"system": system, "run.training": False, "run.batches": batches})
    speeds = np.geomspace(0.5, 50, MACHINES)
    changes = ("machine.cxl_bandwidth_GBps", "machine.pcie_bandwidth_GBps", "machine.network_bandwidth_GBps")
    return [with_values(base, dict.fromkeys(changes, float(speed)) | {"policy.cache_load_factor": 0.2}) for speed in speeds]


@pytest.mark.parametrize(
    ("system", "most"), [("cached-embedding", 12), ("all-hbm", 12), ("hotline", 12), ("cxl", 0), ("pmem", 0)]
)
def test_machines_whose_links_alone_differ_follow_one_order_unless_work_in_the_background_yields(system, most, monkeypatch):
    held, real = [], averages._in_order
    monkeypatch.setattr(averages, "_in_order", lambda *given: held.append(real(*given)) or held[-1])
    memo.forget()
    runs(sweep(system))
    assert sum(some.sum() for some in held) == max(most - 1, 0), "one shows the others the order"
