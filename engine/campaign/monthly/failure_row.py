"""The failures of a machine as the numbers of a sentence, and as knobs.

An example of the sentence is "2 a week on 64 nodes of 8 GPUs".
The failures are node crashes: `faults.host_crash_mtbf_hours` is that of one node. A link may have other classes of faults;
`row_of` counts all of them except power losses, which strike the whole site.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Any

from ...core.arithmetic import total
from ...core.figures import count, exact
from ...errors import BadKnob, EmberpoolError
from ...estimate import estimate
from ...faults.fault import Hazard
from ...hardware.device import gpus_in_node, nodes
from ...hardware.devices.chassis import MOST_PLACES
from ...insight.running_costs import MONTH, YEAR
from ...registry import NO_RATES, load_variant, variant_names
from ...scenario.scenario import KNOBS, Scenario, with_values
from ...systems.system import System
from ...units import DAY, HOUR
from ..fault_stream import FLUSH_FAILURE, POWER_LOSS, hazards_of, unit_count

PERIODS: Mapping[str, float] = MappingProxyType({"week": 7 * DAY, "day": DAY, "month": MONTH, "year": YEAR, "hour": HOUR})
CRASH = "host-crash"
CRASH_KNOB = "faults.host_crash_mtbf_hours"
POWER_KNOB = "faults.power_loss_mtbf_hours"
MINUTES_KNOB, PROTECTION_KNOB = "policy.checkpoint_minutes", "policy.protection"
SITE_FAULTS = (POWER_LOSS, FLUSH_FAILURE)
RATE = "Throughput [samples/s]"
MOST_OFFERS = 3


@dataclass(frozen=True)
class FailureRow:
    """The failures of a machine's nodes, and the machine's size.

    failures: the number of failures in a period.
    period: one of PERIODS.
    each_node: whether the failures are those of one node, or of all nodes together.
    nodes: the nodes of all replicas together.
    gpus: the GPUs of one node.
    """

    failures: float
    period: str
    each_node: bool
    nodes: int
    gpus: int

    @property
    def seconds_between(self) -> float | None:
        """Mean seconds between two failures of the whole cluster; None without any."""
        failures = self.failures * (self.nodes if self.each_node else 1)
        return PERIODS[self.period] / failures if failures else None


@dataclass(frozen=True)
class SystemOffer:
    """A training system for a row's machine: name, title, and the knobs to set."""

    system: str
    title: str
    knobs: Mapping[str, Any]


def row_of(scenario: Scenario, period: str = "", each_node: bool = False) -> FailureRow:
    """Return the failures and the machine that a scenario's knobs say.

    period: one of PERIODS; "" for the period in which the number of failures is shortest to write.
    """
    machine = scenario.machine
    row = FailureRow(0.0, period or "week", each_node, scenario.faults.machines * nodes(machine), gpus_in_node(machine))
    rate = total(1 / hazard.mtbf for hazard in node_hazards(hazards_of(scenario)).values() if hazard.mtbf)
    rate /= row.nodes if each_node else 1
    if not period and rate:
        periods = [name for name, seconds in PERIODS.items() if rate * seconds >= 0.9995] or ["year"]
        row = replace(row, period=min(periods, key=lambda name: len(number_text(rate * PERIODS[name]))))
    return replace(row, failures=float(number_text(rate * PERIODS[row.period])))


def number_text(number: float) -> str:
    """Return a number of failures as text, in six digits."""
    return f"{number:.6g}"


def node_hazards(hazards: Mapping[str, Hazard]) -> Mapping[str, Hazard]:
    """Return the hazards of nodes and GPUs, without those of the whole site's power."""
    return {name: hazard for name, hazard in hazards.items() if name not in SITE_FAULTS}


def with_row(scenario: Scenario, row: FailureRow) -> Scenario:
    """Return a scenario with a row's machine and failures; raises BadKnob with the remedy."""
    return with_failures(with_machine(scenario, row), row)


