"""Closed formulas of checkpointing: best periods, share of useful time, progress without faults.

Sources of the best periods: Young, CACM 17(9), 1974; Daly, Future Generation Computer Systems 22(3), 2006. The shares come from a
renewal argument: intervals between faults are exponential, and a fault may strike in training, in a checkpoint or in a recovery,
which then starts again. `effective` is the share of an endless campaign; `kept_share` is the mean share of a campaign of finite
length. `progress_after` computes a stretch of training without a fault, without a loop over batches.
"""

from dataclasses import dataclass
from math import ceil, exp, expm1, floor, inf, sqrt

from .protection import ProtectionPlan

# Seconds between checkpoints without faults, where no period is best: Check-N-Run's default (NSDI'22).
CUSTOMARY = 1800.0
# A share of a batch or a cycle that is only a rounding error.
ROUNDING = 1e-9


def young_period(pause: float, mtbf: float) -> float:
    """Return Young's best seconds of training between checkpoints that take `pause` seconds."""
    return sqrt(2 * pause * mtbf)


def daly_period(pause: float, mtbf: float) -> float:
    """Return Daly's best seconds of training between checkpoints, of higher order than Young's."""
    if pause >= 2 * mtbf:
        return mtbf
    half = pause / (2 * mtbf)
    return young_period(pause, mtbf) * (1 + sqrt(half) / 3 + half / 9) - pause


def batches_between(period: float | None, step: float, drain: float, customary: float = CUSTOMARY) -> int:
    """Return the batches between two copies, by a period or by the customary one.

    step, drain: seconds of a batch, and until a copy counts. One copy has drained before the next starts.
    """
    return max(1, round((customary if period is None else period) / step), ceil(drain / step - ROUNDING))


def calm_share(plan: ProtectionPlan, useful: float, seconds: float) -> float:
    """Return the share of `seconds` spent on `useful` seconds of each batch, without faults.

    A campaign that ends before its first checkpoint has no pause.
    """
    return useful / plan.step if plan.cycle >= seconds else effective(plan, useful, inf, 0.0)


def effective(plan: ProtectionPlan, useful: float, mtbf: float, downtime: float) -> float:
    """Return the long-run share of time spent on `useful` seconds of each batch.

    downtime: D, the seconds of an undisturbed recovery. mtbf: M, the mean seconds between faults.
    A cycle lasts C seconds, and its checkpoint counts w seconds after the cycle's end. A fault follows a mean of
    exp(-(C + w) / M) / (1 - exp(-C / M)) durable checkpoints and M seconds, and costs M (exp(D / M) - 1) seconds more.
    """
    if mtbf == inf:
        return useful * plan.checkpoint_interval / plan.cycle if plan.checkpoint_interval else useful / plan.step
    if not plan.checkpoint_interval:
        return 0.0
    durable_checkpoints = exp(-(plan.cycle + plan.drain + downtime) / mtbf) / -expm1(-plan.cycle / mtbf)
    return plan.checkpoint_interval * useful / mtbf * durable_checkpoints


def kept_share(rate: float, cycle: float, wait: float, downtime: float, seconds: float) -> float:
    """Return the mean share of a campaign's progress that counts at its end.

    T is the campaign's length in seconds, L the `rate` of faults a second, C the `cycle`, w the `wait` and D the `downtime`.
    A checkpoint is made every C seconds of training and counts w seconds later. A fault goes back to the newest checkpoint that
    counts, and training continues D seconds after the fault.
    The progress that counts is the sum of three parts:
    - since the last fault: all progress, as in `restarted_share`;
    - between two faults: the n-th checkpoint keeps C seconds if the faults lie x = n C + w + D or more apart. Faults strike at
      rate L, each a seconds after the previous one with density L exp(-L a), which makes
      C L ((T - x) exp(-L x) - (exp(-L x) - exp(-L T)) / L);
    - before the first fault, where no downtime came before: C (exp(-L (x - D)) - exp(-L T)).
    With T far above C the share is that of `effective`.
    """
    share = restarted_share(rate, downtime, seconds)
    if rate * seconds < ROUNDING or cycle == inf:
        return share
    no_fault_chance, time_left = exp(-rate * seconds), seconds - wait - downtime
    copies, power = _sums(rate * cycle, floor(max(time_left, 0.0) / cycle))
    between_faults = exp(-rate * (wait + downtime)) * ((rate * time_left - 1) * copies - rate * cycle * power)
    between_faults += floor(max(time_left, 0.0) / cycle) * no_fault_chance
    first_copies = floor(max(time_left + downtime, 0.0) / cycle)
    before_first_fault = exp(-rate * wait) * _sums(rate * cycle, first_copies)[0] - first_copies * no_fault_chance
    return share + cycle / seconds * (between_faults + before_first_fault)


