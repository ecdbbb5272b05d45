"""The bars of step time and energy, chosen beside baseline or all of a family; the range of each follows."""

from collections.abc import Mapping
from concurrent.futures import Future

import streamlit as st

from engine.core.figures import count
from engine.registry import load
from engine.results.result import Result
from engine.scenario.scenario import Scenario
from engine.systems.kernels.in_force import title_of
from pages.answers import later
from pages.design_page import questions
from pages.graphics import chart
from pages.systems import stack_charts
from pages.ui import palette, tables
from pages.ui.plain import plain

FAMILY = "whole family"
Ranges = Mapping[str, Mapping[str, tuple[float, float]]]


def wanted(scenario: Scenario) -> tuple[str, ...]:
    """Return the systems to estimate beside the baseline: the scenario's own, or all of its family where these are asked for."""
    return tuple(palette.family(scenario.system)) if st.session_state.get(FAMILY) else (scenario.system,)


def shown(scenario: Scenario, against: str, results: Mapping[str, Result]) -> dict[str, Result]:
    """Return what has a bar, of the results of the family and of the baseline `against`, by system."""
    two = dict.fromkeys((against, scenario.system))
    return {name: results[name] for name in (results if st.session_state.get(FAMILY) else two)}


def ranges(beside: Mapping[str, Result]) -> Future[Ranges]:
    """Ask for the range of each bar."""
    return later.answer("ranges", questions.ranges, tuple(result.scenario for result in beside.values() if result.ran))


def draw(scenario: Scenario, against: str, beside: Mapping[str, Result], found: Future[Ranges]) -> None:
    """Draw both charts of `beside`, what is `shown`, with the ranges once they are found."""
    two = (against, scenario.system)
    known: Ranges = found.result() if found.done() and not found.exception() else {}
    stages = tables.by_stage(beside, scenario.system, known.get(questions.STEP))
    parts = tables.by_component(beside, scenario.system, known.get(questions.ENERGY))
    # The words hold no number: a browser makes a chart anew where they change.
    whose = " and ".join(dict.fromkeys(title_of(result.scenario) for result in (beside[against], beside[scenario.system])))
    lines = "lines: the range in 9 of 10 draws of all constants"
    title = f"Where a batch's time goes: {whose}"
    chart.draw(stages, stack_charts.step_time(), key="stages", title=title, subtitle=f"Step time by exposed stage [ms], {lines}")
    title = f"Where the run's energy goes: {whose}"
    spec = stack_charts.energy(tables.drawn(parts))
    run = scenario.run
    batches = f" of {count(run.batches, 'batch', 'batches')}, the knob Batches; Passes does not count here" if run.passes else ""
    chart.draw(parts, spec, key="energy", title=title, subtitle=f"Energy by component [J]{batches}, {lines}")
    if {*palette.family(scenario.system)} - {*two}:
        st.toggle(f"All systems of the family {load('systems', scenario.system).family}", key=FAMILY)
    for outcome, names in tables.not_shown(beside).items():
        st.caption(f"Not shown: {', '.join(palette.system_titles()[name] for name in names)}. {plain(outcome)}")
