"""The scoreboard: published and simulated numbers, and the error of each family.

Medians, shares and rank correlations are over published numbers that are out of sample, each counted once. A number is in sample
if a constant or a shape was fitted to it: its error shows how good the fit is, not how good the prediction is.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from statistics import median
from typing import Any

import numpy as np

from ..core.arrays import Floats
from .claims import OUT_OF_SAMPLE, PublishedRange, error_percent, families, nearest_published
from .validate import ClaimVerdict
from .workload_figures import Figure

NEAR_PERCENT = 25.0  # percent of the published value
ALL_FAMILIES = "All families"


@dataclass(frozen=True)
class PublishedNumber:
    """One published number, or a range, with the simulated value.

    name: a stable name, the key of the accepted record.
    family: the family that is scored.
    sample: one of SAMPLES.
    published: the published value, or the lower end of a range.
    simulated_value: the simulated value.
    cause: why the simulated value misses the published one.
    published_to: the upper end of a range.
    not_counted: why no family's median includes the number.
    roofline: the value by the roofline, where the roofline has one.
    """

    name: str
    family: str
    sample: str
    published: float
    simulated_value: float
    cause: str = ""
    published_to: float | None = None
    not_counted: str = ""
    roofline: float | None = None

    @property
    def is_counted(self) -> bool:
        """Whether the median of the family includes this number."""
        return self.sample == OUT_OF_SAMPLE and not self.not_counted

    @property
    def published_range(self) -> PublishedRange:
        """The published range, both ends equal where it is one number."""
        return self.published, self.published if self.published_to is None else self.published_to

    @property
    def nearest(self) -> float:
        """The published value nearest to the simulated one."""
        return nearest_published(self.simulated_value, self.published_range)

    @property
    def error_percent(self) -> float:
        """The simulated value's distance from the nearest published value, in percent of that."""
        return error_percent(self.simulated_value, self.published_range)


@dataclass(frozen=True)
class FamilyScore:
    """The score of a family: counts and errors of its published numbers out of sample.

    family: its name.
    count: its published numbers out of sample.
    median_percent: their median error [%]; None without numbers.
    near_percent: the share of these numbers with an error of at most NEAR percent [%]; None without numbers.
    rank_correlation: the rank correlation; None unless both published and simulated numbers have two different values.
    roofline_count: how many of the numbers have a value by the roofline.
    roofline_percent: the roofline's median error on these [%].
    model_percent: this model's median error on the same numbers [%].
    """

    family: str
    count: int
    median_percent: float | None
    near_percent: float | None
    rank_correlation: float | None
    roofline_count: int = 0
    roofline_percent: float | None = None
    model_percent: float | None = None


def scores(verdicts: Iterable[ClaimVerdict], figures: Iterable[Figure]) -> tuple[PublishedNumber, ...]:
    """Return the published numbers of claims and of figures."""
    of_claims = (
        PublishedNumber(
            name=v.name,
            family=v.claim.family,
            sample=v.claim.sample,
            published=v.claim.published,
            simulated_value=v.simulated_value,
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
    return PublishedNumber(
        name, figure.family, figure.sample, figure.number or 0.0, figure.simulated_value, cause, figure.number_to
    )


def json_rows(verdicts: Iterable[ClaimVerdict], figures: Iterable[Figure]) -> list[Mapping[str, Any]]:
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
        "ours": score.simulated_value,
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


def score_lines(numbers: Sequence[PublishedNumber]) -> tuple[FamilyScore, ...]:
    """Return the scoreboard: the score over all numbers that count, then each family's score."""
    return family_score(ALL_FAMILIES, [score for score in numbers if score.is_counted]), *by_family(numbers)


def by_family(numbers: Sequence[PublishedNumber]) -> tuple[FamilyScore, ...]:
    """Return each family's score, also for a family without numbers out of sample."""
    return tuple(
        family_score(name, [score for score in numbers if score.family == name and score.is_counted]) for name in families()
    )


def family_score(family: str, numbers: Sequence[PublishedNumber]) -> FamilyScore:
    """Return the score of a family over these numbers."""
    if not numbers:
        return FamilyScore(family, 0, None, None, None)
    error_percents = [abs(score.error_percent) for score in numbers]
    rank = rank_correlation([score.nearest for score in numbers], [score.simulated_value for score in numbers])
    near_percent = 100 * sum(error <= NEAR_PERCENT for error in error_percents) / len(error_percents)
    error_pairs = [
        (abs(error_percent(score.roofline, score.published_range)), abs(score.error_percent))
        for score in numbers
        if score.roofline
    ]
    roofline_median, model_median = (median(errors) for errors in zip(*error_pairs, strict=True)) if error_pairs else (None, None)
    return FamilyScore(
        family, len(numbers), median(error_percents), near_percent, rank, len(error_pairs), roofline_median, model_median
    )


def rank_correlation(numbers: Sequence[float], other_numbers: Sequence[float]) -> float | None:
    """Return Spearman's rank correlation; None where either list has one distinct value.

    Equal values share their mean rank.
    """
    a, b = _ranks(numbers), _ranks(other_numbers)
    a, b = a - a.mean(), b - b.mean()
    size = float(np.sqrt((a @ a) * (b @ b)))
    return float(a @ b) / size if size else None


def _ranks(numbers: Sequence[float]) -> Floats:
    _, inverse, times = np.unique(np.asarray(numbers, dtype=np.float64), return_inverse=True, return_counts=True)
    ranks: Floats = (np.cumsum(times) - (times - 1) / 2)[inverse]
    return ranks
