"""The baseline of every answer: a system, and by how much a machine may be slower."""

from dataclasses import replace

import streamlit as st

from engine.analysis.enough.question import baseline_of
from engine.registry import load_variant
from engine.scenario.presets import preset
from engine.scenario.scenario import Scenario
from engine.sweep.questions import LinkQuestions
from pages.ui import palette, session

CHOSEN_BASELINE, SHOWN_BASELINE, TARGET, TARGET_FIELD = "baseline chosen", "told against", "held target", "target within"
IDEAL = "dram"  # all tables in DRAM, the fastest system of its family
TARGETS = ("0", "5", "10", "25", "50", "100", "200", "400")
DEFAULT_TARGET = "10"


def baseline_system(scenario: Scenario) -> str:
    """Return a scenario's baseline system: the visitor's choice, or the default one."""
    choice = str(st.session_state.get(CHOSEN_BASELINE) or "")
    return choice if choice in palette.systems() and choice != scenario.system else default_baseline(scenario)


def default_baseline(scenario: Scenario) -> str:
    """Return the baseline system if the visitor has chosen none.

    It is the ideal system of the scenario's family, or the system's own baseline.
    """
    own_baseline = str(load_variant("systems", scenario.system).baseline)
    return IDEAL if IDEAL in palette.family(scenario.system) and scenario.system != IDEAL else own_baseline


def baseline_scenario(scenario: Scenario) -> Scenario:
    """Return the same model under the baseline system, with that system's own policies."""
    return baseline_of(scenario, baseline_system(scenario))


def slowdown_target() -> float:
    """Return the share by which a machine may be slower than the baseline."""
    return float(st.session_state.get(TARGET) or DEFAULT_TARGET) / 100


def take_questions(questions: LinkQuestions) -> None:
    """Set baseline and target to those of a link; call before widgets are drawn."""
    st.session_state[CHOSEN_BASELINE], st.session_state[TARGET] = questions.baseline, questions.slowdown_percent or DEFAULT_TARGET


def start_from(name: str) -> None:
    """Set the baseline to that of a preset, or to the usual one of its system; call in a callback."""
    st.session_state[CHOSEN_BASELINE] = preset(name).baseline


def link_questions(questions: LinkQuestions) -> LinkQuestions:
    """Return a page's questions with baseline and target added, for its link.

    The own preset of an opened link is added too. Defaults are left out.
    """
    target = str(st.session_state.get(TARGET) or "")
    system = baseline_system(session.scenario())
    system = "" if system == default_baseline(session.scenario()) else system
    target = "" if target == DEFAULT_TARGET else target
    return replace(questions, baseline=system, slowdown_percent=target, origin=session.origin())


def draw_against(scenario: Scenario) -> None:
    """Draw the choice of the baseline system.

    By default it follows the family of the scenario's system.
    """
    baseline = baseline_system(scenario)
    names = [name for name in palette.systems() if name != scenario.system or name == baseline]
    family_names = palette.family(scenario.system)
    ordered = sorted(names, key=lambda name: name not in family_names)
    st.session_state[SHOWN_BASELINE] = baseline
    st.selectbox(
        "Baseline",
        ordered,
        session.option_index(ordered, SHOWN_BASELINE),
        key=SHOWN_BASELINE,
        format_func=lambda name: str(load_variant("systems", name).title),
        on_change=_choose,
    )


def _choose() -> None:
    baseline = st.session_state[SHOWN_BASELINE]
    st.session_state[CHOSEN_BASELINE] = "" if baseline == default_baseline(session.scenario()) else baseline


def draw_within() -> None:
    """Draw the choice of the target: by how much a machine may be slower than the baseline."""
    target = str(st.session_state.get(TARGET) or DEFAULT_TARGET)
    st.session_state[TARGET_FIELD] = target
    options = sorted({*TARGETS, target}, key=float)
    st.selectbox(
        "Target",
        options,
        session.option_index(options, TARGET_FIELD),
        key=TARGET_FIELD,
        format_func=lambda percent: f"within {percent} %" if float(percent) else "as fast",
        on_change=_choose_target,
    )


def _choose_target() -> None:
    st.session_state[TARGET] = st.session_state[TARGET_FIELD]
