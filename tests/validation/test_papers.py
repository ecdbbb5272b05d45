"""Do the TrainingCXL configurations cost what the paper's formulas, its figure and its headlines say?"""

import json
import runpy
from dataclasses import replace
from statistics import mean

import numpy as np
import pytest

from engine.estimate import estimate
from engine.results.result import Result
from engine.scenario.scenario import with_values
from engine.schedule.machine import schedule
from engine.simulate import simulate
from tests import ROOT
from tests.cases import each
from tests.machines import flow, line, ready, scenario
from tests.oracles.closed_forms import CONFIGURATIONS, Parts, step

FIGURE = ROOT / "scripts" / "trainingcxl_figure.py"
DRAWN = ("Embedding", "Transfer", "Bottom MLP", "Top MLP", "Checkpoint")  # the figure's stages, in its order
DIGITISED = runpy.run_path(str(FIGURE))["DIGITISED"]
MODULES = {"rm1": 1, "rm2": 4, "rm3": 1, "rm4": 1}
MODELS = tuple(MODULES)
MODULE_GB = 16.0
LEAST_PART = 0.5  # ms; what is smaller cannot be read off the figure


def published(model, system):
    """Return the scenario of one bar of the figure."""
    return scenario(f"trainingcxl-{model}", system)


def steady_step(asked):
    """Return the seconds between the ends of the batches of a long enough run, and its equal batches."""
    amounts = flow(asked, 30)
    timeline = schedule(ready(asked), amounts)
    ends = timeline.batch_ends
    return (ends[-1] - ends[9]) / 20, amounts


@each("system", [system for system in CONFIGURATIONS if system != "ssd"])
@each("model", MODELS)
def test_a_batch_takes_what_the_configurations_formula_says(model, system):
    measured, amounts = steady_step(published(model, system))
    parts = Parts(published(model, system), amounts.rows[0], amounts.raw_share[0], MODULES[model])
    assert parts.host > max(parts.bottom), "outside the formulas' regime"
    assert replace(parts, raw=0.0).lookup + parts.row_log < parts.top or system != "cxl", "outside the formulas' regime"
    assert measured == pytest.approx(step(system, parts), rel=1e-9)


@each("modules", [2, 3, 16])
@each("system", ["pcie", "cxl-d", "cxl-b", "cxl"])
def test_more_modules_shorten_a_batch_as_the_formula_says(system, modules):
    asked = with_values(published("rm1", system), {"machine.pmem_capacity_GB": modules * MODULE_GB})
    measured, amounts = steady_step(asked)
    parts = Parts(asked, amounts.rows[0], amounts.raw_share[0], modules)
    assert measured == pytest.approx(step(system, parts), rel=1e-9)
    assert measured < step(system, replace(parts, modules=1))


@pytest.mark.parametrize("model", MODELS)
def test_a_batch_on_a_drive_whose_cache_never_hits_takes_what_the_formula_says(model):
    asked = published(model, "ssd")
    amounts = flow(asked, 30)
    amounts = replace(amounts, misses=amounts.rows)
    parts = Parts(asked, amounts.rows[0], 0.0, MODULES[model])
    ends = schedule(ready(asked), amounts).batch_ends
    assert (ends[-1] - ends[9]) / 20 == pytest.approx(step("ssd", parts), rel=1e-9)


def without_names(result: Result):
    """Return a result as JSON text without what only names the system or its policies."""
    content = result.as_json()
    content["scenario"] = {k: v for k, v in content["scenario"].items() if k != "system" and not k.startswith("policy.")}
    return json.dumps({key: value for key, value in content.items() if key not in ("link", "finding")})


@each("name", ["tiny", "trainingcxl-rm1", "trainingcxl-rm4"])
@each("knobs", [{}, {"machine.near_data_compute": False, "faults.power_loss_at_seconds": (0.001,)}])
def test_cxl_without_its_relaxations_is_cxl_b_to_the_byte(name, knobs):
    strict = {"policy.mlp_staleness_bound_batches": 0, "policy.relaxed_lookup": False}
    ours = scenario(name, "cxl", **{"run.batches": 12}, **strict, **knobs)
    theirs = scenario(name, "cxl-b", **{"run.batches": 12}, **knobs)
    assert without_names(simulate(ours)) == without_names(simulate(theirs))
    assert line(ours).start.tobytes() == line(theirs).start.tobytes()
    assert line(ours).end.tobytes() == line(theirs).end.tobytes()


def milliseconds(model, system):
    """Return our exposed milliseconds of a batch by stage, as the figure stacks them."""
    rows = estimate(published(model, system)).breakdown
    return tuple(1e3 * sum(row["Exposed [s]"] for row in rows if row["Stage"] == stage) for stage in DRAWN)


@each(("model", "system"), DIGITISED)
def test_a_bar_of_the_figure_is_met_within_5_percent_and_its_parts_within_15(model, system):
    ours, paper = milliseconds(model, system), DIGITISED[model, system]
    assert sum(ours) == pytest.approx(sum(paper), rel=0.05)
    for stage, x, y in zip(DRAWN, ours, paper, strict=False):
        assert y < LEAST_PART or x == pytest.approx(y, rel=0.15), stage


def step_ms(model, system):
    """Return our estimate of a batch in ms."""
    return estimate(published(model, system)).results["Step time [ms]"]


def cut(before, after):
    """Return the mean share of a batch's time that `after` saves over `before`, in percent."""
    return 100 * mean(1 - step_ms(model, after) / step_ms(model, before) for model in MODELS)


def test_the_mean_speed_up_of_cxl_over_pmem_is_the_papers():
    assert mean(step_ms(model, "pmem") / step_ms(model, "cxl") for model in MODELS) == pytest.approx(5.2, abs=0.4)


def test_hardware_data_movement_saves_what_the_paper_says():
    assert cut("pcie", "cxl-d") == pytest.approx(23, abs=2)


def test_relaxation_saves_what_the_paper_says():
    assert cut("cxl-b", "cxl") == pytest.approx(14, abs=2)


@pytest.mark.parametrize("model", MODELS)
def test_at_the_papers_rates_a_relaxed_mlp_log_lies_beside_one_to_three_top_parts(model):
    run = line(published(model, "cxl"), 40)
    log, gate = run.graph.index("MLP log"), run.graph.index("Top MLP")
    logs = [n for n in range(40) if run.end[n, log] < run.end[-1, gate]]
    beside = [np.sum((run.start[:, gate] < run.end[n, log]) & (run.end[:, gate] > run.start[n, log])) for n in logs]
    assert len(logs) > 10
    assert 1 <= min(beside) <= max(beside) <= 3
