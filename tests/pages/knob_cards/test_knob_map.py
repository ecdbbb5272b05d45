"""Two knobs at once on Design: is each cell one estimate, and the framed one the least?"""

import pytest

from engine.estimate import estimate
from engine.insight.knobs.grid import knob_grid
from engine.insight.knobs.strips import strips
from engine.scenario.presets import EXPLORED, preset
from engine.scenario.scenario import with_values
from pages.knob_cards import knob_map
from tests import apps

CAPACITY, LINK, NEAR = "machine.pmem_capacity_GB", "machine.cxl_bandwidth_GBps", "machine.near_data_compute"


def test_each_cell_is_the_estimate_of_both_values():
    scenario = preset(EXPLORED).scenario
    link, near = strips(scenario, [LINK, NEAR])
    grid = knob_grid(scenario, link, near)
    assert len(grid) == len(link.stops) * len(near.stops)
    for cell in grid[::5]:
        found = estimate(with_values(scenario, {LINK: cell.first.knob_value, NEAR: cell.second.knob_value})).results
        assert cell.both.seconds == pytest.approx(found["Step time [ms]"] / 1e3, rel=1e-12)
        assert cell.both.joules == pytest.approx(found["Energy per batch [J]"], rel=1e-12)
    steps = knob_map.cells(grid, "Step time")
    assert list(steps[steps.best].metric) == [steps.metric.min()] * int(steps.best.sum())
    assert "near-data compute on" in knob_map.finding(steps, "Step time", "ms", "CXL bandwidth", "near-data compute")


def test_a_machine_that_is_too_small_has_an_empty_cell_with_its_reason():
    scenario = preset(EXPLORED).scenario
    grid = knob_grid(scenario, *strips(scenario, [CAPACITY, NEAR]))
    refused = knob_map.cells(grid, "Energy").query("refused != ''")
    assert len(refused) and refused.metric.isna().all() and not refused.best.any()


def test_the_map_is_drawn_once_it_is_opened():
    app = apps.opened("design", {"preset": EXPLORED})

    def maps():
        return [chart for chart in app.get("vega_lite_chart") if "Step time is least" in chart.proto.alt]

    assert not maps()
    app.session_state[knob_map.SECTION] = True
    app.run()
    assert not app.exception and app.selectbox(key=knob_map.FIRST).value == CAPACITY and len(maps()) == 1
    app.selectbox(key=knob_map.FIRST).set_value(LINK).run()
    assert not app.exception and app.selectbox(key=knob_map.SECOND).value not in (LINK, None)
