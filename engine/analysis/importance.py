"""The importance of knobs: the share of a metric's variance that each axis explains.

An axis's own share is the variance of the metric's mean at each value of the axis. Its total share is the variance that remains
when all other axes stand still, so it includes interactions with other axes. Both are divided by the variance over all points
(Sobol's indices).
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ..core import figures
from ..scenario.scenario import KNOBS, declaration
from ..sweep.sweep import Sweep
from .objective import Array, short_name

PURPOSE = 107
DRAWS = 200
QUANTILES = (0.025, 0.975)
MAX_BINS = 16


@dataclass(frozen=True)
class VarianceShare:
    """An axis's share of a metric's variance, 0 to 1.

    path: dotted path of the knob.
    alone_share: the axis's own share, without interactions.
    low, high: 95 % interval of `alone_share`; both equal it for a grid, whose share is exact.
    total: the axis's share with interactions, None where unknown.
    """

    path: str
    alone_share: float
    low: float
    high: float
    total: float | None = None

    def sentence(self, metric: str, points_text: str = "") -> str:
        """Return a sentence on the share of the metric's variance that the knob explains.

        `points_text` names the points if they are not all of the sweep's.
        """
        total = self.alone_share if self.total is None else self.total
        interaction_clause = f", and with other knobs together {_percent(total)}" if total >= self.alone_share + 0.05 else ""
        variance_clause = f"of the variance of {short_name(metric).lower()}{' ' * bool(points_text)}{points_text}"
        return f"{declaration(self.path).label} explains {_percent(self.alone_share)} {variance_clause}{interaction_clause}."


def variance_shares(sweep: Sweep, values: Sequence[float | None] | Array) -> tuple[VarianceShare, ...]:
    """Return each axis's share of a metric's variance over a sweep, the largest first.

    Points without a number are left out. Shares of a grid are exact, with totals. For a sampling, ranges are cut into bins
    of equally many points, the noise between bins is subtracted, and intervals come from drawing the points again.
    """
    numbers = np.asarray(values, dtype=float)
    finite = np.isfinite(numbers)
    numbers, levels = numbers[finite], sweep.levels(MAX_BINS)[finite]
    if len(numbers) < 2 or np.ptp(numbers) <= 1e-12 * np.abs(numbers).max():
        return tuple(VarianceShare(axis.path, 0.0, 0.0, 0.0, 0.0) for axis in sweep.axes)
    is_full_grid = sweep.sampling.kind == "grid" and sweep.sampling.count is None
    axis_shares = (_grid_shares if is_full_grid else _sampled_shares)(levels, numbers, sweep.base.data.seed)
    rows = (VarianceShare(axis.path, *part) for axis, part in zip(sweep.axes, axis_shares, strict=True))
    return tuple(sorted(rows, key=lambda row: (-row.alone_share, list(KNOBS).index(row.path))))


def _grid_shares(levels: Array, numbers: Array, seed: int) -> list[tuple[float, float, float, float | None]]:
    rows: list[tuple[float, float, float, float | None]] = []
    for axis in range(levels.shape[1]):
        other_levels = np.unique(np.delete(levels, axis, axis=1), axis=0, return_inverse=True)[1].reshape(-1)
        alone_share = _share_between_levels(levels[:, axis], numbers)
        rows.append((alone_share, alone_share, alone_share, max(1 - _share_between_levels(other_levels, numbers), alone_share)))
    return rows


def _sampled_shares(levels: Array, numbers: Array, seed: int) -> list[tuple[float, float, float, float | None]]:
    draws = np.random.default_rng([seed, PURPOSE]).integers(len(numbers), size=(DRAWS, len(numbers)))
    rows: list[tuple[float, float, float, float | None]] = []
    for axis in range(levels.shape[1]):
        redrawn_shares = [_share_between_levels(levels[draw, axis], numbers[draw], noisy=True) for draw in draws]
        alone_share = _share_between_levels(levels[:, axis], numbers, noisy=True)
        low, high = np.quantile(redrawn_shares, QUANTILES)
        rows.append((alone_share, min(float(low), alone_share), max(float(high), alone_share), None))
    return rows


def _share_between_levels(level: Array, numbers: Array, noisy: bool = False) -> float:
    """Return the share of the variance between levels; `noisy` subtracts the share by chance (epsilon squared)."""
    count = np.bincount(level)
    mean = np.bincount(level, numbers) / np.maximum(count, 1)
    overall_mean = numbers.mean()
    share = float((count * (mean - overall_mean) ** 2).sum() / max(((numbers - overall_mean) ** 2).sum(), np.finfo(float).tiny))
    num_points, num_levels = len(numbers), int((count > 0).sum())
    if noisy and num_points > num_levels:
        share = 1 - (1 - share) * (num_points - 1) / (num_points - num_levels)
    return min(max(share, 0.0), 1.0)


def _percent(share: float) -> str:
    return "less than 1 %" if share < 0.01 else figures.percent(share)
