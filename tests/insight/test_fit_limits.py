"""Does a fit count what it should where a block, a cap, a batch or a law just reaches its bound, and one step beyond?"""

from itertools import pairwise
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from engine.insight.fitting import bag_fit, counting, fit, law, tally
from engine.insight.fitting.bag_fit import BagFit
from engine.insight.fitting.counting import BLOCKS, HeldBackShares, count_table, generated_counts, rarity
from engine.insight.fitting.histories import batches, events, walk
from engine.insight.fitting.histories.batches import BatchUsers, Duplicates, batches_to_count, duplicates_of_log
from engine.insight.fitting.histories.fit import cut_lengths, fitted_law, lengths_of, moments, window_of
from engine.insight.fitting.histories.walk import UserCounts, WalkBlock, first_in_batch
from engine.insight.fitting.law import Law, fit_law, usage_curves
from engine.scenario.presets import preset
from engine.scenario.scenario import with_values
from engine.workload.histories import cut_law, widest_spread
from engine.workload.readers.recording import HistoryFields
from tests.cases import each


@each(("lengths", "pooling", "empty"), [([0, 0, 1], 1, 2 / 3), ([1, 2, 4], 2, 0.0), ([3, 3, 2], 3, 0.0), ([0, 0], 1, 1.0)])
def test_a_bag_has_its_rounded_mean_and_at_least_one_lookup(lengths: list[int], pooling: int, empty: float) -> None:
    found = bag_fit.bag_fit(np.array(lengths))
    assert (found.pooling, found.empty, found.mean) == (pooling, empty, np.mean(lengths))


@each(
    ("fitted", "is_some"),
    [
        (BagFit(2, 1.0), True),
        (BagFit(2, 0.0), False),
        (BagFit(2, 1.0, is_history=True), False),
        (BagFit(2, 0.0, is_history=True), False),
    ],
)
def test_a_spread_of_bags_that_are_no_histories_draws_empty_ones(fitted: BagFit, is_some: bool) -> None:
    assert (fitted.generated_empty > 0) == is_some


@each(
    ("samples", "most", "count", "size"),
    [
        (1, 100, 1, 1),
        (31, 100, 31, 1),
        (32, 100, 32, 1),
        (100, 100, 32, 3),
        (101, 100, 32, 3),
        (100, 20, 32, 1),
        (640, 64, 32, 2),
    ],
)
def test_blocks_cover_a_file_or_are_spread_over_it(samples: int, most: int, count: int, size: int) -> None:
    found = counting.blocks(samples, most)
    assert len(found) == count and found[0][0] == 0 and found[-1][1] == samples
    assert all(low < high for low, high in found) and all(a[1] <= b[0] for a, b in pairwise(found))
    counted = sum(high - low for low, high in found)
    assert counted == (samples if samples <= most else size * BLOCKS)


def lookups(*tokens: int, hashed: bool = True) -> Any:
    """Return a file of one table whose samples have one lookup each."""
    words = np.array(tokens, np.uint64)
    return SimpleNamespace(
        lookups=lambda table, low, high: words[low:high], samples=len(words), hashed=hashed, tables=1, name="t"
    )


@each(
    ("tokens", "ids_are_rows", "rows"),
    [((4, 7, 4), True, 8), ((4, 7, 4), False, 2), ((4, 2**63 - 1), True, 2**63), ((4, 2**63), True, 2), ((), True, 0)],
)
def test_ids_are_rows_while_none_is_negative(tokens: tuple[int, ...], ids_are_rows: bool, rows: int) -> None:
    assert count_table(lookups(*tokens), 0, [(0, 1), (1, len(tokens))], ids_are_rows).rows == rows


@each(("sizes", "batches_drawn"), [([3], 1), ([2, 2], 1), ([2, 3], 2), ([4, 4], 2)])
def test_the_generator_draws_as_many_lookups_as_there_are(sizes: list[int], batches_drawn: int) -> None:
    drawn: list[int] = []
    found = generated_counts(lambda n: drawn.append(n) or np.arange(4) + 4 * n, sizes)
    assert list(map(len, found.blocks)) == sizes and drawn == [*range(batches_drawn)]
    assert np.concatenate(found.blocks).tolist() == [*range(sum(sizes))] and found.rows == sum(sizes)


