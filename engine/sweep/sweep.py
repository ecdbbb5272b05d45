"""A sweep: the scenarios at the points of axes, made when they are read.

A grid has every combination of the axes' values. A sample draws points at random, or evenly spread by a Sobol sequence or a
Latin hypercube. Each value is rounded to the digits of a link, so that the point's link reproduces it.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from math import prod
from typing import Any, Literal, get_args, overload

import numpy as np

from ..core import figures
from ..errors import BadKnob, nearest_hint
from ..scenario import knobs
from ..scenario.keys import digest, key_lines
from ..scenario.scenario import KNOBS_WITH_RULES, Scenario, declaration, with_values
from ..scenario.sequences import sequence_note_of_points
from .axes import MOST_POINTS, Array, Axis

Kind = Literal["grid", "random", "sobol", "lhs"]
KINDS: tuple[Kind, ...] = get_args(Kind)
SAMPLE_STREAM = 0x5A  # the key of the random stream that draws points


@dataclass(frozen=True)
class Sampling:
    """How the points of a sweep are chosen.

    kind "grid": all points of the grid, or `count` points drawn from them.
    Other kinds ("random", "sobol", "lhs"): `count` points drawn from the ranges and the listed values of the axes.
    """

    kind: Kind = "grid"
    count: int | None = None

    def __post_init__(self) -> None:
        """Raise BadKnob for an unknown kind, or for a missing or too large count."""
        if self.kind not in KINDS:
            raise BadKnob(f"sampling={self.kind[:20]!r} is not known; {nearest_hint(self.kind, KINDS)}")
        if self.count is None and self.kind != "grid":
            raise BadKnob(f"sampling={self.kind} needs a number of points; write {self.kind}:256.")
        if self.count is not None and not 1 <= self.count <= MOST_POINTS:
            raise BadKnob(f"sample={self.count} is not a number of points from 1 to {figures.count(MOST_POINTS)}.")

    def __str__(self) -> str:
        """The sampling as text, as links write it: sobol:256."""
        return self.kind if self.count is None else f"{self.kind}:{self.count}"


def sampling(text: str) -> Sampling:
    """Return the sampling of a text such as sobol:256; raises BadKnob."""
    kind, colon, count = text.partition(":")
    if colon and not (count.isascii() and count.isdigit() and len(count) <= 9):
        raise BadKnob(f"sample={text[:40]!r} cannot be read; write a kind and a number of points, such as sobol:256.")
    return Sampling(kind, int(count) if colon else None)  # type: ignore[arg-type]


@dataclass(frozen=True)
class RefusedPlace:
    """A point that no scenario can have: its value on each axis, and the reason."""

    place: Mapping[str, Any]
    sentence: str


def scenario_at(base: Scenario, place: Mapping[str, Any], settings: Sequence[tuple[str, Any]] = ()) -> Scenario | RefusedPlace:
    """Return the scenario at a point of the axes, or the reason against it.

    `place` has a value for each axis's knob, `settings` has other changed knobs.
    """
    try:
        return with_values(base, {**dict(settings), **place})
    except BadKnob as error:
        place_text = ", ".join(f"{path}={knobs.write(declaration(path), setting)}" for path, setting in place.items())
        return RefusedPlace(place, f"At {place_text}: {error}" if place_text else str(error))


@dataclass(frozen=True)
class Sweep(Sequence[Scenario]):
    """A lazy sequence of the scenarios at the points of axes, the first axis slowest.

    base: the scenario whose knobs the axes change; the only point of a sweep without axes.
    axes: the axes.
    settings: other changed knobs. A swept `model.name` is set before them, an axis of the same knob after them.
    sampling: how the points are chosen.

    Points that no scenario can have are not in the sequence but in `refused`. A sweep without a possible point raises BadKnob,
    and so does an invalid axis. A sweep needs memory for a few numbers per point.
    """

    base: Scenario
    axes: tuple[Axis, ...] = ()
    settings: tuple[tuple[str, Any], ...] = ()
    sampling: Sampling = Sampling()

    def __post_init__(self) -> None:
        """Raise BadKnob for invalid axes, or if no point is possible."""
        _check(self.axes, self.sampling)
        if not len(self._possible_rows):
            refused = scenario_at(self.base, self._place(0), self.settings)
            raise BadKnob(
                refused.sentence
                if isinstance(refused, RefusedPlace)
                else ("The axes have no possible point; change or remove an axis.")
            )

    def __len__(self) -> int:
        """Return the number of possible points."""
        return len(self._possible_rows)

    @overload
    def __getitem__(self, index: int) -> Scenario: ...
    @overload
    def __getitem__(self, index: slice) -> tuple[Scenario, ...]: ...
    def __getitem__(self, index: int | slice) -> Scenario | tuple[Scenario, ...]:
        """Return the scenario of a possible point, or a tuple of scenarios for a slice.

        A scenario is made anew at each call.
        """
        if isinstance(index, slice):
            return tuple(self[point_index] for point_index in range(*index.indices(len(self))))
        return with_values(self.base, self.changes(index))

    def place(self, index: int) -> dict[str, Any]:
        """Return the value of a possible point on each axis, by dotted path."""
        return self._place(self._possible_rows[index])

    def changes(self, index: int) -> dict[str, Any]:
        """Return the knobs that a point changes, by path: the settings, then the axes' values."""
        return {**dict(self.settings), **self.place(index)}

    def levels(self, bins: int) -> Array:
        """Return the rank of each point's value on each axis, (points, axes), from 0.

        On an axis with a sampled range, the values are cut into `bins` bins of equally many points, and the bin's number is
        returned.
        """
        numbers = self._numbers[self._possible_rows]
        if not self.axes:
            return np.zeros((len(self), 0), dtype=int)
        columns = zip(self.axes, numbers.T, strict=True)
        return np.column_stack(
            [_binned(column, len(numbers) if self._on_grid or axis.span is None else bins) for axis, column in columns]
        )

    def points(self) -> Iterator[Scenario | RefusedPlace]:
        """Yield all points in the order of the axes, with refused points in their place."""
        possible_points, refused = iter(self), iter(self.refused)
        for is_possible in self.is_possible:
            yield next(possible_points) if is_possible else next(refused)

    @cached_property
    def refused(self) -> tuple[RefusedPlace, ...]:
        """The points that no scenario can have, in the order of the axes."""
        trials = (scenario_at(self.base, self._place(row), self.settings) for row in np.flatnonzero(~self.is_possible).tolist())
        return tuple(trial for trial in trials if isinstance(trial, RefusedPlace))

    @property
    def digest(self) -> str:
        """A digest of the sweep, 32 hex digits; equal sweeps have equal digests."""
        seed = self._seed if self.sampling.count else 0
        lines = key_lines(self.base)
        lines += [f"{path}={knobs.write(declaration(path), setting)}" for path, setting in self.settings]
        lines += [*map(str, self.axes), str(self.sampling), str(seed)]
        return digest(lines)

    @cached_property
    def sequence_note(self) -> str:
        """The warning about points with sequences that are too long to be pooled, or ""."""
        shaping = [number for number, axis in enumerate(self.axes) if axis.path.startswith("model.")]
        _, first_rows, times = np.unique(
            self._numbers[self._possible_rows][:, shaping], axis=0, return_index=True, return_counts=True
        )
        return sequence_note_of_points([self[index] for index in first_rows.tolist()], times.tolist())

    @property
    def _seed(self) -> int:
        return int(dict(self.settings).get("data.seed", self.base.data.seed))

    def _place(self, row: int, axis_indices: Sequence[int] | None = None) -> dict[str, Any]:
        """Return a row's setting on each axis, or on the axes at some indices."""
        numbers = self._numbers[row]
        axis_numbers = (
            (self.axes[number], numbers[number]) for number in (range(len(self.axes)) if axis_indices is None else axis_indices)
        )
        return {axis.path: axis.values[int(n)] if self._on_grid else axis.setting(n) for axis, n in axis_numbers}

    @property
    def _on_grid(self) -> bool:
        return self.sampling.kind == "grid"

    @cached_property
    def _numbers(self) -> Array:
        """The (points, axes) numbers: indices of axis values, or numbers of a range."""
        if not self.axes:
            return np.zeros((1, 0))
        if self._on_grid:
            shape = tuple(len(axis.values) for axis in self.axes)
            return np.column_stack(np.unravel_index(_drawn_indices(prod(shape), self.sampling.count, self._seed), shape))
        shares = shares_of(self.sampling, len(self.axes), self._seed)
        numbers = np.column_stack([axis.axis_numbers(share) for axis, share in zip(self.axes, shares.T, strict=True)])
        if not all(axis.has_levels for axis in self.axes):
            return numbers
        return numbers[np.sort(np.unique(numbers, axis=0, return_index=True)[1])]  # points on few levels repeat

    @cached_property
    def _possible_rows(self) -> Array:
        return np.flatnonzero(self.is_possible)

    @cached_property
    def is_possible(self) -> Array:
        """Whether each point of the axes is possible, refused points included, (points,).

        Only knobs in rules between knobs are tried, once for each combination of their values.
        """
        ruled = [number for number, axis in enumerate(self.axes) if axis.path in KNOBS_WITH_RULES]
        _, first_rows, inverse = np.unique(self._numbers[:, ruled], axis=0, return_index=True, return_inverse=True)
        trials = (scenario_at(self.base, self._place(row, ruled), self.settings) for row in first_rows)
        possible: Array = np.array([not isinstance(trial, RefusedPlace) for trial in trials])[inverse.reshape(-1)]
        return possible


