"""How often each class of fault strikes a scenario's machine, or the many of them that train together."""

from collections.abc import Mapping
from dataclasses import replace

from engine.fault import hazard_of
from engine.hazard import Hazard
from engine.registry import every
from engine.scenario import Scenario


def hazards_of(scenario: Scenario) -> Mapping[str, Hazard]:
    """Return the hazards that the fault knobs and published rates ask for; classes that never strike are left out."""
    found = {name: hazard_of(scenario, name) for name, fault in every("faults").items() if fault.kind != "report"}
    share, lost = scenario.faults.flush_failure_share, found["power-loss"].mtbf
    if share and lost:
        worse = found["flush-failure"].mtbf
        found["flush-failure"] = replace(found["flush-failure"], mtbf=1 / (share / lost + (1 / worse if worse else 0.0)))
        found["power-loss"] = replace(found["power-loss"], mtbf=lost / (1 - share) if share < 1 else None)
    return {name: hazard for name, hazard in found.items() if hazard.mtbf or hazard.at}
