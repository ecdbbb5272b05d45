"""The part of Design below its first screen.

It has two timelines on one time axis, then a closed section for each further question.
"""

from collections.abc import Callable

import streamlit as st

from engine.analysis.part_loads import has_divided_tables
from engine.core.figures import of_the_time
from engine.results.result import Result
from engine.scenario.scenario import Scenario
from engine.systems.kernels.in_force import title_of
from pages.design_page import constants_panel, every_knob, tornado, wires_panel
from pages.embedding_tables import table_editor, table_results
from pages.graphics import chart
from pages.memory import memory_panel
from pages.systems import compare_charts, compare_panel, compare_tables, parts_panel
from pages.ui import downloads, palette, session, tables
from pages.why_page import why_panel

WHY_SECTION, SYSTEMS, MEMORY, PARTS = "why section", "systems section", "memory section", "parts section"
TABLES, WIRES = "tables section", "wires section"


def draw(scenario: Scenario, result: Result, base: Result) -> None:
    """Draw the timelines, and a closed section for each further question.

    A section is only computed when it is opened.
    """
    results_by_system = {estimate.scenario.system: estimate for estimate in (result, base) if estimate.ran}
    if results_by_system:
        _clock(results_by_system)
    _section("Why is it fast or slow? Each change from PMEM to CXL", WHY_SECTION, lambda: why_panel.draw(scenario))
    _section("Tables one by one: edit them, paste a list, save it as CSV", TABLES, lambda: _tables(scenario))
    if result.ran:
        _section(
            "Which table takes most time? Place, bytes, hit rate and time of each table",
            "rows section",
            lambda: table_results.draw(result),
        )
    _section(
        "Which system is best? Other systems beside this one, and the bytes that they move",
        SYSTEMS,
        lambda: compare_panel.draw(scenario),
    )
    if has_divided_tables(scenario):
        _section("Is the work shared evenly? Tables by GPU, node, server or module", PARTS, lambda: parts_panel.draw(scenario))
    _section("Does memory matter? GPU memory, the CXL link, near-data compute, load", MEMORY, lambda: memory_panel.draw(scenario))
    if result.ran:
        _section("Which knob matters? Step time over every knob that acts", "knobs section", lambda: every_knob.draw(scenario))
        _section(
            "How sure is the estimate? Every constant over its plausible range", "sure", lambda: tornado.draw(scenario, result)
        )
        _section("How do batches overlap? A timeline, and how busy each device is", "batches section", lambda: _batches(result))
        _section("Which wire is full? One node's links and memories", WIRES, lambda: wires_panel.draw(result))
        _section("All results, and the source of each constant", "numbers section", lambda: _numbers(scenario, results_by_system))


def _tables(scenario: Scenario) -> None:
    table_editor.draw("design", scenario, "Apply these tables", session.hold_scenario)


def _clock(results_by_system: dict[str, Result]) -> None:
    names = " and ".join(title_of(result.scenario) for result in results_by_system.values())
    subtitle = "One batch of each system on the same time axis [ms], one lane a device; pale: background tasks"
    lanes, title = compare_tables.timelines(results_by_system), f"Which tasks overlap: {names}"
    chart.draw(lanes, compare_charts.timelines(palette.named_stages(lanes["part"])), key="clock", title=title, subtitle=subtitle)


def _section(label: str, key: str, fill: Callable[[], None]) -> None:
    expander = st.expander(label, key=key, on_change="rerun")
    if expander.open:
        with expander:
            fill()


def _batches(result: Result) -> None:
    title, tasks = title_of(result.scenario), tables.renamed(result.timeline, tables.TIMELINE)
    chart.draw(
        tasks,
        compare_charts.timeline(palette.named_stages(tasks["stage"])),
        key="timeline",
        title=f"A few batches of {title} in steady state",
        subtitle="Time in steady state [ms], one lane a device; drag to move, turn the wheel to zoom",
    )
    downloads.trace(result)
    busy = tables.renamed(result.devices, tables.DEVICES)
    busiest_device = busy.loc[busy["busy"].astype(float).idxmax()]
    chart.draw(
        busy,
        compare_charts.utilisation(),
        key="busy",
        title=f"The busiest device is {busiest_device['device']}: it works {of_the_time(busiest_device['busy'] / 100)}",
        subtitle="Share of the time in which each device works, in steady state [%]",
    )
    downloads.show(busy.rename(columns={field: column_title for column_title, field in tables.DEVICES.items()}))


def _numbers(scenario: Scenario, results: dict[str, Result]) -> None:
    downloads.show(tables.results_by_system(results))
    csv_column, citations_column = st.columns(2)
    with csv_column:
        downloads.csv(list(results.values()), "estimate", "emberpool-estimates", "Download these estimates as CSV")
    with citations_column:
        downloads.citations(scenario)
    constants_panel.draw(scenario)
