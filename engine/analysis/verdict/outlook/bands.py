"""Bands of a verdict: its results under draws of constants and prices.

All machines get the same draws by name of the constant: in one draw, a GPU's price lies equally far up its range on every machine
that has a GPU.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import inf

import numpy as np

from ....estimates import design_points
from ....faults.fault import random_generator
from ....scenario.scenario import with_values
from ...uncertainty import QUANTILES, drawn_constant, uncertain_constants
from ..aim import Aim
from ..candidates import candidate_estimates
from ..decide import TIE_FACTOR, SystemRow, Verdict, plainness_key
from ..stacks import Stack
from .shortlist import leaders, leaders_by_software

SAMPLES, PURPOSE = 200, "draw of"
NEAR_FACTOR = 1.5  # times the least: rows that are dearer win no draw
MIN_SURE_SHARE = 0.6  # share of draws; a verdict with a smaller share is a tie


@dataclass(frozen=True)
class CostBand:
    """The objective's 5 % and 95 % quantiles over draws, and the share of draws that the row wins."""

    low: float
    high: float
    share: float


@dataclass(frozen=True)
class VerdictBands:
    """The bands of rows by stack, and the number of draws."""

    rows: Mapping[Stack, CostBand]
    samples: int

    def share(self, stack: Stack) -> float:
        """Return the share of draws in which a stack wins.

        Return 0 for a stack without a band.
        """
        return self.rows[stack].share if stack in self.rows else 0.0


def verdict_bands(verdict: Verdict, aim: Aim, samples: int = SAMPLES) -> VerdictBands:
    """Return the bands of each family's and software's best row, and of near rows.

    Near rows are rows whose objective is at most NEAR_FACTOR times the least.
    """
    meeting = [row for row in verdict.rows if row.meets]
    min_value = min((row.objective_value for row in meeting), default=inf)
    near_rows = (row for row in meeting if row.objective_value <= NEAR_FACTOR * min_value)
    rows = list({row.stack: row for row in (*leaders(meeting), *near_rows, *leaders_by_software(meeting))}.values())
    values = np.array([_values(row, aim, samples, verdict.question.base.data.seed) for row in rows]).reshape(len(rows), -1)
    wins = Counter(_winner(rows, column) for column in values.T.tolist())
    bands = {}
    for row, row_values in zip(rows, values, strict=True):
        low, high = np.quantile(row_values, QUANTILES, method="nearest").tolist()
        bands[row.stack] = CostBand(low, high, wins[row.stack] / samples)
    return VerdictBands(bands, samples)


def _winner(rows: Sequence[SystemRow], values: Sequence[float]) -> Stack:
    """Return the stack of the row that is the verdict where rows have these values."""
    min_value = min(values)
    tied_rows = ((row, row_value) for row, row_value in zip(rows, values, strict=True) if row_value <= TIE_FACTOR * min_value)
    return min(
        tied_rows, key=lambda row_and_value: plainness_key(row_and_value[0].system, row_and_value[0].nodes, row_and_value[1])
    )[0].stack


def _values(row: SystemRow, aim: Aim, samples: int, seed: int) -> list[float]:
    """Return the objective of a row's machine in each draw, its sizes unchanged."""
    if row.sized_scenario is None:
        raise ValueError("a row that meets a requirement has a machine.")
    ranges, assumptions = uncertain_constants(row.sized_scenario), row.sized_scenario.machine.assume
    directions = {name: random_generator(seed, f"{PURPOSE} {name}").uniform(-1, 1, samples).tolist() for name in ranges}
    draws = (
        {name: drawn_constant(constant, directions[name][number]) for name, constant in ranges.items()}
        for number in range(samples)
    )
    estimates = candidate_estimates(
        design_points(with_values(row.sized_scenario, {"machine.assume": (*assumptions, *draw.items())}) for draw in draws)
    )
    return [inf if candidate.problem else aim.objective_value(candidate, row.protection) for candidate in estimates]
