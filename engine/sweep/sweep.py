"""A sweep: the scenarios that some axes span around a base, each made only when it is looked at.

A grid takes every combination; a sampling draws points of the same box: at random, or evenly spread by a Sobol sequence
or a Latin hypercube. Each point is rounded to what a link writes, so its link reproduces it.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from math import prod
from typing import Any, Literal, get_args, overload

import numpy as np

from ..core import figures
from ..errors import BadKnob, nearest
from ..scenario import knobs
from ..scenario.keys import digest, rows
from ..scenario.scenario import RULED, Scenario, known, with_values
from ..scenario.sequences import sequence_note_of_points
from .axes import MOST_POINTS, Array, Axis

Kind = Literal["grid", "random", "sobol", "lhs"]
KINDS: tuple[Kind, ...] = get_args(Kind)
SAMPLE = 0x5A  # the purpose of the random stream that picks points


@dataclass(frozen=True)
class Sampling:
    """Which points of the box: all of the grid, so many of it, or so many drawn anywhere."""

    kind: Kind = "grid"
    count: int | None = None

    def __post_init__(self) -> None:
        """Refuse what draws nothing or too much; raises BadKnob."""
        if self.kind not in KINDS:
            raise BadKnob(f"sampling={self.kind[:20]!r} is not known; {nearest(self.kind, KINDS)}")
        if self.count is None and self.kind != "grid":
            raise BadKnob(f"sampling={self.kind} needs a number of points; write {self.kind}:256.")
        if self.count is not None and not 1 <= self.count <= MOST_POINTS:
            raise BadKnob(f"sample={self.count} is not a number of points from 1 to {figures.count(MOST_POINTS)}.")

    def __str__(self) -> str:
        """The sampling as links write it, such as sobol:256."""
        return self.kind if self.count is None else f"{self.kind}:{self.count}"


def sampling(text: str) -> Sampling:
    """Read a sampling as links write it; raises BadKnob."""
    kind, colon, count = text.partition(":")
    if colon and not (count.isascii() and count.isdigit() and len(count) <= 9):
        raise BadKnob(f"sample={text[:40]!r} cannot be read; write a kind and a number of points, such as sobol:256.")
    return Sampling(kind, int(count) if colon else None)  # type: ignore[arg-type]


@dataclass(frozen=True)
class RefusedPlace:
    """A combination that no scenario can have: its place on the axes, and why in a sentence."""

    place: Mapping[str, Any]
    sentence: str


def made(base: Scenario, place: Mapping[str, Any], settings: Sequence[tuple[str, Any]] = ()) -> Scenario | RefusedPlace:
    """Return the scenario at a place, or why there is none."""
    try:
        return with_values(base, {**dict(settings), **place})
    except BadKnob as error:
        where = ", ".join(f"{path}={knobs.write(known(path), value)}" for path, value in place.items())
        return RefusedPlace(place, f"At {where}: {error}" if where else str(error))


@dataclass(frozen=True)
class Sweep(Sequence[Scenario]):
    """A lazy sequence of the points that some axes span, the first axis slowest; without axes, `base` alone.

    `settings` are knobs set beside the axes: a swept `model.name` comes before them, an axis of the same knob after
    them. Combinations that no scenario can have are not in the sequence but in `refused`; a sweep of nothing else raises
    BadKnob, and so do axes that cannot be spanned. Memory is a few numbers a point.
    """

    base: Scenario
    axes: tuple[Axis, ...] = ()
    settings: tuple[tuple[str, Any], ...] = ()
    sampling: Sampling = Sampling()

    def __post_init__(self) -> None:
        """Check what can be known without making every point."""
        _check(self.axes, self.sampling)
        if not len(self._good):
            refused = made(self.base, self._place(0), self.settings)
            raise BadKnob(refused.sentence if isinstance(refused, RefusedPlace) else "The axes span no point.")

    def __len__(self) -> int:
        """Return how many points there are."""
        return len(self._good)

    @overload
    def __getitem__(self, index: int) -> Scenario: ...
    @overload
    def __getitem__(self, index: slice) -> tuple[Scenario, ...]: ...
    def __getitem__(self, index: int | slice) -> Scenario | tuple[Scenario, ...]:
        """Return a point, made anew."""
        if isinstance(index, slice):
            return tuple(self[one] for one in range(*index.indices(len(self))))
        return with_values(self.base, self.changes(index))

    def place(self, index: int) -> dict[str, Any]:
        """Return a point's value on each axis, by dotted path."""
        return self._place(self._good[index])

    def changes(self, index: int) -> dict[str, Any]:
        """Return the knobs that differ on purpose from `base`: the settings, then the point's place."""
        return {**dict(self.settings), **self.place(index)}

    def levels(self, bins: int) -> Array:
        """Return for each point and axis which of its values it has, from 0; a range sampled anywhere is cut into bins."""
        numbers = self._numbers[self._good]
        if not self.axes:
            return np.zeros((len(self), 0), dtype=int)
        columns = zip(self.axes, numbers.T, strict=True)
        return np.column_stack(
            [_binned(column, len(numbers) if self._on_grid or axis.span is None else bins) for axis, column in columns]
        )

    def points(self) -> Iterator[Scenario | RefusedPlace]:
        """Yield all points in the order of the box, those that were refused included."""
        good, refused = iter(self), iter(self.refused)
        for fine in self.fine:
            yield next(good) if fine else next(refused)

    @cached_property
    def refused(self) -> tuple[RefusedPlace, ...]:
        """The combinations that no scenario can have, in their order."""
        tried = (made(self.base, self._place(row), self.settings) for row in np.flatnonzero(~self.fine).tolist())
        return tuple(one for one in tried if isinstance(one, RefusedPlace))

    @property
    def digest(self) -> str:
        """32 hex digits of all that spans the sweep; equal sweeps have equal ones."""
        seed = self._seed if self.sampling.count else 0
        lines = rows(self.base)
        lines += [f"{path}={knobs.write(known(path), value)}" for path, value in self.settings]
        lines += [*map(str, self.axes), str(self.sampling), str(seed)]
        return digest(lines)

    @cached_property
    def sequence_note(self) -> str:
        """The sentence about points that pool a sequence as a bag; "" without any. Few points are made for it."""
        shaping = [number for number, axis in enumerate(self.axes) if axis.path.startswith("model.")]
        _, first, times = np.unique(self._numbers[self._good][:, shaping], axis=0, return_index=True, return_counts=True)
        return sequence_note_of_points([self[index] for index in first.tolist()], times.tolist())

    @property
    def _seed(self) -> int:
        return int(dict(self.settings).get("data.seed", self.base.data.seed))

    def _place(self, row: int, some: Sequence[int] | None = None) -> dict[str, Any]:
        """Return a row's value on each axis, or on some by number."""
        numbers = self._numbers[row]
        found = ((self.axes[at], numbers[at]) for at in (range(len(self.axes)) if some is None else some))
        return {axis.path: axis.values[int(n)] if self._on_grid else axis.value(n) for axis, n in found}

    @property
    def _on_grid(self) -> bool:
        return self.sampling.kind == "grid"

    @cached_property
    def _numbers(self) -> Array:
        """A row of numbers a point: an index into each axis's values, or where a sampling met the axis."""
        if not self.axes:
            return np.zeros((1, 0))
        if self._on_grid:
            shape = tuple(len(axis.values) for axis in self.axes)
            return np.column_stack(np.unravel_index(_some(prod(shape), self.sampling.count, self._seed), shape))
        shares = shares_of(self.sampling, len(self.axes), self._seed)
        numbers = np.column_stack([axis.numbers(share) for axis, share in zip(self.axes, shares.T, strict=True)])
        if not all(axis.levels for axis in self.axes):
            return numbers
        return numbers[np.sort(np.unique(numbers, axis=0, return_index=True)[1])]  # a few levels come again and again

    @cached_property
    def _good(self) -> Array:
        return np.flatnonzero(self.fine)

    @cached_property
    def fine(self) -> Array:
        """Whether a scenario can have each point of the box; only knobs that can contradict each other are tried together."""
        ruled = [number for number, axis in enumerate(self.axes) if axis.path in RULED]
        _, first, same = np.unique(self._numbers[:, ruled], axis=0, return_index=True, return_inverse=True)
        tried = (made(self.base, self._place(row, ruled), self.settings) for row in first)
        fine: Array = np.array([not isinstance(one, RefusedPlace) for one in tried])[same.reshape(-1)]
        return fine


