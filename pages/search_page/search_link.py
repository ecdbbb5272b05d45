"""The link of the page Search: axes, filters, pinned points, mode and view."""

import streamlit as st

from engine.core.figures import count
from engine.errors import BadInput
from engine.sweep.links import Opened
from pages.search_page import axes_panel
from pages.search_page.points import pinned, sweep_filters, sweep_views
from pages.ui import session
from pages.ui.page_link import LinkPart, PageLink


def to_link() -> LinkPart:
    """Return the page's part of the link; empty if the axes cannot be read."""
    axes, sample = axes_panel.asked()
    sweep = axes_panel.swept_or_error(session.scenario(), axes, sample)
    if isinstance(sweep, BadInput):
        return LinkPart()
    pins, default_view = pinned.text(sweep.digest), sweep_views.first(sweep.axes)
    return LinkPart(axes, sweep_filters.questions(sample, pins, axes_panel.how(), default_view))


def from_link(link: Opened) -> None:
    """Set the page's widgets to the values of a link; only before widgets are drawn."""
    axes_panel.put(link.axes, link.questions.sample)
    session.ask(axes_panel.EXACT, link.questions.mode)
    sweep_filters.put(link.questions)
    if link.axes and (link.questions.pins or pinned.PINS in st.session_state):
        sweep = axes_panel.swept_or_error(link.scenario, link.axes, link.questions.sample)
        if not isinstance(sweep, BadInput):
            pinned.put(sweep.digest, link.questions.pinned)


def refusal(link: Opened) -> str:
    """Return the sentence that refuses a link's axes, filters or pinned points; "" for none."""
    if len(link.axes) > axes_panel.MOST_AXES:
        page_limit = f"the page at most {axes_panel.MOST_AXES}; for more, run python -m engine sweep."
        return f"The link sweeps {len(link.axes)} knobs, {page_limit}"
    return sweep_filters.refusal(link.questions, link.axes) or _refused_pins(link)


def _refused_pins(link: Opened) -> str:
    if not link.questions.pins:
        return ""
    if not link.axes:
        return "The link pins points (pins=) of no sweep; it needs its axes (axis=) too."
    sweep = axes_panel.swept_or_error(link.scenario, link.axes, link.questions.sample)
    if isinstance(sweep, BadInput):
        return ""  # the page shows the reason
    absent_points = [point + 1 for point in link.questions.pinned if point >= len(sweep)]
    if not absent_points:
        return ""
    return f"The link pins point {count(absent_points[0])} (pins=) of a sweep that has {count(len(sweep))}; copy it again."


LINK = PageLink(to_link, from_link, refusal)
