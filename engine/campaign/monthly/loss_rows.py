"""The table of a month's losses: a row for each protection."""

from collections.abc import Iterable

from ...units import MINUTE
from .losses import LOST_USD, ClusterHour, ProtectionLoss

HOURS, USD = "Lost [h a month]", LOST_USD
OWN_HOURS, FAILURE_HOURS = "By the protection itself [h a month]", "By failures [h a month]"
PERIOD, PRICE, REFUSED = "Checkpoint period [min]", "Hardware it takes [USD]", "Not possible here"
Row = dict[str, str | float | None]


def sorted_losses(losses: Iterable[ProtectionLoss]) -> tuple[ProtectionLoss, ...]:
    """Return losses with the least first and impossible protections last."""
    return tuple(sorted(losses, key=lambda loss: (loss.share is None, total_share(loss), loss.title)))


def total_share(loss: ProtectionLoss) -> float:
    """Return the lost share of the time, 0 for an impossible protection."""
    return loss.share.total if loss.share else 0.0


def loss_rows(losses: Iterable[ProtectionLoss], hour: ClusterHour, chosen: str) -> list[Row]:
    """Return a row for each loss.

    A row has hours and USD a month, their parts, period, hardware price, and refusal.
    hour: the cost of an hour of all machines. chosen: the scenario's own protection.
    """
    rows: list[Row] = []
    for loss in losses:
        hours = (
            [share * hour.hours for share in (loss.share.total, loss.share.protection, loss.share.failures)] if loss.share else []
        )
        total_hours, own_hours, failure_hours = hours or (None, None, None)
        rows.append(
            {
                "Protection": loss.title,
                "Yours": "yes" if loss.name == chosen else "",
                HOURS: total_hours,
                USD: hour.usd_a_month(loss.share.total) if loss.share else None,
                OWN_HOURS: own_hours,
                FAILURE_HOURS: failure_hours,
                PERIOD: loss.period / MINUTE if loss.period else None,
                PRICE: loss.price,
                REFUSED: loss.refusal,
            }
        )
    return rows
