"""Random graphs: overlapping batches, background work, logs that are waited for, pipelines that run ahead."""

from dataclasses import replace
from itertools import pairwise

from engine.core.graph import Demand, Task, TaskGraph
from engine.core.work import Stream
from engine.hardware.device import Device

BENCH = {"bench": Device("bench", "A bench", {Stream: lambda rates, work: work.nbytes})}  # a byte takes a second


def lasting(graph, times):
    """Return the graph with tasks that take `times`, (N, K) seconds."""
    works = [Stream(times[:, k]) for k in range(len(graph.tasks))]
    pairs = zip(graph.tasks, works, strict=True)
    return TaskGraph(tuple(replace(task, demands=(replace(task.demands[0], work=work),)) for task, work in pairs))


def demand(lane):
    """Return a demand of a bench device that queues in a lane."""
    return Demand("bench", Stream(1.0), lane)


def random_graph(rng):
    """Return a graph of foreground tasks whose batches overlap: some server may have tasks of several at once."""
    number, lanes, rank = rng.integers(2, 9), rng.integers(1, 4), rng.random(8)
    tasks = []
    for k in range(number):
        predecessors = [f"t{j}" for j in range(number) if rank[j] < rank[k] and rng.random() < 0.35]
        previous = [f"t{j}" for j in range(number) if rng.random() < 0.2]
        previous = previous if predecessors or previous else [f"t{rng.integers(number)}"]
        tasks.append(Task(f"t{k}", "Other", (demand("abc"[rng.integers(lanes)]),), tuple(predecessors), tuple(previous)))
    return TaskGraph(tuple(tasks))


def with_a_barrier(rng):
    """Return a graph some of whose tasks are background work, most with a log that each batch waits for."""
    names = [f"t{k}" for k in range(rng.integers(2, 7))]
    tasks = [Task("entry", "Other", (demand("a"),), (), ("last",))]
    for k, name in enumerate(names):
        predecessors = tuple(predecessor for predecessor in names[:k] if rng.random() < 0.35)
        previous = tuple(predecessor for predecessor in names if rng.random() < 0.15)
        lane, background = "abc"[rng.integers(3)], bool(rng.random() < 0.3)
        tasks.append(Task(name, "Other", (demand(lane),), predecessors or ("entry",), previous, background))
    awaited_tasks = tuple(predecessor for predecessor in names if rng.random() < 0.4) or (names[-1],)
    if rng.random() < 0.7:
        gate = str(rng.choice([task.name for task in tasks if not task.background]))
        tasks.append(Task("log", "Checkpoint", (demand("abc"[rng.integers(3)]),), (str(rng.choice(names)),), gate_task=gate))
        awaited_tasks += ("log",)
    tasks.append(Task("last", "Other", (demand("abc"[rng.integers(3)]),), awaited_tasks))
    return TaskGraph(tuple(tasks[k] for k in rng.permutation(len(tasks))))


def some_in_the_background(rng):
    """Return a graph whose batches overlap, some of its tasks background work."""
    return TaskGraph(tuple(replace(task, background=bool(rng.random() < 0.3)) for task in random_graph(rng).tasks))


def a_pipeline(rng):
    """Return a graph of stages whose batches run ahead of each other, bounded by tasks behind each other on one server."""
    stages = [f"t{k}" for k in range(rng.integers(2, 6))]
    followers = ["train", *(f"{n} behind" for n in range(1, rng.integers(2, 5)))]
    tasks = [Task(name, "Other", (demand("o"),), (), (predecessor,)) for predecessor, name in pairwise(followers)]
    for k, name in enumerate(stages):
        predecessors, previous = ((stages[k - 1],), ()) if k else ((), (followers[-1],))
        tasks.append(Task(name, "Other", (demand("abc"[rng.integers(3)]),), predecessors, previous))
    tasks.append(Task("train", "Other", (demand("d"),), (stages[-1],), ("train",)))
    return TaskGraph(tuple(tasks[k] for k in rng.permutation(len(tasks))))


GRAPHS = (random_graph, with_a_barrier, some_in_the_background, a_pipeline)
