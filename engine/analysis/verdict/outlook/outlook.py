"""The outlook of a verdict: how sure it is, what else would win, and where it changes."""

from collections.abc import Callable
from dataclasses import dataclass

from ..decide import SystemSearch, Verdict
from .bands import VerdictBands, verdict_bands
from .shortlist import shortlist
from .territory import Territory, territory
from .tipping import TippingPoint, tipping_points
from .variants import Varied, what_if

Heard = Callable[[float, str], None]


@dataclass(frozen=True)
class Outlook:
    """Bands, what-if cases, tipping points and a map, as far as they are known."""

    bands: VerdictBands | None = None
    cases: tuple[Varied, ...] = ()
    tipping: tuple[TippingPoint, ...] = ()
    map: Territory | None = None


NO_OUTLOOK = Outlook()


def outlook(verdict: Verdict, mapped: bool, heard: Heard = lambda share, what: None) -> Outlook:
    """Return the outlook of a verdict that meets its requirement, with a map or without; `heard` hears how far it is."""
    question, known = verdict.question, None
    heard(0.0, "bands")
    bands = verdict_bands(verdict, SystemSearch(question).aim)
    heard(0.1, "tipping points")
    settings = shortlist(question, verdict.rows)
    cases, points = tuple(what_if(question, settings)), tuple(tipping_points(question, settings))
    for known in territory(question, settings) if mapped else ():
        heard(0.4 + 0.6 * known.share, "map")
    return Outlook(bands, cases, points, known)
