"""The best use of a budget for GPUs and host DRAM.

Tables are in HBM, or in host memory with or without a cache in HBM.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from math import floor
from typing import Any

from ...core.arithmetic import total
from ...core.figures import count, figure, percent
from ...errors import BadKnob, CannotRun
from ...estimates import estimates
from ...hardware.device import nodes
from ...hardware.devices.chassis import board_sizes
from ...hardware.devices.gpu import memory_bytes
from ...insight.running_costs import price_unit
from ...results.result import Result
from ...scenario.scenario import Scenario, with_values
from ...schedule.machine import sized_scenario
from ...systems.kernels.in_force import system_in_force
from ...systems.steps.stashing import room_for_tables
from ...systems.system import powered_devices
from ...systems.traffic import mlp_bytes
from ...units import MS
from ..verdict.space import CACHE_SHARE, free_base

MEMORY_WAYS: Mapping[str, Mapping[str, Any]] = {
    "all rows in HBM": {"system": "all-hbm"},
    "a locked cache in HBM over host memory": {"system": "torchrec-uvm"},
    "a cache of hash tables in HBM over host memory": {"system": "hierarchical-kv", "policy.cache_policy": None},
    "hash tables over HBM and host memory": {"system": "hierarchical-kv", "policy.cache_policy": "hash"},
    "rows in host memory, read by GPUs": {"system": "torchrec-uvm", "policy.kernel": "uvm"},
}
COUNTS = (*range(1, 9), *range(16, 129, 8))  # of GPUs: up to a node, then whole ones
DIGITS = 1e4  # a share of the rows is written with four decimals


@dataclass(frozen=True)
class PricedMachine:
    """A machine for one way to store the tables.

    way: one of WAYS.
    gpus: number of GPUs.
    dram_GiB: host DRAM over all nodes [GiB].
    price: price of GPUs and DRAM [USD].
    result: estimate of the machine.
    """

    way: str
    gpus: int
    dram_GiB: float
    price: float
    result: Result

    @property
    def step(self) -> float:
        """Seconds of a batch."""
        return float(self.result.results["Step time [ms]"] or 0.0) * MS

    @property
    def hit_rate(self) -> float | None:
        """Share of the lookups that hit a cache in HBM; None without a cache."""
        hit_percent = self.result.results.get("Cache hit rate [%]")
        return None if hit_percent is None else hit_percent / 100


def fastest_by_way(s: Scenario, budget: float) -> list[PricedMachine]:
    """Return the fastest machine of each way within a budget [USD], the fastest way first.

    Caches fill HBM. Raises BadKnob where a GPU or DRAM has no price, CannotRun where no way is possible.
    """
    base = free_base(s)
    scenario_by_way = [
        (way, _fill_cache(with_values(base, {**knobs, "machine.num_gpus": gpus})))
        for (way, knobs), gpus in product(MEMORY_WAYS.items(), _counts(s.machine.gpu))
    ]
    priced = [(way, scenario, *_price(scenario)) for way, scenario in scenario_by_way if scenario is not None]
    affordable = [(way, scenario, price, dram) for way, scenario, price, dram in priced if price <= budget]
    results = estimates([scenario for _, scenario, _, _ in affordable])
    machines = [
        PricedMachine(way, scenario.machine.num_gpus, dram, price, result)
        for (way, scenario, price, dram), result in zip(affordable, results, strict=True)
        if result.ran
    ]
    if not machines:
        cheapest_text = f" {figure(min(price for _, _, price, _ in priced), price_unit(s))} are the least that one takes." * bool(
            priced
        )
        reason = f" What it buys does not hold them: {results[-1].outcome}" if results else cheapest_text
        raise CannotRun(
            f"No way to hold these tables is possible with {figure(budget, price_unit(s))} of GPUs and host DRAM.{reason}"
        )
    best_by_way = {machine.way: machine for machine in sorted(machines, key=lambda machine: (-machine.step, -machine.price))}
    return sorted(best_by_way.values(), key=lambda machine: (machine.step, machine.price))


def _counts(gpu: str) -> tuple[int, ...]:
    """Return the numbers of a GPU that can be bought: whole boards, where it is sold on boards."""
    return tuple(number for number in COUNTS if any(number % size == 0 for size in board_sizes(gpu)))


def _fill_cache(s: Scenario) -> Scenario | None:
    """Return a scenario whose cache fills the free HBM; None where HBM has no room for a cache."""
    if s.system == "all-hbm" or s.policy.kernel != "auto":
        return s
    system, gpus = system_in_force(s), s.machine.num_gpus
    room = gpus * room_for_tables(s, memory_bytes(s.machine) - 2 * mlp_bytes(s))
    empty_bytes, full_bytes = (system.nbytes_by_memory(with_values(s, {CACHE_SHARE: share}))["hbm"] for share in (0.0, 1.0))
    share = floor(min(1.0, (room - empty_bytes) / (full_bytes - empty_bytes)) * DIGITS) / DIGITS
    return with_values(s, {CACHE_SHARE: share}) if share > 0 else None


def _price(s: Scenario) -> tuple[float, float]:
    """Return the price of all GPUs and host DRAM [USD], and the size of that DRAM [GiB]."""
    sized = sized_scenario(s).machine
    devices = powered_devices(s.system, sized)
    prices = [devices[name].price for name in ("gpu", "dram")]
    if None in prices:
        raise BadKnob(f"machine.gpu={sized.gpu} or the DRAM of its host has no published price; choose another GPU.")
    return total(price or 0.0 for price in prices), nodes(sized) * (sized.host_dram_GiB or 0.0)


def way_lines(s: Scenario, budget: float, machines: Sequence[PricedMachine]) -> Iterator[str]:
    """Yield the answer as a sentence, then a line for each way."""
    usd = price_unit(s)
    fastest = machines[0]
    yield (
        f"For {figure(budget, usd)} of GPUs and host DRAM, {fastest.way} is the fastest: {count(fastest.gpus)} × "
        f"{s.machine.gpu} and "
        f"{figure(fastest.dram_GiB, 'GiB')} of DRAM for {figure(fastest.price, usd)}, {figure(fastest.step / MS, 'ms')} a batch."
    )
    for machine in machines:
        hits = "" if machine.hit_rate is None else f", {percent(machine.hit_rate)} of lookups hit"
        yield (
            f"  {machine.way}: {count(machine.gpus)} × {s.machine.gpu}, {figure(machine.dram_GiB, 'GiB')}, "
            f"{figure(machine.price, usd)}, "
            f"{figure(machine.step / MS, 'ms')} a batch{hits}"
        )
