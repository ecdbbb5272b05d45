"""The preset with which Start and Design open: each of the four main knobs changes its step on parts that exist."""

from functools import cache
from typing import Any

import pytest

from engine.analysis.enough.question import baseline_of
from engine.estimates import estimates
from engine.hardware.devices.pmem import module_bytes
from engine.scenario.presets import EXPLORED, preset
from engine.scenario.scenario import Scenario, clear_contradictions, with_values
from engine.schedule.machine import sized_scenario
from engine.units import GB

CAPACITY, LINK, NEAR_DATA = "machine.pmem_capacity_GB", "machine.cxl_bandwidth_GBps", "machine.near_data_compute"
STALENESS, RELAXED_LOOKUP = "policy.mlp_staleness_bound_batches", "policy.relaxed_lookup"
SLOWEST_LINK, FASTEST_LINK = 8.0, 103.0  # GB/s of payload: four lanes of generation 4, sixteen of generation 6
LINKS = (SLOWEST_LINK, 12.9, 25.8, 51.6, FASTEST_LINK)
MOST_MODULES = 8  # bays of E3.S in a server
LOOPS_MS = (0.1, 0.3)  # of the software: the preset's, and one that is published
LEAST_GAIN = 1.05


@cache
def step(loop: float, **changes: Any) -> float:
    """Return the step time [ms] of the explored preset with changed knobs, whose dots are written as two underscores."""
    scenario = with_values(preset(EXPLORED).scenario, {"machine.assume": (("host.training-loop", loop),)})
    named = {name.replace("__", "."): setting for name, setting in changes.items()}
    (result,) = estimates([with_values(scenario, clear_contradictions(scenario, named)[0])])
    assert result.ran, result.outcome
    return float(result.results["Step time [ms]"] or 0.0)


def changed(loop: float, path: str, setting: Any) -> float:
    return step(loop, **{path.replace(".", "__"): setting})


def modules(scenario: Scenario) -> tuple[int, float]:
    """Return the number of PMEM modules in force, and the GB of one."""
    settled = sized_scenario(scenario)
    size = module_bytes(settled.machine) / GB
    return round((settled.machine.pmem_capacity_GB or 0.0) / size), size


@pytest.mark.parametrize("loop", LOOPS_MS)
def test_each_main_knob_shortens_the_explored_step(loop: float) -> None:
    count, size = modules(preset(EXPLORED).scenario)
    own = step(loop)
    capacity = min(changed(loop, CAPACITY, size * number) for number in range(count + 1, MOST_MODULES + 1))
    links = [changed(loop, LINK, rate) for rate in LINKS]
    gains = {
        "PMEM capacity": own / capacity,
        "CXL bandwidth": links[0] / min(links),
        "near-data compute": changed(loop, NEAR_DATA, False) / changed(loop, NEAR_DATA, True),
        "MLP staleness": changed(loop, STALENESS, 0) / own,
        "relaxed lookup": changed(loop, RELAXED_LOOKUP, False) / own,
    }
    assert min(gains.values()) > LEAST_GAIN, gains


@pytest.mark.parametrize("loop", LOOPS_MS)
def test_cxl_and_dram_are_within_a_third_of_each_other(loop: float) -> None:
    beside_it = baseline_of(with_values(preset(EXPLORED).scenario, {"machine.assume": (("host.training-loop", loop),)}), "dram")
    (dram,) = estimates([beside_it])
    for other in (step(loop, system="dram"), dram.results["Step time [ms]"]):  # on the same machine, and as pages compare
        assert 3 / 4 < other / step(loop) < 4 / 3


def test_the_papers_models_open_beside_pmem() -> None:
    assert {preset(f"trainingcxl-rm{k}").baseline for k in (1, 2, 3, 4)} == {"pmem"}
    assert preset("dlrm-kaggle").baseline == ""
