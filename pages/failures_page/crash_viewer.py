"""A power loss at each persist of one small run.

The page shows the state that the medium can hold, and the recovery from that state.
"""

from functools import cache

import pandas as pd
import streamlit as st

from engine.crashcheck.reference_run import Configuration
from engine.crashcheck.view import CHOICES, SLOTS, CrashView, line_of, moments, recovery_sentence, view_state
from engine.persistence.models import domain
from engine.registry import domain_names
from engine.sweep import links
from engine.sweep.links import OpenedLink
from pages.graphics import chart
from pages.graphics.charts import INK, Spec, axis, layer, legend_below, nominal, rows, scale_of, tooltip_fields
from pages.ui import session
from pages.ui.page_link import LinkPart, PageLink, host
from pages.ui.plain import escape_markdown

PROTOCOLS = {
    "Undo log": Configuration(),
    "Undo log, relaxed MLP log": Configuration(relaxed=True),
    "Undo log, written near the data": Configuration(near_data=True),
    "Redo log": Configuration(log="redo"),
    "Redo log, late home writes": Configuration(log="redo", late_home=True),
}
STATES = {"settled": "#b9b2a6", "kept": "#4fa64a", "torn": "#e8904a", "lost": "#c23b3b"}
SURVIVAL_TITLES = {"nothing": "None", "everything": "All", "some": "Some, at random"}


def draw() -> None:
    """Draw the crash state of the opened link, or else the controls to choose one.

    The map of the medium and the verdict are below.
    """
    if session.crash():
        show(view_state(session.crash()))
        st.button("Look at other states", key="other states", on_click=lambda: st.session_state.pop(session.CRASH))
        return
    with st.container(horizontal=True, vertical_alignment="bottom"):
        protocol = st.selectbox("Protocol", tuple(PROTOCOLS), key="crash protocol", width=300)
        model = st.selectbox("Persistence model", domain_names(), key="crash model", width=200)
        survivors = st.segmented_control(
            "Which writes on their way survive?",
            tuple(CHOICES),
            default="some",
            required=True,
            format_func=SURVIVAL_TITLES.__getitem__,
            key="kept",
        )
    st.caption(escape_markdown(f"{domain(model).title}: {domain(model).summary}"))
    configuration = PROTOCOLS[protocol]
    moment_count = len(moments(configuration, model))
    with st.container(horizontal=True):
        number = st.slider(
            f"Moment of the power loss, of {moment_count}",
            1,
            moment_count,
            min(6, moment_count),
            key=f"moment {configuration.name} {model}",
        )
        turn = st.number_input("Random choice", 0, 999, 0, key="draw", width=160) if survivors == "some" else 0
    show(view_state(line_of(configuration, model, number - 1, survivors, int(turn))))


def show(crash_view: CrashView) -> None:
    """Draw a state of the medium with its recovery and its link."""
    chart.draw(
        frame(crash_view),
        spec(),
        key="medium",
        title=recovery_sentence(crash_view),
        subtitle="Content of the medium after the power loss, one square a line of 64 B",
        columns={"lane": "Where", "line": "Line", "state": "Writes on their way", "holds": "Holds"},
    )
    st.caption("The first line of a log is its flag. Move the pointer to a square to read its content.")
    st.code(f'python -m engine crashcheck --replay "{crash_view.line}"', language=None)
    with st.popover("Share this state"):
        st.code(host() + links.link(session.scenario(), session.base(), "failures", crash=crash_view.line), language=None)


def frame(crash_view: CrashView) -> pd.DataFrame:
    """Return a row for each line of the medium: lane, line, state, holds."""
    return pd.DataFrame([cell._asdict() for cell in crash_view.cells])


@cache
def spec() -> Spec:
    """Return a chart with a square for each line of the medium.

    Lanes are the table and each log slot.
    """
    lanes = nominal("lane", sort=["Table", *SLOTS], axis=axis("", labelFontSize=13))
    x = {"field": "line", "type": "ordinal", "axis": axis("Line of 64 B", labelAngle=0)}
    text = layer(
        {"type": "text", "color": "#1c1c1c", "fontSize": 11}, {"filter": "datum.line === 0"}, x=x, text={"field": "holds"}
    )
    squares = layer(
        {"type": "rect", "stroke": INK, "strokeWidth": 0.5},
        x=x,
        color=nominal("state", scale=scale_of(STATES), legend=legend_below("settled", title=None)),
        tooltip=tooltip_fields(("lane", "Where"), ("line", "Line"), ("state", "Writes on their way"), ("holds", "Content")),
    )
    return {**rows(26), "encoding": {"y": lanes}, "layer": [squares, text]}


def to_link() -> LinkPart:
    """Return the page's part of a link: the crash state that is shown."""
    return LinkPart(crash=session.crash())


def from_link(link: OpenedLink) -> None:
    """Show the state of an opened link."""
    st.session_state[session.CRASH] = link.crash


LINK = PageLink(to_link, from_link)
