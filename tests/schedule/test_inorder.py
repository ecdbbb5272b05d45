"""Do machines that run a graph's program together have, to the bit, the times that events give each of them, or are refused?"""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmarks.simpy_peer import ends
from engine.core import memo
from engine.core.graph import Task, TaskGraph
from engine.full_runs import runs
from engine.scenario.scenario import with_values
from engine.schedule import averages
from engine.schedule.kernels.template import Stretch
from engine.schedule.kernels.totals import empty_totals
from engine.schedule.layout import accounts_of, template_of
from engine.schedule.service import program_of
from tests.cases import examples
from tests.machines import TINY
from tests.oracles import simpy_machine
from tests.schedule.drawn import (
    BATCHES,
    GRAPHS,
    MACHINES,
    a_pipeline,
    random_graph,
    some_in_the_background,
    timed,
    with_a_barrier,
)
from tests.schedule.test_schedule import _demand


def observed(graph, times, enough, monkeypatch, stretch=averages.ONCE):
    """Return all that is observed of machines whose tasks take `times`, (P, N, K), and how many of them ran the program."""
    (points, batches, tasks), held = times.shape, []
    accounts, cells = accounts_of(graph.tasks, ("bench",))
    table = times.transpose(1, 2, 0).reshape(batches, tasks * points)  # of a task, machines beside each other
    watts, column = np.ones((1, points)), np.arange(3 * points * tasks).reshape(3, tasks, points)
    taken = averages.Taken(column, np.hstack([table, 3 * table, 5 * table]), np.ones((batches, tasks)), watts, watts)
    room, real = empty_totals(points, (batches, tasks), len(cells), True), averages._in_order
    monkeypatch.setattr(averages, "ENOUGH", enough)
    monkeypatch.setattr(averages, "_in_order", lambda *given: held.append(real(*given)) or held[-1])
    template = template_of(graph, np.zeros((batches, tasks)))
    found = averages.observe(template, np.arange(batches), accounts, taken, room, stretch)
    monkeypatch.undo()
    return (*found, *room), sum(some.sum() for some in held)


def both(graph, times, stretch=averages.ONCE):
    """Return what is observed of machines together, the same as by events, and how many ran the program."""
    with pytest.MonkeyPatch.context() as patch:
        together, held = observed(graph, times, 2, patch, stretch)
        alone, none = observed(graph, times, 10**9, patch, stretch)
    assert not none
    for one, other in zip(together, alone, strict=True):
        np.testing.assert_array_equal(one, other)
    return together, held


@examples(60)
@given(seed=st.integers(0, 2**32 - 1))
def test_random_machines_that_run_a_program_have_the_times_of_their_events(seed):
    rng = np.random.default_rng(seed)
    graph = GRAPHS[rng.integers(len(GRAPHS))](rng)
    times = timed(graph, rng, int(rng.choice([3, MACHINES, 70])))
    both(graph, times, averages.ONCE if rng.random() < 0.5 else Stretch(3, 6, 2.5))


def test_most_random_graphs_whose_times_have_no_ties_have_a_program_for_all_their_machines():
    programs = held = 0
    for seed in range(80):
        rng = np.random.default_rng(seed)
        graph = random_graph(rng)
        if program_of(template_of(graph, np.zeros((BATCHES, len(graph.tasks))))):
            programs += 1
            held += both(graph, rng.uniform(1.0, 2.0, (MACHINES, BATCHES, len(graph.tasks))))[1] == MACHINES
    assert programs > 25 and held == programs


def test_stages_whose_batches_run_several_ahead_of_each_other_run_a_program_where_what_keeps_them_in_order_takes_no_time():
    far = held = 0
    for seed in range(30):
        rng = np.random.default_rng(seed)
        graph = a_pipeline(rng)
        idle = np.array([task.name.endswith("behind") for task in graph.tasks])
        program = program_of(template_of(graph, np.zeros((BATCHES, len(graph.tasks)))), idle)
        if program is not None and program.apart > 3:
            far += 1
            held += both(graph, np.where(idle, 0.0, rng.uniform(1.0, 2.0, (MACHINES, BATCHES, len(idle)))))[1] == MACHINES
    assert far >= 5 and held == far


@pytest.mark.parametrize("drawn", [with_a_barrier, some_in_the_background])
def test_background_work_and_logs_that_are_waited_for_run_in_a_program_as_in_the_independent_model(drawn):
    programs = 0
    for seed in range(40):
        rng = np.random.default_rng(seed)
        graph = drawn(rng)
        template = template_of(graph, np.zeros((BATCHES, len(graph.tasks))))
        if (template.roll >= 0 or template.tasks["background"].any()) and program_of(template):
            times = rng.uniform(1.0, 2.0, (MACHINES, BATCHES, len(graph.tasks)))
            together, held = both(graph, times)
            model = simpy_machine.schedule(graph, times[seed % MACHINES])
            np.testing.assert_allclose(together[-2][seed % MACHINES], model.start, rtol=1e-9)
            np.testing.assert_allclose(together[-1][seed % MACHINES], model.end, rtol=1e-9)
            programs += held == MACHINES
    assert programs >= 5


