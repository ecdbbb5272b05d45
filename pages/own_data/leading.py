"""Questions, each with the place that answers it, and the way there: a callback names the place, and the next run goes there."""

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
    """A question in words, the page that answers it, the system that it is about ("" keeps the model's)."""

    words: str
    page: str
    system: str = ""


POPULARITY, FAILURES = Question("", "data"), Question("What do failures cost?", "failures")


def put(asked: Question, base: str, scenario: Scenario) -> None:
    """Put a variation of a preset and the question into the session; only in a callback."""
    session.put(base, with_values(scenario, {"system": asked.system} if asked.system else {}))
    question.reset_baseline()
    st.session_state[GO] = asked.page


def train(base: str, scenario: Scenario, system: str = "") -> None:
    """Lead to Design and start the full run there, with the step budget that it takes; only in a callback."""
    put(Question("", "design", system), base, scenario)
    trained = with_larger_budget(session.scenario())
    session.show(trained)
    runs.start([trained], "full", link=links.link(trained, base, "design"))


def go(here: str = "") -> None:
    """Lead to the page that a callback of the last run has named, unless that is the page `here`."""
    page = st.session_state.pop(GO, "")
    if page and page != here:
        st.session_state[session.LANDED] = True
        st.switch_page(script(page))
