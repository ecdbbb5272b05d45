"""Bands: the verdict found again in draws of the constants and prices by their ranges, the same draw for all machines.

What a constant is called decides its draw: a GPU's price lies equally far up its range on every machine that has a GPU.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import inf

import numpy as np

from ....estimates import design_points
from ....faults.fault import generator
from ....scenario.scenario import with_values
from ...uncertainty import QUANTILES, drawn, uncertain
from ..aim import Aim
from ..candidates import costs
from ..decide import SAME, Row, Verdict, plainness
from .shortlist import leaders

SAMPLES, PURPOSE = 200, "draw of"
NEAR = 1.5  # times the least: rows that are dearer win no draw
SURE = 0.6  # of draws: a verdict under it is a tie


@dataclass(frozen=True)
class CostBand:
    """What is to be least at its 5 % and 95 % quantiles over draws, and in which share of them the row is the verdict."""

    low: float
    high: float
    share: float


@dataclass(frozen=True)
class VerdictBands:
    """The band of each row on the shortlist by system, and how many draws there were."""

    rows: Mapping[str, CostBand]
    samples: int

    def share(self, system: str) -> float:
        """Return in which share of draws a system is the verdict; 0 of one that is not on the shortlist."""
        return self.rows[system].share if system in self.rows else 0.0


def verdict_bands(verdict: Verdict, aim: Aim, samples: int = SAMPLES) -> VerdictBands:
    """Return the bands of a verdict's shortlist: the best of each family, and what costs up to half as much again."""
    meeting = [row for row in verdict.rows if row.meets]
    least = min((row.value for row in meeting), default=inf)
    near = (row for row in meeting if row.value <= NEAR * least)
    rows = list({row.system: row for row in (*leaders(meeting), *near)}.values())
    values = np.array([_values(row, aim, samples, verdict.question.base.data.seed) for row in rows]).reshape(len(rows), -1)
    won = Counter(_winner(rows, column) for column in values.T.tolist())
    bands = {}
    for row, own in zip(rows, values, strict=True):
        low, high = np.quantile(own, QUANTILES, method="nearest").tolist()
        bands[row.system] = CostBand(low, high, won[row.system] / samples)
    return VerdictBands(bands, samples)


def _winner(rows: Sequence[Row], values: Sequence[float]) -> str:
    """Return which row is the verdict where they have these values."""
    least = min(values)
    named = ((row, value) for row, value in zip(rows, values, strict=True) if value <= SAME * least)
    return min(named, key=lambda each: plainness(each[0].system, each[0].nodes, each[1]))[0].system


def _values(row: Row, aim: Aim, samples: int, seed: int) -> list[float]:
    """Return what is to be least of a row's machine, its sizes as they are, in each draw."""
    if row.sized is None:
        raise ValueError("a row that meets a requirement has a machine.")
    ranges, own = uncertain(row.sized), row.sized.machine.assume
    ways = {name: generator(seed, f"{PURPOSE} {name}").uniform(-1, 1, samples).tolist() for name in ranges}
    draws = ({name: drawn(one, ways[name][number]) for name, one in ranges.items()} for number in range(samples))
    found = costs(design_points(with_values(row.sized, {"machine.assume": (*own, *draw.items())}) for draw in draws))
    return [inf if one.problem else aim.value(one, row.protected) for one in found]
