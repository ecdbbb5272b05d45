"""The task graph of one batch: tasks, their work for devices, and their predecessors.

`check_graph` checks the rules that a graph must keep.
"""

from dataclasses import dataclass
from math import inf
from typing import Literal, get_args

from .work import HomeWrites, Persist, RowLog, RowUpdates, Work, amounts

Names = tuple[str, ...]
Stage = Literal["Embedding", "Transfer", "Collective wait", "Bottom MLP", "History layers", "Top MLP", "Checkpoint", "Other"]
STAGES: tuple[Stage, ...] = get_args(Stage)
RARE_STAGES: tuple[Stage, ...] = ("Collective wait", "History layers")  # charts name them only where a system has them
Persists = Literal["", "embedding log", "mlp log", "commit", "embedding update", "home write"]
# The persists of a batch by kind of log: the last step changes rows in place, once the flags say that a log is complete.
STEPS: dict[str, tuple[Persists, ...]] = {
    "": (),
    "undo": ("embedding log", "mlp log", "commit", "embedding update"),
    "redo": ("embedding log", "mlp log", "commit", "home write"),
}
LOG_STEP_PREDECESSORS = {"commit": {"embedding log", "mlp log"}, "embedding update": {"commit"}, "home write": {"commit"}}
WORK_OF_LOG_STEP = {"embedding log": RowLog, "commit": Persist, "embedding update": RowUpdates, "home write": HomeWrites}


@dataclass(frozen=True)
class Demand:
    """The work that a task asks of one device, in one lane of that device.

    device, work: the device's name, and the amounts of work.
    lane: a part of the device that works independently, such as one direction of a link.
    excluded_from_busy: True for work that takes time but does not count as busy time of the device, such as a copy engine's.
    """

    device: str
    work: Work
    lane: str = ""
    excluded_from_busy: bool = False


@dataclass(frozen=True)
class Task:
    """One task of a batch, which takes as long as its slowest demand.

    The task waits in the queue of its first demand's device and lane.

    name, stage: the task's name, unique in a batch, and the stage that charts show it in.
    demands: the work that the task asks of each device.
    predecessors: names of tasks of the same batch that must end first.
    previous_batch_predecessors: names of tasks of the previous batch that must end first.
    background: True if the task yields to other tasks of its lane.
    gate_task: for a rolling log, the name of the task during which the log is written; "" for all other tasks.
    staleness_bound: for a rolling log, the number of batches by which the newest complete log may lag.
    persists: the step of the log protocol that the task makes durable; "" if the task makes no step durable.

    A rolling log advances only while the task in `gate_task` runs, or while another task waits for the log. Writing one log may
    take several batches. Batch n continues once the newest complete log is of batch n - `staleness_bound` or later; at most one
    batch waits. While one log is written, the next log waits; the next log is skipped if the task in `gate_task` has ended by
    then.
    """

    name: str
    stage: Stage
    demands: tuple[Demand, ...]
    predecessors: Names = ()
    previous_batch_predecessors: Names = ()
    background: bool = False
    gate_task: str = ""
    staleness_bound: int = 0
    persists: Persists = ""

    @property
    def server(self) -> tuple[str, str]:
        """The device and the lane in whose queue the task waits."""
        return self.demands[0].device, self.demands[0].lane


@dataclass(frozen=True)
class TaskGraph:
    """The tasks of one batch; all batches have the same tasks with different amounts."""

    tasks: tuple[Task, ...]

    def index(self, name: str) -> int:
        """Return the position of the task called `name`; raises KeyError."""
        for position, task in enumerate(self.tasks):
            if task.name == name:
                return position
        raise KeyError(f"no task is called {name!r}")


def check_graph(graph: TaskGraph, devices: set[str] | frozenset[str], log: str = "") -> None:
    """Raise ValueError, which names the task, if a system's graph breaks a rule.

    `devices` are the system's devices, `log` is its log: "undo", "redo" or "" for no log.
    """
    task_names = [task.name for task in graph.tasks]
    if len(set(task_names)) != len(task_names):
        raise ValueError(f"two tasks share a name in {task_names}.")
    for task in graph.tasks:
        _check_task(task, set(task_names), devices)
    topological_order(graph)
    _check_lanes(graph)
    _check_log(graph, log)
    _check_order_of_log(graph)


