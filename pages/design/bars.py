"""The bars of step time and energy, chosen beside baseline or all of a family; the range of each follows."""

from collections.abc import Mapping

import streamlit as st

from engine.analysis.uncertainty import bands
from engine.errors import EmberpoolError
from engine.registry import load
from engine.results.result import Result
from engine.scenario.scenario import Scenario
from pages.common import charts, palette, tables
from pages.common.plain import plain
from pages.design import later

FAMILY = "whole family"
STEP, ENERGY = "Step time [ms]", "Energy [J]"
Ranges = Mapping[str, Mapping[str, tuple[float, float]]]


def draw(scenario: Scenario, against: str, results: Mapping[str, Result]) -> None:
    """Draw both charts; `results` are those of the family and of the baseline `against`, by system."""
    two = dict.fromkeys((against, scenario.system))
    beside = {name: results[name] for name in (results if st.session_state.get(FAMILY) else two)}
    points = tuple(result.scenario for result in beside.values() if result.ran)
    found = later.answer("whiskers", points, lambda: {name: ranges(points, name) for name in (STEP, ENERGY)})
    later.redraw_after(found)
    known: Ranges = found.result() if found.done() and not found.exception() else {}
    stages = tables.by_stage(beside, scenario.system, known.get(STEP))
    parts = tables.by_component(beside, scenario.system, known.get(ENERGY))
    says = ", a line over each for its range in 9 of 10 draws of all constants" if known else ""
    st.vega_lite_chart(stages, charts.step_time(), key="stages", alt=f"Exposed step time by stage, chosen and baseline{says}")
    spec = charts.energy(tables.drawn(parts))
    st.vega_lite_chart(parts, spec, key="energy", alt=f"Energy of the run by component, chosen and baseline{says}")
    if known:
        st.caption("A line over a bar: the range of its whole in 9 of 10 draws of all constants.")
    if {*palette.family(scenario.system)} - {*two}:
        st.toggle(f"All systems of the family {load('systems', scenario.system).family}", key=FAMILY)
    for outcome, names in tables.not_shown(beside).items():
        st.caption(f"Not shown: {', '.join(names)}. {plain(outcome)}")


def ranges(points: tuple[Scenario, ...], name: str) -> dict[str, tuple[float, float]]:
    """Return between what a result lies in 9 of 10 draws, by system; without those that some draw cannot run."""
    found = {}
    for point in points:
        try:
            found[point.system] = bands(point)[name]
        except EmberpoolError:
            continue
    return found
