"""Tipping points: the factor of each quantity at which another family wins."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import sqrt

from ..question import VerdictQuestion
from .shortlist import Settings
from .variants import QUANTITIES, VariedCase, VariedQuantity, vary_question

HALVINGS = 5  # of the ratio between a factor without and a factor with a change


@dataclass(frozen=True)
class TippingPoint:
    """The change of a verdict along a quantity, in one direction.

    quantity: the name of the quantity.
    upwards: the direction.
    present_text: the present quantity as text.
    changed_case: the first case in which another family wins; None where no tried factor changes the family.
    """

    quantity: str
    upwards: bool
    present_text: str
    changed_case: VariedCase | None

    @property
    def changes(self) -> bool:
        """Whether the verdict changes in this direction."""
        return self.changed_case is not None


def tipping_points(
    question: VerdictQuestion, settings: Settings, quantities: Sequence[VariedQuantity] = QUANTITIES
) -> Iterator[TippingPoint]:
    """Yield the tipping points of each quantity that applies, upwards and downwards."""
    for quantity in quantities:
        if quantity.applies(question.base):
            base_case = vary_question(question, settings, quantity, 1.0)
            yield from (_tipping(question, settings, quantity, base_case, upwards) for upwards in (True, False))


def _tipping(
    question: VerdictQuestion, settings: Settings, quantity: VariedQuantity, base_case: VariedCase, upwards: bool
) -> TippingPoint:
    same_factor, changed_case = 1.0, None
    for step in quantity.steps:
        case = vary_question(question, settings, quantity, step if upwards else 1 / step)
        if case.winner.family != base_case.winner.family:
            changed_case = case
            break
        same_factor = case.factor
    if changed_case is None:
        return TippingPoint(quantity.name, upwards, base_case.case_text, None)
    for _ in range(HALVINGS):
        middle = vary_question(question, settings, quantity, sqrt(same_factor * changed_case.factor))
        if middle.winner.family == base_case.winner.family:
            same_factor = middle.factor
        else:
            changed_case = middle
    return TippingPoint(quantity.name, upwards, base_case.case_text, changed_case)
