"""The choice of systems to compare: the scenario's family by default.

A comparison is a sweep over the knob `system`. So the choice is stored, and written in links, as an axis of this knob.
"""

import streamlit as st

from engine.sweep import axes
from engine.sweep.links import OpenedLink
from pages.ui import knob_widgets, palette, session
from pages.ui.page_link import LinkPart, PageLink

CHOICE, PATH = "systems to compare", "system"


def from_link(link: OpenedLink) -> None:
    """Set the compared systems to those of a link's axis; to the family without such an axis."""
    parsed = map(axes.parse, link.axes)
    st.session_state[session.SYSTEMS] = tuple(name for axis in parsed if axis.path == PATH for name in axis.values)


def chosen_systems() -> tuple[str, ...]:
    """Return the systems to compare, in the palette's order."""
    chosen_names = st.session_state.get(session.SYSTEMS) or palette.family(session.scenario().system)
    return tuple(name for name in palette.systems() if name in chosen_names)


def axis(names: tuple[str, ...]) -> str:
    """Return the axis over these systems as text for links."""
    return str(axes.Axis(PATH, names))


def to_link() -> LinkPart:
    """Return the axis of chosen systems for a link; no axis for the family."""
    return LinkPart() if chosen_systems() == palette.family(session.scenario().system) else LinkPart((axis(chosen_systems()),))


def draw() -> None:
    """Draw the choice of systems; without any chosen system the family is chosen again."""
    st.session_state[CHOICE] = list(chosen_systems())
    st.multiselect(
        "Training systems",
        palette.systems(),
        key=CHOICE,
        format_func=knob_widgets.title,
        on_change=_take_over,
        help="Choose systems of any family. Without a choice, the family of the chosen training system is compared.",
    )


def _take_over() -> None:
    st.session_state[session.SYSTEMS] = tuple(st.session_state[CHOICE])


LINK = PageLink(to_link, from_link)
