"""A search for the Pareto front over the whole ranges of a sweep's axes.

Points are estimated first, then confirmed by full runs.
"""

from dataclasses import dataclass
from typing import Literal

import pandas as pd
import streamlit as st
from joblib import cpu_count

from engine.analysis import choice, pareto
from engine.analysis.objective import Constraint, Objective, read_objective
from engine.analysis.search import search
from engine.core.figures import count
from engine.errors import EmberpoolError
from engine.hardware.money.prices import with_year
from engine.insight.running_costs import swept_price_unit
from engine.results.result import Result
from engine.run import forecast
from engine.scenario.scenario import KNOBS, Scenario, values
from engine.sweep import links
from engine.sweep.axes import Axis
from engine.sweep.sweep import Sweep
from pages.answers import later, runs
from pages.search_page.points import sweep_filters, sweep_table
from pages.search_page.points.sweep_table import COST
from pages.ui import downloads, numbers, session, tables
from pages.ui.numbers import duration
from pages.ui.page_link import host
from pages.ui.plain import escape_markdown

ASKED_SEARCH, SEARCH_PRESSED = "asked of search", "search pressed"
EVALUATIONS, CONFIRMED_POINTS = (200, 500, 1000, 2000), 5
FIRST_OBJECTIVES = ("Step time [ms]", COST)
MOST_OBJECTIVES = 3


@dataclass(frozen=True, eq=False)
class SearchAnswer:
    """A search's answer.

    objectives: the objectives.
    front: results of the Pareto front.
    sentence: the finding.
    """

    objectives: tuple[Objective, ...]
    front: tuple[Result, ...]
    sentence: str


def draw(sweep: Sweep, base: Result | None) -> None:
    """Draw the form, and below it the front of the last search over these axes."""
    if base is None or not base.ran:
        return
    with st.container(border=True):
        st.markdown(
            "**Search the whole range of the axes** by estimates: ranges at any value between their ends, lists at their values"
        )
        names = [name for name, number in base.results.items() if number is not None]
        objectives_column, limit_column = st.columns((3, 1), vertical_alignment="bottom")
        default_objectives = [name for name in FIRST_OBJECTIVES if name in names]
        objective_names = objectives_column.multiselect(
            "Improve", names, default=default_objectives, key="objectives", max_selections=MOST_OBJECTIVES
        )
        max_estimates = limit_column.selectbox("Most estimates", EVALUATIONS, index=1, key="evaluations")
        limits, axes = sweep_filters.active_filters(), sweep_filters.filtered_axes(sweep.axes)
        bounds = tuple(limit for limit in limits if isinstance(limit, Constraint))
        if limits:
            st.caption(f"The search uses the filters: {escape_markdown('; '.join(map(sweep_table.filter_text, limits)))}.")
        question = (sweep.base, axes, tuple(objective_names), bounds, max_estimates)
        has_empty_axis = any(not axis.values and not axis.span for axis in axes)
        st.button("Search", key="search axes", disabled=not objective_names or has_empty_axis, on_click=_ask)
        if st.session_state.pop(SEARCH_PRESSED, False):  # the press may come with a changed question
            st.session_state[ASKED_SEARCH] = question
        if st.session_state.get(ASKED_SEARCH) == question:
            _search(sweep, axes, tuple(map(read_objective, objective_names)), bounds, max_estimates)


def _ask() -> None:
    st.session_state[SEARCH_PRESSED] = True


def _search(
    sweep: Sweep,
    axes: tuple[Axis, ...],
    objectives: tuple[Objective, ...],
    bounds: tuple[Constraint, ...],
    max_estimates: int,
) -> None:
    def show(front_and_sentence: tuple[tuple[Result, ...], str]) -> None:
        _show(sweep, SearchAnswer(objectives, *front_and_sentence))

    words = f"Searching with up to {count(max_estimates, 'estimate')}"
    try:
        later.draw_when_known(words, show, search_finding, sweep.base, axes, objectives, bounds, max_estimates)
    except EmberpoolError as error:
        st.error(escape_markdown(str(error)))


def search_finding(
    base: Scenario,
    axes: tuple[Axis, ...],
    objectives: tuple[Objective, ...],
    bounds: tuple[Constraint, ...],
    max_estimates: int,
) -> tuple[tuple[Result, ...], str]:
    """Return the Pareto front over the axes' ranges, and the finding as a sentence."""
    searched_points = search(base, axes, objectives, bounds, max_estimates)
    finding = pareto.front_sentence(searched_points.columns, objectives, searched_points.rank)
    sentence = f"{count(len(searched_points.results), 'estimate')}. {finding}"
    if not searched_points.front:
        sentence = choice.cheapest(searched_points.columns, bounds, objectives[0].name).sentence
    return searched_points.front, with_year(sentence, swept_price_unit(base, [axis.path for axis in axes]))


def _show(sweep: Sweep, answer: SearchAnswer) -> None:
    st.markdown(escape_markdown(answer.sentence))
    if not answer.front:
        return
    step = max(len(answer.front) // CONFIRMED_POINTS, 1)
    scenarios = [result.scenario for result in answer.front[::step]][:CONFIRMED_POINTS]
    full_runs = dict(zip(scenarios, runs.results(scenarios, "full"), strict=True))
    table = front_table(sweep, answer, full_runs)
    links_to = {"Open": st.column_config.LinkColumn("Open", display_text="in Design")}
    height: Literal["content", "auto"] = "auto" if len(table) > downloads.MOST_ROWS else "content"
    st.dataframe(tables.with_system_titles(table), hide_index=True, height=height, column_config=links_to)
    downloads.rows(table, "emberpool-search", "Download this front as CSV")
    unfinished = [scenario for scenario, result in full_runs.items() if result is None]
    if unfinished:
        wait = duration(forecast.sweep_seconds(unfinished, "full", cpu_count()))
        label = f"Confirm {count(len(unfinished), 'point')} by full runs: about {wait}"
        st.button(label, key="confirm", on_click=runs.start, args=(unfinished, "full", "Front of a search"))
        runs.draw_while_running(
            unfinished,
            "full",
            lambda status: runs.progress(status) if status and not status.is_ended else runs.draw_end_note(status),
        )


def front_table(sweep: Sweep, answer: SearchAnswer, full_runs: "dict[Scenario, Result | None]") -> pd.DataFrame:
    """Return a row for each point of the front.

    Columns: knobs of the axes, objectives, the full run's numbers with their difference, and the point's link.
    """
    rows = []
    for result in answer.front:
        knob_values, real = values(result.scenario), full_runs.get(result.scenario)
        row: dict[str, object] = {KNOBS[axis.path].title: sweep_table.value_text(knob_values[axis.path]) for axis in sweep.axes}
        for goal in answer.objectives:
            row[goal.name] = result.results.get(goal.name)
            if real:
                row[f"{numbers.label(goal.name)} of the full run"] = real.results.get(goal.name)
                row[f"{numbers.label(goal.name)}: gap"] = numbers.change(
                    result.results.get(goal.name), real.results.get(goal.name)
                )
        row["Open"] = host() + links.link(result.scenario, session.base())
        rows.append(row)
    return pd.DataFrame(rows)