@each(
    ("share", "count", "gap"),
    [
        (0.5, 0, 0.0),
        (0.5, 1, 0.0),
        (0.5, 100, 0.5 - 0.02**0.5),
        (0.02**0.5, 100, 0.0),
        (0.0, 10**6, 0.0),
        (0.3, 10**6, 0.3 - 2e-6**0.5),
    ],
)
def test_a_gap_of_shares_is_what_chance_leaves(share: float, count: int, gap: float) -> None:
    top = (1.0, 1.0, 1.0 - share)
    fitted, other = HeldBackShares(lookups=count), HeldBackShares(top, lookups=count)
    assert fitted.largest_gap(other) == other.largest_gap(fitted) == pytest.approx(gap, abs=1e-12)


def test_rarity_is_a_rank_among_the_first_lookups() -> None:
    assert rarity(np.array([5, 5, 5, 7, 8]), 4).tolist() == [0.625, 0.625, 0.625, 0.125]
    assert len(rarity(np.array([5, 5, 5, 7, 8]), 9)) == 5


@each(
    ("columns", "is_told"),
    [([[0.1, 0.9]], False), ([[0.1, 0.9], [0.5, 0.5]], False), ([[0.1, 0.9], [0.2, 0.8, 0.3]], True), ([[0.1, 0.9], []], False)],
)
def test_two_fields_that_vary_are_correlated(columns: list[list[float]], is_told: bool) -> None:
    found = fit._rarity_correlation([np.array(column) for column in columns])
    assert found == (pytest.approx(1.0) if is_told else None)


@each(("cap", "cut"), [(1, [0, 10]), (2, [0, 3, 7]), (3, [0, 3, 3, 4]), (4, [0, 3, 3, 4, 0])])
def test_lengths_are_cut_at_the_cap_and_empty_ones_have_an_event(cap: int, cut: list[int]) -> None:
    assert cut_lengths(np.array([1, 2, 3, 4]), cap).tolist() == cut
    assert moments(np.array(cut))[0] == pytest.approx(sum(n * number for n, number in enumerate(cut)) / 10)


def test_a_user_of_n_events_has_histories_of_each_length_up_to_n() -> None:
    fields = HistoryFields(0, (1,), in_rows=False)
    assert lengths_of(lookups(), fields, np.array([1, 3, 3])).tolist() == [0, 3, 2, 2]
    in_rows = SimpleNamespace(bag_lengths=lambda table: 3, samples=5)
    assert lengths_of(in_rows, fields._replace(in_rows=True), np.array([])).tolist() == [0, 0, 0, 5]


@each(("mean", "cv", "cap"), [(1.2, 0.4, 8), (4.4, 0.5, 8), (4.6, 9.0, 8), (8.0, 0.0, 8)])
def test_a_law_has_the_rounded_mean_and_no_more_than_the_widest_spread(mean: float, cv: float, cap: int) -> None:
    found, widest = fitted_law(mean, cv, cap), widest_spread(round(mean), cap)
    assert found == cut_law(float(round(mean)), min(cv, float(np.floor(999 * widest) / 1000)), float(cap))


@each(("gpus", "batch"), [(1, 8), (2, 4), (8, 1)])
def test_a_window_has_a_gpus_batch(gpus: int, batch: int) -> None:
    assert window_of(with_values(preset("tiny").scenario, {"data.batch_size": 8, "machine.num_gpus": gpus})).batch == batch


@each(
    ("samples", "batch", "found"),
    [
        (7, 8, [(0, 7)]),
        (8, 8, [(0, 8)]),
        (15, 8, [(0, 8)]),
        (16, 8, [(0, 8), (8, 16)]),
        (64, 8, [(8 * n, 8 * n + 8) for n in range(8)]),
        (128, 8, [(8 + 16 * n, 16 + 16 * n) for n in range(8)]),
    ],
)
def test_whole_batches_are_counted_spread_over_the_file(samples: int, batch: int, found: list[tuple[int, int]]) -> None:
    assert [(one.low, one.high) for one in batches_to_count(samples, batch)] == found


