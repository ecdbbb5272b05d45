"""A task graph says what happens in one batch, where, and after what; `check` is its grammar."""

from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np

from engine.work import Work, amounts

Stage = Literal["Embedding", "Transfer", "Bottom MLP", "Top MLP", "Checkpoint", "Other"]
STAGES: tuple[Stage, ...] = get_args(Stage)
Persists = Literal["", "embedding log", "mlp log", "commit", "embedding update", "home write"]


@dataclass(frozen=True)
class Demand:
    """Work asked of one device; `lane` separates what a device does independently, such as two directions.

    Work `beside` a device's own, such as a copy engine's, takes time but keeps the device no busier.
    """

    device: str
    work: Work
    lane: str = ""
    beside: bool = False


@dataclass(frozen=True)
class Task:
    """One step of a batch, served by its first demand's lane at the pace of its slowest demand.

    `after` names tasks of the same batch, `after_previous` tasks of the batch before. A `background` task
    yields to others. A `during` task is a rolling log: it advances only while the task it names runs or
    while somebody waits for it, may span batches, and lets batch n go on once the newest complete log is of
    batch n - `bound` or later; one batch at a time may wait. While a log is being written the next is put off,
    and skipped if the task it names has ended by then.
    """

    name: str
    stage: Stage
    demands: tuple[Demand, ...]
    after: tuple[str, ...] = ()
    after_previous: tuple[str, ...] = ()
    background: bool = False
    during: str = ""
    bound: int = 0
    persists: Persists = ""

    @property
    def server(self) -> tuple[str, str]:
        """The device and lane in whose queue the task waits."""
        return self.demands[0].device, self.demands[0].lane


@dataclass(frozen=True)
class TaskGraph:
    """The tasks of one batch, repeated for every batch with that batch's amounts."""

    tasks: tuple[Task, ...]

    def index(self, name: str) -> int:
        """Return the position of the task called `name`; raises KeyError."""
        for position, task in enumerate(self.tasks):
            if task.name == name:
                return position
        raise KeyError(f"no task is called {name!r}")


def check(graph: TaskGraph, devices: set[str] | frozenset[str]) -> None:
    """Raise ValueError, naming the task, where the graph breaks a rule of its grammar."""
    known = [task.name for task in graph.tasks]
    if len(set(known)) != len(known):
        raise ValueError(f"two tasks share a name in {known}.")
    for task in graph.tasks:
        _check_task(task, set(known), devices)
    order(graph)
    _check_commits(graph)


def _check_task(task: Task, known: set[str], devices: set[str] | frozenset[str]) -> None:
    if not task.demands:
        raise ValueError(f"{task.name} asks nothing of any device.")
    for name in (*task.after, *task.after_previous, *([task.during] if task.during else [])):
        if name not in known:
            raise ValueError(f"{task.name} waits for {name!r}, which is not a task.")
    if not task.after and not task.after_previous:
        raise ValueError(f"{task.name} waits for nothing: all batches would start it at once.")
    for demand in task.demands:
        if demand.device not in devices:
            raise ValueError(f"{task.name} runs on {demand.device!r}, which the system does not have.")
        for name, amount in amounts(demand.work).items():
            values = np.asarray(amount, dtype=np.float64)
            if not np.all(np.isfinite(values)) or np.any(values < 0):
                raise ValueError(f"{task.name}: {name} on {demand.device} is negative or not finite.")


def order(graph: TaskGraph) -> tuple[int, ...]:
    """Return task positions in an order that respects `after`; raises ValueError on a cycle."""
    left = {task.name: set(task.after) for task in graph.tasks}
    ordered: list[int] = []
    while left:
        free = [name for name, needs in left.items() if not needs & set(left)]
        if not free:
            raise ValueError(f"tasks wait for each other in a circle: {sorted(left)}.")
        ordered += [graph.index(name) for name in free]
        left = {name: needs for name, needs in left.items() if name not in free}
    return tuple(ordered)


def _check_commits(graph: TaskGraph) -> None:
    for task in graph.tasks:
        if task.persists == "commit":
            logged = {graph.tasks[graph.index(name)].persists for name in _before(graph, task)}
            missing = {"embedding log", "mlp log"} - logged
            if missing:
                raise ValueError(f"{task.name} sets a flag before {sorted(missing)[0]} is durable.")


def _before(graph: TaskGraph, task: Task) -> set[str]:
    found: set[str] = set()
    todo = list(task.after)
    while todo:
        name = todo.pop()
        if name not in found:
            found.add(name)
            todo += graph.tasks[graph.index(name)].after
    return found
