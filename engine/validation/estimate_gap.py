"""The estimate's gap to the full run: every preset both ways, timing alone, as weights never change a time."""

from dataclasses import asdict, dataclass
from typing import Any

from ..errors import CannotRun
from ..estimate import estimate
from ..scenario.presets import preset
from ..scenario.scenario import with_values
from ..simulate import simulate

METRICS = ("Step time [ms]", "Energy per batch [J]")
TIMING = {"run.training": False, "faults.power_loss_at_seconds": (), "faults.power_loss_mtbf_hours": None}


@dataclass(frozen=True)
class Gap:
    """One result of a preset, as estimated and as a full run of so many batches measured it."""

    preset: str
    system: str
    batches: int
    metric: str
    estimate: float
    full: float

    @property
    def percent(self) -> float:
        """How much more than the full run the estimate says, in percent of the run."""
        return 100 * (self.estimate / self.full - 1)

    def as_json(self) -> dict[str, Any]:
        """Return the gap as one JSON-ready object."""
        return {**asdict(self), "gap_percent": self.percent}


def gaps(name: str) -> tuple[Gap, ...]:
    """Run a preset without faults and training, and return how far its estimate is off; raises CannotRun."""
    scenario = with_values(preset(name).scenario, TIMING)
    guess, run = estimate(scenario), simulate(scenario)
    for result in (guess, run):
        if not result.ran:
            raise CannotRun(f"presets/{name}.toml cannot run: {result.outcome}")
    pairs = ((metric, guess.results[metric], run.results[metric]) for metric in METRICS)
    batches = scenario.run.batches
    return tuple(Gap(name, scenario.system, batches, metric, a, b) for metric, a, b in pairs if a is not None and b)
