"""The scoreboard: every published number beside ours, and for each family how far off the ones not used are.

Medians, shares and rank correlations are over published numbers that are out of sample, none of them twice: what a constant or
a shape was fitted to says how well it was fitted, not how well it predicts.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from statistics import median
from typing import Any

import numpy as np

from ..core.arrays import Floats
from .claims import OUT_OF_SAMPLE, Ends, error_percent, families, nearest_published
from .validate import ClaimVerdict
from .workload_figures import Figure

NEAR = 25.0  # percent of the published value
ALL = "All families"


@dataclass(frozen=True)
class PublishedNumber:
    """One published number, or a range up to `published_to`, under a stable name; `cause` says why ours misses it."""

    name: str
    family: str
    sample: str
    published: float
    ours: float
    cause: str = ""
    published_to: float | None = None
    not_counted: str = ""
    roofline: float | None = None

    @property
    def counts(self) -> bool:
        """Whether its family's median has it."""
        return self.sample == OUT_OF_SAMPLE and not self.not_counted

    @property
    def ends(self) -> Ends:
        """The published range, both ends equal where it is one number."""
        return self.published, self.published if self.published_to is None else self.published_to

    @property
    def nearest(self) -> float:
        """The published value that ours is held against."""
        return nearest_published(self.ours, self.ends)

    @property
    def error_percent(self) -> float:
        """How far ours is from the published value or from a range's nearest end, in percent of it."""
        return error_percent(self.ours, self.ends)


@dataclass(frozen=True)
class FamilyScore:
    """A family's published numbers out of sample: how many, their median error, the share near them, the rank correlation.

    These three are None where there is nothing to take them over; a correlation needs two different numbers on each side.
    roofline_count: how many of the numbers a roofline can say, without this model.
    roofline_percent: the roofline's median error on them.
    beside_percent: this model's median error on the same ones.
    """

    family: str
    count: int
    median_percent: float | None
    near_percent: float | None
    rank: float | None
    roofline_count: int = 0
    roofline_percent: float | None = None
    beside_percent: float | None = None


def scores(verdicts: Iterable[ClaimVerdict], figures: Iterable[Figure]) -> tuple[PublishedNumber, ...]:
    """Return the published numbers of claims and of figures."""
    of_claims = (
        PublishedNumber(
            name=v.name,
            family=v.claim.family,
            sample=v.claim.sample,
            published=v.claim.published,
            ours=v.ours,
            cause=v.cause,
            published_to=v.claim.published_to,
            not_counted=v.claim.not_counted,
            roofline=v.roofline,
        )
        for v in verdicts
        if v.claim.published
    )
    return (*of_claims, *map(_of_figure, figures))


def _of_figure(figure: Figure) -> PublishedNumber:
    cause = "" if figure.passed else figure.cause
    name = f"{figure.family}: {figure.group}, {figure.name}{'' if figure.name.endswith(']') else ' [%]'}"
    return PublishedNumber(name, figure.family, figure.sample, figure.number or 0.0, figure.ours, cause, figure.number_to)


def rows(verdicts: Iterable[ClaimVerdict], figures: Iterable[Figure]) -> list[Mapping[str, Any]]:
    """Return a JSON-ready object for each claim and for each figure, with the same fields."""
    return [*(verdict.as_json() for verdict in verdicts), *map(_figure_row, figures)]


def _figure_row(figure: Figure) -> Mapping[str, Any]:
    score, number = _of_figure(figure), figure.number or 0.0
    return {
        "preset": "",
        "metric": score.name,
        "system": "",
        "published": score.published,
        "published_to": score.published_to,
        "ours": score.ours,
        "error_percent": score.error_percent,
        "roofline": None,
        "tolerance": figure.high - (number if figure.number_to is None else figure.number_to),
        "at_most": None,
        "at_least": None,
        "kind": "predicted",
        "passed": figure.passed,
        "source": figure.group,
        "sample": figure.sample,
        "family": figure.family,
        "cause": score.cause,
        "cause_counts": figure.cause_counts if score.cause else None,
        "sample_reason": "",
        "tolerance_note": "",
        "not_counted": "",
        "counts_with": "",
    }


def score_lines(found: Sequence[PublishedNumber]) -> tuple[FamilyScore, ...]:
    """Return the scoreboard: a line over all numbers that count, then each family's."""
    return family_score(ALL, [score for score in found if score.counts]), *by_family(found)


def by_family(found: Sequence[PublishedNumber]) -> tuple[FamilyScore, ...]:
    """Return each family's line, also where nothing published is out of sample."""
    return tuple(family_score(name, [score for score in found if score.family == name and score.counts]) for name in families())


def family_score(family: str, own: Sequence[PublishedNumber]) -> FamilyScore:
    """Return one line over these scores."""
    if not own:
        return FamilyScore(family, 0, None, None, None)
    off = [abs(score.error_percent) for score in own]
    rank = rank_correlation([score.nearest for score in own], [score.ours for score in own])
    near = 100 * sum(error <= NEAR for error in off) / len(off)
    said = [(abs(error_percent(score.roofline, score.ends)), abs(score.error_percent)) for score in own if score.roofline]
    without, beside = (median(errors) for errors in zip(*said, strict=True)) if said else (None, None)
    return FamilyScore(family, len(own), median(off), near, rank, len(said), without, beside)


def rank_correlation(left: Sequence[float], right: Sequence[float]) -> float | None:
    """Return Spearman's correlation, equal values sharing their mean rank; None where one side has but one value."""
    a, b = _ranks(left), _ranks(right)
    a, b = a - a.mean(), b - b.mean()
    size = float(np.sqrt((a @ a) * (b @ b)))
    return float(a @ b) / size if size else None


def _ranks(numbers: Sequence[float]) -> Floats:
    _, where, times = np.unique(np.asarray(numbers, dtype=np.float64), return_inverse=True, return_counts=True)
    ranks: Floats = (np.cumsum(times) - (times - 1) / 2)[where]
    return ranks
