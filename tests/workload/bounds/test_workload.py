"""Are bags, histories, popularities and batches right at the bounds of their laws: of one row, one user, a full cache?"""

from math import inf, pi, sqrt
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from engine.errors import BadInput, BadKnob
from engine.scenario.presets import preset
from engine.scenario.scenario import Scenario, with_values
from engine.workload import accesses, bags, locality, popularity, row_spread, source, spectrum
from engine.workload.bags import chances, draw_lengths, length_law, length_spread, uneven_bags
from engine.workload.batch import recent, tally_batch
from engine.workload.caching import locked_sets
from engine.workload.expected import hit_rate
from engine.workload.histories import HistoryLaw, cut_law, largest_normal, widest_spread
from engine.workload.popularity import Popularity, zipf
from engine.workload.sampling import recipe
from engine.workload.source import KeptIds, num_batches, passes_over, repeats_warning, shared_source
from tests.cases import each

BASE = with_values(preset("tiny").scenario, {"model.num_tables": 2, "model.num_embeddings": (500,), "model.pooling": (4,)})


def scenario(**knobs: Any) -> Scenario:
    return with_values(BASE, {name.replace("__", "."): setting for name, setting in knobs.items()})


@each(
    ("lengths", "spread"),
    [(5, 0.0), ([0, 0], 0.0), ([5, 5], 0.0), ([4, 6], 0.2), ([0] * 99 + [99], 9.95), (np.eye(1, 10**6), bags.MAX_CV)],
)
def test_a_spread_of_lengths_is_no_wider_than_the_knob(lengths: Any, spread: float) -> None:
    assert length_spread(lengths if isinstance(lengths, int) else np.array(lengths)) == spread


@each(
    ("mean", "cv", "leaving", "shape"),
    [(4, 0.0, 0.0, inf), (4, 0.25, 1 - sqrt(0.75), inf), (4, 0.5, 1.0, inf), (4, 1.0, 1.0, 4 / 3), (4, 2.0, 1.0, 4 / 15)],
)
def test_lengths_are_gamma_mixed_from_the_spread_of_chance_on(mean: int, cv: float, leaving: float, shape: float) -> None:
    assert [float(part) for part in length_law(mean, cv)] == pytest.approx([leaving, shape])
    law = chances(mean, cv) if cv else np.eye(1, 5, 4)[0]
    lengths = np.arange(len(law))
    assert law.sum() == pytest.approx(1, abs=1e-6) and law @ lengths == pytest.approx(mean, rel=1e-6)
    assert sqrt(law @ lengths**2 - mean**2) / mean == pytest.approx(cv, abs=1e-4)


@each(("samples", "cv"), [(1, 0.0), (1, 1.0), (8, 0.5), (8, sqrt(8)), (500, 0.25), (500, 3.0)])
def test_a_batch_has_its_lookups_at_any_spread(samples: int, cv: float) -> None:
    drawn = draw_lengths(np.random.default_rng(1), samples, 4, cv)
    assert drawn.sum() == 4 * samples and drawn.min() >= 0 and (cv > 0 or (drawn == 4).all())


def test_a_bag_for_each_feature_is_uneven_where_its_table_is() -> None:
    assert uneven_bags(scenario(model__num_tables=2, model__pooling=(4,), model__features=(1, 3))) == 0
    uneven = {"model__num_tables": 2, "model__pooling": (4,), "model__features": (1, 3)}
    assert uneven_bags(scenario(**uneven, data__bag_length_cv=(0.0, 0.5))) == 3
    assert uneven_bags(scenario(**uneven, data__bag_length_cv=(0.5, 0.5))) == 4


EQUAL, WIDE = cut_law(4.0, 0.0, 9.0), cut_law(4.0, 0.5, 9.0)


@each(
    ("law", "events", "share"),
    [(EQUAL, 3, 0.0), (EQUAL, 4, 1.0), (WIDE, 9, 1.0), (WIDE, 10, 1.0), (HistoryLaw(9.0, 0.0, 4.0, 0.0, 0.0), 4, 1.0),
     (HistoryLaw(9.0, 0.0, 4.0, 0.0, 0.0), 3, 0.0)],
)  # fmt: skip
def test_histories_are_as_long_as_their_law_and_no_longer_than_the_cap(law: HistoryLaw, events: int, share: float) -> None:
    assert law.share_up_to(events) == share
    assert 0 < WIDE.share_up_to(8) < 1 and WIDE.share_up_to(3) < WIDE.share_up_to(4)


