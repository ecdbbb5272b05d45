"""Tipping points: the factor of each quantity at which the verdict goes to another family, and to which."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import sqrt

from ..decide import VerdictQuestion
from .shortlist import Settings
from .variants import QUANTITIES, Varied, VariedQuantity, varied

HALVINGS = 5  # of the ratio between a factor that changes nothing and one that does


@dataclass(frozen=True)
class TippingPoint:
    """Where the verdict changes along a quantity: what it is now, from which factor on another family wins, and the winner.

    `after` is None where no factor that was tried changes it.
    """

    quantity: str
    upwards: bool
    now: str
    at: Varied | None

    @property
    def changes(self) -> bool:
        """Whether the verdict changes in this direction."""
        return self.at is not None


def tipping_points(
    question: VerdictQuestion, settings: Settings, quantities: Sequence[VariedQuantity] = QUANTITIES
) -> Iterator[TippingPoint]:
    """Yield where the verdict changes along each quantity that applies, upwards and downwards."""
    for quantity in quantities:
        if quantity.applies(question.base):
            own = varied(question, settings, quantity, 1.0)
            yield from (_tipping(question, settings, quantity, own, upwards) for upwards in (True, False))


def _tipping(question: VerdictQuestion, settings: Settings, quantity: VariedQuantity, own: Varied, upwards: bool) -> TippingPoint:
    same, other = 1.0, None
    for step in quantity.steps:
        found = varied(question, settings, quantity, step if upwards else 1 / step)
        if found.winner.family != own.winner.family:
            other = found
            break
        same = found.factor
    if other is None:
        return TippingPoint(quantity.name, upwards, own.told, None)
    for _ in range(HALVINGS):
        middle = varied(question, settings, quantity, sqrt(same * other.factor))
        if middle.winner.family == own.winner.family:
            same = middle.factor
        else:
            other = middle
    return TippingPoint(quantity.name, upwards, own.told, other)
