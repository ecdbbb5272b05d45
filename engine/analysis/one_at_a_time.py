"""One knob at a time and all together: a tornado around a base, and Sobol's indices over the whole box of some axes.

Indices follow Saltelli et al., Computer Physics Communications 181, 2010: two samplings A and B of the box, and A with one
axis taken from B; alone by their equation (b), in all by Jansen's (f). Intervals come from drawing the rows again.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..errors import CannotRun
from ..results.result import Result
from ..scenario.scenario import Scenario, known
from ..sweep.axes import Axis
from ..sweep.sweep import Refused, Sampling, made, shares_of
from .evaluated import evaluated, number
from .importance import DRAWS, PURPOSE, QUANTILES, Share
from .objective import Array, said, short

Settings = Sequence[tuple[str, Any]]
LEAST_ROWS = 16


@dataclass(frozen=True)
class Move:
    """How far one knob alone moves a metric: the knob's values where the metric is lowest and highest, and the metric there."""

    path: str
    low_at: Any
    high_at: Any
    low: float
    high: float

    @property
    def width(self) -> float:
        """How far the metric moves."""
        return self.high - self.low

    def sentence(self, metric: str) -> str:
        """Say from where to where the knob takes the metric."""
        ends = f"from {said(metric, self.low)} to {said(metric, self.high)}"
        return f"{known(self.path).label} alone takes {short(metric).lower()} {ends}."


def tornado(base: Scenario, axes: Sequence[Axis], metric: str, settings: Settings = ()) -> tuple[Move, ...]:
    """Return how far each axis moves a metric of the estimate while all others stay at the base, the widest first.

    Of a range only its ends are tried. Axes without effect, or on which fewer than two values can run, are left out.
    """
    tries = dict.fromkeys((axis.path, value) for axis in axes for value in _ends(axis))
    points = [(path, value, made(base, {path: value}, settings)) for path, value in tries]
    good = [(path, value, point) for path, value, point in points if not isinstance(point, Refused)]
    found: dict[str, list[tuple[float, Any]]] = {axis.path: [] for axis in axes}
    for (path, value, _), result in zip(good, evaluated([point for _, _, point in good]), strict=True):
        reached = number(result, metric)
        if reached is not None:
            found[path].append((reached, value))
    moves = (_move(path, reached) for path, reached in found.items() if len(reached) > 1)
    return tuple(sorted((move for move in moves if move.width > 1e-12 * abs(move.high)), key=lambda move: -move.width))


def _ends(axis: Axis) -> tuple[Any, ...]:
    return tuple(axis.value(end) for end in (axis.span.low, axis.span.high)) if axis.span else axis.values


def _move(path: str, reached: Sequence[tuple[float, Any]]) -> Move:
    low, high = min(reached, key=lambda one: one[0]), max(reached, key=lambda one: one[0])
    return Move(path, low[1], high[1], low[0], high[0])


def sobol(base: Scenario, axes: Sequence[Axis], metric: str, rows: int = 256, settings: Settings = ()) -> tuple[Share, ...]:
    """Return Sobol's indices of a metric of the estimate over the box of the axes, the largest first.

    Costs `rows` times the axes plus two estimates. Rows with a point that has no number are left out; raises CannotRun
    where too few remain.
    """
    seed = int(dict(settings).get("data.seed", base.data.seed))
    both = shares_of(Sampling("sobol", rows), 2 * len(axes), seed)
    left, right = both[:, : len(axes)], both[:, len(axes) :]
    mixed = [np.where(np.arange(len(axes)) == axis, right, left) for axis in range(len(axes))]
    found = _values(base, axes, np.concatenate([left, right, *mixed]), metric, settings).reshape(len(axes) + 2, rows)
    found = found[:, np.isfinite(found).all(axis=0)]
    if found.shape[1] < LEAST_ROWS:
        raise CannotRun(
            f"Only {found.shape[1]} of {rows} rows have {metric} at every point; narrow the axes to where the machine can run."
        )
    parts = np.array([_indices(found), *_again(found, seed)])
    low, high = np.quantile(parts[1:], QUANTILES, axis=0)
    ends = np.array([parts[0], low, high])
    rated = [Share(axis.path, *map(float, (*ends[:, 0, at], *ends[:, 1, at]))) for at, axis in enumerate(axes)]
    return tuple(sorted(rated, key=lambda share: -(share.total or 0)))


def _values(base: Scenario, axes: Sequence[Axis], shares: Array, metric: str, settings: Settings) -> Array:
    columns = [axis.numbers(share) for axis, share in zip(axes, shares.T, strict=True)]
    places = [{axis.path: axis.value(one) for axis, one in zip(axes, row, strict=True)} for row in zip(*columns, strict=True)]
    points = [made(base, place, settings) for place in places]
    different = list(dict.fromkeys(point for point in points if isinstance(point, Scenario)))
    results: dict[Scenario | Refused, Result] = dict(zip(different, evaluated(different), strict=True))
    return np.array([number(results[one], metric) if isinstance(one, Scenario) else None for one in points], dtype=float)


def _again(found: Array, seed: int) -> list[Array]:
    rng, rows = np.random.default_rng([seed, PURPOSE]), found.shape[1]
    return [_indices(found[:, rng.integers(rows, size=rows)]) for _ in range(DRAWS)]


def _indices(found: Array) -> Array:
    """Return the indices alone and in all, from a row of A, one of B and one of each mixture."""
    left, right, mixed = found[0], found[1], found[2:]
    spread = max(float(np.var(found[:2])), np.finfo(float).tiny)
    alone = (right * (mixed - left)).mean(axis=1) / spread
    total = ((left - mixed) ** 2).mean(axis=1) / (2 * spread)
    indices: Array = np.clip([alone, total], 0, 1)
    return indices
