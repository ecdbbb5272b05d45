"""The outlook of a verdict: how sure it is, what else would win, and where it changes."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache

from ..decide import SystemSearch, Verdict
from .bands import VerdictBands, verdict_bands
from .shortlist import Settings, shortlist
from .territory import USUAL, Territory, further
from .tipping import TippingPoint, tipping_points
from .variants import Varied, forks, what_if

Heard = Callable[[float, str], None]


@dataclass(frozen=True)
class Outlook:
    """Bands, what-if cases, tipping points and a map, as far as they are known."""

    bands: VerdictBands | None = None
    cases: tuple[Varied, ...] = ()
    tipping: tuple[TippingPoint, ...] = ()
    map: Territory | None = None


NO_OUTLOOK = Outlook()


@lru_cache(maxsize=8)
def shortlist_of(verdict: Verdict) -> Settings:
    """Return the shortlist of a verdict, found once."""
    return shortlist(verdict.question, verdict.rows)


def bands_of(verdict: Verdict) -> VerdictBands:
    """Return the bands of a verdict."""
    return verdict_bands(verdict, SystemSearch(verdict.question).aim)


def forks_of(verdict: Verdict) -> tuple[Varied, ...]:
    """Return the winners where rows are popular otherwise."""
    return tuple(forks(verdict.question, shortlist_of(verdict)))


def cases_of(verdict: Verdict) -> tuple[Varied, ...]:
    """Return the winners of the usual cases."""
    return tuple(what_if(verdict.question, shortlist_of(verdict)))


def tipping_of(verdict: Verdict) -> tuple[TippingPoint, ...]:
    """Return where a verdict changes."""
    return tuple(tipping_points(verdict.question, shortlist_of(verdict)))


def map_of(verdict: Verdict, across: str, up: str, known: Territory | None = None) -> Territory:
    """Return a verdict's map with some more of its cells answered than are known."""
    return further(verdict.question, shortlist_of(verdict), across, up, known)


def outlook(verdict: Verdict, mapped: bool, heard: Heard = lambda share, what: None) -> Outlook:
    """Return the outlook of a verdict that meets its requirement, with a map or without; `heard` hears how far it is."""
    heard(0.0, "bands")
    bands = bands_of(verdict)
    heard(0.1, "tipping points")
    cases, points, known = cases_of(verdict), tipping_of(verdict), None
    while mapped and not (known and known.whole):
        known = map_of(verdict, *USUAL, known)
        heard(0.4 + 0.6 * known.share, "map")
    return Outlook(bands, cases, points, known)
