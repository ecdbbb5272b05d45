"""The result of a run or estimate: numbers and tables with units, and an outcome."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from .. import version
from ..core.arithmetic import arithmetic, other_kernels_note
from ..core.arrays import Row
from ..core.figures import count, figure
from ..scenario.knobs import shorten
from ..scenario.scenario import Scenario, values, with_values
from ..sweep import link_parts, links

OUTWARD_NAMES = {"ledger": "books"}  # names in JSON and in stores, where they differ from ours
ENERGY_NOTES = {
    "device": "Energy is counted at the devices, without power supplies and cooling.",
    "node": "Energy is counted at the plugs of the nodes, with fans and power supplies.",
    "room": "Energy is counted in the room, with fans, power supplies and cooling.",
}


@dataclass(frozen=True)
class Result:
    """The result of one run or estimate.

    scenario: the scenario as the user has given it.
    ran: True if the scenario could run.
    outcome: a sentence on how the run ended; for a scenario that could not run, the reason and a remedy.
    results: a number or None by metric name; the name has the unit.
    breakdown: per steady-state batch: Stage, Device, Busy [s], Exposed [s], Energy [J].
    devices: of the whole run: Device, Busy [%], Static energy [J], Dynamic energy [J], Energy [J], Note.
    training: Batch, Elapsed [s], Loss, AUC, AUC error; the AUC is on held-out samples, None between evaluations.
    events: Elapsed [s], Kind (fault, fault in recovery, recovered, unrecoverable, slow, full speed, checkpoint, silent),
        Batch, What.
    ledger: of the whole run: Account, Time [s], Energy [J]; engine/results/ledger.py explains the accounts.
    timeline: of a few steady-state batches: Device, Task, Stage, Batch, Start [ms], End [ms], Background.
    warnings: sentences of caution.
    finding: sentences that explain the time of a batch.
    arithmetic: the names of the BLAS kernels, NumPy and Python that trained the model.
    """

    scenario: Scenario
    ran: bool
    outcome: str
    results: Mapping[str, float | None]
    breakdown: tuple[Row, ...] = ()
    devices: tuple[Row, ...] = ()
    training: tuple[Row, ...] = ()
    events: tuple[Row, ...] = ()
    ledger: tuple[Row, ...] = ()
    timeline: tuple[Row, ...] = ()
    warnings: tuple[str, ...] = ()
    finding: str = ""
    arithmetic: str = field(default_factory=arithmetic)

    def __repr__(self) -> str:
        """Return a line with system, model, step time and outcome; `as_json` returns all fields."""
        step = self.results.get("Step time [ms]")
        took = "" if step is None else f"step time {figure(step, 'ms')}; "
        noted = f"; {count(len(self.notes), 'note')}" if self.notes else ""
        return shorten(f"Result({self.scenario.system}, model {self.scenario.model.name}: {took}{self.outcome}{noted})")

    @property
    def notes(self) -> tuple[str, ...]:
        """The warnings, and a sentence if other arithmetic trained the model."""
        return (*self.warnings, *(other_kernels_note(self.arithmetic) if self.training else ()))

    def as_json(self) -> dict[str, Any]:
        """Return the result as a JSON-ready object.

        The object has the knobs by dotted path, the versions, the numbers, the tables, and a link.
        """
        return {
            "scenario": {path: _json_value(knob_value) for path, knob_value in values(self.scenario).items()},
            **self.without_knobs(),
        }

    def without_knobs(self) -> dict[str, Any]:
        """Return the object of `as_json` without the scenario's knobs."""
        tables = {OUTWARD_NAMES.get(key, key): table for key, table in vars(self).items() if key != "scenario"}
        return {
            "model_version": version.MODEL,
            "energy_level": self.scenario.machine.energy_level,
            "link": links.link(self.scenario),
            **tables,
        }


def from_json(content: Mapping[str, Any], scenario: Scenario | None = None) -> Result:
    """Return the result that `Result.as_json` has written as an object.

    If `scenario` is given, the knobs in the object are not read.
    """
    knob_values = {path: tuple(v) if isinstance(v, list) else v for path, v in content["scenario"].items()}
    tables = ("breakdown", "devices", "training", "events", "ledger", "timeline", "warnings")
    if scenario is None and "&part=" in content.get("link", ""):
        link_parts.accept_link_parts(content["link"])
    return Result(
        scenario=scenario or with_values(Scenario(), knob_values),
        ran=content["ran"],
        outcome=content["outcome"],
        results=content["results"],
        finding=content["finding"],
        arithmetic=content.get("arithmetic", ""),
        **{name: tuple(content.get(OUTWARD_NAMES.get(name, name), ())) for name in tables},
    )


def _json_value(knob_value: Any) -> Any:
    return list(knob_value) if isinstance(knob_value, tuple) else knob_value
