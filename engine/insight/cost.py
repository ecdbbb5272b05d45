"""The cost of one steady batch, which all insights subtract from one another."""

from dataclasses import dataclass
from functools import lru_cache

from ..core.graph import STAGES
from ..errors import CannotRun
from ..estimates import steady_states
from ..scenario.scenario import Scenario
from ..schedule.evaluate import NotScheduled


@dataclass(frozen=True)
class BatchCost:
    """Seconds and joules of a steady batch; `stages` are its exposed seconds in the order of result.STAGES."""

    seconds: float
    joules: float
    stages: tuple[float, ...]

    def less(self, other: "BatchCost") -> "BatchCost":
        """Return the difference: what is saved by going from this to the other."""
        stages = tuple(mine - others for mine, others in zip(self.stages, other.stages, strict=True))
        return BatchCost(self.seconds - other.seconds, self.joules - other.joules, stages)


@lru_cache(maxsize=8192)
def cost(scenario: Scenario) -> BatchCost:
    """Return what a steady batch costs; raises CannotRun or BadKnob with the sentence."""
    (found,) = steady_states([scenario])
    if isinstance(found, NotScheduled):
        raise found.error or CannotRun(found.problems[0])
    return BatchCost(found.step, found.energy, tuple(found.stage(stage) for stage in STAGES))
