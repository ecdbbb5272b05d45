"""Fit of users' histories: their lengths, users in a batch, duplicates of a batch."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from ....core.arrays import Flags, Floats, Ints
from ....core.figures import count
from ....errors import BadFile
from ....scenario.scenario import Scenario, with_values
from ....workload.accesses import distinct_events, unique_shares
from ....workload.histories import HistoryLaw, cut_law, widest_spread
from ....workload.popularity import table_kinds
from ....workload.readers.recording import MOST_LENGTH, HistoryFields, Recording
from ....workload.readers.samples import Watch, unwatched
from .batches import MOST_EVENTS, BatchUsers, Duplicates, batches_to_count, duplicates_of_log, duplicates_of_rows
from .events import EventLookups, going_on
from .walk import UserCounts, first_in_batch, walk

DEFAULT_CAP = 4096  # events, where a file has longer histories and no cap is given
NARROWER = 0.999  # of the widest spread that a law can have
BINS = 16  # of lengths in a chart


class HistoryWindow(NamedTuple):
    """The window of a user's events, and the samples of a GPU's batch.

    cap: the most events of a history; None for the longest of the file, at most DEFAULT_CAP.
    batch: the samples of a batch.
    """

    cap: int | None = None
    batch: int = 128


def window_of(s: Scenario) -> HistoryWindow:
    """Return the window and the batch of a scenario's GPU."""
    return HistoryWindow(s.data.history_cap, max(s.data.batch_size // s.machine.num_gpus, 1))


@dataclass(frozen=True, slots=True, eq=False)
class HistoryFit:
    """The fit of users' histories.

    fields: the fields of user and events.
    cap, is_cap_given: the most events that are kept, and whether the scenario gave it.
    longest: the longest history of the file.
    mean, cv: mean and spread of the cut lengths.
    law: the law with the rounded mean, and with as much of the spread as it can have.
    lengths: samples by length, cut at the cap, (cap + 1,).
    users: users of the file; without their column, its rows.
    user_rows: samples of each user, (users,).
    batch, samples_per_user: samples of a batch, and those of one user in it.
    is_user_major: whether the samples of each user stand together.
    out_of_order: events that are earlier than the event of their user before; None without times.
    empty: samples without any event.
    going_on: share of a user's later rows that go on one event further; None for a log.
    counted: duplicates of batches of the file.
    expected: the same, by the fitted law.
    """

    fields: HistoryFields
    cap: int
    is_cap_given: bool
    longest: int
    mean: float
    cv: float
    law: HistoryLaw
    lengths: Ints
    users: int
    user_rows: Ints
    batch: int
    samples_per_user: float
    is_user_major: bool
    out_of_order: int | None
    empty: int
    going_on: float | None
    counted: Duplicates
    expected: Duplicates

    @property
    def pooling(self) -> int:
        """The mean length, rounded to whole events: at least 1, as is each cut length."""
        return round(self.mean)

    @property
    def length_cv(self) -> float:
        """The spread as a knob has it: that of the law."""
        return float(f"{self.law.cv:.3g}") if self.law.cv else 0.0

    def knobs(self, tables: int) -> Mapping[str, Any]:
        """Return the knobs, by path, that make a model of `tables` read histories."""
        kinds = tuple("sequence" if table in self.fields.events else "bag" for table in range(tables))
        return {
            "model.feature_kind": kinds,
            "model.features": 1,
            "model.interaction": "hstu",
            "data.history_cap": self.cap,
            "data.samples_per_user": self.samples_per_user,
        }

    def length_rows(self) -> list[tuple[int, int, float, float]]:
        """Return (shortest, longest, share in the file, share by the law) for ranges of lengths."""
        edges = np.unique(np.rint(np.geomspace(1, self.cap + 1, BINS + 1)).astype(np.int64))
        highs = np.unique(np.append(edges[1:] - 1, [self.cap - 1, self.cap]))
        highs = highs[highs > 0]
        lows = np.append(1, highs[:-1] + 1)
        file = np.diff(np.cumsum(self.lengths)[highs] / self.lengths.sum(), prepend=0.0)
        fit = np.diff([self.law.share_up_to(int(high)) for high in highs], prepend=0.0)
        return [(int(a), int(b), float(c), float(d)) for a, b, c, d in zip(lows, highs, file, fit, strict=True)]

    @property
    def largest_length_gap(self) -> float:
        """The largest gap of law and file in the cumulative share of lengths."""
        points = np.unique(np.rint(np.geomspace(1, self.cap, 200)).astype(np.int64))
        file = np.cumsum(self.lengths)[points] / self.lengths.sum()
        return float(np.abs(file - [self.law.share_up_to(int(point)) for point in points]).max())


class HistoryCounts(NamedTuple):
    """Counts of a walk over a file.

    user_rows: samples of each user.
    first_of_batch: samples that are their user's first in their batch, of whole batches.
    is_user_major: whether the samples of each user stand together.
    out_of_order: samples that are earlier than their user's sample before.
    one_new: rows that have one new event, (N,); empty for a log.
    previous: the position of the user's row before, (N,); empty for a log.
    """

    user_rows: Ints
    first_of_batch: int
    is_user_major: bool
    out_of_order: int
    one_new: Flags
    previous: Ints


def count_histories(
    file: Recording, fields: HistoryFields, batch: int, chosen: Sequence[BatchUsers], watch: Watch
) -> HistoryCounts:
    """Count a file's users by a walk; the batches `chosen` keep their samples."""
    counts, batched_samples = UserCounts(file.name), file.samples - file.samples % batch
    rows = file.samples if fields.in_rows else 0
    one_new, previous = np.zeros(rows, np.bool_), np.zeros(rows, np.int64)
    first_of_batch, apart, out_of_order = 0, 0, 0
    for block in walk(file, fields.user, counts, file.samples):
        watch(block.high / file.samples, f"{count(block.high)} of {count(file.samples, 'sample')}")
        positions = np.arange(block.low, block.high)
        first_of_batch += int((first_in_batch(block, batch) & (positions < batched_samples)).sum())
        apart += int(((block.previous >= 0) & (block.previous < positions - 1)).sum())
        if file.times is not None:
            later = block.previous >= 0
            out_of_order += int((file.times[block.low : block.high][later] < file.times[block.previous[later]]).sum())
        if fields.in_rows:
            one_new[block.low : block.high] = going_on(file, fields.events[0], block)
            previous[block.low : block.high] = block.previous
        for chosen_batch in chosen:
            if chosen_batch.low < block.high and chosen_batch.high > block.low:
                chosen_batch.add(block)
    return HistoryCounts(counts.counts, first_of_batch, not apart, out_of_order, one_new, previous)


def lengths_of(file: Recording, fields: HistoryFields, user_rows: Ints) -> Ints:
    """Return the samples by length of their history, (longest + 1,).

    In a log, a user of n events has histories of 1, 2, ... n events.
    """
    if fields.in_rows:
        return np.bincount(np.broadcast_to(file.bag_lengths(fields.events[0]), file.samples), minlength=2)
    users_by_rows = np.bincount(user_rows, minlength=2)
    at_least = np.cumsum(users_by_rows[::-1])[::-1].copy()
    at_least[0] = 0
    return at_least


def cut_lengths(lengths: Ints, cap: int) -> Ints:
    """Return samples by length, cut at the cap, (cap + 1,); an empty history has one event."""
    cut = np.zeros(cap + 1, np.int64)
    cut[: min(len(lengths), cap + 1)] = lengths[: cap + 1]
    cut[cap] += lengths[cap + 1 :].sum()
    cut[1] += cut[0]
    cut[0] = 0
    return cut


def moments(lengths: Ints) -> tuple[float, float]:
    """Return mean and coefficient of variation of lengths that are counted by length."""
    values, samples = np.arange(len(lengths), dtype=np.float64), lengths.sum()
    mean = float(values @ lengths / samples)
    return mean, float(np.sqrt(((values - mean) ** 2) @ lengths / samples) / mean)


def fitted_law(mean: float, cv: float, cap: int) -> HistoryLaw:
    """Return the cut law of the rounded mean, with the spread as far as possible."""
    rounded_mean = round(mean)
    widest = NARROWER * widest_spread(rounded_mean, cap)
    fitted_cv = min(float(f"{cv:.3g}"), np.floor(widest * 1000) / 1000)
    return cut_law(float(rounded_mean), float(fitted_cv), float(cap))


def fit_histories(
    file: Recording, window: HistoryWindow, watch: Watch = unwatched
) -> tuple[HistoryFit, EventLookups | Recording]:
    """Fit a file's histories; return the fit, and the file's lookups with each event once.

    The expected duplicates are 0 until the popularity of rows is known. Raises BadFile.
    """
    fields = file.histories
    assert fields is not None
    longest_possible = min(window.cap or DEFAULT_CAP, MOST_LENGTH if fields.in_rows else file.samples)
    batch = max(min(window.batch, file.samples, MOST_EVENTS // longest_possible), 1)
    chosen = batches_to_count(file.samples, batch)
    counts = count_histories(file, fields, batch, chosen, watch)
    all_lengths = lengths_of(file, fields, counts.user_rows)
    longest = len(all_lengths) - 1
    if fields.in_rows and not all_lengths[1:].any():
        raise BadFile(f"{file.name} has only empty histories; give a file with events, or leave out history in the mapping.")
    cap = window.cap or min(longest, DEFAULT_CAP)
    lengths = cut_lengths(all_lengths, cap)
    mean, cv = moments(lengths)
    if mean > MOST_LENGTH:
        raise BadFile(
            f"Histories of {file.name}, cut at {count(cap, 'event')}, have {count(round(mean))} in the mean, but a sample has at "
            f"most {count(MOST_LENGTH)}; set data.history_cap to {count(MOST_LENGTH)} events or less."
        )
    if fields.in_rows:
        counted = duplicates_of_rows(file, fields, chosen, cap, counts.one_new, counts.previous)
        later = int((counts.previous >= 0).sum())
        share = float(counts.one_new.sum() / later) if later else 1.0
    else:
        counted, share = duplicates_of_log(file, fields, chosen, cap), None
    batched_samples = file.samples - file.samples % batch
    fit = HistoryFit(
        fields=fields,
        cap=cap,
        is_cap_given=window.cap is not None,
        longest=longest,
        mean=mean,
        cv=cv,
        law=fitted_law(mean, cv, cap),
        lengths=lengths,
        users=len(counts.user_rows),
        user_rows=counts.user_rows,
        batch=batch,
        samples_per_user=max(float(f"{batched_samples / counts.first_of_batch:.4g}"), 1.0),
        is_user_major=counts.is_user_major,
        out_of_order=None if file.times is None else counts.out_of_order,
        empty=int(all_lengths[0]) if fields.in_rows else 0,
        going_on=share,
        counted=counted,
        expected=Duplicates(0, 0.0, ()),
    )
    return fit, EventLookups(file, fields.events, counts.one_new) if fields.in_rows else file


def expected_duplicates(fit: HistoryFit, scenario_of: Callable[[Scenario], Scenario]) -> Duplicates:
    """Return the duplicates that the fitted law expects in a batch.

    `scenario_of` returns a scenario with the fitted tables.
    """
    fitted = with_values(scenario_of(Scenario()), {"data.batch_size": fit.batch, "machine.num_gpus": 1})
    kinds, shares = table_kinds(fitted), unique_shares(fitted)
    events: Floats = distinct_events(kinds, fit.batch, fit.samples_per_user)
    kind = int(kinds.kind_of_table[fit.fields.events[0]])
    return Duplicates(1, float(events[kind] / (fit.batch * fit.pooling)), tuple(float(shares[t]) for t in fit.fields.events))
