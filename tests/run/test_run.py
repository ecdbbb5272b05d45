"""Does every system run every preset, and does a result hold what it promises, to the byte, in any process?"""

import json
import math
import os
import subprocess
import sys
from dataclasses import replace

import pytest

from engine.core.graph import STAGES
from engine.results.metrics import all_metrics
from engine.results.result import from_json
from engine.simulate import simulate
from tests import ROOT
from tests.cases import SELECTION, each
from tests.machines import PRESETS, SYSTEMS, scenario

COLUMNS = {
    "breakdown": {"Stage", "Device", "Busy [s]", "Exposed [s]", "Energy [J]"},
    "devices": {"Device", "Busy [%]", "Static energy [J]", "Dynamic energy [J]", "Energy [J]", "Note"},
    "training": {"Batch", "Elapsed [s]", "Loss", "AUC", "AUC error"},
    "events": {"Elapsed [s]", "Kind", "Batch", "What"},
    "timeline": {"Device", "Task", "Stage", "Batch", "Start [ms]", "End [ms]", "Background"},
}
# Histories of a whole batch take seconds to count.
FEW = {"run.batches": 6, "run.training": False} | ({} if SELECTION.all else {"data.batch_size": 64})


@each("system", SYSTEMS, few=14)
@each("name", PRESETS)
def test_every_system_runs_every_preset(name, system):
    result = simulate(scenario(name, system, **FEW))
    assert result.ran, result.outcome
    assert set(result.results) == {metric.name for metric in all_metrics()}
    for table, columns in COLUMNS.items():
        assert all(set(row) == columns for row in getattr(result, table)), table
    assert result.breakdown and result.devices and result.timeline and result.finding.endswith(".")
    assert {row["Stage"] for row in result.breakdown} <= set(STAGES)
    numbers = [value for value in result.results.values() if value is not None]
    assert all(math.isfinite(value) and value >= 0 for value in numbers)


@each("system", SYSTEMS)
def test_every_system_trains(system):
    result = simulate(scenario("tiny", system))
    assert [row["Batch"] for row in result.training] == list(range(40))
    elapsed = [row["Elapsed [s]"] for row in result.training]
    assert elapsed == sorted(elapsed) and elapsed[-1] == pytest.approx(result.results["Elapsed [s]"], rel=0.2)
    assert result.results["Loss"] < result.training[0]["Loss"]
    assert 0.5 < result.results["AUC"] <= 1


@each("batches", [1, 2, 3, 4], few=14)
@each("system", SYSTEMS)
def test_the_shortest_runs_have_a_step_time_and_books_too(system, batches):
    result = simulate(scenario("tiny", system, **{"run.batches": batches}))
    assert result.ran
    exposed = sum(row["Exposed [s]"] for row in result.breakdown)
    assert 1e3 * exposed == pytest.approx(result.results["Step time [ms]"], rel=1e-9)
    assert any("batch" in warning for warning in result.warnings) == (batches < 3)


def test_a_result_comes_back_from_json():
    result = simulate(scenario("tiny", "cxl", **{"faults.power_loss_at_seconds": (0.002,)}))
    assert from_json(json.loads(json.dumps(result.as_json()))).as_json() == result.as_json()


# A process of its own: its result for a system and knobs.
PRINT = """
import ast, json, sys; from engine.simulate import simulate; from tests.machines import scenario
system, knobs = sys.argv[1], ast.literal_eval(sys.argv[2])
print(json.dumps(simulate(scenario("tiny", system, **knobs)).as_json()))
"""


@pytest.mark.parametrize(("system", "optimizer"), [("cxl-d", "adam"), pytest.param("cxl", "sgd", marks=pytest.mark.slow)])
def test_another_process_with_another_hash_seed_and_threads_gives_the_same_bytes(system, optimizer):
    faults = {"faults.power_loss_at_seconds": (0.0021, 150.004)}  # the second one soon after the first recovery
    knobs = {**faults, "model.optimizer": optimizer, "data.bag_length_cv": (0.5,)}
    other = {"PYTHONHASHSEED": "1234", "OPENBLAS_NUM_THREADS": "2"}
    command = [sys.executable, "-W", "error", "-c", PRINT, system, repr(knobs)]
    there = subprocess.run(command, env={**os.environ, **other}, cwd=ROOT, capture_output=True, text=True, check=True).stdout
    here = simulate(scenario("tiny", system, **knobs))
    assert here.ran and len(here.events) == 4
    assert there == json.dumps(here.as_json()) + "\n"


def test_cxl_d_with_an_undo_log_is_cxl_b():
    """The paper's steps from D to B differ in the log alone: one knob gives the same run, faults included."""
    knobs = {"run.batches": 12, "faults.power_loss_at_seconds": (0.001,)}
    ours, theirs = (
        simulate(scenario("tiny", "cxl-d", **knobs, **{"policy.log": "undo"})),
        simulate(scenario("tiny", "cxl-b", **knobs)),
    )
    assert ours.events and replace(ours, scenario=theirs.scenario) == theirs
    assert ours.results != simulate(scenario("tiny", "cxl-d", **knobs)).results
