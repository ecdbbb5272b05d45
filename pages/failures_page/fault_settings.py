"""The settings that a visitor of the page Failures reaches for first: how often faults strike, and the protection."""

from collections.abc import Mapping
from typing import Any

import streamlit as st

from engine.registry import load, names
from engine.scenario.scenario import Scenario, with_values
from pages.failures_page.campaigns import POWER_LOSS, own, supposed
from pages.ui import session

CHOSEN = "protection here"
RATES: Mapping[str, Mapping[str, Any]] = {
    "Llama 3's rates, 2,048 machines": {"faults.rates": "llama3", "faults.machines": 2048, POWER_LOSS: None},
    "Llama 3's rates, this machine": {"faults.rates": "llama3", "faults.machines": 1, POWER_LOSS: None},
    "Power lost once a day": {"faults.rates": "none", "faults.machines": 1, POWER_LOSS: 24.0},
}


def draw(scenario: Scenario) -> None:
    """Draw a box of protections and a button for each usual set of rates; all set the sidebar's own knobs."""
    known = names("protections")
    st.session_state[CHOSEN] = scenario.policy.protection
    with st.container(horizontal=True, vertical_alignment="bottom"):
        st.selectbox(
            "Protection",
            known,
            key=CHOSEN,
            on_change=_protect,
            format_func=lambda name: load("protections", name).title,
            width=320,
        )
        log = {"policy.protection": own(scenario)}
        st.button("The system's own log", on_click=_set, args=(log,), help="As estimates and full runs have it.")
        for name, knobs in RATES.items():
            st.button(name, on_click=_set, args=(knobs,))
    st.caption(load("protections", scenario.policy.protection).summary)


def _protect() -> None:
    _set({"policy.protection": st.session_state[CHOSEN]})


def _set(knobs: Mapping[str, Any]) -> None:
    session.show(with_values(supposed(session.scenario()), knobs))  # what was shown by itself is chosen from now on
