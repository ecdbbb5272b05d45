"""The question of a verdict: a model, its requirement, objective, parts and software."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property

from ...errors import BadInput
from ...scenario.machine import RECORDED, YEARS
from ...scenario.scenario import Scenario, with_values
from .allowed import AllowedParts
from .requirement import Objective, Requirement
from .space import free_base
from .stacks import SoftwareChoice

PRICES = "machine.prices"
# By the constant's name, the kind of part that a verdict chooses, and an example of one.
PRICED_AT_ONCE: Mapping[str, tuple[str, str]] = {
    "gpu.price": ("GPU", "gpu/h200"),
    "host.price": ("host", "host/epyc-2024"),
    "chassis.price": ("chassis", "chassis/gpu-8-sxm"),
    "near-data.price": ("near-data logic", "near-data/fpga"),
}


@dataclass(frozen=True)
class VerdictQuestion:
    """A verdict question.

    scenario: the scenario with model and data.
    requirement: the limits that the machine must keep.
    objective: the quantity to minimise.
    parts: the parts that the machine may have.
    software: the software that it may have.
    layers: the precision of layers, "" for that of the software's published runs.
    """

    scenario: Scenario
    requirement: Requirement = field(default_factory=Requirement)
    objective: Objective = "cost"
    parts: AllowedParts = field(default_factory=AllowedParts)
    software: SoftwareChoice = field(default_factory=SoftwareChoice)
    layers: str = ""

    def __post_init__(self) -> None:
        """Refuse a price for all parts of a kind at once; raises BadInput."""
        assumed = [name for name, _ in self.scenario.machine.assume if name in PRICED_AT_ONCE]
        if assumed:
            kind, example = PRICED_AT_ONCE[assumed[0]]
            raise BadInput(
                f"machine.assume={assumed[0]} would give every {kind} that the search tries the same price; "
                f"write a quote for one: machine.quotes={example}:USD."
            )

    @property
    def objective_in_force(self) -> Objective:
        """The objective; a month's cost instead of a sample's where a speed is asked for.

        Samples beyond those asked for have no worth.
        """
        return "month" if self.objective == "cost" and self.requirement.is_of_speed else self.objective

    @cached_property
    def allowed(self) -> AllowedParts:
        """The parts that the machine may have, with those that are owned."""
        return replace(self.parts, owned=self.scenario.machine.owned_parts)

    @cached_property
    def base(self) -> Scenario:
        """The question's scenario with all searched knobs free, and prices of one year."""
        year = self.scenario.machine.prices
        return with_values(free_base(self.scenario), {PRICES: YEARS[-1] if year == RECORDED else year})
