"""Are history layers and the waits before collectives told apart from other stages, and are waits hidden by nothing?"""

import pytest

from engine.core.graph import RARE_STAGES, STAGES
from engine.estimate import estimate
from engine.estimates import estimates
from engine.insight.data_movement import expected_timeline
from engine.registry import variant_names
from engine.scenario.presets import preset, preset_names
from engine.scenario.scenario import is_sequential, with_values
from engine.schedule.machine import machine_of, settle
from pages.ui.palette import named_stages
from tests.cases import each

V4, CXL = preset("dlrm-v4-mi350x").scenario, preset("dlrm-v4-cxl").scenario
STEP, AGREEMENT = "Step time [ms]", "host.collective-agreement"


def exposed_ms(result):
    """Return the exposed milliseconds of a step by stage."""
    stages = {row["Stage"] for row in result.breakdown}
    return {stage: 1e3 * sum(row["Exposed [s]"] for row in result.breakdown if row["Stage"] == stage) for stage in stages}


def tasks_of(scenario):
    """Return the tasks of a batch."""
    return expected_timeline(machine_of(settle(scenario))).graph.tasks


def agreeing(scenario, milliseconds):
    """Return a scenario whose GPUs wait so long before each collective."""
    return with_values(scenario, {"machine.assume": ((AGREEMENT, milliseconds),)})


def test_history_layers_and_waits_are_stages_of_their_own():
    stages = exposed_ms(estimate(V4))
    assert stages["Collective wait"] == pytest.approx(4 * 75)
    assert stages["History layers"] > 400 > 10 > stages["Top MLP"] > 0
    assert stages["Transfer"] < 10
    assert sum(stages.values()) == pytest.approx(estimate(V4).results[STEP])
    alone = exposed_ms(estimate(CXL))
    assert alone["History layers"] > 300 and "Collective wait" not in alone
    assert named_stages(stages) == STAGES and named_stages(alone) == tuple(x for x in STAGES if x != "Collective wait")


@each("name", [name for name in preset_names() if not is_sequential(preset(name).scenario.model)])
def test_pooled_models_have_neither(name):
    stages = exposed_ms(estimate(preset(name).scenario))
    assert not set(stages) & set(RARE_STAGES) and not set(named_stages(stages)) & set(RARE_STAGES)


@each("system", variant_names("systems"))
def test_a_wait_is_part_of_its_collective_in_every_system(system):
    scenario = with_values(
        V4,
        {
            "system": system,
            "machine.gpu": "h200",
            "machine.num_gpus": 16,
            "data.batch_size": 1024,
            "policy.cache_load_factor": 0.1,
        },
    )
    at_once, waiting = (estimate(agreeing(scenario, wait)) for wait in (0.0, 75.0))
    assert at_once.ran == waiting.ran
    if waiting.ran:
        names = [task.name for task in tasks_of(waiting.scenario)]
        waits = [name for name in names if name.startswith("Wait for ")]
        assert len(waits) == len(names) - len(tasks_of(at_once.scenario)) >= 1
        assert at_once.results[STEP] + 75 <= waiting.results[STEP] <= at_once.results[STEP] + 75 * len(waits) + 1e-6


def test_the_next_batch_does_not_hide_the_wait_of_an_exchange_in_the_background():
    knobs = {"machine.gpu": "h200", "machine.num_gpus": 16, "policy.input_dedup": False}
    bagpipe = with_values(V4, {"system": "bagpipe", **knobs})
    named = {task.name: task for task in tasks_of(bagpipe)}
    wait, sync = named["Wait for sync other rows"], named["Sync other rows"]
    assert sync.background and not wait.background and wait.server[0] == "gpu" and sync.predecessors == (wait.name,)
    at_once, waiting = (estimate(agreeing(bagpipe, wait)).results[STEP] for wait in (0.0, 75.0))
    assert waiting - at_once >= 1.9 * 75  # the third wait is beside work of the embedding servers


@pytest.mark.parametrize("system", ["all-hbm", "bagpipe"])
def test_no_device_is_busy_while_gpus_wait(system):
    scenario = with_values(V4, {"system": system, "machine.gpu": "h200", "machine.num_gpus": 16})
    at_once, waiting = (estimate(agreeing(scenario, wait)) for wait in (0.0, 75.0))
    busy = [{one["Device"]: one["Busy [%]"] * result.results[STEP] for one in result.devices} for result in (at_once, waiting)]
    assert busy[0]["network"] > 0 and busy[1] == pytest.approx(busy[0], rel=0.01)


def test_points_with_and_without_waits_are_estimated_as_alone():
    points = [agreeing(V4, wait) for wait in (0.0, 20.0, 75.0)]
    together = [result.results[STEP] for result in estimates(points)]
    assert together == [estimate(point).results[STEP] for point in points]
    assert together[2] - together[1] == pytest.approx(4 * 55) and together[1] - together[0] == pytest.approx(4 * 20)


def test_a_log_that_spans_batches_is_written_during_the_history_layers():
    named = {task.name: task for task in tasks_of(CXL)}
    assert named["MLP log"].gate_task == "History layers" and named["Top MLP"].predecessors == ("History layers",)
    assert exposed_ms(estimate(CXL)).get("Checkpoint", 0.0) < 1
