"""What an amount for GPUs and host DRAM is best spent on: tables in HBM, host memory behind a cache, or read from there."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from math import floor
from typing import Any

from ...core.figures import count, figure, percent
from ...errors import BadKnob, CannotRun
from ...estimates import estimates
from ...hardware.device import nodes
from ...hardware.devices.gpu import memory_bytes
from ...insight.running_costs import dollars
from ...results.result import Result
from ...scenario.scenario import Scenario, with_values
from ...schedule.machine import sized_scenario
from ...systems.kernels.in_force import system_in_force
from ...systems.steps.stashing import room_for_tables
from ...systems.system import powered
from ...systems.traffic import mlp_bytes
from ...units import MS
from ..verdict.space import SHARE, base_of

WAYS: Mapping[str, Mapping[str, Any]] = {
    "all rows in HBM": {"system": "all-hbm"},
    "a locked cache in HBM over host memory": {"system": "torchrec-uvm"},
    "a cache of hash tables in HBM over host memory": {"system": "hierarchical-kv", "policy.cache_policy": None},
    "hash tables over HBM and host memory": {"system": "hierarchical-kv", "policy.cache_policy": "hash"},
    "rows in host memory, read by GPUs": {"system": "torchrec-uvm", "policy.kernel": "uvm"},
}
COUNTS = (*range(1, 9), *range(16, 129, 8))  # of GPUs: up to a node, then whole ones
DIGITS = 1e4  # a share of the rows is written with four decimals


@dataclass(frozen=True)
class Bought:
    """One way to hold the tables: its GPUs and DRAM over all nodes, what both cost in USD, and how it trains.

    hit_rate: of lookups in HBM, None without a cache.
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
        """Share of the lookups that a cache in HBM serves; None without one."""
        found = self.result.results.get("Cache hit rate [%]")
        return None if found is None else found / 100


def ways_for(s: Scenario, most: float) -> list[Bought]:
    """Return the fastest machine of each way whose GPUs and host DRAM cost at most so many USD, the fastest way first.

    Caches are as large as HBM lets them. Raises BadKnob where a GPU or DRAM has no price, CannotRun where no way is possible.
    """
    free = base_of(s)
    asked = [
        (way, _filled(with_values(free, {**knobs, "machine.num_gpus": gpus})))
        for (way, knobs), gpus in product(WAYS.items(), COUNTS)
    ]
    priced = [(way, one, *_price(one)) for way, one in asked if one is not None]
    some = [(way, one, price, dram) for way, one, price, dram in priced if price <= most]
    found = estimates([one for _, one, _, _ in some])
    ran = [
        Bought(way, one.machine.num_gpus, dram, price, result)
        for (way, one, price, dram), result in zip(some, found, strict=True)
        if result.ran
    ]
    if not ran:
        least = f" {figure(min(price for _, _, price, _ in priced), dollars(s))} are the least that one takes." * bool(priced)
        why = f" What it buys does not hold them: {found[-1].outcome}" if found else least
        raise CannotRun(f"No way to hold these tables costs {figure(most, dollars(s))} or less in GPUs and host DRAM.{why}")
    best = {one.way: one for one in sorted(ran, key=lambda one: (-one.step, -one.price))}
    return sorted(best.values(), key=lambda one: (one.step, one.price))


def _filled(s: Scenario) -> Scenario | None:
    """Return a scenario whose cache fills the HBM left for it; None where that does not hold even what is kept of all rows."""
    if s.system == "all-hbm" or s.policy.kernel != "auto":
        return s
    system, gpus = system_in_force(s), s.machine.num_gpus
    room = gpus * room_for_tables(s, memory_bytes(s.machine) - 2 * mlp_bytes(s))
    none, whole = (system.held(with_values(s, {SHARE: share}))["hbm"] for share in (0.0, 1.0))
    share = floor(min(1.0, (room - none) / (whole - none)) * DIGITS) / DIGITS
    return with_values(s, {SHARE: share}) if share > 0 else None


def _price(s: Scenario) -> tuple[float, float]:
    """Return what GPUs and host DRAM cost over all nodes, in USD, and the GiB of that DRAM."""
    sized = sized_scenario(s).machine
    devices = powered(s.system, sized)
    prices = [devices[name].price for name in ("gpu", "dram")]
    if None in prices:
        raise BadKnob(f"machine.gpu={sized.gpu} or its host's DRAM has no published price; choose another one.")
    return sum(price or 0.0 for price in prices), nodes(sized) * (sized.host_dram_GiB or 0.0)


def lines(s: Scenario, most: float, found: Sequence[Bought]) -> Iterator[str]:
    """Yield the answer as a sentence, then a line for each way."""
    usd = dollars(s)
    best = found[0]
    yield (
        f"For {figure(most, usd)} of GPUs and host DRAM, {best.way} is the fastest: {count(best.gpus)} × {s.machine.gpu} and "
        f"{figure(best.dram_GiB, 'GiB')} of DRAM for {figure(best.price, usd)}, {figure(best.step / MS, 'ms')} a batch."
    )
    for one in found:
        hits = "" if one.hit_rate is None else f", {percent(one.hit_rate)} of lookups hit"
        yield (
            f"  {one.way}: {count(one.gpus)} × {s.machine.gpu}, {figure(one.dram_GiB, 'GiB')}, {figure(one.price, usd)}, "
            f"{figure(one.step / MS, 'ms')} a batch{hits}"
        )
