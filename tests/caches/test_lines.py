"""Lines of a medium with a cache: are they fetched as a cache of lines would, and as often as the estimate expects?"""

from collections import OrderedDict

import numpy as np
import pytest

from engine.caches.lines import counted_lines, expected_lines, lines_of, packing
from engine.hardware.line_cache import LineCache
from engine.scenario.scenario import with_values
from engine.workload.batch import offsets
from engine.workload.source import source
from tests.cases import each
from tests.machines import scenario

ROWS, PER_LINE, LINES = 30_000, 32, 20 * 938  # 20 tables of 128 B rows
BATCH = {"data.batch_size": 64, "model.pooling": (20,), "model.num_embeddings": (ROWS,), "run.batches": 6}


def asked(law="zipf", **knobs):
    return scenario("trainingcxl-rm1", "cxl", **{**BATCH, "data.popularity": law, **knobs})


def moves(s, lines, batches=6):
    return np.array([tuple(one) for one in counted_lines(s, LineCache(lines, 4096.0), source(s), batches)])


def moved_by_hand(batches, lines):
    """Return what an LRU cache of so many lines fetches, returns and fetches again, by batch of its lines in rising order."""
    cached, moved = OrderedDict(), []
    for batch in map(np.ndarray.tolist, batches):
        fetched, before = sum(line not in cached for line in batch), len(cached)
        for line in batch:
            cached.pop(line, None)
            cached[line] = None
            while len(cached) > lines:
                cached.popitem(last=False)
        moved.append((fetched, fetched - (len(cached) - before), max(0, len(batch) - lines)))
    return moved


def one_a_row(first):
    """PER_LINE rows in each line, and no row of more lines than one."""
    return np.full(len(first), PER_LINE), np.ones(len(first), dtype=np.int64)


