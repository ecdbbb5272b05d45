"""The outlook of a verdict: its share of draws, changed cases, and tipping points."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from math import inf
from typing import Any

from ..decide import SystemSearch, Verdict
from .bands import VerdictBands, verdict_bands
from .by_gpu import GpuRow, gpu_rows
from .shortlist import Settings, shortlist
from .territory import DEFAULT_AXES, Territory, extend_territory
from .tipping import TippingPoint, tipping_points
from .variants import VariedCase, popularity_cases, usual_cases

OutlookProgress = Callable[[float, str], None]


@dataclass(frozen=True)
class Outlook:
    """Facts on how certain a verdict is, as far as they are known.

    bands: the bands of its rows.
    cases: the winners of changed questions.
    tipping: its tipping points.
    map: its map of winners.
    gpus: the best machine of each GPU.
    """

    bands: VerdictBands | None = None
    cases: tuple[VariedCase, ...] = ()
    tipping: tuple[TippingPoint, ...] = ()
    map: Territory | None = None
    gpus: tuple[GpuRow, ...] = ()


NO_OUTLOOK = Outlook()


@lru_cache(maxsize=8)
def shortlist_of(verdict: Verdict) -> Settings:
    """Return the shortlist of a verdict's question; it is computed once and cached."""
    return shortlist(verdict.question, verdict.rows)


def bands_of(verdict: Verdict) -> VerdictBands:
    """Return the bands of a verdict."""
    return verdict_bands(verdict, SystemSearch(verdict.question).aim)


def gpus_of(verdict: Verdict) -> tuple[GpuRow, ...]:
    """Return the best machine of each GPU, that of the verdict first, then the cheapest."""
    return tuple(sorted(gpu_rows(verdict, SystemSearch(verdict.question).aim), key=_gpu_order))


def _gpu_order(one: GpuRow) -> tuple[Any, ...]:
    """Return a key that puts the verdict first, then priced machines by cost, then others, then GPUs without a machine."""
    value = one.row.objective_value if one.row and one.row.capital is not None and one.row.meets else inf
    return (not one.wins, one.row is None, value, -(one.break_even or 0.0), one.gpu)


def popularity_cases_of(verdict: Verdict) -> tuple[VariedCase, ...]:
    """Return the winners under other popularities of rows."""
    return tuple(popularity_cases(verdict.question, shortlist_of(verdict)))


def cases_of(verdict: Verdict) -> tuple[VariedCase, ...]:
    """Return the winners of the usual changed questions."""
    return tuple(usual_cases(verdict.question, shortlist_of(verdict)))


def tipping_of(verdict: Verdict) -> tuple[TippingPoint, ...]:
    """Return the tipping points of a verdict."""
    return tuple(tipping_points(verdict.question, shortlist_of(verdict)))


def map_of(verdict: Verdict, column_axis: str, row_axis: str, territory: Territory | None = None) -> Territory:
    """Return a verdict's map, with more cells computed than in `territory`."""
    return extend_territory(verdict.question, shortlist_of(verdict), column_axis, row_axis, territory)


def outlook(verdict: Verdict, mapped: bool, heard: OutlookProgress = lambda share, step_name: None) -> Outlook:
    """Return the outlook of a verdict that meets its requirement.

    mapped: whether it has a map. `heard` is called with the share that is done, and the name of the next step.
    """
    heard(0.0, "bands")
    bands = bands_of(verdict)
    heard(0.1, "GPUs")
    gpus = gpus_of(verdict)
    heard(0.2, "tipping points")
    cases, points, territory = cases_of(verdict), tipping_of(verdict), None
    while mapped and not (territory and territory.is_complete):
        territory = map_of(verdict, *DEFAULT_AXES, territory)
        heard(0.4 + 0.6 * territory.share, "map")
    return Outlook(bands, cases, points, territory, gpus)
