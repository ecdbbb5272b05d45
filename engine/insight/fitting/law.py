"""The popularity law of one table, fitted to how often its rows were used.

Two curves are fitted: the number of rows that are used at least k times, and the share of lookups that go to these rows.
A row of share p is used Poisson(N p) times in N lookups. So both curves are sums over the law's cells, and rows need not be
ranked by their own noisy counts. Least squares give the exponent, the shift and the share of ids that hardly return. Where ids
are open-ended, they also give the number of rows that exist. One row may be far hotter than the law says.
"""

from dataclasses import dataclass
from functools import partial

import numpy as np

from ...core.arrays import Floats, Ints
from ...workload.popularity import zipf_mass

THRESHOLDS = 24
SINGLE_RANKS, STEPS = 32, 16  # cells of one rank, then so many for each e-fold
MODEL_ERROR, MASS_ERROR, HEAD_ERROR = 0.03, 0.003, 0.01  # how exact the curves are asked for, beside chance
STANDS_OUT, WORTH_MISFIT = 1.5, 0.9  # over the second row; a hottest row of its own must lower the misfit to this
STARTS = ((1.05, 0.0, 0.1), (0.7, 0.01, 1.0), (1.5, 0.1, 0.1))  # exponent, shift over rows, and the rows' e-folds over those seen
STEEPEST, MOST_SHIFT, MAX_SHARE, MOST_FOLDS = (
    12.0,
    10.0,
    0.98,
    5.0,
)  # exponent; shift over rows; share of lookups; e-folds of rows
SURE_USES = 20  # uses from which on a row's rank is taken as known
FEWEST_USES, UNSEEN_STEPS = 2, 40  # mean uses of a seen row that tell the rows not seen; steps to their number
ROWS_MISFIT = 2.0  # misfit of one e-fold: no more rows than the curves ask for


@dataclass(frozen=True, slots=True)
class Law:
    """A table's Zipf law of popularity.

    rows: the number of rows.
    s, q: exponent and shift.
    hottest_share: share of lookups of the hottest row, 0 where that row follows the law.
    once_share: share of lookups of ids that hardly return.
    """

    rows: int
    s: float = 0.0
    q: float = 0.0
    hottest_share: float = 0.0
    once_share: float = 0.0

    def knobs(self) -> tuple[float, float, float, float]:
        """Return s, q, hottest_share and once_share, rounded to four digits as the knobs have them."""
        s, q, hottest, once_share = (float(f"{number:.4g}") for number in (self.s, self.q, self.hottest_share, self.once_share))
        return s, q if q > 1e-6 else 0.0, hottest, once_share if once_share > 1e-6 else 0.0


@dataclass(frozen=True, slots=True, eq=False)
class UsageCurves:
    """The counted uses of a table's rows.

    lookups: lookups that were counted.
    uses: numbers of uses (K,), rising.
    rows: rows that are used at least `uses` times (K,).
    mass: lookups of these rows (K,).
    head: shares of lookups of the hottest 1, 2, 4, ... rows, as far as the counts tell their order reliably.
    """

    lookups: int
    uses: Ints
    rows: Floats
    mass: Floats
    head: Floats


def usage_curves(counts: Ints) -> UsageCurves:
    """Return the curves of rows and lookups by number of uses, from each row's count."""
    often = np.unique(np.rint(np.geomspace(1, counts.max(), THRESHOLDS)).astype(np.int64))
    ordered = np.sort(counts)
    sums = np.concatenate(([0], np.cumsum(ordered)))
    starts = np.searchsorted(ordered, often)
    sure = 2 ** np.arange(int(np.count_nonzero(counts >= SURE_USES)).bit_length())
    head = 1.0 - sums[len(ordered) - sure] / sums[-1]
    return UsageCurves(
        int(sums[-1]), often, (len(ordered) - starts).astype(np.float64), (sums[-1] - sums[starts]).astype(np.float64), head
    )


def fit_law(counts: Ints, rows: int, open_ended: bool) -> Law:
    """Fit a table's popularity law to the numbers of uses of its rows.

    The counts may have any order, and counts of 0 are ignored. The table has `rows` rows. With `open_ended` it has at least so
    many, since new ids may follow.
    """
    counts = counts[counts > 0]
    if rows < 2:
        return Law(1)
    if even_rows := _even_rows(counts, rows, open_ended):
        return Law(even_rows)
    usage = usage_curves(counts)
    plain_law, misfit = _fitted(usage, rows, 0.0, open_ended)
    largest = np.sort(counts)[-2:]
    share = min(float(largest[-1]) / usage.lookups, MAX_SHARE)
    if rows > 2 and len(largest) == 2 and largest[1] > STANDS_OUT * largest[0]:
        hot_row_law, hot_row_misfit = _fitted(usage, rows, share, open_ended)
        return hot_row_law if hot_row_misfit < WORTH_MISFIT * misfit else plain_law
    return plain_law