@each("rows", [1, 31, 32, 33, 1000, 4097])
def test_every_row_has_its_own_place_and_lines_are_full(rows):
    tables, first = np.array([0, rows, 2 * rows]), np.array([0, -(-rows // PER_LINE), 2 * -(-rows // PER_LINE)])
    held = np.bincount(lines_of(np.arange(2 * rows), tables, first, *one_a_row(first)), minlength=first[-1])
    full, rest = divmod(rows, PER_LINE)
    assert held.tolist() == 2 * ([PER_LINE] * full + [rest] * (rest > 0))


def test_rows_of_unlike_tables_lie_as_many_in_a_line_as_their_own_size_lets():
    tables, first = np.array([0, 1000, 2000]), np.array([0, 250, 281])  # four rows a line, and 32
    held = np.bincount(lines_of(np.arange(2000), tables, first, np.array([4, 32]), np.array([1, 1])), minlength=first[-1])
    assert held[:250].tolist() == [4] * 250 and held[250:282].tolist() == [32] * 31 + [8]


def test_popular_rows_do_not_share_lines_more_than_chance_lets():
    tables, first = np.array([0, 32_000]), np.array([0, 1000])
    lines = [len(set(lines_of(np.arange(n, n + 500), tables, first, *one_a_row(first)))) for n in range(0, 32_000, 500)]
    assert np.mean(lines) == pytest.approx(1000 * (1 - (1 - 1 / 1000) ** 500), rel=0.02)
    assert np.std(lines) < 25


@each(
    ("dim", "optimizer", "found"),
    [
        (32, "sgd", (32, 1, 500)),
        (32, "rowwise-adagrad", (31, 1, 500)),
        (1024, "rowwise-adagrad", (1, 2, 250)),
        (32, "adam", (10, 1, 500)),
    ],
)
def test_a_line_holds_whole_rows_and_a_larger_row_takes_whole_lines(dim, optimizer, found):
    s = with_values(asked(), {"model.embedding_dim": dim, "model.bottom_mlp": (13, dim), "model.optimizer": optimizer})
    rows, pieces, *others = packing(s, LineCache(500, 4096.0))
    assert (rows.tolist(), *others) == ([found[0]] * s.model.num_tables, *found[1:])
    assert (pieces == 1).all()


@each("lines", [2**62, 10**24])
def test_a_cache_of_more_lines_than_64_bits_count_moves_what_one_with_room_for_all_does(lines):
    """As modules of 1e-12 GB, assumed, have together."""
    for warm in (False, True):
        s = asked(**{"policy.warm_caches": warm})
        assert moves(s, lines).tolist() == moves(s, 2 * LINES).tolist()


@each("lines", [1, 400, 6000, 12_000, 30_000], few=3)
def test_a_cold_run_moves_what_a_cache_of_lines_does_by_hand(lines):
    s = asked(**{"policy.warm_caches": False})
    tables, first = offsets(s.model), np.arange(21) * 938
    batches = [np.unique(lines_of(np.unique(source(s).ids(n)), tables, first, *one_a_row(first))) for n in range(6)]
    assert (moves(s, lines) == np.array(moved_by_hand(batches, lines))).all()


@each("law", ["kaggle", "uniform", "zipf", "meta"], few=8)
@each("share", [0.7, 0.85, 0.97])
@each("locality", [0.0, 0.6])
def test_expected_lines_are_those_of_a_run_that_begins_warm_from_its_first_batch_on(law, share, locality):
    s = asked(law, **{"data.locality": locality})
    cache = LineCache(int(share * LINES), 4096.0)
    drawn, expected = moves(s, cache.lines), expected_lines(s, cache)
    apart = 0.03 * expected.missed_lines + 4 * np.sqrt(expected.missed_lines / 6) + 1
    assert drawn[:, 0].mean() == pytest.approx(expected.missed_lines, abs=apart)
    assert drawn[0, 0] == pytest.approx(
        expected.missed_lines, abs=0.03 * expected.missed_lines + 5 * np.sqrt(expected.missed_lines) + 1
    )
    assert (drawn[:, 1] == drawn[:, 0]).all() and expected.written_back_lines == expected.missed_lines


def test_expected_lines_fall_as_the_cache_grows_and_are_none_where_it_holds_all():
    s = asked("meta")
    found = np.array([expected_lines(s, LineCache(lines, 4096.0)) for lines in (1, 10, 100, 1000, 5000, 10_000, 15_000, LINES)])
    assert (np.diff(found, axis=0) <= 0).all() and found[-1].tolist() == [0, 0, 0] and found[0, 0] > 5000
    assert moves(s, LINES)[:, 0].tolist() == [0] * 6


UNLIKE = {
    "model.num_tables": 2,
    "model.num_embeddings": (40_000, 4000),
    "model.embedding_dim": (32, 1024),
    "model.optimizer": ("sgd", "adam"),
    "model.dense_optimizer": "sgd",
    "model.interaction": "concat",
    "data.batch_size": 64,
}


@each("pooling", [(20, 1), (1, 1), (2, 8)])
@each("lines", [1000, 4000])
def test_a_row_of_several_lines_takes_them_where_others_share_one(pooling, lines):
    """32 rows of 128 B lie in a line; one of 12,288 B takes three."""
    s = asked(**UNLIKE, **{"model.pooling": pooling, "policy.warm_caches": False, "run.batches": 40})
    rows, pieces, each_, room = packing(s, LineCache(lines, 4096.0))
    assert (rows.tolist(), pieces.tolist(), each_, room) == ([32, 1], [1, 3], 1, lines)
    tables, batches = offsets(s.model), []
    for n in range(40):
        ids = np.unique(source(s).ids(n))
        narrow = lines_of(ids[ids < 40_000], tables, np.array([0, 1250, 13_250]), rows, pieces)
        wide = (lines_of(ids[ids >= 40_000], tables, np.array([0, 1250, 13_250]), rows, pieces)[:, None] + np.arange(3)).reshape(
            -1
        )
        assert len(np.unique(wide)) == 3 * (ids >= 40_000).sum() and (wide >= 1250).all()
        batches.append(np.unique(np.concatenate((narrow, wide))))
    assert (moves(s, lines, 40) == np.array(moved_by_hand(batches, lines))).all()
    warm = moves(with_values(s, {"policy.warm_caches": True}), lines, 40)
    fetched = expected_lines(s, LineCache(lines, 4096.0)).missed_lines
    assert warm[:, 0].mean() == pytest.approx(fetched, abs=0.02 * fetched + 4 * np.sqrt(3 * fetched / 40) + 1)
