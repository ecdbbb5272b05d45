"""The cost of one steady batch, the quantity that all insights compare."""

from dataclasses import dataclass
from functools import lru_cache

from ..core.graph import STAGES
from ..errors import CannotRun
from ..estimates import steady_states
from ..scenario.scenario import Scenario
from ..schedule.evaluate import NotScheduled


@dataclass(frozen=True)
class BatchCost:
    """Seconds and joules of a steady batch.

    `stages` are the batch's exposed seconds by stage, in the order of result.STAGES.
    """

    seconds: float
    joules: float
    stages: tuple[float, ...]

    def saving_with(self, alternative: "BatchCost") -> "BatchCost":
        """Return this cost less the alternative's cost, field by field.

        A field is negative where the alternative costs more.
        """
        stages = tuple(seconds - other_seconds for seconds, other_seconds in zip(self.stages, alternative.stages, strict=True))
        return BatchCost(self.seconds - alternative.seconds, self.joules - alternative.joules, stages)


@lru_cache(maxsize=8192)
def cost(scenario: Scenario) -> BatchCost:
    """Return the cost of a steady batch; raises CannotRun or BadKnob with the reason."""
    (steady,) = steady_states([scenario])
    if isinstance(steady, NotScheduled):
        raise steady.error or CannotRun(steady.problems[0])
    return BatchCost(steady.step, steady.energy, tuple(steady.stage(stage) for stage in STAGES))