def two_orders():
    """Return a graph in which q may be ready before p or after it, and who is served where."""
    lanes = {"entry": "a", "x": "b", "y": "c", "p": "d", "q": "d", "last": "a"}
    after = {"entry": (), "x": ("entry",), "y": ("entry",), "p": ("x",), "q": ("y",), "last": ("p", "q")}
    return TaskGraph(
        tuple(Task(name, "Other", (_demand(lanes[name]),), waits, () if waits else ("last",)) for name, waits in after.items())
    )


def test_machines_and_batches_with_another_order_of_service_run_the_same_program_with_the_times_that_simpy_gives():
    graph = two_orders()
    times = np.random.default_rng(3).uniform(0.5, 3.0, (MACHINES, BATCHES, 6))
    together, held = both(graph, times)
    start, end = together[-2:]
    first = start[:, :, 3] < start[:, :, 4]
    assert held == MACHINES and 0.2 < first.mean() < 0.8, "every machine serves now p, now q first"
    for p in range(MACHINES):
        np.testing.assert_array_equal(end[p], ends(graph, times[p]))


def test_at_once_the_one_that_stands_first_is_served_but_where_a_task_takes_no_time_events_decide():
    times = np.ones((MACHINES, BATCHES, 6))
    assert both(two_orders(), times)[1] == MACHINES
    times[::3, 5, 0] = 0.0
    assert both(two_orders(), times)[1] == MACHINES - 4


def test_who_is_first_in_the_second_batch_may_hang_on_the_first_which_waits_for_nobody():
    waits = {"t0": (("t1", "t3"), ()), "t1": ((), ("t0", "t2", "t3")), "t2": ((), ("t3",)), "t3": ((), ("t1",))}
    tasks = [Task(name, "Other", (_demand("a"),), after, previous) for name, (after, previous) in waits.items()]
    both(TaskGraph(tuple(tasks)), np.random.default_rng(0).uniform(1.0, 9.0, (MACHINES, BATCHES, 4)))


def test_events_tell_which_of_two_that_end_at_once_is_the_cause_where_a_task_takes_no_time():
    lanes = {"entry": "a", "x": "b", "y": "c", "z": "d", "last": "a"}
    after = {"entry": (), "x": ("entry",), "y": ("entry",), "z": ("entry",), "last": ("x", "y", "z")}
    tasks = [Task(name, "Other", (_demand(lanes[name]),), who, () if who else ("last",)) for name, who in after.items()]
    times = np.ones((MACHINES, BATCHES, 5))
    assert both(TaskGraph(tuple(tasks)), times)[1] == MACHINES
    times[::3, :, 3] = 0.0
    assert both(TaskGraph(tuple(tasks)), times)[1] == MACHINES - 4


def test_a_graph_in_which_a_batch_may_overtake_by_any_number_has_no_program():
    tasks = [Task("slow", "Other", (_demand("a"),), (), ("slow",)), Task("quick", "Other", (_demand("b"),), (), ("quick",))]
    tasks.append(Task("shared", "Other", (_demand("c"),), ("slow",)))
    tasks.append(Task("other", "Other", (_demand("c"),), ("quick",)))
    assert program_of(template_of(TaskGraph(tuple(tasks)), np.zeros((BATCHES, 4)))) is None


def sweep(system, batches=30):
    """Return machines whose links differ, from slow to fast."""
    base = with_values(TINY, {"system": system, "run.training": False, "run.batches": batches})
    speeds = np.geomspace(0.5, 50, MACHINES)
    changes = ("machine.cxl_bandwidth_GBps", "machine.pcie_bandwidth_GBps", "machine.network_bandwidth_GBps")
    return [
        with_values(
            base, dict.fromkeys(changes, float(speed)) | {"policy.cache_load_factor": 0.5, "policy.look_ahead_batches": 2}
        )
        for speed in speeds
    ]


@pytest.mark.parametrize(
    ("system", "most"),
    [
        ("cached-embedding", 12),
        ("all-hbm", 12),
        ("hotline", 12),
        ("torchrec-uvm", 12),
        ("cold-in-dram", 12),
        ("cxl", 0),
        ("scratchpipe", 12),
        ("cxl-b", 12),
        ("cxl-d", 12),
        ("pmem", 12),
        ("ssd", 12),
        ("bagpipe", 12),
        ("proactive", 0),
    ],
)
def test_machines_whose_links_alone_differ_run_a_program_unless_a_log_spans_batches_or_an_order_hangs_on_what_is_interrupted(
    system, most, monkeypatch
):
    held, real = [], averages._in_order
    monkeypatch.setattr(averages, "_in_order", lambda *given: held.append(real(*given)) or held[-1])
    memo.forget()
    runs(sweep(system))
    assert sum(some.sum() for some in held) == most
