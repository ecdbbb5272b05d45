"""The link of the page Search: axes, filters, pinned points, mode and view."""

import streamlit as st

from engine.core.figures import count
from engine.errors import BadInput
from engine.sweep.links import OpenedLink
from pages.search_page import axes_panel
from pages.search_page.points import pinned, sweep_filters, sweep_views
from pages.ui import session
from pages.ui.page_link import LinkPart, PageLink


def to_link() -> LinkPart:
    """Return the page's part of the link; empty if the axes cannot be read."""
    axes, sample = axes_panel.panel_axes()
    sweep = axes_panel.swept_or_error(session.scenario(), axes, sample)
    if isinstance(sweep, BadInput):
        return LinkPart()
    pins, default_view = pinned.pins_text(sweep.digest), sweep_views.default_view(sweep.axes)
    return LinkPart(axes, sweep_filters.page_questions(sample, pins, axes_panel.mode(), default_view))


def from_link(link: OpenedLink) -> None:
    """Set the page's widgets to the values of a link; call before widgets are drawn."""
    axes_panel.set_panel(link.axes, link.questions.sample)
    session.take_choice(axes_panel.MODE_KEY, link.questions.mode)
    sweep_filters.set_filters(link.questions)
    if link.axes and (link.questions.pins or pinned.PINS in st.session_state):
        sweep = axes_panel.swept_or_error(link.scenario, link.axes, link.questions.sample)
        if not isinstance(sweep, BadInput):
            pinned.set_pins(sweep.digest, link.questions.pinned_points)


def refusal(link: OpenedLink) -> str:
    """Return the sentence that refuses a link's axes, filters or pinned points; "" for none."""
    if len(link.axes) > axes_panel.MOST_AXES:
        page_limit = f"but the page allows {axes_panel.MOST_AXES}; use fewer, or run python -m engine sweep."
        return f"The link sweeps {count(len(link.axes), 'knob')}, {page_limit}"
    return sweep_filters.refusal(link.questions, link.axes) or _refused_pins(link)


def _refused_pins(link: OpenedLink) -> str:
    if not link.questions.pins:
        return ""
    if not link.axes:
        return "The link has pinned points (pins=) but no sweep; add the axes of the sweep (axis=)."
    sweep = axes_panel.swept_or_error(link.scenario, link.axes, link.questions.sample)
    if isinstance(sweep, BadInput):
        return ""  # the page shows the reason
    absent_points = [point + 1 for point in link.questions.pinned_points if point >= len(sweep)]
    if not absent_points:
        return ""
    return f"The link pins point {count(absent_points[0])} (pins=), but the sweep has only {count(len(sweep))}; copy it again."


LINK = PageLink(to_link, from_link, refusal)