def test_a_law_of_lengths_is_possible_up_to_its_cap_and_widest_spread() -> None:
    assert widest_spread(4.0, 4.0) == 0 == widest_spread(5.0, 4.0) and 0 < widest_spread(3.9, 4.0) < 0.2
    assert cut_law(4.0, 0.0, 4.0).moment(2) == 16 and cut_law(4.0, 0.5, inf).moment(1) == pytest.approx(4)
    widest = widest_spread(4.0, 9.0)
    assert widest == pytest.approx(sqrt(9 / 4 - 1), rel=0.05) and cut_law(4.0, 0.999 * widest, 9.0).moment(1) == pytest.approx(4)
    for mean, cv, words in ((4.1, 0.0, "is below the mean history"), (4.0, widest, "is too wide")):
        with pytest.raises(BadKnob, match=words):
            cut_law(mean, cv, 9.0 if cv else 4.0)


@each(("parts", "largest"), [(1, 0.0), (2, 1 / sqrt(pi)), (3, 1.5 / sqrt(pi))])
def test_the_largest_of_normal_numbers_is_expected(parts: int, largest: float) -> None:
    assert largest_normal(parts) == pytest.approx(largest, abs=1e-3)


@each(
    ("samples", "per_user", "events"), [(8.0, 1.0, 32.0), (8.0, 2.0, 20.0), (8.0, 8.0, 11.0), (8.0, 16.0, 11.0), (8.0, 0.5, 32.0)]
)
def test_users_share_all_events_but_one_a_sample(samples: float, per_user: float, events: float) -> None:
    assert accesses._events(np.array([4.0]), samples, per_user).tolist() == [events]
    assert accesses._events(np.array([1.0]), samples, per_user).tolist() == [8.0]


HISTORIES = {
    "model__num_tables": 2, "model__pooling": (4, 2), "model__feature_kind": ("sequence", "bag"), "model__features": 1,
    "model__interaction": "hstu", "data__batch_size": 8,
}  # fmt: skip


@each(("per_user", "pooling"), [(1.0, (4, 2)), (2.0, (2, 2)), (8.0, (1, 2))])
def test_events_of_a_user_are_looked_up_once_without_repeats(per_user: float, pooling: tuple[int, ...]) -> None:
    s = scenario(**HISTORIES, data__samples_per_user=per_user)
    found = accesses.without_repeats(s)
    assert found.model.pooling == pooling and (found is s) == (per_user == 1)
    bag = scenario(model__pooling=(4,), data__samples_per_user=per_user)
    assert accesses.without_repeats(bag) is bag


def test_lookups_are_sent_once_with_input_dedup_on_several_gpus() -> None:
    shared = scenario(**HISTORIES, data__samples_per_user=2.0, machine__num_gpus=2, policy__input_dedup=True)
    found = accesses.sent_shares(shared)
    assert found[0] < 1 == found[1] and accesses.sent_share(shared) == pytest.approx((4 * found[0] + 2) / 6)
    for knobs in ({"policy.input_dedup": False}, {"machine.num_gpus": 1}):
        assert accesses.sent_shares(with_values(shared, knobs)).tolist() == [1.0, 1.0]


@each(("hottest", "rows", "ranks", "heavy"), [(0.0, 5, 5, ()), (0.2, 5, 4, (0.2,)), (0.2, 1, 1, (0.2,)), (0.0, 1, 1, ())])
def test_a_hottest_row_is_one_of_the_rows(hottest: float, rows: int, ranks: int, heavy: tuple[float, ...]) -> None:
    law = zipf(1.0, 0.0, hottest, 0.0, rows)
    assert (law.V, law.heavy, law.mass) == (ranks, heavy, 1.0 - hottest)
    assert spectrum.row_shares(law).sum() == pytest.approx(1) and len(spectrum.row_shares(law)) == rows


