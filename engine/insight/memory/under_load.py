"""Latency under load of each memory and link, with published points."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from ...core.catalog import latency_points, part_names_of
from ...hardware.concurrency import LoadCurve, latency_ratio, load_curve
from ...hardware.devices.cxl import link_latency
from ...hardware.devices.dram import MEMORY, Memory
from ...hardware.devices.pmem import MEDIA, ModuleConstants
from ...scenario.scenario import Scenario
from ...schedule.machine import ready_machine

LOADS = tuple(float(load) for load in np.linspace(0, 1, 41))
UNLOADED = LoadCurve(0.0, 1.0, 1.0)
OPTANE_WRITES = 13.7  # GB/s that six modules write at most
PUBLISHED_CURVES: tuple[tuple[str, str, Memory | ModuleConstants, tuple[tuple[float, float], ...]], ...] = (
    ("DDR4 expander", "a hyperscale operator's measurement", MEMORY["ddr4-3200"], ((0.0, 250.0), (0.1, 269.0), (0.3, 292.0))),
    (
        "Optane writes",
        "Yang et al., FAST'20, six modules",
        MEDIA["optane-100"],
        ((0.4 / OPTANE_WRITES, 164.0), (11.0 / OPTANE_WRITES, 218.0), (11.5 / OPTANE_WRITES, 260.0)),
    ),
)


@dataclass(frozen=True)
class LoadedLatency:
    """The latency [ns] of one part at each of LOADS, and points published for it.

    `published` has pairs of load and ns, measured by `source`.
    """

    part: str
    latencies: tuple[float, ...]
    published: tuple[tuple[float, float], ...] = ()
    source: str = ""


def loaded_latencies(scenario: Scenario) -> tuple[LoadedLatency, ...]:
    """Return the latency curves of the machine's parts, then curves of published parts.

    Raises CannotRun or BadKnob.
    """
    m, curves = ready_machine(scenario), []
    for name in ("cxl", "pmem", "dram", "expander-dram"):
        if name in m.system.devices:
            constant_values = {constant.name: constant.value for constant in m.devices[name].constants}
            rates = m.devices[name].rates
            medium = m.system.memory if name == "cxl" and m.system.memory in rates.curves else ""
            curve = rates.curves[medium] if name == "cxl" else rates.curve
            idle = rates.latency if name != "cxl" else rates.answer[medium] if curve.points else link_latency(m.scenario.machine)
            limited = constant_values.get("accesses in flight", 1) > 0  # effective rates have their load in them
            curves.append(LoadedLatency(m.devices[name].title.split(",")[0], _curve(idle, curve if limited else UNLOADED)))
    published = tuple(
        LoadedLatency(name, _curve(points[0][1], load_curve(part, None)), points, source)
        for name, source, part, points in PUBLISHED_CURVES
    )
    return (*curves, *published, *_measured_cards())


def _measured_cards() -> Iterator[LoadedLatency]:
    """Yield the cards whose files have measured points."""
    for name in part_names_of("expander"):
        if card := latency_points("expander", name):
            points = tuple(zip(card.loads, card.latencies, strict=True))
            yield LoadedLatency(name, _curve(card.latencies[0], LoadCurve(*UNLOADED[:3], card.times)), points, card.source)


def _curve(idle: float, curve: LoadCurve) -> tuple[float, ...]:
    return tuple(float(idle * latency_ratio(load, *curve)) for load in LOADS)