def _even_rows(counts: Ints, rows: int, open_ended: bool) -> int:
    """Return the number of rows where they are used no less evenly than by chance, else 0.

    By chance, uses are Poisson: their variance is the mean. Where new ids may follow, only the uses of rows that were seen are
    known, a Poisson law without 0; below FEWEST_USES in the mean it says nothing about the others.
    """
    seen = len(counts) if open_ended else rows
    lookups, squares = float(counts.sum()), float(counts.astype(np.float64) @ counts)
    mean = lookups / seen
    variance = squares / seen - mean**2
    if not open_ended:
        return rows if variance <= mean else 0
    uses = mean  # of each row, seen or not
    for _ in range(UNSEEN_STEPS):
        uses = mean * -float(np.expm1(-uses))
    return max(rows, round(lookups / uses)) if mean >= FEWEST_USES and variance <= mean * (1 + uses - mean) else 0


def _fitted(usage: UsageCurves, rows: int, hottest: float, open_ended: bool) -> tuple[Law, float]:
    from scipy.optimize import least_squares

    singles = (usage.rows[0] - (usage.rows[1] if len(usage.rows) > 1 else 0.0)) / usage.lookups
    most_once = max(min(float(singles), MAX_SHARE - hottest), 1e-6)
    low = (0.0, 0.0, 0.0, 0.0)
    high = (STEEPEST, float(np.log1p(MOST_SHIFT * rows)), most_once, MOST_FOLDS if open_ended else 1e-9)
    solutions = [
        least_squares(
            partial(_misfit, usage=usage, rows=rows, hottest=hottest),
            (s, np.log1p(q * rows), most_once / 4, min(folds, high[3] / 2)),
            bounds=(low, high),
            x_scale=(0.1, 1.0, 0.05, 0.5),
            max_nfev=80,
        )
        for s, q, folds in STARTS
    ]
    best_solution = min(solutions, key=lambda solution: float(solution.cost))
    s, q, once_share, folds = best_solution.x
    return Law(round(rows * float(np.exp(folds))), float(s), float(np.expm1(q)), hottest, float(once_share)), float(
        best_solution.cost
    )


def _edges(ranks: float) -> Floats:
    """Return where cells of ranks begin, and the end; they move smoothly with the number of ranks."""
    if ranks <= SINGLE_RANKS:
        return np.append(np.arange(1.0, ranks + 1), ranks + 1)
    steps = int(np.ceil(STEPS * np.log((ranks + 1) / (SINGLE_RANKS + 1))))
    return np.concatenate((np.arange(1.0, SINGLE_RANKS + 1), np.geomspace(SINGLE_RANKS + 1, ranks + 1, steps + 1)))


def _misfit(x: Floats, usage: UsageCurves, rows: int, hottest: float) -> Floats:
    """Return the differences between the law's curves and the counted ones, each over its standard error."""
    from scipy.special import gammainc

    s, q, once_share, all_rows = float(x[0]), float(np.expm1(x[1])), float(x[2]), rows * float(np.exp(x[3]))
    edges = _edges(all_rows - (hottest > 0))
    share = zipf_mass(edges[:-1], edges[1:], s, q)
    share *= (1.0 - hottest - once_share) / share.sum()
    width = np.append(np.diff(edges), float(hottest > 0))
    uses = usage.lookups * (
        np.append(share / width[:-1], hottest) + once_share / all_rows
    )  # ids that hardly return share all rows
    tail = gammainc(usage.uses[:, None], uses)
    tail_before = np.where(usage.uses[:, None] > 1, gammainc(np.maximum(usage.uses - 1, 1)[:, None], uses), 1.0)
    by_rows = (tail @ width - usage.rows) / np.sqrt(usage.rows + (MODEL_ERROR * usage.rows) ** 2)
    by_mass = (tail_before @ (width * uses) - usage.mass) / usage.lookups / MASS_ERROR
    ranks = 2.0 ** np.arange(len(usage.head)) - (hottest > 0)
    head = hottest + np.interp(ranks, edges - 1, np.concatenate(([0.0], np.cumsum(share)))) - usage.head
    by_head = head / (HEAD_ERROR + np.sqrt(usage.head * (1 - usage.head) / usage.lookups))
    return np.concatenate((by_rows, by_mass, by_head, [ROWS_MISFIT * x[3]]))
