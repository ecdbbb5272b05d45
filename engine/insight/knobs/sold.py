"""Values of a knob that products have, and the end of their range."""

from collections.abc import Mapping
from math import inf
from typing import Any

from ...core.figures import figure
from ...errors import EmberpoolError
from ...hardware.devices.cxl import products
from ...hardware.devices.pmem import module_bytes
from ...scenario.machine import MachineKnobs
from ...scenario.scenario import Scenario, with_values
from ...schedule.machine import settle
from ...systems.buildable.places import does_not_fit
from ...units import GB
from ..relaxation import LINK
from .stops import CAPACITY

# Payload rates of products other than CXL links: network ports at 90 % of their line, pinned copies over 16 lanes at 82 %.
PRODUCTS: Mapping[str, tuple[tuple[float, str], ...]] = {
    "machine.network_bandwidth_GBps": ((11.25, "100 Gb/s"), (22.5, "200 Gb/s"), (45.0, "400 Gb/s")),
    "machine.pcie_bandwidth_GBps": ((13.0, "×16 Gen3"), (26.0, "×16 Gen4"), (52.0, "×16 Gen5")),
}
BELOW_PRODUCTS = 4.0  # factor below the slowest product's rate that a strip still shows
SAME_RATE = 1e-3  # relative: a typed 25.8 is the product's 25.83


def products_of(machine: MachineKnobs, path: str) -> tuple[tuple[float, str], ...]:
    """Return the rates [GB/s] of a knob's products, with their names.

    Products of one rate share an entry.
    """
    if path != LINK:
        return PRODUCTS.get(path, ())
    names_by_rate: dict[float, list[str]] = {}
    for name, raw, payload in products(machine):
        names_by_rate.setdefault(round(payload / GB, 3), []).append(f"{name}, {figure(raw / GB, 'GB/s')} raw")
    return tuple((rate, " or ".join(names)) for rate, names in names_by_rate.items())


def lowest_shown(settled: Scenario, path: str) -> float:
    """Return the least value of a knob that is worth a look.

    It is a part of the slowest product's rate, 0 without products.
    """
    return min((rate for rate, _ in products_of(settled.machine, path)), default=0.0) / BELOW_PRODUCTS


def neighbours(settled: Scenario, path: str, value_in_force: float) -> tuple[float, ...]:
    """Return the values of products just below and just above the value in force.

    Products of PMEM capacity are one module less and one more.
    """
    if path == CAPACITY:
        module = module_bytes(settled.machine) / GB
        return tuple(size for size in (value_in_force - module, value_in_force + module) if size >= module)
    rates = sorted(rate for rate, _ in products_of(settled.machine, path))
    below = [rate for rate in rates if rate < value_in_force * (1 - SAME_RATE)]
    above = [rate for rate in rates if rate > value_in_force * (1 + SAME_RATE)]
    return (*below[-1:], *above[:1])


def first_not_sold(settled: Scenario, path: str, rising: Mapping[int, Any]) -> tuple[int, str] | None:
    """Return the first of rising values that no product has: its key and the reason.

    Return None if all values are sold, or if nothing is known of products. A machine of PMEM is sold if its chassis lacks no more
    than with the first value.
    """
    if path == CAPACITY:
        reference: tuple[str, ...] | None = None
        for key, knob_value in rising.items():
            lacks = _does_not_fit(with_values(settled, {CAPACITY: knob_value}))
            reference = lacks if reference is None else reference
            if len(lacks) > len(reference):
                return key, " ".join(lacks)
        return None
    fastest, name = max(products_of(settled.machine, path), default=(inf, ""))
    reason = f"The fastest product carries {figure(fastest, 'GB/s')} ({name})."
    return next(((key, reason) for key, rate in rising.items() if rate > fastest * (1 + SAME_RATE)), None)


def _does_not_fit(settled: Scenario) -> tuple[str, ...]:
    """Return the sentences on what a machine has too little of; none if the machine has no sizes."""
    try:
        return does_not_fit(settle(settled))
    except EmberpoolError:
        return ()