STEEP, SLOW = popularity.AVAZU_EXPONENT, popularity.AVAZU_SLOW


@each(("rows", "exponent", "heavy"), [(10**6, STEEP, 0), (10**6 + 1, SLOW, 1), (5 * 10**6, SLOW, 1), (5 * 10**6 + 1, SLOW, 0)])
def test_a_field_of_avazus_has_the_law_of_its_size(rows: int, exponent: float, heavy: int) -> None:
    law = popularity._avazu(rows)
    assert law.s == exponent and len(law.heavy) == heavy and (rows < law.V) == (rows > 10**6)


@each("ranks", [1, 2, popularity.SINGLE_RANKS - 1, popularity.SINGLE_RANKS, popularity.SINGLE_RANKS + 1, 5000])
def test_ranks_are_single_up_to_a_thousand_and_runs_beyond(ranks: int) -> None:
    edges = popularity._edges(ranks)
    assert edges[0] == 1 and edges[-1] == ranks + 1 and (np.diff(edges) > 0).all()
    singles = min(ranks, popularity.SINGLE_RANKS)
    assert (np.diff(edges)[:singles] == 1).all() and (len(edges) == ranks + 1) == (ranks <= popularity.SINGLE_RANKS + 1)


@each("rows", [1, 2, spectrum.EXACT_ROWS - 1, spectrum.EXACT_ROWS, spectrum.EXACT_ROWS + 1])
@each("ranks_a_row", [0.5, 1.0, 3.0])
def test_a_spectrum_has_all_rows_and_lookups(rows: int, ranks_a_row: float) -> None:
    law = Popularity((), 1.0, 0.9, 0.0, max(round(ranks_a_row * rows), 1), rows)
    found = spectrum.spectrum(law)
    assert found.rows @ found.p == pytest.approx(1) and (np.diff(found.p) < 0).all()
    used = min(law.V, rows) if rows >= law.V else rows
    assert found.rows.sum() == pytest.approx(used) and spectrum.head_mass(found, [0, rows])[1] == pytest.approx(1)


@each(
    ("factor", "parts", "shares"),
    [(1.0, 2, [0.5, 0.5]), (2.0, 2, [1, 0]), (3.0, 2, [1, 0]), (2.0, 4, [0.5, 1 / 6, 1 / 6, 1 / 6]), (5.0, 1, [1])],
)
def test_the_busiest_part_has_no_more_than_all_lookups(factor: float, parts: int, shares: list[float]) -> None:
    assert row_spread.hot_rank_shares(factor, parts).tolist() == pytest.approx(shares)


def test_rows_are_spread_by_hash_by_a_factor_or_as_unique_rows_are() -> None:
    layout, hashed = (
        row_spread.RowLayout(np.array([0.0, 2.0, 0.0]), np.array([False, False, True])),
        np.array([[6.0, 2.0], [1.0, 3.0]]),
    )
    assert [layout.spreads_by_hash(table) for table in range(3)] == [True, False, False]
    assert [layout.spread(table, hashed)[0].tolist() for table in range(3)] == [[6.0, 2.0], [8.0, 0.0], [2.0, 6.0]]
    assert all(layout.spread(table, hashed)[1].tolist() == [1.0, 3.0] for table in range(3))
    none = np.array([[0.0, 0.0], [0.0, 0.0]])
    assert layout.spread(2, none).tolist() == none.tolist()


