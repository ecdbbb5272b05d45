"""Are batches that ask for the same found to be of one kind, however many there are, in the order of what they ask for?"""

import numpy as np

from engine.core.graph import Demand, Task, TaskGraph
from engine.core.work import Move
from engine.schedule.layout import lay_out_plan
from tests.cases import each


def kinds_of(amounts):
    """Return the kind of each batch, and the kinds' amounts, of tasks that move `amounts` (K, N) one after the other."""
    tasks = [Task("t0", "Other", (Demand("d", Move(amounts[0])),))]
    for k, row in enumerate(amounts[1:], 1):
        tasks.append(Task(f"t{k}", "Other", (Demand("d", Move(row)),), predecessors=(f"t{k - 1}",)))
    layout = lay_out_plan(TaskGraph(tuple(tasks)), ("d",), amounts.shape[1])
    return layout.kind, np.array([np.broadcast_to(demand.work.nbytes, layout.kinds) for demand in layout.demands])


@each("batches", [2, 200, 3000])
@each("kinds", [1, 2, 15, 16, 17, 3000])
@each("turns", [1, 7])
def test_kinds_are_those_that_sorting_all_batches_finds(batches, kinds, turns):
    rng = np.random.default_rng(batches + kinds)
    some = rng.integers(0, 4, (3, kinds)) / 7.0
    amounts = np.repeat(some[:, rng.integers(0, kinds, batches)], turns, axis=1)
    kind, found = kinds_of(amounts)
    values, expected = np.unique(amounts, axis=1, return_inverse=True)
    assert np.array_equal(kind, expected.reshape(-1))
    assert np.array_equal(found, values)


def test_a_million_batches_of_one_kind_but_the_last_are_two_kinds():
    amounts = np.ones((2, 1_000_000))
    amounts[1, -1] = 0.5
    kind, found = kinds_of(amounts)
    assert found.tolist() == [[1.0, 1.0], [0.5, 1.0]]
    assert np.flatnonzero(kind == 0).tolist() == [999_999]
