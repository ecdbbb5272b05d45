"""The models: the best known as cards with pictures, all others listed by paper."""

from collections.abc import Mapping
from functools import cache

import streamlit as st

from engine.core.figures import count
from engine.scenario.presets import EXPLORED, preset, preset_names
from pages.own_data.leading import Question
from pages.start_page import own_presets, picture, questions
from pages.ui.plain import escape_markdown

CARDS = (EXPLORED, "trainingcxl-rm1", "dlrm-kaggle", "meta-856")


def draw(question: Question) -> None:
    """Draw the cards, and below them the other models by paper.

    question: the question that a click on a model asks.
    """
    for column, name in zip(st.columns(len(CARDS)), CARDS, strict=True):
        with column, st.container(border=True, key=f"card-{name}"):
            _card(name, question)
    own_presets.draw(question)
    with st.expander(f"All {count(len(preset_names()), 'model')} and machines, by paper"):
        for paper, members in by_paper().items():
            st.caption(escape_markdown(paper))
            with st.container(horizontal=True):
                for name in members:
                    _button(name, question, f"any {name}", preset(name).title)


def _card(name: str, question: Question) -> None:
    card_preset = preset(name)
    st.html(picture.picture_html(name))
    _button(name, question, f"card {name}", card_preset.title)
    st.caption(
        escape_markdown(f"{picture.size_words(card_preset.scenario)}. {card_preset.description.partition('. ')[0].rstrip('.')}.")
    )


def _button(name: str, question: Question, key: str, label: str) -> None:
    description = escape_markdown(preset(name).story)
    st.button(escape_markdown(label), key=key, on_click=questions.ask, args=(question, name), help=description, width="stretch")


@cache
def by_paper() -> Mapping[str, tuple[str, ...]]:
    """Return the presets by their paper or source, in the order of their names."""
    papers = dict.fromkeys(preset(name).paper.partition("; ")[0] for name in preset_names())
    return {paper: tuple(name for name in preset_names() if preset(name).paper.partition("; ")[0] == paper) for paper in papers}
