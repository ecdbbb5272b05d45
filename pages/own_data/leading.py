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

GO = "go to"


@dataclass(frozen=True)
class Question:
    """A question in words, its page, and its system ("" keeps the model's)."""

    words: str
    page: str
    system: str = ""


POPULARITY, FAILURES = Question("", "data"), Question("What do failures cost?", "failures")


def put(question_asked: Question, base: str, scenario: Scenario) -> None:
    """Put a preset's variation and a question into the session; only in a callback."""
    session.put(base, with_values(scenario, {"system": question_asked.system} if question_asked.system else {}))
    question.reset_baseline()
    st.session_state[GO] = question_asked.page


def train(base: str, scenario: Scenario, system: str = "") -> None:
    """Lead to Design and start the full run there; only in a callback.

    The step budget is raised to the run's need.
    """
    put(Question("", "design", system), base, scenario)
    trained = with_larger_budget(session.scenario())
    session.show(trained)
    runs.start([trained], "full", link=links.link(trained, base, "design"))


def go(current_page: str = "") -> None:
    """Lead to the page that a callback has named, unless that is `current_page`."""
    page = st.session_state.pop(GO, "")
    if page and page != current_page:
        st.session_state[session.LANDED] = True
        st.switch_page(script(page))