def _some(size: int, count: int | None, seed: int) -> Array:
    """Return the indices of so many of a grid's points, drawn without repeats, in the order of the grid."""
    if count is None or count >= size:
        return np.arange(size)
    return np.sort(np.random.default_rng([seed, SAMPLE]).permutation(size)[:count])


def shares_of(how: Sampling, axes: int, seed: int) -> Array:
    """Return a row of shares from 0 to 1 a point; of a Sobol sequence, fewer points are the beginning of more."""
    rng, count = np.random.default_rng([seed, SAMPLE]), how.count or 1
    if how.kind == "random":
        return rng.random((count, axes))
    from scipy.stats import qmc  # late, since importing it takes a second

    if how.kind == "lhs":
        spread: Array = qmc.LatinHypercube(axes, rng=rng).random(count)
        return spread
    even: Array = qmc.Sobol(axes, rng=rng).random_base2((count - 1).bit_length())[:count]
    return even


def _binned(numbers: Array, most: int) -> Array:
    """Number the different values, or cut them into so many bins of equally many points."""
    different, level = np.unique(numbers, return_inverse=True)
    if len(different) <= most:
        return level.reshape(-1)
    return np.searchsorted(np.quantile(numbers, np.arange(1, most) / most), numbers, side="right")


def _check(axes: Sequence[Axis], how: Sampling) -> None:
    paths = [axis.path for axis in axes]
    for axis in axes:
        if paths.count(axis.path) > 1:
            raise BadKnob(f"axis {axis.path} is given twice; list all its values in one axis.")
        if not axis.values and (how.kind == "grid" or not axis.span):
            raise BadKnob(
                f"axis {axis.path} is a range without COUNT; write LOW:HIGH:COUNT, or draw points by --sampling sobol "
                "(in a script, sample='sobol:64')."
            )
        for value in axis.values:
            knobs.check(known(axis.path), value)
    size = prod(len(axis.values) for axis in axes)
    if how.kind == "grid" and size > MOST_POINTS:
        raise BadKnob(
            f"The axes span {figures.count(size, 'point')}; at most {figures.count(MOST_POINTS)} are allowed: "
            "take fewer values, or draw some."
        )