@each(("low", "high", "kept"), [(0, 4, []), (0, 5, [0]), (4, 6, [0, 1]), (5, 9, [1, 2, 3]), (6, 20, [2, 3]), (8, 9, [])])
def test_a_batch_keeps_its_samples_of_a_block(low: int, high: int, kept: list[int]) -> None:
    one = BatchUsers(low, high)
    block = WalkBlock(4, 8, np.arange(4), np.arange(4), np.full(4, -1))
    one.add(block)
    assert one.users[0].tolist() == one.ranks[0].tolist() == kept


@each(("cap", "first", "lookups_read"), [(1, [2, 0], 4), (2, [1, 0], 7), (3, [0, 0], 8), (9, [0, 0], 8)])
def test_a_batch_reads_the_last_events_up_to_the_cap(cap: int, first: list[int], lookups_read: int) -> None:
    one = BatchUsers(0, 4, [np.array([5, 6, 5, 5])], [np.array([2, 0, 3, 1])])
    users, firsts, last, read = one.windows(cap)
    assert users.tolist() == [5, 6] and last.tolist() == [3, 0]
    ranks = [2, 0, 3, 1]
    assert read == sum(min(rank + 1, cap) for rank in ranks)
    assert firsts.tolist() == [min(max(rank + 1 - cap, 0) for rank in (2, 3, 1)), 0]


