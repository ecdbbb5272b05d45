"""The papers' results: presets with a published number, each with the simulated number."""

from functools import cache

import streamlit as st

from engine.core.figures import exact, figure
from engine.errors import BadFile
from engine.scenario.presets import preset, preset_names
from engine.validation.accepted import Accepted, read_record
from pages.evidence_page import figure_panel
from pages.own_data.leading import Question
from pages.start_page import questions
from pages.ui.plain import escape_markdown


@cache
def first_numbers() -> dict[str, tuple[str, Accepted]]:
    """Return each preset's first published number: its title and the accepted record."""
    first_by_preset: dict[str, tuple[str, Accepted]] = {}
    try:
        numbers = read_record().numbers
    except BadFile:
        return first_by_preset
    for name, number in numbers.items():
        start, _, title = name.partition(": ")
        if start in preset_names():
            first_by_preset.setdefault(start, (title, number))
    return first_by_preset


def draw(question: Question) -> None:
    """Draw a button for each paper's preset, and below it a published and a simulated number."""
    first_by_preset = first_numbers()
    for offset in range(0, len(first_by_preset), 3):
        for column, name in zip(st.columns(3), [*first_by_preset][offset : offset + 3], strict=False):
            with column, st.container(border=True, key=f"card-result-{name}"):
                _card(question, name, *first_by_preset[name])


def _ask(question: Question, name: str) -> None:
    """Lead to Evidence with the figure of the preset's paper open."""
    questions.ask(question, name)
    st.session_state[figure_panel.CHOSEN_PAPER_KEY] = preset(name).paper


def _card(question: Question, name: str, title: str, number: Accepted) -> None:
    card_preset = preset(name)
    st.button(escape_markdown(card_preset.title), key=f"result {name}", on_click=_ask, args=(question, name), width="stretch")
    subject, _, unit = title.rstrip("]").partition(" [")
    unit = "×" if unit == "x" else unit
    our_text, published_text = figure(number.simulated_value, unit), exact(number.published, unit)
    st.caption(
        escape_markdown(
            f"{subject}: {published_text} published, {our_text} in Emberpool. {card_preset.paper.partition('; ')[0]}."
        )
    )
