"""Training systems side by side: time, energy, cost, training, and bytes moved."""

from collections.abc import Mapping

import streamlit as st

from engine.insight.running_costs import price_unit
from engine.results.result import Result
from engine.scenario.scenario import Scenario
from engine.sweep import links
from pages.answers import estimates
from pages.answers.headline import system_title
from pages.graphics import chart
from pages.systems import compare_charts, compare_tables, comparison, full_runs_panel, nodes_panel, stack_charts, systems_panel
from pages.ui import downloads, palette, session, tables
from pages.ui.page_link import host
from pages.ui.plain import escape_markdown


def draw(scenario: Scenario) -> None:
    """Draw the choice of systems, with the results, costs and data moves of each."""
    systems = systems_panel.chosen_systems()
    with st.spinner("Computing the estimates; the first time takes some seconds more"):
        results = estimates.estimates_by_system(scenario, systems)
    base = comparison.baseline_name(results, scenario)

    st.markdown(f"**{escape_markdown(comparison.headline(results, scenario))}**")
    st.markdown(
        escape_markdown(" ".join(filter(None, (comparison.wait_sentence(results, scenario), *comparison.details(results)))))
    )
    systems_panel.draw()
    for outcome, names in tables.systems_by_outcome(results).items():
        st.caption(f"Cannot run: {comparison.join_titles(names)}. {escape_markdown(outcome)}")
    if not base:
        return

    _draw_stacks(results, scenario)
    st.markdown(f"**Results and cost of each system.** Changes are against {system_title(base)} with the same knobs.")
    downloads.show(
        compare_tables.table(results, base),
        compare_tables.FORMATS,
        "Training system",
        compare_tables.labels(system_title(base), price_unit(scenario)),
    )
    with st.container(horizontal=True):
        downloads.csv(list(results.values()), "estimate", "emberpool-compare", "Download all results as CSV")
        sweep = links.link(scenario, session.base(), "search", (systems_panel.axis(systems),))
        tip = "Opens Search in a new tab, where you can vary a knob beside the system."
        st.link_button("Sweep over these systems", host() + sweep, key="sweep over systems", help=tip)
    nodes_panel.draw(scenario, systems)

    full_runs_panel.draw(results)
    _draw_moves(results)


def _draw_stacks(results: Mapping[str, Result], scenario: Scenario) -> None:
    left_column, right_column = st.columns(2)
    with left_column:
        stages = tables.stage_rows(results, scenario.system)
        spec = stack_charts.step_time(palette.named_stages(stages["part"]), fade=1)
        title = comparison.lowest_sentence(results, comparison.STEP, "the shortest step")
        chart.draw(stages, spec, key="all stages", title=title, subtitle="Step time by exposed stage [ms]")
    with right_column:
        parts = tables.component_rows(results, scenario.system)
        spec = stack_charts.energy(tables.drawn_parts(parts), fade=1)
        title = comparison.lowest_sentence(results, comparison.ENERGY, "the lowest energy")
        chart.draw(parts, spec, key="all energy", title=title, subtitle="Energy of the run by component [J]")


def _draw_moves(results: Mapping[str, Result]) -> None:
    st.markdown("##### Which devices move how many bytes in one batch?")
    lanes = compare_tables.timelines(results)
    subtitle = "Time [ms]; one lane for each device and direction, busy while a task uses it"
    title = "One batch of each system in steady state, on the same time axis"
    chart.draw(
        lanes, compare_charts.timelines(palette.named_stages(lanes["part"])), key="timelines", title=title, subtitle=subtitle
    )
    if any(comparison.policies(result.scenario).mlp_staleness_bound for result in comparison.results_that_ran(results).values()):
        st.caption(
            "A log that spans several batches is not written in each of them, so the drawn batch may have no log; "
            "the bytes of the log are the mean."
        )
    bytes_frame = compare_tables.bytes_moved(results)
    subtitle = "Bytes that tasks move [B], without the copies and the rest of lines that a device adds"
    chart.draw(
        bytes_frame, compare_charts.bytes_moved(), key="moved", title=compare_tables.most_moved(bytes_frame), subtitle=subtitle
    )
    with st.expander("Bytes of every task, in numbers"):
        tasks_frame = compare_tables.tasks_moved(results)
        downloads.show(tasks_frame, {"Bytes per batch [B]": "%,.0f"})
        downloads.rows(tasks_frame, "emberpool-moves", "Download the moves as CSV")
