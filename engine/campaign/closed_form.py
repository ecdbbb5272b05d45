"""Closed formulas of checkpointing: the best period after Young and after Daly, the exact share of useful time, a stretch.

Young, CACM 17(9), 1974; Daly, Future Generation Computer Systems 22(3), 2006. The share is a renewal argument: faults are
exponential and may strike in training, in a checkpoint and in a recovery, which then starts over. `effective` is its long run;
`kept_share` is its mean over a campaign of some length. `progress_after` is a stretch of training without a fault, without a
loop over batches.
"""

from dataclasses import dataclass
from math import exp, expm1, floor, inf, sqrt

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
    """Return how many batches to train between checkpoints: Daly's best or as asked, but not before one has drained."""
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


def kept_share(rate: float, cycle: float, wait: float, down: float, seconds: float) -> float:
    """Return the mean share of a campaign's progress that counts at its end, under `rate` faults a second.

    T is the campaign's length, L the rate. A copy is made every C seconds of training and counts w seconds later; a fault goes
    back to the newest one that counts and is over after D seconds. Three sums make up what counts:
    - since the last fault: all progress, as in `restarted`;
    - between two faults: the n-th copy keeps C seconds if they lie x = n C + w + D or more apart. Faults strike at rate L, each
      a seconds after the one before with density L exp(-L a), which makes C L ((T - x) exp(-L x) - (exp(-L x) - exp(-L T)) / L);
    - before the first fault, where nothing had to come back: C (exp(-L (x - D)) - exp(-L T)).
    With T far above C this is the long run of `effective`.
    """
    share = restarted(rate, down, seconds)
    if not rate or cycle == inf:
        return share
    never, left = exp(-rate * seconds), seconds - wait - down
    copies, power = _sums(rate * cycle, floor(max(left, 0.0) / cycle))
    later = exp(-rate * (wait + down)) * ((rate * left - 1) * copies - rate * cycle * power)
    later += floor(max(left, 0.0) / cycle) * never
    until = floor(max(left + down, 0.0) / cycle)
    first = exp(-rate * wait) * _sums(rate * cycle, until)[0] - until * never
    return share + cycle / seconds * (later + first)


def _sums(decay: float, last: int) -> tuple[float, float]:
    """Return the sums of exp(-n decay), and of n times that, for n from 1 to `last`."""
    ratio, end = exp(-decay), exp(-decay * last)
    gone, less = -expm1(-decay), -expm1(-decay * last)
    return ratio * less / gone, ratio * (less - last * end * gone) / gone**2


def restarted(rate: float, down: float, seconds: float) -> float:
    """Return the mean share of a campaign that counts where each fault starts it again after `down` seconds.

    The last fault lies a seconds before the end with density L exp(-L a), and leaves a - D seconds; none strikes with
    probability exp(-L T).
    """
    if not rate:
        return 1.0
    down = min(down, seconds)
    after = exp(-rate * down) * -expm1(-rate * (seconds - down)) / rate
    return (down * exp(-rate * seconds) + after) / seconds


def slowed(rate: float, lasts: float, factor: float) -> float:
    """Return the share of speed left: faults of some rate make batches `factor` times as long, for as long as one `lasts`."""
    return 1 + expm1(-rate * lasts) * (1 - 1 / factor)


# A share of a batch or a cycle that is nothing but rounding.
GRAIN = 1e-9


@dataclass(frozen=True, slots=True)
class StretchProgress:
    """What a stretch has done: batches with their fraction, seconds stood still, checkpoints that count, checkpoints written.

    `written` counts the one under way by its share; `durable` is the batch, from the stretch's first, of the newest that counts.
    """

    batches: float
    stood: float
    durable: int
    written: float

    @property
    def whole(self) -> int:
        """Batches that were completed."""
        return floor(self.batches + GRAIN)

    def less(self, before: "StretchProgress") -> "StretchProgress":
        """Return what was done since."""
        return StretchProgress(self.batches - before.batches, self.stood - before.stood, 0, self.written - before.written)


def progress_after(plan: ProtectionPlan, seconds: float) -> StretchProgress:
    """Return what `seconds` of training under a plan have done, begun with a checkpoint just restored."""
    if not plan.every:
        return StretchProgress(seconds / plan.step, 0.0, 0, 0.0)
    cycles = floor(seconds / plan.cycle + GRAIN)
    rest = max(seconds - cycles * plan.cycle, 0.0)
    trained = min(rest, plan.every * plan.step)
    counts = max(floor((seconds - plan.drain) / plan.cycle + GRAIN), 0)
    lasts, begun = plan.pause + plan.drain, seconds - (counts + 1) * plan.cycle + plan.pause
    under_way = min(max(begun / lasts, 0.0), 1.0) if lasts else 0.0
    return StretchProgress(
        cycles * plan.every + trained / plan.step, cycles * plan.pause + rest - trained, counts * plan.every, counts + under_way
    )


def completed_seconds(plan: ProtectionPlan, did: StretchProgress, seconds: float) -> float:
    """Return the seconds, which did this, without the batch or the pause that they end in: it has to be begun anew."""
    pauses = floor(did.stood / plan.pause + GRAIN) if plan.pause else 0
    return min(did.whole * plan.step + pauses * plan.pause, seconds)


def seconds_for(plan: ProtectionPlan, batches: float) -> float:
    """Return the seconds of training that so many batches take, pauses between them included."""
    return batches * plan.step + (floor(batches / plan.every) * plan.pause if plan.every else 0.0)
