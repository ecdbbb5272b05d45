"""What every answer is told against: a baseline system, and a target as the percentage by which a machine may be slower."""

from dataclasses import replace

import streamlit as st

from engine.analysis.enough.question import baseline_of
from engine.registry import load
from engine.scenario.scenario import Scenario
from engine.sweep.questions import Questions
from pages.ui import palette, session

CHOSEN, SHOWN, WITHIN = "baseline chosen", "told against", "target within"
IDEAL = "dram"  # where a family has it: all tables in memory that is as fast as memory gets
TARGETS = ("0", "5", "10", "25", "50", "100", "200", "400")
USUAL = "10"


def against(scenario: Scenario) -> str:
    """Return the system that a scenario is told against: the one asked for, the family's ideal, or its own baseline."""
    asked = str(st.session_state.get(CHOSEN) or "")
    return asked if asked in palette.systems() and asked != scenario.system else usual(scenario)


def usual(scenario: Scenario) -> str:
    """Return the system that a scenario is told against where none is asked for."""
    own = str(load("systems", scenario.system).baseline)
    return IDEAL if IDEAL in palette.family(scenario.system) and scenario.system != IDEAL else own


def baseline(scenario: Scenario) -> Scenario:
    """Return the same model under the system that it is told against, whose own link and policies no main knob moves."""
    return baseline_of(scenario, against(scenario))


def within() -> float:
    """Return by how much a machine may be slower than the baseline, as a share."""
    return float(st.session_state.get(WITHIN) or USUAL) / 100


def put(questions: Questions) -> None:
    """Take over what a link asks; only before widgets are drawn."""
    st.session_state[CHOSEN], st.session_state[WITHIN] = questions.against, questions.within or USUAL


def forget() -> None:
    """Go back to the usual baseline."""
    st.session_state[CHOSEN] = ""


def hold() -> None:
    """Keep the target where it is not drawn: Streamlit forgets a widget's value with the widget."""
    if WITHIN in st.session_state:
        st.session_state[WITHIN] = st.session_state[WITHIN]


def said(questions: Questions) -> Questions:
    """Return a page's questions with the baseline and the target that links carry: what is usual is left out."""
    target = str(st.session_state.get(WITHIN) or "")
    system = against(session.scenario())
    system = "" if system == usual(session.scenario()) else system
    return replace(questions, against=system, within="" if target == USUAL else target)


def draw_against(scenario: Scenario) -> None:
    """Draw the choice of the baseline; until another is chosen it follows the system's family."""
    others = [name for name in palette.systems() if name != scenario.system or name == against(scenario)]  # its own baseline
    known = palette.family(scenario.system)
    ordered = sorted(others, key=lambda name: name not in known)
    st.session_state[SHOWN] = against(scenario)
    st.selectbox(
        "Against",
        ordered,
        session.place(ordered, SHOWN),
        key=SHOWN,
        format_func=lambda name: str(load("systems", name).title),
        on_change=_choose,
    )


def _choose() -> None:
    chosen = st.session_state[SHOWN]
    st.session_state[CHOSEN] = "" if chosen == usual(session.scenario()) else chosen


def draw_within() -> None:
    """Draw the choice of the target."""
    held = str(st.session_state.get(WITHIN) or USUAL)
    st.session_state[WITHIN] = held
    options = sorted({*TARGETS, held}, key=float)
    st.selectbox(
        "Target",
        options,
        session.place(options, WITHIN),
        key=WITHIN,
        format_func=lambda percent: f"within {percent} %" if float(percent) else "as fast",
    )