@each(("most", "counted"), [(1, 1), (2, 1), (3, 1), (4, 2), (8, 2), (9, 3), (99, 3)])
def test_batches_are_counted_up_to_their_most_events(most: int, counted: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(batches, "MOST_EVENTS", most)
    users, items = np.array([1, 1, 2, 3, 1, 2], np.uint64), np.array([7, 8, 7, 9, 7, 7], np.uint64)
    file: Any = SimpleNamespace(name="t", samples=6, lookups=lambda table, low, high: (users, items)[table][low:high])
    fields, chosen = HistoryFields(0, (1,), in_rows=False), [BatchUsers(0, 2), BatchUsers(2, 4), BatchUsers(4, 6)]
    for block in walk.walk(file, 0, UserCounts("t"), 6):
        for one in chosen:
            one.add(block)
    sizes, read, rows = [2, 2, 5], [3, 2, 5], [2, 2, 2]  # events, lookups and rows of each batch, by hand
    assert duplicates_of_log(file, fields, chosen, 9) == Duplicates(
        counted, sum(sizes[:counted]) / sum(read[:counted]), (sum(rows[:counted]) / sum(read[:counted]),)
    )


def test_a_users_first_sample_of_a_batch_has_none_before_it_there() -> None:
    block = WalkBlock(4, 10, np.zeros(6), np.zeros(6), np.array([-1, 3, 4, 5, 7, 8]))
    assert first_in_batch(block, 4).tolist() == [True, True, False, False, True, False]


@each("block", [1, 2, 1 << 18])
def test_a_walk_counts_each_users_samples_in_any_blocks(block: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(walk, "WALK_SAMPLES", block)
    counts = UserCounts("t")
    found = list(walk.walk(lookups(5, 6, 5, 5, 6), 0, counts, 5))
    assert np.concatenate([one.ranks for one in found]).tolist() == [0, 0, 1, 2, 1]
    assert np.concatenate([one.previous for one in found]).tolist() == [-1, -1, 0, 2, 1]
    assert counts.counts.tolist() == [3, 2] and found[-1].high == 5


ROWS: list[tuple[list[int], list[int], bool]] = [  # a user's row, the next one, and whether it goes on by one event
    ([1, 2], [1, 2, 3], True),
    ([1, 2], [2, 3], True),
    ([1, 2], [1, 2, 2, 3], False),
    ([1, 2], [3], False),
    ([1, 2], [2], False),
    ([1, 2], [1, 3, 3], False),
    ([2], [2, 3], True),
    ([2], [3], False),
    ([], [3], False),
    ([], [2, 3], False),
]


@each(("before", "after", "is_one_new"), ROWS)
def test_a_row_that_goes_on_by_one_event_has_one_new(before: list[int], after: list[int], is_one_new: bool) -> None:
    tokens, begins = np.array([*before, *after, 0], np.uint64), np.array([[0], [len(before)]])
    lengths = np.array([[len(before)], [len(after)]])
    file: Any = SimpleNamespace(tokens_of=lambda rows: (tokens, begins[rows], lengths[rows]))
    block = WalkBlock(0, 2, np.zeros(2), np.zeros(2), np.array([-1, 0]))
    assert events.going_on(file, 0, block).tolist() == [False, is_one_new]


@each(("number", "kept"), [(1e-6, 0.0), (1.1e-6, 1.1e-6)])
def test_a_shift_or_share_of_nearly_nothing_is_none(number: float, kept: float) -> None:
    assert Law(9, 1.0, number, 0.0, number).knobs() == (1.0, kept, 0.0, kept)


@each(
    ("counts", "rows", "open_ended", "found"),
    [
        ([5], 1, False, 1),
        ([5, 5], 2, False, 2),
        ([2, 2, 2, 2], 4, True, 5),  # a mean of 2 and no variance: a fifth row is not seen
        ([20] * 8, 8, True, 8),
        ([20] * 8, 9, True, 9),
    ],
)
def test_rows_used_alike_are_even(counts: list[int], rows: int, open_ended: bool, found: int) -> None:
    assert fit_law(np.array([*counts, 0]), rows, open_ended) == Law(found)


@each(("counts", "rows", "even"), [([3, 1], 2, 2), ([4, 2, 0], 3, 0), ([4, 1, 1], 3, 3), ([5, 1], 2, 0)])
def test_rows_are_even_up_to_the_variance_of_chance(counts: list[int], rows: int, even: int) -> None:
    assert law._even_rows(np.array(counts), rows, False) == even


@each(("uses", "even"), [(1.75, 0), (2.0, 10)])
def test_few_uses_say_nothing_of_rows_not_seen(uses: float, even: int) -> None:
    counts = np.full(8, 2)
    counts[: round(8 * (2 - uses))] = 1
    assert law._even_rows(counts, 8, True) == even


@each(("ranks", "cells"), [(31, 31), (32, 32), (33, 33), (33 * np.e - 1, 32 + 16)])
def test_ranks_have_cells_of_one_and_then_rising_ones(ranks: float, cells: int) -> None:
    edges = law._edges(ranks)
    assert len(edges) == cells + 1 and edges[0] == 1 and edges[-1] == pytest.approx(ranks + 1) and (np.diff(edges) > 0).all()


@each(("uses", "heads"), [([19] * 4, 0), ([20, 19, 19], 1), ([20, 20, 19], 2), ([20] * 3, 2), ([20] * 4, 3)])
def test_a_rows_rank_is_known_from_twenty_uses_on(uses: list[int], heads: int) -> None:
    curves = usage_curves(np.array([*uses, 1]))
    assert len(curves.head) == heads and curves.lookups == sum(uses) + 1
    assert curves.rows[0] == len(uses) + 1 and curves.mass[0] == sum(uses) + 1


@each(("lookups_waiting", "gathered"), [(4, 0), (5, 1)])
def test_counts_wait_for_their_room(lookups_waiting: int, gathered: int) -> None:
    counts = tally.Tally(4)
    counts.add(np.zeros(lookups_waiting, np.uint64))
    assert len(counts._runs) == gathered and len(counts._tokens) == 1 - gathered


@each(("ids", "away"), [(2, 0), (3, 1)])
def test_different_ids_beyond_their_room_go_to_a_file(ids: int, away: int) -> None:
    counts = tally.Tally(4)
    counts.add(np.arange(10, dtype=np.uint64) % ids)
    assert len(counts._away) == away and counts.spectrum().rows_seen == ids
    assert counts.spectrum().lookups == 10


@each("at_once", [1, 3, 4, 5, 100])
def test_tables_are_counted_in_any_parts(at_once: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tally, "SAMPLES_AT_ONCE", at_once)
    shares: list[float] = []
    (found,) = tally.tallies(lookups(5, 6, 5, 5, 6), lambda share, words: shares.append(share))
    assert (found.uses.tolist(), found.rows.tolist()) == ([2, 3], [1, 1]) and shares == sorted(shares) and shares[-1] == 0.9
    assert found.head_share(np.array([0, 1, 2, 9])).tolist() == [0.0, 0.6, 1.0, 1.0] and found.rows_used_once == 0
