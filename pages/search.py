"""Which design?"""

import streamlit as st
from joblib import cpu_count

from engine.errors import EmberpoolError
from engine.results.result import Result
from engine.store.status import Status
from engine.sweep import links
from engine.sweep.questions import Questions
from pages.common import address, estimates, frame, runs, session
from pages.common.numbers import duration
from pages.common.plain import plain
from pages.design import later
from pages.search import axes_panel, pinned, sweep_filters, sweep_panel, sweep_runs
from pages.search.figures import sweep_views

frame.guard()
scenario = session.scenario()
address_bar = st.container()
st.header("Which design?", anchor=False)
axes, sample = axes_panel.asked()
sweep = axes_panel.swept_or_error(scenario, axes, sample)
how = axes_panel.how()
good = not isinstance(sweep, EmberpoolError)
link = links.link(scenario, session.base(), "search", axes, questions=Questions(sample)) if good else ""
done = good and (sweep_runs.status(sweep, how, link) is not None or sweep_runs.at_once(sweep, how))
st.session_state.setdefault(axes_panel.OPEN, not done)
label = axes_panel.summary(sweep) if good else "What is swept"
with st.expander(f"**{plain(label)}**", key=axes_panel.OPEN, on_change="rerun"):
    st.caption("Some knobs run against each other; everything else stays as the bar and the drawer say.")
    axes_panel.draw(axes)


def asked() -> Questions:
    """Return what the page is asked now, as its link says it."""
    return sweep_filters.questions(sample, pinned.text(sweep.digest), how, sweep_views.first(sweep.axes))


questions = asked() if good else Questions()
with address_bar:
    address.bar("search", axes if good else (), questions=questions, caution=sweep.sequence_note if good else "")
if not good:
    st.error(plain(str(sweep))) if axes else st.info("Choose a knob and write its values to see how many points there are.")
    st.stop()


def start() -> None:
    """Ask for what is missing of the sweep, and fold away what is swept."""
    st.session_state[axes_panel.OPEN] = False
    title = f"{axes_panel.summary(sweep)}, preset {session.base()}"
    if len(sweep) > sweep_runs.MANY:
        runs.start(sweep, how, title, link, later.watched)
    else:
        runs.start(sweep, how, title, link)


def base() -> Result | None:
    """Return the result of the scenario of the bar, as exact as the sweep's."""
    return estimates.of(scenario) if how == "estimate" else runs.results([scenario], how)[0]


def progress(status: Status | None) -> None:
    """Draw how far the run is, or the button that starts what is missing."""
    if status and not status.ended:
        sweep_runs.draw_progress(status)
        return
    missing = sweep_runs.missing(sweep, how, status)
    left = duration(sweep_runs.seconds(sweep, how, missing, cpu_count())) if missing else ""
    wait = f"{'about ' * left[0].isdecimal()}{left} to go" if missing else "all done"
    shared = sweep_runs.shared(sweep, how)
    st.markdown(f"{len(sweep) - missing:,} of **{len(sweep):,} points** finished, {wait}. {plain(shared)}")
    if missing:
        st.button(f"Run {missing:,} points", type="primary", key="run", on_click=start)
        runs.note(status)


def results(status: Status | None) -> None:
    """Draw what is finished; a filter, a pin, a metric or a view that was changed here changes the link above, too."""
    if asked() != questions:
        st.rerun()
    table = sweep_runs.table(sweep, how, status)
    seen = links.link(scenario, session.base(), "search", axes, questions=questions)
    sweep_panel.draw(sweep, table, how, seen, base(), ended=status is None or status.ended)


sweep_runs.follow(lambda: sweep_runs.status(sweep, how, link), len(sweep), progress, results)
