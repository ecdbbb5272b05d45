"""Layers that read users' histories, before the interaction and the top MLP of a batch."""

from dataclasses import replace

from ...core.graph import Demand, Stage, Task
from ...core.work import HistoryPart, TopPart
from ...scenario.scenario import Scenario
from ...workload.histories import history_shape

TOP_MLP: Stage = "Top MLP"
HISTORY_LAYERS: Stage = "History layers"


def with_history_layers(s: Scenario, plan: tuple[Task, ...]) -> tuple[Task, ...]:
    """Return the plan with history layers before each task of the top MLP.

    They have a task of their own, forward and backward, and take in all vectors of a sample. A log that is written during the
    top MLP is written during them. The plan of a model without histories is returned as it is.
    """
    shape = history_shape(s)
    if shape is None:
        return plan
    tasks = list[Task]()
    for task in plan:
        work = task.demands[0].work
        if isinstance(work, TopPart):
            layers = Demand(task.server[0], HistoryPart(work.samples, shape, work.elements, work.state), task.server[1])
            top = replace(task.demands[0], work=replace(work, elements=None))
            name = task.name.replace(TOP_MLP, HISTORY_LAYERS).replace("top MLP", HISTORY_LAYERS.lower())
            tasks += [
                replace(task, name=name, stage=HISTORY_LAYERS, demands=(layers,)),
                replace(task, demands=(top, *task.demands[1:]), predecessors=(name,), previous_batch_predecessors=()),
            ]
        else:
            tasks.append(replace(task, gate_task=HISTORY_LAYERS) if task.gate_task == TOP_MLP else task)
    return tuple(tasks)
