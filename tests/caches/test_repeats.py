"""Do the lookups that a scratchpad has no room for follow from how often a batch uses its rows?"""

from math import exp

import numpy as np
import pytest

from engine.amounts.repeats import counted_repeats, expected_repeats
from engine.workload.accesses import expected_accesses
from engine.workload.source import source
from tests.cases import each
from tests.machines import scenario


@each(("room", "again"), [(0, 6), (1, 3), (2, 1), (3, 0), (1.5, 2), (99, 0)])
def test_the_rows_used_most_often_keep_their_place(room, again):
    ids = np.array([7, 7, 7, 7, 1, 1, 1, 3, 3, 9])  # repeats 3, 2, 1 and none
    assert counted_repeats(ids, room) == again


@each("popularity", ["kaggle", "uniform", "zipf"], few=5)
@each("share", [0.0, 0.1, 0.5, 0.9, 1.0])
def test_expected_repeats_are_those_of_drawn_batches(popularity, share):
    asked = scenario("trainingcxl-rm1", "cxl", **{"data.popularity": popularity, "data.batch_size": 512})
    room = share * float(expected_accesses(asked).unique_rows.sum())
    drawn = np.mean([counted_repeats(source(asked).ids(n), room) for n in range(6)])
    assert expected_repeats(asked, room) == pytest.approx(drawn, rel=0.02, abs=20)


def test_room_for_each_row_that_a_batch_is_expected_to_use_leaves_no_repeats():
    table = {"model.num_tables": 1, "model.num_embeddings": (4,), "model.pooling": (1,), "data.popularity": "uniform"}
    asked = scenario("trainingcxl-rm1", "cxl", **table, **{"data.batch_size": 80})
    used = 4 * (1 - exp(-80 / 4))
    assert expected_repeats(asked, 0.0) == pytest.approx(80 - used, rel=1e-9)
    assert expected_repeats(asked, used) == pytest.approx(0.0, abs=1e-6)
