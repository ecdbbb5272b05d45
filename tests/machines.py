"""Machines for tests: a preset with some knobs changed, made ready, and its batches on a timeline."""

from collections.abc import Iterator
from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np

from engine.amounts.counted import counted_traffic
from engine.core.graph import TaskGraph
from engine.core.work import Work
from engine.hardware.device import Device, stored_bytes
from engine.registry import load_variant, variant_names
from engine.scenario.presets import preset, preset_names
from engine.scenario.scenario import Scenario, with_values
from engine.schedule.machine import Machine, machine_of, schedule
from engine.schedule.timeline import Timeline
from engine.systems.capacity import fit
from engine.systems.placement import level_shares
from engine.systems.traffic import Traffic, repeat_batch, traffic
from engine.workload.accesses import expected_accesses

# Preset tiny as most tests want it: of few batches, by plain SGD, under a loop that leaves time to the hardware.
TINY = with_values(
    preset("tiny").scenario,
    {"model.name": "tiny", "run.batches": 40, "data.held_out_samples": 256, "machine.framework": "lean"},
)
SYSTEMS = tuple(name for name in variant_names("systems") if load_variant("systems", name).family == "TrainingCXL")
PRESETS = tuple(name for name in preset_names() if preset(name).scenario.system in SYSTEMS)
LOGGING = tuple(name for name in SYSTEMS if load_variant("systems", name).log_policy.log)
STRICT = tuple(name for name in LOGGING if name != "cxl")
# What stresses a schedule: slow and torn-apart logs, slow links, work on the GPU instead of beside the memory, several GPUs.
KNOBS: tuple[dict[str, Any], ...] = (
    {},
    {"machine.near_data_compute": False},
    {"machine.cxl_bandwidth_GBps": 0.3, "machine.pcie_bandwidth_GBps": 0.5},
    {"machine.pmem": "cxl-flash", "data.batch_size": 1024},
    {"machine.num_gpus": 2, "policy.row_dedup": "gpu"},
    {"machine.num_gpus": 8, "machine.near_data_compute": False},
)
RELAXED: tuple[dict[str, Any], ...] = (
    {"policy.mlp_staleness_bound_batches": 0},
    {"policy.mlp_staleness_bound_batches": 1, "machine.cxl_bandwidth_GBps": 0.3},
    {"policy.mlp_staleness_bound_batches": 3, "machine.cxl_bandwidth_GBps": 0.1, "policy.relaxed_lookup": False},
)


def scenario(name: str, system: str, **knobs: Any) -> Scenario:
    """Return a preset's scenario for `system`; `knobs` are dotted paths."""
    return with_values(TINY if name == "tiny" else preset(name).scenario, {"system": system, **knobs})


@cache
def _rows(scenario: Scenario) -> tuple[float, float]:
    accesses = expected_accesses(scenario)
    return float(accesses.unique_rows.sum()), float(accesses.raw_lookups.sum() / accesses.lookups.sum())


def flow(scenario: Scenario, batches: int) -> Traffic:
    """Return equal batches of what a batch is expected to touch; a third of its rows miss system ssd's cache."""
    rows, raw_share = _rows(Scenario(model=scenario.model, data=scenario.data))
    amounts = {"rows": rows, "raw_share": raw_share, "misses": rows / 3, "cold": rows / 4, "popular": 0.4}
    arrays, caches = (
        {name: np.array([amount]) for name, amount in amounts.items()},
        load_variant("systems", scenario.system).caches,
    )
    arrays |= {"levels": np.array([[rows * share for share in level_shares(scenario, *caches(scenario))]])} if caches else {}
    return repeat_batch(traffic(scenario, **arrays), batches)


def counted_flow(scenario: Scenario, batches: int) -> Traffic:
    """Return what the first batches of a run touch, counted from their ids as a full run does."""
    settled = fit(scenario)
    return counted_traffic(replace(settled, scenario=with_values(settled.scenario, {"run.batches": batches})))


def uneven(amounts: Traffic, seed: int = 1) -> Traffic:
    """Return the same batches, some large, some small, a few empty."""
    factors = np.random.default_rng(seed).uniform(0.2, 2.0, amounts.batches) * (np.arange(amounts.batches) % 7 != 4)
    return replace(amounts, rows=amounts.rows * factors, misses=amounts.misses * factors, cold=amounts.cold * factors)


def ready(scenario: Scenario) -> Machine:
    """Return the scenario's machine."""
    return machine_of(fit(scenario))


def task_graph(m: Machine, amounts: Traffic) -> TaskGraph:
    """Return the tasks of these batches, with an amount for each of them."""
    return m.system.graph(m.settled, amounts)


def line(scenario: Scenario, batches: int = 20) -> Timeline:
    """Return the timeline of equal batches."""
    return schedule(ready(scenario), flow(scenario, batches))


def every_machine() -> Iterator[tuple[str, Scenario]]:
    """Yield a name and a scenario for every system × preset × set of knobs."""
    for name in PRESETS:
        for system in SYSTEMS:
            for number, knobs in enumerate((*KNOBS, *(RELAXED if system == "cxl" else ()))):
                yield f"{name} {system} {number}", scenario(name, system, **knobs)


def media_bytes(device: Device, work: Work) -> np.ndarray:
    """Return the bytes that the media of `device` stores for `work`."""
    return np.atleast_1d(np.asarray(stored_bytes(device, work), dtype=np.float64))
