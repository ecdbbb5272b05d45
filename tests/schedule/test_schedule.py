"""Does an independent SimPy model agree on every start and end, and do exposed seconds sum to the step?"""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.core.graph import Task, TaskGraph
from engine.schedule.machine import schedule
from engine.schedule.timeline import timeline
from tests.cases import each, examples
from tests.machines import every_machine, flow, ready, task_graph, uneven
from tests.oracles import simpy_machine
from tests.schedule.drawn import BENCH, GRAPHS, demand, lasting

BATCHES = 16
MACHINES = dict(every_machine())
every = each("name", MACHINES, few=48)


def plan(name):
    """Return the machine of a scenario and uneven batches for it."""
    asked = MACHINES[name]
    return ready(asked), uneven(flow(asked, BATCHES))


def agree(line, oracle):
    """Hold every start and end against the oracle's, and the ages of the log."""
    np.testing.assert_allclose(line.start, oracle.start, rtol=1e-9, atol=0)
    np.testing.assert_allclose(line.end, oracle.end, rtol=1e-9, atol=0)
    np.testing.assert_array_equal(line.course.staleness, oracle.stale)


@every
def test_every_start_and_end_is_the_independent_models(name):
    machine, amounts = plan(name)
    line = schedule(machine, amounts)
    oracle = simpy_machine.schedule(line.graph, simpy_machine.durations(task_graph(machine, amounts), machine.devices, BATCHES))
    agree(line, oracle)


def test_among_these_machines_are_logs_that_span_batches_and_logs_that_are_waited_for():
    lines = {name: schedule(*plan(name)) for name in MACHINES if " cxl " in name}
    assert any(np.isnan(line.end[2:-2, line.template.roll]).any() for line in lines.values())
    assert {1, 3} <= {int(line.course.staleness.max()) for line in lines.values()}
    assert any(line.course.staleness.max() > 3 for line in lines.values())


seconds = st.sampled_from([0.0, 0.0, 1.0, 2.0]) | st.floats(1e-3, 3)


@st.composite
def random_graphs(draw):
    """Draw a graph in which batch n + 1 begins after `last`, and tasks wait for random earlier ones."""
    names = [f"task {k}" for k in range(draw(st.integers(1, 6)))]
    lanes = st.sampled_from(["a", "b", "c"])
    tasks = [Task("entry", "Other", (demand(draw(lanes)),), previous_batch_predecessors=("last",))]
    for k, name in enumerate(names):
        after = {"entry", *draw(st.lists(st.sampled_from(["entry", *names[:k]]), max_size=3))}
        previous = tuple(draw(st.lists(st.sampled_from(["entry", *names, "last"]), max_size=2)))
        tasks.append(Task(name, "Other", (demand(draw(lanes)),), tuple(after), previous, background=draw(st.booleans())))
    foreground = [task.name for task in tasks if not task.background]
    log = draw(st.booleans())
    if log:
        gate, bound = draw(st.sampled_from(foreground)), draw(st.integers(0, 3))
        tasks.append(Task("log", "Checkpoint", (demand(draw(lanes)),), ("entry",), gate_task=gate, staleness_bound=bound))
    after = tuple(draw(st.lists(st.sampled_from(["entry", *names]), min_size=1, max_size=3))) + (("log",) if log else ())
    tasks.append(Task("last", "Other", (demand(draw(lanes)),), after))
    if draw(st.booleans()):
        tasks.append(Task("loop", "Other", (demand("d"),), (), ("loop",)))  # which may run ahead by any number of batches
    if log and draw(st.booleans()):
        tasks.append(Task("beside", "Other", (demand(draw(lanes)),), ("entry",), ("log",)))
    return TaskGraph(tuple(tasks))


def _no_photo_finish(graph, times):
    """Keep a log from ending in the very instant its gate task ends: no sentence says which of the two is first."""
    for task in graph.tasks:
        for name, odd in ((task.name, np.sqrt(2)), (task.gate_task, np.sqrt(3))) if task.gate_task else ():
            times[:, graph.index(name)] += 1e-4 * odd * np.arange(1, len(times) + 1)


@examples(50)
@given(graph=random_graphs(), data=st.data())
def test_random_graphs_run_as_in_the_independent_model(graph, data):
    batches = data.draw(st.integers(2, 6))
    row = st.lists(seconds, min_size=batches, max_size=batches)
    times = np.array([data.draw(row) for _ in graph.tasks]).T
    _no_photo_finish(graph, times)
    agree(timeline(lasting(graph, times), BENCH, batches), simpy_machine.schedule(graph, times))


@pytest.mark.parametrize("drawn", GRAPHS)
def test_graphs_whose_batches_overlap_run_as_in_the_independent_model(drawn):
    for seed in range(30):
        rng = np.random.default_rng(seed)
        graph = drawn(rng)
        times = rng.uniform(1.0, 2.0, (BATCHES, len(graph.tasks)))
        agree(timeline(lasting(graph, times), BENCH, BATCHES), simpy_machine.schedule(graph, times))


@every
def test_the_exposed_seconds_of_all_tasks_sum_to_the_step_time(name):
    line = schedule(*plan(name))
    ends = np.nanmax(np.where([t.background or bool(t.gate_task) for t in line.graph.tasks], np.nan, line.end), axis=1)
    step = (ends[-1] - ends[1]) / (BATCHES - 2)
    exposed = line.averages.exposed[0]
    assert (exposed >= 0).all()
    assert exposed.sum() == pytest.approx(step, rel=1e-9)
