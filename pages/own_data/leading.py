"""Questions with their pages, and the way there.

A callback names the page, and the next run goes there.
"""

from dataclasses import dataclass

import streamlit as st

from engine.scenario.scenario import Scenario, with_values
from engine.sweep import links
from engine.training.shape import with_larger_budget
from pages.answers import question, runs
from pages.ui import session
from pages.ui.page_link import script

NEXT_PAGE_KEY = "go to"


@dataclass(frozen=True)
class Question:
    """A question in words, its page, and its system ("" keeps the model's)."""

    words: str
    page: str
    system: str = ""


POPULARITY, FAILURES = Question("", "data"), Question("What do failures cost?", "failures")


def put_question(question_asked: Question, base: str, scenario: Scenario) -> None:
    """Put a preset's variation and a question into the session; only in a callback."""
    session.hold_variation(base, with_values(scenario, {"system": question_asked.system} if question_asked.system else {}))
    question.reset_baseline()
    st.session_state[NEXT_PAGE_KEY] = question_asked.page


def train(base: str, scenario: Scenario, system: str = "") -> None:
    """Lead to Design and start the full run there; only in a callback.

    The step budget is raised to the run's need.
    """
    put_question(Question("", "design", system), base, scenario)
    trained = with_larger_budget(session.scenario())
    session.hold_scenario(trained)
    runs.start([trained], "full", link=links.link(trained, base, "design"))


def go_to_page(current_page: str = "") -> None:
    """Lead to the page that a callback has named, unless that is `current_page`."""
    page = st.session_state.pop(NEXT_PAGE_KEY, "")
    if page and page != current_page:
        st.session_state[session.FOCUS_PAGE] = True
        st.switch_page(script(page))
