"""The page Search: many design points, and the best of them."""

import streamlit as st
from joblib import cpu_count

from engine.core.figures import count
from engine.errors import BadInput
from engine.results.result import Result
from engine.store.status import RequestStatus
from engine.sweep import links
from engine.sweep.questions import LinkQuestions
from pages.answers import estimates, later, runs
from pages.search_page import axes_panel, search_link, sweep_panel, sweep_runs
from pages.shell import address, frame
from pages.ui import answer, session
from pages.ui.numbers import duration
from pages.ui.plain import escape_markdown

frame.guard()
scenario = session.scenario()
address_bar, top = st.container(), st.container()
axes, sample = axes_panel.panel_axes()
outcome = axes_panel.swept_or_error(scenario, axes, sample)
mode = axes_panel.mode()


def draw_axes(label: str, unfolded: bool, caution: str) -> None:
    """Draw the axes of the sweep, and the page's link above them.

    unfolded: whether the axes are open at first. caution: the caution on the page's numbers.
    """
    st.session_state.setdefault(axes_panel.AXES_UNFOLDED, unfolded)
    with st.expander(f"**{escape_markdown(label)}**", key=axes_panel.AXES_UNFOLDED, on_change="rerun"):
        st.caption("The sweep combines values of these knobs; all other knobs keep their values on top and in the sidebar.")
        axes_panel.draw(axes)
    with address_bar:
        address.bar("search", caution)


if isinstance(outcome, BadInput):
    draw_axes("Axes of the sweep", True, "")
    with top:
        if axes:
            answer.show("These knobs cannot be swept", [str(outcome)])
        else:
            answer.show("Which design is best?", ["Choose a knob and write its values to see how many points there are."])
    st.stop()
sweep = outcome
link = links.link(scenario, session.base(), "search", axes, questions=LinkQuestions(sample))
first_status = sweep_runs.status(sweep, mode, link)
results_exist = first_status is not None or sweep_runs.estimate_small_sweep(sweep, mode)
draw_axes(axes_panel.summary(sweep), not results_exist, sweep.sequence_note)
part = search_link.to_link()


def start() -> None:
    """Request the sweep's missing points, and close the panel of the axes."""
    st.session_state[axes_panel.AXES_UNFOLDED] = False
    title = f"{axes_panel.summary(sweep)}, preset {session.base()}"
    if len(sweep) > sweep_runs.MANY_POINTS:
        runs.start(sweep, mode, title, link, later.worker_result)
    else:
        runs.start(sweep, mode, title, link)


def base() -> Result | None:
    """Return the result of the scenario in the bar, computed in the sweep's mode."""
    return estimates.estimate_of(scenario) if mode == "estimate" else runs.results([scenario], mode)[0]


def progress(status: RequestStatus | None) -> None:
    """Draw the run's progress, or the button that starts the missing points."""
    if status and not status.is_ended:
        sweep_runs.draw_progress(status)
        return
    missing_points = sweep_runs.missing_points(sweep, mode, status)
    time_left = duration(sweep_runs.forecast_seconds(sweep, mode, missing_points, cpu_count())) if missing_points else ""
    wait = f"{'about ' * time_left[0].isdecimal()}{time_left} to go" if missing_points else "all done"
    sharing_sentence = sweep_runs.sharing_sentence(sweep, mode)
    st.markdown(
        f"{count(len(sweep) - missing_points)} of **{count(len(sweep), 'point')}** finished, {wait}. "
        f"{escape_markdown(sharing_sentence)}"
    )
    if missing_points:
        st.button(f"Run {count(missing_points, 'point')}", type="primary", key="run", on_click=start)
        runs.draw_end_note(status)


def results(status: RequestStatus | None) -> None:
    """Draw the finished points.

    A changed filter, pin, metric or view redraws the page, as the page's link changes.
    """
    if search_link.to_link() != part:
        st.rerun()
    table = sweep_runs.table(sweep, mode, status)
    results_link = links.link(scenario, session.base(), "search", axes, questions=part.questions)
    sweep_panel.draw(sweep, table, mode, results_link, base(), run_ended=status is None or status.is_ended)


def draw_answer(status: RequestStatus | None) -> None:
    """Draw the best point so far, or the state of a sweep without finished points."""
    missing_points = sweep_runs.missing_points(sweep, mode, status)
    table = sweep_runs.table(sweep, mode, status)
    finding, reason = sweep_panel.answer(sweep, table, base(), missing_points == 0)
    running = status is not None and not status.is_ended
    size_text = count(len(sweep), "point")
    if not finding:
        state_text = (
            "are being computed"
            if running
            else "are not computed yet"
            if missing_points
            else "are computed, but none of them could run"
        )
        answer.show(
            f"{size_text} {state_text}",
            ["The best point appears here when the first points are finished."]
            if missing_points
            else [sweep_panel.commonest_reason(table), "Change the axes, or the other knobs."],
        )
    else:
        so_far = (
            f"{'This is the best point so far' if running else 'This is the best of the finished points'}; "
            f"{count(missing_points)} of {size_text} are still to compute. "
            if missing_points
            else ""
        )
        answer.show(finding, [so_far + reason])


with top:
    draw_answer(first_status)
sweep_runs.draw_and_follow(first_status, lambda: sweep_runs.status(sweep, mode, link), len(sweep), progress, results)