def _sums(decay: float, count: int) -> tuple[float, float]:
    """Return the sums of exp(-n decay) and n exp(-n decay), n from 1 to `count`."""
    ratio, end = exp(-decay), exp(-decay * count)
    complement, count_complement = -expm1(-decay), -expm1(-decay * count)
    return ratio * count_complement / complement, ratio * (count_complement - count * end * complement) / complement**2


def restarted_share(rate: float, downtime: float, seconds: float) -> float:
    """Return the mean share of a campaign that counts if each fault restarts training.

    Training starts again `downtime` D seconds after a fault. T is the campaign's length in seconds, L the `rate` of faults a
    second. The last fault lies a seconds before the end with density L exp(-L a), and leaves a - D seconds. No fault strikes with
    probability exp(-L T).
    """
    if not rate:
        return 1.0
    downtime = min(downtime, seconds)
    uptime = exp(-rate * downtime) * -expm1(-rate * (seconds - downtime)) / rate
    return (downtime * exp(-rate * seconds) + uptime) / seconds


def slowed_share(rate: float, lasts: float, factor: float) -> float:
    """Return the share of speed that is left under faults that slow batches down.

    Slow-downs come at `rate` a second; each lasts `lasts` seconds and makes batches `factor` times as long.
    """
    return 1 + expm1(-rate * lasts) * (1 - 1 / factor)


@dataclass(frozen=True, slots=True)
class StretchProgress:
    """The progress of a stretch of training without a fault.

    batches: batches trained, with their fraction.
    pause_seconds: seconds of pauses for checkpoints.
    durable_batch: the batch of the newest checkpoint that counts, from the first batch of the stretch.
    checkpoints_written: checkpoints written; an unfinished checkpoint counts by its written share.
    """

    batches: float
    pause_seconds: float
    durable_batch: int
    checkpoints_written: float

    @property
    def completed_batches(self) -> int:
        """The number of completed batches."""
        return floor(self.batches + ROUNDING)

    def progress_since(self, start: "StretchProgress") -> "StretchProgress":
        """Return the progress since an earlier moment of the stretch."""
        return StretchProgress(
            self.batches - start.batches,
            self.pause_seconds - start.pause_seconds,
            0,
            self.checkpoints_written - start.checkpoints_written,
        )


def progress_after(plan: ProtectionPlan, seconds: float) -> StretchProgress:
    """Return the progress of `seconds` of training under a plan, from a restored checkpoint on."""
    if not plan.checkpoint_interval:
        return StretchProgress(seconds / plan.step, 0.0, 0, 0.0)
    cycles = floor(seconds / plan.cycle + ROUNDING)
    rest = max(seconds - cycles * plan.cycle, 0.0)
    trained = min(rest, plan.checkpoint_interval * plan.step)
    counts = max(floor((seconds - plan.drain) / plan.cycle + ROUNDING), 0)
    lasts, copy_seconds = plan.pause + plan.drain, seconds - (counts + 1) * plan.cycle + plan.pause
    under_way = min(max(copy_seconds / lasts, 0.0), 1.0) if lasts else 0.0
    return StretchProgress(
        cycles * plan.checkpoint_interval + trained / plan.step,
        cycles * plan.pause + rest - trained,
        counts * plan.checkpoint_interval,
        counts + under_way,
    )


def completed_seconds(plan: ProtectionPlan, stretch: StretchProgress, seconds: float) -> float:
    """Return the seconds of a stretch without its last, unfinished batch or pause.

    The unfinished part has to start again after a fault.
    """
    pauses = floor(stretch.pause_seconds / plan.pause + ROUNDING) if plan.pause else 0
    return min(stretch.completed_batches * plan.step + pauses * plan.pause, seconds)


def seconds_for(plan: ProtectionPlan, batches: float) -> float:
    """Return the seconds of training of some batches, with the pauses for checkpoints among them."""
    return batches * plan.step + (floor(batches / plan.checkpoint_interval) * plan.pause if plan.checkpoint_interval else 0.0)
