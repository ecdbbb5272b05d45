"""Which design?"""

import streamlit as st
from joblib import cpu_count

from engine.core.figures import count
from engine.errors import BadInput
from engine.results.result import Result
from engine.store.status import Status
from engine.sweep import links
from engine.sweep.questions import Questions
from pages.answers import estimates, later, runs
from pages.search_page import axes_panel, search_link, sweep_panel, sweep_runs
from pages.shell import address, frame
from pages.ui import answer, session
from pages.ui.numbers import duration
from pages.ui.plain import plain

frame.guard()
scenario = session.scenario()
address_bar, top = st.container(), st.container()
axes, sample = axes_panel.asked()
outcome = axes_panel.swept_or_error(scenario, axes, sample)
how = axes_panel.how()


def draw_axes(label: str, unfolded: bool, caution: str) -> None:
    """Draw what is swept, at first folded or `unfolded`, and above it the link that says so."""
    st.session_state.setdefault(axes_panel.OPEN, unfolded)
    with st.expander(f"**{plain(label)}**", key=axes_panel.OPEN, on_change="rerun"):
        st.caption("Some knobs run against each other; everything else stays as the bar and the drawer say.")
        axes_panel.draw(axes)
    with address_bar:
        address.bar("search", caution)


if isinstance(outcome, BadInput):
    draw_axes("What is swept", True, "")
    with top:
        if axes:
            answer.show("These knobs cannot be swept", [str(outcome)])
        else:
            answer.show("Which design?", ["Choose a knob and write its values to see how many points there are."])
    st.stop()
sweep = outcome
link = links.link(scenario, session.base(), "search", axes, questions=Questions(sample))
done = sweep_runs.status(sweep, how, link) is not None or sweep_runs.at_once(sweep, how)
draw_axes(axes_panel.summary(sweep), not done, sweep.sequence_note)
part = search_link.to_link()


def start() -> None:
    """Ask for what is missing of the sweep, and fold away what is swept."""
    st.session_state[axes_panel.OPEN] = False
    title = f"{axes_panel.summary(sweep)}, preset {session.base()}"
    if len(sweep) > sweep_runs.MANY:
        runs.start(sweep, how, title, link, later.worker_result)
    else:
        runs.start(sweep, how, title, link)


def base() -> Result | None:
    """Return the result of the scenario of the bar, as exact as the sweep's."""
    return estimates.estimate_of(scenario) if how == "estimate" else runs.results([scenario], how)[0]


def progress(status: Status | None) -> None:
    """Draw how far the run is, or the button that starts what is missing."""
    if status and not status.ended:
        sweep_runs.draw_progress(status)
        return
    missing = sweep_runs.missing(sweep, how, status)
    left = duration(sweep_runs.seconds(sweep, how, missing, cpu_count())) if missing else ""
    wait = f"{'about ' * left[0].isdecimal()}{left} to go" if missing else "all done"
    shared = sweep_runs.shared(sweep, how)
    st.markdown(f"{count(len(sweep) - missing)} of **{count(len(sweep), 'point')}** finished, {wait}. {plain(shared)}")
    if missing:
        st.button(f"Run {count(missing, 'point')}", type="primary", key="run", on_click=start)
        runs.note(status)


def results(status: Status | None) -> None:
    """Draw what is finished; a filter, a pin, a metric or a view that was changed here changes the link above, too."""
    if search_link.to_link() != part:
        st.rerun()
    table = sweep_runs.table(sweep, how, status)
    seen = links.link(scenario, session.base(), "search", axes, questions=part.questions)
    sweep_panel.draw(sweep, table, how, seen, base(), ended=status is None or status.ended)


def draw_answer(status: Status | None) -> None:
    """Draw the best point so far, or what is still to be done."""
    missing = sweep_runs.missing(sweep, how, status)
    finding, why = sweep_panel.answer(sweep, sweep_runs.table(sweep, how, status), base(), missing == 0)
    running = status is not None and not status.ended
    whole = count(len(sweep), "point")
    if not finding:
        said = "are being computed" if running else "are not computed yet" if missing else "are computed: none of them could run"
        answer.show(f"{whole} {said}", ["The best point stands here as soon as points are finished."] if missing else [])
    else:
        so_far = (
            f"{'Best so far' if running else 'Of the finished points'}, {count(missing)} of {whole} to go. " if missing else ""
        )
        answer.show(finding, [so_far + why])


with top:
    draw_answer(sweep_runs.status(sweep, how, link))
sweep_runs.follow(lambda: sweep_runs.status(sweep, how, link), len(sweep), progress, results)
