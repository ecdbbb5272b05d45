"""The link of the page Search: axes, filters, pinned points, precision, and the view."""

import streamlit as st

from engine.core.figures import count
from engine.errors import BadInput
from engine.sweep.links import Opened
from pages.search_page import axes_panel
from pages.search_page.points import pinned, sweep_filters, sweep_views
from pages.ui import session
from pages.ui.page_link import LinkPart, PageLink


def to_link() -> LinkPart:
    """Return what the page is asked now; nothing where its axes cannot be read."""
    axes, sample = axes_panel.asked()
    sweep = axes_panel.swept_or_error(session.scenario(), axes, sample)
    if isinstance(sweep, BadInput):
        return LinkPart()
    pins, first = pinned.text(sweep.digest), sweep_views.first(sweep.axes)
    return LinkPart(axes, sweep_filters.questions(sample, pins, axes_panel.how(), first))


def from_link(link: Opened) -> None:
    """Set the page's widgets to what a link says; only before they are drawn."""
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
        most = f"the page at most {axes_panel.MOST_AXES}; for more, run python -m engine sweep."
        return f"The link sweeps {len(link.axes)} knobs, {most}"
    return sweep_filters.refusal(link.questions, link.axes) or _refused_pins(link)


def _refused_pins(link: Opened) -> str:
    if not link.questions.pins:
        return ""
    if not link.axes:
        return "The link pins points (pins=) of no sweep; it needs its axes (axis=) too."
    sweep = axes_panel.swept_or_error(link.scenario, link.axes, link.questions.sample)
    if isinstance(sweep, BadInput):
        return ""  # the page says why
    beyond = [point + 1 for point in link.questions.pinned if point >= len(sweep)]
    if not beyond:
        return ""
    return f"The link pins point {count(beyond[0])} (pins=) of a sweep that has {count(len(sweep))}; copy it again."


LINK = PageLink(to_link, from_link, refusal)