def _check_task(task: Task, task_names: set[str], devices: set[str] | frozenset[str]) -> None:
    if not task.demands:
        raise ValueError(f"{task.name} asks nothing of any device.")
    for name in (*task.predecessors, *task.previous_batch_predecessors, *([task.gate_task] if task.gate_task else [])):
        if name not in task_names:
            raise ValueError(f"{task.name} waits for {name!r}, which is not a task of the batch.")
    if not task.predecessors and not task.previous_batch_predecessors:
        raise ValueError(
            f"{task.name} has no predecessor, so all batches would start it at once; "
            "give it predecessors or previous_batch_predecessors."
        )
    for demand in task.demands:
        if demand.device not in devices:
            raise ValueError(f"{task.name} runs on {demand.device!r}, which is not among the system's devices; add it to them.")
        for name, amount in amounts(demand.work).items():
            lowest, highest = (amount, amount) if isinstance(amount, int | float) else (amount.min(), amount.max())
            if not 0 <= lowest <= highest < inf:
                raise ValueError(f"{task.name}: {name} on {demand.device} is negative or not finite.")


def topological_order(graph: TaskGraph) -> tuple[int, ...]:
    """Return task positions so that each task follows its predecessors.

    Raises ValueError on a cycle.
    """
    pending = {task.name: set(task.predecessors) for task in graph.tasks}
    ordered: list[int] = []
    while pending:
        ready_names = [name for name, needs in pending.items() if not needs & set(pending)]
        if not ready_names:
            raise ValueError(f"tasks wait for each other in a circle: {sorted(pending)}.")
        ordered += [graph.index(name) for name in ready_names]
        pending = {name: needs for name, needs in pending.items() if name not in ready_names}
    return tuple(ordered)


def _check_lanes(graph: TaskGraph) -> None:
    rolling = [task for task in graph.tasks if task.gate_task]
    if len(rolling) > 1:
        rolling_log, second_log = rolling[:2]
        raise ValueError(
            f"{second_log.name} on {second_log.server[0]} is a second rolling log beside {rolling_log.name}; keep one of them."
        )


def _check_log(graph: TaskGraph, log: str) -> None:
    """Check that the tasks persist each step of the log once, and no other step.

    Recovery finds persists by these marks.
    """
    system_text = f"a system of log {log!r}" if log else "a system without a log"
    for task in graph.tasks:
        if task.persists and task.persists not in STEPS[log]:
            raise ValueError(
                f"{task.name} on {task.server[0]} persists {task.persists!r}, but {system_text} never does; clear its persists, "
                "or change the system's log_policy."
            )
    for step in STEPS[log]:
        step_tasks = [task for task in graph.tasks if task.persists == step]
        if len(step_tasks) > 1:
            names = " and ".join(task.name for task in step_tasks)
            raise ValueError(f"{names} on {step_tasks[0].server[0]} both persist {step!r}; mark one task a batch.")
        if not step_tasks:
            raise ValueError(f"no task persists {step!r}, as {system_text} must; {_mark(graph, step)}.")


def _mark(graph: TaskGraph, step: Persists) -> str:
    """Return the remedy for a missing log step: mark the task whose work fits, or add a task."""
    kind = WORK_OF_LOG_STEP.get(step, ())
    for task in graph.tasks:
        for demand in task.demands:
            if not task.persists and isinstance(demand.work, kind):
                return f"mark {task.name} on {demand.device} with persists={step!r}"
    return "add the task"


def _check_order_of_log(graph: TaskGraph) -> None:
    for task in graph.tasks:
        if task.persists in LOG_STEP_PREDECESSORS:
            durable = {graph.tasks[graph.index(name)].persists for name in _predecessors(graph, task)}
            missing_steps = sorted(LOG_STEP_PREDECESSORS[task.persists] - durable)
            task_text = f"{task.name} on {task.server[0]}"
            if missing_steps:
                raise ValueError(
                    f"{task_text} persists {task.persists!r} before {missing_steps[0]!r} is durable; make it wait for that step."
                )


def _predecessors(graph: TaskGraph, task: Task) -> set[str]:
    predecessors: set[str] = set()
    todo = list(task.predecessors)
    while todo:
        name = todo.pop()
        if name not in predecessors:
            predecessors.add(name)
            todo += graph.tasks[graph.index(name)].predecessors
    return predecessors
