"""A stretch of training without a fault: what it has done after so many seconds, in closed form, no loop over batches."""

from dataclasses import dataclass
from math import floor

from .protection import ProtectionPlan

# A share of a batch or a cycle that is nothing but rounding.
GRAIN = 1e-9


@dataclass(frozen=True, slots=True)
class Done:
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

    def less(self, before: "Done") -> "Done":
        """Return what was done since."""
        return Done(self.batches - before.batches, self.stood - before.stood, 0, self.written - before.written)


def done(plan: ProtectionPlan, seconds: float) -> Done:
    """Return what `seconds` of training under a plan have done, begun with a checkpoint just restored."""
    if not plan.every:
        return Done(seconds / plan.step, 0.0, 0, 0.0)
    cycles = floor(seconds / plan.cycle + GRAIN)
    rest = max(seconds - cycles * plan.cycle, 0.0)
    trained = min(rest, plan.every * plan.step)
    counts = max(floor((seconds - plan.drain) / plan.cycle + GRAIN), 0)
    lasts, begun = plan.pause + plan.drain, seconds - (counts + 1) * plan.cycle + plan.pause
    under_way = min(max(begun / lasts, 0.0), 1.0) if lasts else 0.0
    return Done(
        cycles * plan.every + trained / plan.step, cycles * plan.pause + rest - trained, counts * plan.every, counts + under_way
    )


def whole(plan: ProtectionPlan, did: Done, seconds: float) -> float:
    """Return the seconds, which did this, without the batch or the pause that they end in: it has to be begun anew."""
    pauses = floor(did.stood / plan.pause + GRAIN) if plan.pause else 0
    return min(did.whole * plan.step + pauses * plan.pause, seconds)


def until(plan: ProtectionPlan, batches: float) -> float:
    """Return the seconds of training that so many batches take, pauses between them included."""
    return batches * plan.step + (floor(batches / plan.every) * plan.pause if plan.every else 0.0)
