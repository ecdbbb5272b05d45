"""The papers' results: the presets that claim a published number, each with its first one beside ours."""

from functools import cache

import streamlit as st

from engine.core.figures import exact, figure
from engine.errors import BadFile
from engine.scenario.presets import preset, preset_names
from engine.validation.accepted import Accepted, read
from pages.evidence_page import figure_panel
from pages.own_data.leading import Question
from pages.start_page import questions
from pages.ui.plain import plain


@cache
def first_numbers() -> dict[str, tuple[str, Accepted]]:
    """Return the first published number of each preset that has one, by preset: its title, and what was accepted of it."""
    found: dict[str, tuple[str, Accepted]] = {}
    try:
        numbers = read().numbers
    except BadFile:
        return found
    for name, number in numbers.items():
        start, _, title = name.partition(": ")
        if start in preset_names():
            found.setdefault(start, (title, number))
    return found


def draw(asked: Question) -> None:
    """Draw a button for each preset of a paper, and under it a number of the paper's beside ours."""
    found = first_numbers()
    for first in range(0, len(found), 3):
        for column, name in zip(st.columns(3), [*found][first : first + 3], strict=False):
            with column, st.container(border=True, key=f"card-result-{name}"):
                _card(asked, name, *found[name])


def _ask(asked: Question, name: str) -> None:
    """Lead to Evidence with the figure of the preset's paper open."""
    questions.ask(asked, name)
    st.session_state[figure_panel.CHOSEN] = preset(name).paper


def _card(asked: Question, name: str, title: str, number: Accepted) -> None:
    own = preset(name)
    st.button(plain(own.title), key=f"result {name}", on_click=_ask, args=(asked, name), width="stretch")
    what, _, unit = title.rstrip("]").partition(" [")
    unit = "×" if unit == "x" else unit
    ours, published = figure(number.ours, unit), exact(number.published, unit)
    st.caption(plain(f"{what}: {published} published, {ours} here. {own.paper.partition('; ')[0]}."))
