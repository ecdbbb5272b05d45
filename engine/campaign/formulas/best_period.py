"""The best period of a protection, with which least time is lost.

The loss over the period may be flat, kinked, or have several minima. So all powers of four of a batch are tried first, and the
search continues about the best of them. Faults at listed times do not count, and intervals are taken as exponential.
"""

from collections.abc import Callable, Mapping
from math import ceil, inf

from ...core.figures import figure
from ...errors import BadKnob
from ...faults.fault import Hazard
from .. import fault_stream
from ..closed_form import ROUNDING
from ..fold import CampaignTerms
from ..protection import Fidelity, Protection, Site
from .useful_time import group_rates, time_left

GOLDEN = (5**0.5 - 1) / 2
CLOSENESS = 1e-4  # relative: the distance between two intervals at which the search ends
MAX_MINIMA = 2  # of the powers of four, about which the search continues
# With fewer copies in a campaign, the loss has ripples of some 1e-4, by whether the last copy comes just before the end.
RIPPLED = 200
RIPPLES = [1.05 ** (nth / 12) for nth in range(-12, 13)]
READS: Mapping[str, tuple[Fidelity, ...]] = {"checkpoint_interval": ("exact", "lossy"), "backup_interval": ("older",)}


def copy_mtbf(protection: Protection, hazards: Mapping[str, Hazard], reads: tuple[Fidelity, ...] = ()) -> float | None:
    """Return the mean seconds between random faults after which a protection's periodic copies are read.

    reads: the fidelities of the restored state that count; by default those that these copies give.
    Return None without such faults.
    """
    counted_fidelities = reads or READS[protection.interval_name]
    return fault_stream.rollback_mtbf({
        name: hazard
        for name, hazard in hazards.items()
        if protection.fidelity_after(fault_stream.destroyed_parts(name)) in counted_fidelities
    })  # fmt: skip


def best_period(
    terms_at: Callable[[float], CampaignTerms], site: Site, protection: Protection, hazards: Mapping[str, Hazard], seconds: float
) -> float:
    """Return the period [s] with which a campaign of `seconds` loses least.

    terms_at: returns the terms of the campaign with a period, or raises BadKnob.
    Periods are from one batch up to the campaign, or up to the longest that the protection allows.
    """
    step = site.unlogged_pace.step
    rates = group_rates(terms_at(step), hazards)
    limits = (seconds, longest_period(protection, site, hazards))
    most = max(1, ceil(min(limits) / step - ROUNDING))

    def lost_share(batches: int) -> float:
        try:
            return 1 - time_left(terms_at(batches * step), rates, seconds)
        except BadKnob:
            return inf

    return least_interval(lost_share, most) * step


def longest_period(protection: Protection, site: Site, hazards: Mapping[str, Hazard]) -> float:
    """Return the longest period [s] that a protection's loss of accuracy allows.

    It is infinite without a limit.
    """
    lossy_mtbf = copy_mtbf(protection, hazards, ("lossy",))
    return protection.longest_period(site, 1 / lossy_mtbf) if protection.longest_period and lossy_mtbf else inf


def least_interval(lost_share: Callable[[int], float], most: int) -> int:
    """Return the number of batches, from 1 to `most`, with the least loss.

    Of equal losses, that of the most batches counts.
    """
    losses: dict[int, float] = {}

    def loss(batches: int) -> float:
        if batches not in losses:
            losses[batches] = lost_share(batches)
        return losses[batches]

    grid = [*(4**power for power in range(most.bit_length()) if 4**power < most), most]
    minima = [
        nth
        for nth in range(len(grid))
        if loss(grid[nth]) <= min(loss(grid[max(nth - 1, 0)]), loss(grid[min(nth + 1, len(grid) - 1)]))
    ]
    for nth in sorted(minima, key=lambda nth: (loss(grid[nth]), -nth))[:MAX_MINIMA]:
        _narrow(loss, grid[max(nth - 1, 0)], grid[min(nth + 1, len(grid) - 1)])
    best = _best(losses)
    if most < RIPPLED * best:
        around = sorted({min(max(round(best * factor), 1), most) for factor in RIPPLES})
        nth = min(range(len(around)), key=lambda nth: (loss(around[nth]), -nth))
        _narrow(loss, around[max(nth - 1, 0)], around[min(nth + 1, len(around) - 1)])
    return _best(losses)


def _best(losses: Mapping[int, float]) -> int:
    return min(losses, key=lambda batches: (losses[batches], -batches))


def _narrow(loss: Callable[[int], float], low: int, high: int) -> None:
    """Try intervals between two others by golden sections of their ratio; where equal, go on with the larger."""
    while high - low > 3 and high > low * (1 + CLOSENESS):
        ratio = (high / low) ** GOLDEN
        left, right = max(low + 1, round(high / ratio)), min(high - 1, round(low * ratio))
        if left >= right:
            left, right = (low + high) // 2, (low + high) // 2 + 1
        low, high = (low, right) if loss(left) < loss(right) else (left, high)
    for batches in range(low, min(high, low + 3) + 1):
        loss(batches)


def period_note(terms: CampaignTerms, site: Site, hazards: Mapping[str, Hazard], seconds: float) -> str:
    """Return a sentence on the limit at which a plan's period lies, "" within the limits."""
    plan, protection = terms.plan, terms.protection
    interval = protection.interval(plan)
    drain = plan.backup_drain if protection.interval_name == "backup_interval" else plan.drain
    allowed_period, period = longest_period(protection, site, hazards), interval * plan.step
    if not interval:
        return ""
    if period > allowed_period + plan.step:
        return (
            f"A period of {figure(period, 's')} loses more samples than the protection accepts; "
            f"it accepts periods up to {figure(allowed_period, 's')}."
        )
    if period >= allowed_period - plan.step:
        return f"The period is the longest that the accepted loss of samples allows, {figure(allowed_period, 's')}."
    if period >= seconds - plan.step:
        return f"The campaign of {figure(seconds, 's')} ends before the first copy."
    if interval == 1:
        return "The period is the shortest possible, a copy with each batch."
    if drain and interval <= ceil(drain / plan.step - ROUNDING):
        pause_text = f" and stops training for {figure(plan.pause, 's')}" if plan.pause else ""
        return f"Copies follow one another without a break: each takes {figure(drain, 's')}{pause_text}."
    return ""
