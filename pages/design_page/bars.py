"""Bars of step time and energy, by system.

The systems are the chosen one and the baseline, or a whole family.
Each bar's range is computed in another process and drawn once it is known.
"""

from collections.abc import Mapping
from concurrent.futures import Future
from functools import lru_cache

import streamlit as st

from engine.core.figures import count
from engine.faults.fault import Strike, strikes
from engine.registry import load_variant
from engine.results.result import Result
from engine.scenario.scenario import Scenario
from engine.systems.kernels.in_force import title_of
from pages.answers import later
from pages.design_page import questions
from pages.graphics import chart
from pages.systems import stack_charts
from pages.ui import palette, tables
from pages.ui.plain import escape_markdown

WHOLE_FAMILY, ELAPSED = "whole family", "Elapsed [s]"
Ranges = Mapping[str, Mapping[str, tuple[float, float]]]


def systems_to_estimate(scenario: Scenario) -> tuple[str, ...]:
    """Return the systems to estimate besides the baseline.

    These are the scenario's own system, or all of its family if the toggle is on.
    """
    return tuple(palette.family(scenario.system)) if st.session_state.get(WHOLE_FAMILY) else (scenario.system,)


def results_with_bars(scenario: Scenario, baseline_system: str, results: Mapping[str, Result]) -> dict[str, Result]:
    """Return the results that have a bar, by system.

    These are the baseline's and the scenario's results, or all of `results`.
    """
    two = dict.fromkeys((baseline_system, scenario.system))
    return {name: results[name] for name in (results if st.session_state.get(WHOLE_FAMILY) else two)}


def range_future(results_by_system: Mapping[str, Result]) -> Future[Ranges]:
    """Return the future of each bar's range, for all systems that can run."""
    return later.answer("ranges", questions.ranges, tuple(result.scenario for result in results_by_system.values() if result.ran))


def is_struck(estimate: Result) -> bool:
    """Return whether a fault strikes within the run of an estimate, which leaves faults out."""
    strike = _first_strike(estimate.scenario)
    return strike is not None and strike.seconds < (estimate.results.get(ELAPSED) or 0.0)


@lru_cache(maxsize=16)
def _first_strike(scenario: Scenario) -> Strike | None:
    return next(strikes(scenario), None)


def draw(
    scenario: Scenario, baseline_system: str, results_by_system: Mapping[str, Result], ranges_future: Future[Ranges]
) -> None:
    """Draw the charts of step time and energy, with the ranges once they are computed."""
    two = (baseline_system, scenario.system)
    bar_ranges: Ranges = ranges_future.result() if ranges_future.done() and not ranges_future.exception() else {}
    stages = tables.stage_rows(results_by_system, scenario.system, bar_ranges.get(questions.STEP))
    parts = tables.component_rows(results_by_system, scenario.system, bar_ranges.get(questions.ENERGY))
    # The words hold no number: a browser makes a chart anew where they change.
    system_titles = " and ".join(
        dict.fromkeys(
            title_of(result.scenario) for result in (results_by_system[baseline_system], results_by_system[scenario.system])
        )
    )
    lines = "line: the range in 9 of 10 draws of all constants"
    system_titles += ", without the fault" if is_struck(results_by_system[scenario.system]) else ""
    title = f"Where a batch's time goes: {system_titles}"
    spec = stack_charts.step_time(palette.named_stages(stages["part"]))
    chart.draw(stages, spec, key="stages", title=title, subtitle=f"Step time by exposed stage [ms], {lines}")
    title = f"Where the run's energy goes: {system_titles}"
    spec = stack_charts.energy(tables.drawn_parts(parts))
    run = scenario.run
    batches = (
        f" of {count(run.batches, 'batch', 'batches')}, as the knob Batches says; the knob Passes has no effect here"
        if run.passes
        else ""
    )
    chart.draw(parts, spec, key="energy", title=title, subtitle=f"Energy by component [J]{batches}, {lines}")
    if {*palette.family(scenario.system)} - {*two}:
        st.toggle(f"All systems of the family {load_variant('systems', scenario.system).family}", key=WHOLE_FAMILY)
    for outcome, names in tables.systems_by_outcome(results_by_system).items():
        st.caption(f"Not shown: {', '.join(palette.system_titles()[name] for name in names)}. {escape_markdown(outcome)}")