@each(("most", "kept"), [(16, {2, 4}), (15, {4})])
def test_spreads_over_parts_are_kept_up_to_their_most(most: int, kept: set[int], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(row_spread, "MAX_KEPT_NUMBERS", most)
    spreads = row_spread.spreads(scenario(model__num_tables=2))._replace(spreads_by_parts={})
    for parts in (2, 4):
        found = spreads.spread_over(parts, np.arange(2))
        assert found.shape == (2, 2, parts) and found.sum(axis=2) == pytest.approx(spreads.table_demand.T)
        most_kept = sum(numbers.size for _, numbers in spreads.spreads_by_parts.values())
        spreads.spread_over(parts, np.arange(2))
        assert sum(numbers.size for _, numbers in spreads.spreads_by_parts.values()) == most_kept
    spreads.spread_over(1, np.arange(2))
    assert {*spreads.spreads_by_parts} - {1} == (set() if most < 24 else kept)


@each(
    "rows", [row_spread.HOT_ROWS - 1, row_spread.HOT_ROWS, row_spread.HOT_ROWS + 1, spectrum.EXACT_ROWS, spectrum.EXACT_ROWS + 1]
)
def test_the_hottest_rows_are_a_thousand_at_most(rows: int) -> None:
    numbers, shares = row_spread._hottest(zipf(1.0, 0.0, 0.0, 0.0, rows))
    assert len(numbers) == len(shares) == min(rows, row_spread.HOT_ROWS) and numbers.max() < rows
    assert (np.diff(shares) <= 1e-15).all() and shares[0] == pytest.approx(1 / np.log(rows), rel=0.2)


@each(("sizes", "kept"), [(0, [2]), (2, [1, 2]), (3, [0, 1, 2])])
def test_a_stream_keeps_its_latest_batches_and_begins_again(sizes: int, kept: list[int], monkeypatch: pytest.MonkeyPatch) -> None:
    stream = locality.LocalityStream(recipe(scenario(data__locality=0.5, model__num_tables=2)), 4, 0.5)
    size = stream.ids(0).nbytes
    stream = locality.LocalityStream(*stream.made_of)
    monkeypatch.setattr(locality, "MAX_KEPT_NBYTES", sizes * size)
    batches = [stream.ids(n).tolist() for n in range(3)]
    assert [*stream._recent] == kept and [stream.ids(n).tolist() for n in (2, 0, 1, 2)] == [batches[n] for n in (2, 0, 1, 2)]


@each("size", [1, 2, 3, 7, 40])
def test_repeats_leave_their_queue_by_their_time(size: int) -> None:
    times = np.random.default_rng(size).permutation(size).astype(float) // 2  # some at one time
    due, rows, waiting = np.empty(size), np.empty(size, np.int64), 0
    for row, time in enumerate(times):
        waiting = locality.push_repeat(due, rows, waiting, time, row)
    left = []
    while waiting:
        left.append((due[0], times[rows[0]]))
        waiting = locality.pop_repeat(due, rows, waiting)
    assert [time for time, _ in left] == sorted(times) == [time for _, time in left]


@each(("largest", "kind"), [(2**32 - 1, np.uint32), (2**32, np.int64)])
def test_ids_are_kept_in_four_bytes_where_they_fit(largest: int, kind: Any) -> None:
    kept, drawn = KeptIds(3), np.array([5, largest, 0])
    for _ in range(2):
        assert kept.ids(1, lambda n: drawn).tolist() == drawn.tolist()
    assert kept.by_batch[1].dtype == kind and kept.ids(2, lambda n: drawn[:0]).tolist() == []


@each(("most", "is_kept"), [(96, True), (95, False)])
def test_a_runs_ids_are_kept_up_to_their_most(most: int, is_kept: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(source, "MAX_KEPT_LOOKUPS", most)
    s = scenario(data__batch_size=4, run__batches=3, model__num_tables=2, model__pooling=(4,), data__seed=most)
    assert (shared_source(s, file=None).kept is not None) == is_kept


FILE: Any = SimpleNamespace(training_samples=40, name="t.csv", digest="ab")


@each(("size", "passes", "batches"), [(4, None, 5), (4, 1, 10), (4, 2, 20), (40, 1, 1), (41, 1, 1), (39, 1, 2), (7, 1, 6)])
def test_a_run_of_passes_trains_each_batch_that_it_begins(size: int, passes: int | None, batches: int) -> None:
    knobs = {"data__batch_size": size, "run__batches": 5} | ({"run__passes": passes} if passes else {})
    assert num_batches(scenario(**knobs), FILE) == batches and num_batches(scenario(**knobs)) == 5


@each(
    ("batches", "samples", "words"),
    [(9, 40, "9 batches of 4, 90 % of 40 samples"), (10, 40, "1 pass over 40 samples"), (15, 40, "1.50 passes over 40 samples"),
     (20, 40, "2 passes over 40 samples"), (99, 40, "9.90 passes over 40 samples"), (104, 40, "10 passes over 40 samples"),
     (1, 40, "1 batch of 4, 10 % of 40 samples")],
)  # fmt: skip
def test_passes_are_whole_or_few(batches: int, samples: int, words: str) -> None:
    assert passes_over(scenario(data__batch_size=4, run__batches=batches), samples) == words


@each(("size", "is_told"), [(40, False), (41, True)])
def test_a_batch_larger_than_its_file_is_told(size: int, is_told: bool) -> None:
    assert bool(repeats_warning(scenario(data__batch_size=size), FILE)) == is_told
    assert not repeats_warning(scenario(data__batch_size=size), SimpleNamespace(training_samples=None))  # type: ignore[arg-type]


@each(("digest", "file", "is_right"), [("", None, True), ("ab", None, False), ("cd", FILE, False)])
def test_a_digest_names_its_file(digest: str, file: Any, is_right: bool) -> None:
    s = scenario(data__digest=digest)
    if is_right:
        assert source.source(s, file).digest == digest
    else:
        with pytest.raises(BadInput, match="names a data file"):
            source.source(s, file)


@each(("batch", "largest"), [(1, 5), (2, 6), (3, 7), (4, 8), (5, 13), (8, 16), (9, 21)])
def test_the_largest_batch_of_a_file_may_wrap_over_its_end(batch: int, largest: int) -> None:
    lengths = np.array([[5], [1], [1], [1], [9]], np.uint16)  # the last sample is held out
    file: Any = SimpleNamespace(lengths=lengths, tables=1, training_samples=4)
    assert source.Recorded(file, np.array([0, 9]), batch).max_lookups == [largest]


def test_rows_of_two_batches_are_counted_once_each() -> None:
    model = scenario(model__num_tables=2, model__num_embeddings=(3, 1), model__pooling=(1,)).model
    rows = recent(model, 4)
    assert rows.bits.tolist() == [3, 1] and len(rows.rows[0]) == 10
    first, second = np.array([0, 0, 1, 2, 3, 3, 3, 3]), np.array([1, 1, 1, 0, 3, 3, 3, 3])
    assert tally_batch(rows, first).tolist() == [[3, 1], [0, 0], [0, 0]]
    assert tally_batch(rows, second).tolist() == [[2, 1], [2, 1], [4, 4]]
    assert tally_batch(rows, first).tolist() == [[3, 1], [2, 1], [3, 4]]
    assert recent(model, 4, np.array([0, 9])).bits.tolist() == [1, 1]


@each(
    ("ways", "coming", "reuse", "refused"),
    [(1, 0.0, 1.0, 0.0), (1, 100.0, 1.0, 99.0), (4, 1e-6, 0.0, 0.0), (32, 1000.0, 0.0, None)],
)
def test_rows_find_no_way_where_all_are_locked(ways: int, coming: float, reuse: float, refused: float | None) -> None:
    found = locked_sets.rows_without_way(coming, reuse, ways)
    assert found == pytest.approx(refused, abs=1.01) if refused is not None else 968 <= found <= 1000


SPACE = spectrum.id_space(scenario(model__num_tables=1, model__num_embeddings=(400,)))


@each(("capacity", "stays"), [(0.0, False), (0.9, False), (1.0, True), (40.0, True), (400.0, True), (500.0, True)])
def test_a_cache_of_a_row_or_more_keeps_rows(capacity: float, stays: bool) -> None:
    found = locked_sets.locked_sets(SPACE, 32.0, capacity)
    assert (found.stay_lookups > 0) == stays and 0 <= found.admitted <= 1 and found.refused >= 0
    assert capacity < 400 or found.refused < 1


@each(("capacity", "rate"), [(0.0, 0.0), (400.0, 1.0), (401.0, 1.0), (-1.0, 0.0)])
def test_a_cache_of_all_rows_hits_and_one_of_none_misses(capacity: float, rate: float) -> None:
    assert float(hit_rate(SPACE, capacity)) == rate and 0 < float(hit_rate(SPACE, 399.0)) < 1
