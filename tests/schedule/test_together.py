"""Do design points that are planned together get to the byte what each gets alone?"""

import numpy as np
import pytest

from engine.core import memo
from engine.core.points.answers import are_together
from engine.core.points.per_point import NotTogether
from engine.errors import Cancelled
from engine.estimates import design_points, estimates, step_seconds
from engine.registry import variant_names
from engine.results.csv_table import csv_text
from engine.scenario.presets import preset, preset_names
from engine.scenario.scenario import with_values
from engine.schedule import together
from engine.schedule.evaluate import DesignPoint
from engine.schedule.machine import settle
from engine.schedule.timeline import timeline
from tests.cases import each

POINTS = 13
AXES = {
    "data.batch_size": [96 + 317 * i for i in range(POINTS)],
    "data.locality": np.linspace(0.05, 0.6, POINTS).tolist(),
    "model.pooling": [(n,) for n in range(2, 2 + POINTS)],
    "model.num_embeddings": [(20_000 * n,) for n in range(2, 2 + POINTS)],
    "model.embedding_dim": [4 * n for n in range(1, 1 + POINTS)],
    "policy.cache_load_factor": np.linspace(0.05, 0.4, POINTS).tolist(),
    "policy.hot_rows_MiB": [float(8 * n) for n in range(1, 1 + POINTS)],
    "policy.look_ahead_batches": list(range(1, 1 + POINTS)),
    "policy.prefetch_batches": list(range(1, 1 + POINTS)),
    "policy.mlp_staleness_bound_batches": list(range(POINTS)),
    "run.batches": [100 * n + 7 for n in range(1, 1 + POINTS)],
}


def points_along(base, path):
    """Return scenarios that differ in one knob; dot products would fix the width of the tables."""
    others = {"model.interaction": "concat"} if (path, base.model.interaction) == ("model.embedding_dim", "dot") else {}
    return [with_values(base, {path: value} | others) for value in AXES[path]]


def planned_together(points):
    """Return the number of points with a plan that they share with others as columns."""
    return sum(isinstance(point, DesignPoint) and point.plan.costs is not None for point in design_points(points))


def is_equal_alone(points):
    """Assert that estimates of all points have the texts, warnings and findings of estimates one by one."""
    memo.clear_memos()
    several = estimates(points)
    memo.clear_memos()
    alone = [estimates([point])[0] for point in points]
    assert csv_text(several, "estimate") == csv_text(alone, "estimate")
    assert [(one.warnings, one.finding) for one in several] == [(one.warnings, one.finding) for one in alone]


@each("system", variant_names("systems"), few=8)
@each("path", AXES, few=8)
def test_points_along_a_knob_are_what_each_is_alone(system, path):
    is_equal_alone(points_along(with_values(preset("dlrm-kaggle").scenario, {"system": system}), path))


@pytest.mark.slow
@each("preset_name", preset_names(), most=100)
@each("path", AXES)
def test_points_of_every_preset_are_what_each_is_alone(preset_name, path):
    is_equal_alone(points_along(preset(preset_name).scenario, path))


@each("system", variant_names("systems"), few=8)
def test_batch_sizes_of_every_system_are_planned_together(system):
    base = with_values(preset("dlrm-kaggle").scenario, {"system": system})
    shares = {"fae": 0, "hotline": 0}  # popular samples: each size has a window of its own
    assert planned_together(points_along(base, "data.batch_size")) >= shares.get(system, POINTS - 2)


@each(
    "path, system",
    [
        ("data.locality", "cxl"),
        ("model.pooling", "all-hbm"),
        ("model.num_embeddings", "cpu-gpu"),
        ("model.embedding_dim", "pmem"),
        ("policy.cache_load_factor", "cached-embedding"),
        ("policy.look_ahead_batches", "bagpipe"),
    ],
)
def test_knobs_that_change_amounts_are_planned_together(path, system):
    base = with_values(preset("dlrm-kaggle").scenario, {"system": system})
    assert planned_together(points_along(base, path)) >= POINTS - 2


def test_points_of_several_axes_and_systems_keep_their_order():
    base = preset("dlrm-kaggle").scenario
    points = [
        with_values(base, {"system": system, "data.batch_size": 200 * size, "policy.cache_load_factor": share})
        for size in range(1, 8)
        for system in ("cached-embedding", "cxl")
        for share in (0.1, 0.2, 0.3)
    ]
    assert planned_together(points) > 10
    is_equal_alone(points[::-1])
    assert len(set(step_seconds(points))) > 15


def test_a_point_that_does_not_fit_is_refused_with_its_own_sentence():
    base = with_values(preset("dlrm-kaggle").scenario, {"system": "all-hbm"})
    points = [with_values(base, {"model.num_embeddings": (10 ** (n // 2 + 4) * (1 + n % 2),)}) for n in range(14)]
    outcomes = [result.outcome for result in estimates(points)]
    refused = [outcome for outcome in outcomes if "hold" in outcome]
    assert 1 < len(refused) < 13 and len(set(refused)) == len(refused)
    is_equal_alone(points)


def test_whatever_fails_together_is_computed_alone(monkeypatch):
    points = points_along(preset("dlrm-kaggle").scenario, "data.batch_size")
    right = csv_text(estimates(points), "estimate")
    monkeypatch.setattr(together, "scenario_of_points", lambda scenarios: 1 / 0)
    assert planned_together(points) == 0 and csv_text(estimates(points), "estimate") == right

    def cancelled(scenarios):
        raise Cancelled

    monkeypatch.setattr(together, "scenario_of_points", cancelled)
    with pytest.raises(Cancelled):
        estimates(points)


def test_a_timeline_of_several_points_is_refused():
    points = [*design_points(points_along(preset("dlrm-kaggle").scenario, "data.batch_size"))]
    layout, machine = points[3].plan.layout, points[3].machine
    assert layout.points >= POINTS - 2
    with pytest.raises(NotTogether):
        timeline(layout.graph, machine.devices, layout.kinds)
    with pytest.raises(NotTogether):
        layout.demand_costs([machine.devices])
    assert settle(points[3].scenario).sizes == machine.settled.sizes


def test_some_of_the_points_of_a_plan_have_their_own_amounts():
    base = with_values(preset("dlrm-kaggle").scenario, {"system": "cached-embedding"})
    points = [*design_points(points_along(base, "policy.cache_load_factor"))]
    rates = points[0].plan.amounts_of(points).hit_rate.tolist()
    assert len(set(rates)) == len(points) and points[0].plan.amounts_of(points[3:1:-1]).hit_rate.tolist() == rates[3:1:-1]


def test_answers_for_several_points_are_forgotten():
    memo.clear_memos()
    estimates(points_along(preset("dlrm-kaggle").scenario, "data.batch_size"))
    sizes = [sum(len(answers) for ways in stage.values() for _, _, answers in ways) for stage in memo.MEMOS]
    assert max(sizes) < 60 and not are_together()  # answers for one point each