def with_machine(scenario: Scenario, row: FailureRow) -> Scenario:
    """Return a scenario with the nodes and GPUs of a row.

    A system for one node, or a machine that is replicated already, gets more replicas. Raises BadKnob with the remedy.
    """
    scenario_row = row_of(scenario, row.period)
    if (row.nodes, row.gpus) == (scenario_row.nodes, scenario_row.gpus):
        return scenario
    machine = scenario.machine
    system, max_gpus = load_variant("systems", scenario.system), KNOBS["machine.num_gpus"].high or 0.0
    if system.one_node:
        return with_values(scenario, _replica_knobs(scenario, system, row))
    fits_replicas = row.gpus == scenario_row.gpus and not row.nodes % nodes(machine)
    if fits_replicas and scenario.faults.machines > 1:
        return with_values(scenario, {"faults.machines": row.nodes // nodes(machine)})
    if row.nodes * row.gpus > max_gpus:
        raise BadKnob(
            f"{_shape(row)} are {count(row.nodes * row.gpus, 'GPU')}, but the limit is {exact(max_gpus)}; write fewer nodes or "
            "GPUs."
        )
    return with_values(scenario, sharded_knobs(row))


def _replica_knobs(scenario: Scenario, system: System, row: FailureRow) -> Mapping[str, Any]:
    """Return the knobs of replicas of one node each, of a row's size; raises BadKnob for more GPUs than a node has."""
    if row.gpus > MOST_PLACES:
        raise BadKnob(
            f"{system.title} trains on one node of up to {count(MOST_PLACES, 'GPU')} and cannot have {_shape(row)}. Take a "
            f"system below that can, or write {MOST_PLACES} GPUs."
        )
    gpus_per_node = max(row.gpus, scenario.machine.gpus_per_node)
    return {"machine.num_gpus": row.gpus, "machine.gpus_per_node": gpus_per_node, "faults.machines": row.nodes}


def sharded_knobs(row: FailureRow) -> Mapping[str, Any]:
    """Return the knobs of a single machine of a row's size, with sharded tables.

    The row's number of GPUs takes the place of a target throughput.
    """
    return {
        "machine.num_gpus": row.nodes * row.gpus,
        "machine.target_throughput": None,
        "machine.gpus_per_node": row.gpus,
        "faults.machines": 1,
    }


def _shape(row: FailureRow) -> str:
    return f"{count(row.nodes, 'node')} of {count(row.gpus, 'GPU')}"


def with_failures(scenario: Scenario, row: FailureRow) -> Scenario:
    """Return a scenario whose nodes fail only by crashes, at the rate of a row.

    Power losses of the site stay.
    """
    kept_knobs = {f"faults.{name.replace('-', '_')}_mtbf_hours" for name in SITE_FAULTS}
    cleared_knobs = [
        path for path in KNOBS if path.startswith("faults.") and path.endswith("_mtbf_hours") and path not in kept_knobs
    ]
    interval = row.seconds_between
    hours = interval and interval * unit_count(scenario, CRASH) / HOUR
    return with_values(scenario, {"faults.rates": NO_RATES, **dict.fromkeys(cleared_knobs), CRASH_KNOB: hours})


def only_crashes(scenario: Scenario) -> bool:
    """Return whether all random failures of nodes are crashes, as `with_failures` sets them."""
    random = {name for name, hazard in node_hazards(hazards_of(scenario)).items() if hazard.mtbf}
    return random <= {CRASH} and scenario.faults.rates == NO_RATES


def system_offers(scenario: Scenario, row: FailureRow) -> tuple[SystemOffer, ...]:
    """Return the fastest systems that can train the model on a row's machine.

    Systems whose inner workings are not published are left out.
    """
    rated_offers = []
    for name in variant_names("systems"):
        system = load_variant("systems", name)
        if system.can_use_many_nodes and system.confidence != "headline only" and name != scenario.system:
            knobs = {"system": name, "policy.kernel": "auto", **sharded_knobs(row)}
            rated_offers += [(rate, SystemOffer(name, system.title, knobs)) for rate in _rates(scenario, knobs)]
    return tuple(offer for _, offer in sorted(rated_offers, key=lambda pair: -pair[0])[:MOST_OFFERS])


def _rates(scenario: Scenario, knobs: Mapping[str, Any]) -> Iterator[float]:
    """Yield the samples a second with these knobs; yields no number where they cannot run."""
    try:
        result = estimate(with_values(scenario, knobs))
    except EmberpoolError:
        return
    if result.ran and (rate := result.results.get(RATE)):
        yield rate