def _drawn_indices(size: int, count: int | None, seed: int) -> Array:
    """Return the indices of `count` drawn points of a grid, in the grid's order."""
    if count is None or count >= size:
        return np.arange(size)
    return np.sort(np.random.default_rng([seed, SAMPLE_STREAM]).permutation(size)[:count])


def shares_of(sampling: Sampling, axes: int, seed: int) -> Array:
    """Return (points, axes) positions on the axes, as shares from 0 to 1.

    The first points of a Sobol sequence are the same for any count.
    """
    rng, count = np.random.default_rng([seed, SAMPLE_STREAM]), sampling.count or 1
    if sampling.kind == "random":
        return rng.random((count, axes))
    from scipy.stats import qmc  # late, since importing it takes a second

    if sampling.kind == "lhs":
        spread: Array = qmc.LatinHypercube(axes, rng=rng).random(count)
        return spread
    sobol_shares: Array = qmc.Sobol(axes, rng=rng).random_base2((count - 1).bit_length())[:count]
    return sobol_shares


def _binned(numbers: Array, bins: int) -> Array:
    """Return the index of each number's distinct value, or of its bin.

    Bins have equally many points.
    """
    different, level = np.unique(numbers, return_inverse=True)
    if len(different) <= bins:
        return level.reshape(-1)
    return np.searchsorted(np.quantile(numbers, np.arange(1, bins) / bins), numbers, side="right")


def _check(axes: Sequence[Axis], sampling: Sampling) -> None:
    paths = [axis.path for axis in axes]
    for axis in axes:
        if paths.count(axis.path) > 1:
            raise BadKnob(f"axis {axis.path} is given twice; list all its values in one axis.")
        if not axis.values and (sampling.kind == "grid" or not axis.span):
            raise BadKnob(
                f"axis {axis.path} is a range without COUNT; write LOW:HIGH:COUNT, or draw points with --sampling sobol (in a "
                "script, sample='sobol:64')."
            )
        for setting in axis.values:
            knobs.check(declaration(axis.path), setting)
    size = prod(len(axis.values) for axis in axes)
    if sampling.kind == "grid" and size > MOST_POINTS:
        raise BadKnob(
            f"The axes have {figures.count(size, 'point')} in all, but at most {figures.count(MOST_POINTS)} are allowed; write "
            "fewer values, or draw a sample."
        )
