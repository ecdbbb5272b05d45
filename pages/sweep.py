"""Which design?"""

import streamlit as st
from joblib import cpu_count

from engine import effort
from engine.errors import BadInput
from pages.parts import address, axes_panel, frame, runs, session, sweep_panel
from pages.parts.numbers import duration
from pages.parts.plain import plain

HOW = {"estimate": "Quick estimate", "full": "Full training"}

frame.guard()
scenario = session.scenario()
bar = st.container()
st.header("Which design?", anchor=False)
st.caption("Up to four knobs run against each other; everything else stays as in the sidebar.")
axes = axes_panel.draw()
with bar:
    address.bar("sweep", session.axes() if axes else ())
if axes is None:
    st.info("Choose a knob and write its values to see how many points there are.")
    st.stop()
try:
    points = axes_panel.grid(scenario, axes)
except BadInput as error:
    st.error(plain(str(error)))
    st.stop()

how = st.segmented_control("How exact?", HOW, default="estimate", required=True, format_func=HOW.__getitem__, key="how")
results = runs.results(points, how)
# A point that failed has no results at all and can be tried again; one that does not fit has its answer.
missing = [point for point, result in zip(points, results, strict=True) if not (result and result.results)]
wait = f"about {duration(effort.sweep_seconds(missing, how, cpu_count()))} to go" if missing else "all done"


def draw(status: runs.Status | None) -> None:
    """Draw the run's progress and what is finished of it."""
    if status and not status.ended:
        runs.progress(status)
    else:
        st.markdown(f"**{len(points)} points**, {len(points) - len(missing)} of them finished, {wait}.")
    if missing and (status is None or status.ended):
        st.button(f"Run {len(missing)} points", type="primary", key="run", on_click=runs.start, args=(points, how))
        runs.note(status)
    sweep_panel.draw(points, runs.results(points, how) if status else results, axes, how)


runs.follow(points, how, draw)
