"""Closed formulas of checkpointing: the best period after Young and after Daly, and the exact share of useful time.

Young, CACM 17(9), 1974; Daly, Future Generation Computer Systems 22(3), 2006. The share is a renewal argument: faults are
exponential and may strike in training, in a checkpoint and in a recovery, which then starts over.
"""

from math import exp, expm1, inf, sqrt

from .protection import ProtectionPlan, Site

# Without faults no period is best; this one is Check-N-Run's default (NSDI'22).
CUSTOMARY = 1800.0


def young(pause: float, mtbf: float) -> float:
    """Return Young's best seconds of training between checkpoints that take `pause` seconds."""
    return sqrt(2 * pause * mtbf)


def daly(pause: float, mtbf: float) -> float:
    """Return Daly's estimate of higher order."""
    if pause >= 2 * mtbf:
        return mtbf
    half = pause / (2 * mtbf)
    return young(pause, mtbf) * (1 + sqrt(half) / 3 + half / 9) - pause


def batches_between(site: Site, step: float, pause: float, drain: float) -> int:
    """Return how many batches to train between checkpoints: Daly's best, or the period asked for.

    One checkpoint must have drained before the next begins, so one that nobody waits for is best taken without end.
    """
    best = CUSTOMARY if site.mtbf is None else daly(pause, site.mtbf)
    return max(1, round((best if site.period is None else site.period) / step), -int(-drain // step))


def effective(plan: ProtectionPlan, useful: float, mtbf: float, down: float) -> float:
    """Return the long-run share of time spent on `useful` seconds of each batch, with `down` seconds for an undisturbed recovery.

    With cycles of C seconds whose checkpoints count w seconds after their end, a fault follows a mean of
    exp(-(C + w) / M) / (1 - exp(-C / M)) durable checkpoints and M seconds, and costs M (exp(down / M) - 1) more.
    """
    if mtbf == inf:
        return useful * plan.every / plan.cycle if plan.every else useful / plan.step
    if not plan.every:
        return 0.0
    kept = exp(-(plan.cycle + plan.drain + down) / mtbf) / -expm1(-plan.cycle / mtbf)
    return plan.every * useful / mtbf * kept
