"""The task graph: what happens in one batch, where, and after what; `check` is its grammar."""

from dataclasses import dataclass
from math import inf
from typing import Literal, get_args

from .work import HomeWrites, Persist, RowLog, RowUpdates, Work, amounts

Names = tuple[str, ...]
Stage = Literal["Embedding", "Transfer", "Bottom MLP", "Top MLP", "Checkpoint", "Other"]
STAGES: tuple[Stage, ...] = get_args(Stage)
Persists = Literal["", "embedding log", "mlp log", "commit", "embedding update", "home write"]
# What each kind of log persists in a batch: the last step changes rows in place, once the flags say that a log is complete.
STEPS: dict[str, tuple[Persists, ...]] = {
    "": (),
    "undo": ("embedding log", "mlp log", "commit", "embedding update"),
    "redo": ("embedding log", "mlp log", "commit", "home write"),
}
NEEDS = {"commit": {"embedding log", "mlp log"}, "embedding update": {"commit"}, "home write": {"commit"}}
DONE_BY = {"embedding log": RowLog, "commit": Persist, "embedding update": RowUpdates, "home write": HomeWrites}


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
    after: Names = ()
    after_previous: Names = ()
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


def check(graph: TaskGraph, devices: set[str] | frozenset[str], log: str = "") -> None:
    """Raise ValueError, naming the task, where the graph of a system with this log breaks a rule of its grammar."""
    known = [task.name for task in graph.tasks]
    if len(set(known)) != len(known):
        raise ValueError(f"two tasks share a name in {known}.")
    for task in graph.tasks:
        _check_task(task, set(known), devices)
    order(graph)
    _check_lanes(graph)
    _check_log(graph, log)
    _check_order_of_log(graph)


def _check_task(task: Task, known: set[str], devices: set[str] | frozenset[str]) -> None:
    if not task.demands:
        raise ValueError(f"{task.name} asks nothing of any device.")
    for name in (*task.after, *task.after_previous, *([task.during] if task.during else [])):
        if name not in known:
            raise ValueError(f"{task.name} waits for {name!r}, which is not a task of the batch.")
    if not task.after and not task.after_previous:
        raise ValueError(f"{task.name} waits for nothing: all batches would start it at once; give it after or after_previous.")
    for demand in task.demands:
        if demand.device not in devices:
            raise ValueError(
                f"{task.name} runs on {demand.device!r}, which the system does not have; add it to the system's devices."
            )
        for name, amount in amounts(demand.work).items():
            least, most = (amount, amount) if isinstance(amount, int | float) else (amount.min(), amount.max())
            if not 0 <= least <= most < inf:
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


def _check_lanes(graph: TaskGraph) -> None:
    rolling = [task for task in graph.tasks if task.during]
    if len(rolling) > 1:
        one, two = rolling[:2]
        raise ValueError(f"{two.name} on {two.server[0]} is a second rolling log beside {one.name}; keep one of them.")
    taken: dict[tuple[str, str], str] = {}
    for task in graph.tasks:
        if task.background and not task.during:
            if task.server in taken:
                where = f"lane {task.server[1]!r} of {task.server[0]}" if task.server[1] else task.server[0]
                raise ValueError(
                    f"{task.name} and {taken[task.server]} both run in the background of {where}, which has room for one; "
                    "give one of them a lane of its own."
                )
            taken[task.server] = task.name


def _check_log(graph: TaskGraph, log: str) -> None:
    """Recovery finds a batch's persists by what tasks are marked as: each step of the log once, and no others."""
    who = f"a system of log {log!r}" if log else "a system without a log"
    for task in graph.tasks:
        if task.persists and task.persists not in STEPS[log]:
            raise ValueError(
                f"{task.name} on {task.server[0]} persists {task.persists!r}, which {who} never does; clear its persists, "
                "or change the system's log_policy."
            )
    for step in STEPS[log]:
        found = [task for task in graph.tasks if task.persists == step]
        if len(found) > 1:
            names = " and ".join(task.name for task in found)
            raise ValueError(f"{names} on {found[0].server[0]} both persist {step!r}; mark one task a batch.")
        if not found:
            raise ValueError(f"no task persists {step!r}, as {who} must; {_mark(graph, step)}.")


def _mark(graph: TaskGraph, step: Persists) -> str:
    """Return what to do about a step that no task is marked as: mark the one whose work it looks like, or add one."""
    kind = DONE_BY.get(step, ())
    for task in graph.tasks:
        for demand in task.demands:
            if not task.persists and isinstance(demand.work, kind):
                return f"mark {task.name} on {demand.device} with persists={step!r}"
    return "add the task"


def _check_order_of_log(graph: TaskGraph) -> None:
    for task in graph.tasks:
        if task.persists in NEEDS:
            durable = {graph.tasks[graph.index(name)].persists for name in _before(graph, task)}
            missing = sorted(NEEDS[task.persists] - durable)
            where = f"{task.name} on {task.server[0]}"
            if missing:
                raise ValueError(f"{where} persists {task.persists!r} before {missing[0]!r} is durable; let it wait for that.")


def _before(graph: TaskGraph, task: Task) -> set[str]:
    found: set[str] = set()
    todo = list(task.after)
    while todo:
        name = todo.pop()
        if name not in found:
            found.add(name)
            todo += graph.tasks[graph.index(name)].after
    return found
