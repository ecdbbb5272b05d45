"""The importance of knobs: how much of a metric's variance over a sweep each axis explains.

Alone: the variance of the metric's mean at each value of the axis. In all: what remains when all other axes stand still, so
with everything that the axis does together with others. Both are shares of the variance over the points (Sobol's indices).
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ..core import figures
from ..scenario.scenario import KNOBS, known
from ..sweep.sweep import Sweep
from .objective import Array, short

PURPOSE = 107
DRAWS = 200
QUANTILES = (0.025, 0.975)
MOST_BINS = 16


@dataclass(frozen=True)
class Share:
    """One axis's share of a metric's variance, 0 to 1: `alone` with its 95 % interval, which a grid has none of, and `total`."""

    path: str
    alone: float
    low: float
    high: float
    total: float | None = None

    def sentence(self, metric: str, among: str = "") -> str:
        """Say what the knob explains, `among` which points if not all, and whether it does so alone."""
        total = self.alone if self.total is None else self.total
        more = f", and with other knobs together {_percent(total)}" if total >= self.alone + 0.05 else ""
        of = f"of the variance of {short(metric).lower()}{' ' * bool(among)}{among}"
        return f"{known(self.path).label} explains {_percent(self.alone)} {of}{more}."


def shares(sweep: Sweep, values: Sequence[float | None] | Array) -> tuple[Share, ...]:
    """Return each axis's share of the variance of a metric, given by point of the sweep, the largest first.

    Points without a number are left out. Of a grid shares are exact, with totals; of a sampling ranges are cut into bins of
    equally many points, the noise between bins is taken off, and intervals come from drawing the points again.
    """
    found = np.asarray(values, dtype=float)
    known_ones = np.isfinite(found)
    found, levels = found[known_ones], sweep.levels(MOST_BINS)[known_ones]
    if len(found) < 2 or np.ptp(found) <= 1e-12 * np.abs(found).max():
        return tuple(Share(axis.path, 0.0, 0.0, 0.0, 0.0) for axis in sweep.axes)
    whole = sweep.sampling.kind == "grid" and sweep.sampling.count is None
    parts = (_exact if whole else _drawn)(levels, found, sweep.base.data.seed)
    rows = (Share(axis.path, *part) for axis, part in zip(sweep.axes, parts, strict=True))
    return tuple(sorted(rows, key=lambda row: (-row.alone, list(KNOBS).index(row.path))))


def _exact(levels: Array, found: Array, seed: int) -> list[tuple[float, float, float, float | None]]:
    rows: list[tuple[float, float, float, float | None]] = []
    for axis in range(levels.shape[1]):
        others = np.unique(np.delete(levels, axis, axis=1), axis=0, return_inverse=True)[1].reshape(-1)
        alone = _between(levels[:, axis], found)
        rows.append((alone, alone, alone, max(1 - _between(others, found), alone)))
    return rows


def _drawn(levels: Array, found: Array, seed: int) -> list[tuple[float, float, float, float | None]]:
    draws = np.random.default_rng([seed, PURPOSE]).integers(len(found), size=(DRAWS, len(found)))
    rows: list[tuple[float, float, float, float | None]] = []
    for axis in range(levels.shape[1]):
        again = [_between(levels[draw, axis], found[draw], noisy=True) for draw in draws]
        alone = _between(levels[:, axis], found, noisy=True)
        low, high = np.quantile(again, QUANTILES)
        rows.append((alone, min(float(low), alone), max(float(high), alone), None))
    return rows


def _between(level: Array, found: Array, noisy: bool = False) -> float:
    """Return the share of the variance that lies between levels; `noisy`: less what chance alone puts there (epsilon squared)."""
    count = np.bincount(level)
    mean = np.bincount(level, found) / np.maximum(count, 1)
    middle = found.mean()
    share = float((count * (mean - middle) ** 2).sum() / max(((found - middle) ** 2).sum(), np.finfo(float).tiny))
    many, some = len(found), int((count > 0).sum())
    if noisy and many > some:
        share = 1 - (1 - share) * (many - 1) / (many - some)
    return min(max(share, 0.0), 1.0)


def _percent(share: float) -> str:
    return "less than 1 %" if share < 0.01 else figures.percent(share)
