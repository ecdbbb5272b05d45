"""Which points train the same weights: training reads model, data, run and the lookup's order, never a machine.

A functional class is all that a training reads. What a recovery gives back is that of the run without a fault, to the
bit, where it is strict and only volatile state was lost; then faults do not part a class either. Where they can, a
run belongs to its class as long as nothing strikes it, which its timing tells before anything is trained.
"""

from dataclasses import dataclass
from functools import lru_cache
from hashlib import blake2b

from .. import version
from ..errors import BadKnob
from ..faults.fault import active, strikes
from ..persistence.models import by_word, domain
from ..registry import every, load
from ..scenario.data import Data
from ..scenario.fault_knobs import Faults
from ..scenario.groups import Model, RunKnobs
from ..scenario.keys import texts
from ..scenario.scenario import Scenario
from ..systems.system import LogPolicy, log_policy

READ = ("model", "data", "run")  # the groups of knobs that training reads
VOLATILE = frozenset({"gpu", "host", "device", "link"})
NO_FAULTS = Faults()
FEW_RUN_SO_LONG = 3600.0  # simulated seconds; only says whether it is worth a try: the run itself looks what struck it


@dataclass(frozen=True, slots=True)
class FunctionalClass:
    """All that training reads: equal ones train the same weights, to the bit, on any machine."""

    model: Model
    data: Data
    run: RunKnobs
    relaxed_lookup: bool

    @property
    def scenario(self) -> Scenario:
        """A scenario of the class that nothing else is known of: who trains it cannot read more than the class says."""
        return Scenario(model=self.model, data=self.data, run=self.run)

    @property
    def name(self) -> str:
        """Its address, 32 hex digits: the same on every computer, another for another model version."""
        return _name(self, version.MODEL)


def functional_class(scenario: Scenario) -> FunctionalClass | None:
    """Return the class of a scenario's full run; None where it trains nothing, or where faults may well decide that."""
    if not scenario.run.training:
        return None
    try:
        chosen = log_policy(scenario, load("systems", scenario.system))
    except BadKnob:
        return None  # the run itself will say so
    if strikes_matter(scenario, chosen) and next(strikes(scenario)).at < FEW_RUN_SO_LONG:
        return None
    return FunctionalClass(scenario.model, scenario.data, scenario.run, chosen.relaxed_lookup)


def strikes_matter(scenario: Scenario, chosen: LogPolicy) -> bool:
    """Tell whether faults can leave other weights than a run without them, or when is decided by the weights' own bytes."""
    struck = () if scenario.faults == NO_FAULTS else active(scenario)
    if not struck:
        return False
    model = domain(scenario.machine.persistence_model)
    exact = (chosen.strict or not chosen.log) and not model.buffered_lines and model.stream is not by_word
    return not exact or any(every("faults")[name].destroys - VOLATILE for name in struck)


@lru_cache(maxsize=256)
def _name(one: FunctionalClass, model_version: str) -> str:
    read = [f"{path}={text}" for path, text in texts(one.scenario).items() if path.partition(".")[0] in READ]
    lines = ["training", model_version, f"relaxed_lookup={one.relaxed_lookup}", *read]
    return blake2b("\n".join(lines).encode(), digest_size=16).hexdigest()
