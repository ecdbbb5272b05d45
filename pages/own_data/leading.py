"""Questions with the pages that answer them, and the change to that page.

A callback stores the page's name, and the next run of the script opens the page.
"""

from dataclasses import dataclass

import streamlit as st

from engine.scenario.scenario import Scenario, with_values
from engine.sweep import links
from engine.training.shape import with_larger_budget
from pages.answers import question, runs
from pages.ui import session
from pages.ui.page_link import script

NEXT_PAGE_KEY, OWNED_PARTS = "go to", "machine.owned_parts"


@dataclass(frozen=True)
class Question:
    """A question of a visitor.

    words: the question. page: the page that answers it. system: the system to set, "" to keep the model's own.
    """

    words: str
    page: str
    system: str = ""


POPULARITY, FAILURES = Question("", "data"), Question("What do failures cost?", "failures")


def put_question(question_asked: Question, base: str, scenario: Scenario) -> None:
    """Set the session to a scenario and a question; call in a callback.

    base: the preset from which the scenario was made. What to build is asked with the parts that the visitor owns.
    """
    changes = {"system": question_asked.system} if question_asked.system else {}
    if question_asked.page == "decide" and not scenario.machine.owned_parts:
        changes[OWNED_PARTS] = session.scenario().machine.owned_parts
    session.hold_variation(base, with_values(scenario, changes))
    question.start_from(base)
    st.session_state[NEXT_PAGE_KEY] = question_asked.page


def train(base: str, scenario: Scenario, system: str = "") -> None:
    """Open Design and start the full run of a scenario there; call in a callback.

    The step budget is raised to the run's need.
    """
    put_question(Question("", "design", system), base, scenario)
    trained = with_larger_budget(session.scenario())
    session.hold_scenario(trained)
    runs.start([trained], "full", link=links.link(trained, base, "design"))


def go_to_page(current_page: str = "") -> None:
    """Open the page that a callback has stored, unless it is `current_page`."""
    page = st.session_state.pop(NEXT_PAGE_KEY, "")
    if page and page != current_page:
        st.session_state[session.FOCUS_PAGE] = True
        st.switch_page(script(page))
