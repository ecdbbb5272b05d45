"""The models one can ask about: the best known as cards with a picture and a sentence, all others by paper."""

from collections.abc import Mapping
from functools import cache

import streamlit as st

from engine.scenario.presets import preset, preset_names
from pages.own_data.leading import Question
from pages.start_page import picture, questions
from pages.ui.plain import plain

CARDS = ("dlrm-kaggle", "trainingcxl-rm1", "dlrm-terabyte", "meta-856")


def draw(asked: Question) -> None:
    """Draw the cards, and below them the other models by paper."""
    for column, name in zip(st.columns(len(CARDS)), CARDS, strict=True):
        with column, st.container(border=True, key=f"card-{name}"):
            _card(name, asked)
    with st.expander(f"All {len(preset_names())} models and machines, by paper"):
        for paper, members in by_paper().items():
            st.caption(plain(paper))
            with st.container(horizontal=True):
                for name in members:
                    _button(name, asked, f"any {name}", preset(name).title)


def _card(name: str, asked: Question) -> None:
    found = preset(name)
    st.html(picture.element(name))
    _button(name, asked, f"card {name}", found.title)
    st.caption(plain(f"{picture.told(found.scenario)}. {found.description.partition('. ')[0].rstrip('.')}."))


def _button(name: str, asked: Question, key: str, label: str) -> None:
    what = plain(preset(name).description)
    st.button(plain(label), key=key, on_click=questions.ask, args=(asked, name), help=what, width="stretch")


@cache
def by_paper() -> Mapping[str, tuple[str, ...]]:
    """Return the presets by the paper or source that they are from, in the order of their names."""
    papers = dict.fromkeys(preset(name).paper.partition("; ")[0] for name in preset_names())
    return {paper: tuple(name for name in preset_names() if preset(name).paper.partition("; ")[0] == paper) for paper in papers}
