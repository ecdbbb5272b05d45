"""The size of the cache that is asked about: a field in GB for the knob that holds it as a share of rows."""

import streamlit as st

from engine.errors import BadKnob
from engine.insight.data_profile import Profile
from engine.scenario import knobs
from engine.scenario.scenario import KNOBS
from pages.ui import session
from pages.ui.plain import plain

PATH, FIELD, REFUSED = "policy.cache_load_factor", "cache size", "cache size refused"


def draw(found: Profile, share: float) -> None:
    """Draw the field with the knob's value in GB, and the sentence that refuses what was typed last."""
    whole = found.rows * found.row_bytes / 1e9
    refused = st.session_state.pop(REFUSED, "")
    if not refused:
        st.session_state[FIELD] = f"{share * whole:.6g}"
    st.text_input(
        "Cache size [GB]",
        key=FIELD,
        on_change=_take_over,
        args=(whole,),
        help=f"All tables together have {whole:.4g} GB. The link keeps it as the share of rows, knob {KNOBS[PATH].label}.",
        width=260,
    )
    if refused:
        st.caption(f":red[{plain(refused)}]")


def _take_over(whole: float) -> None:
    typed = st.session_state[FIELD]
    try:
        size = knobs.parse(KNOBS[PATH], str(float(typed) / whole)) if typed.strip() else None
    except (ValueError, BadKnob):
        size = None
    if size is None:
        st.session_state[REFUSED] = f"{typed!r} is not a cache size; write GB from 0 to {whole:.4g}, the size of all tables."
    else:
        st.session_state[session.widget(PATH)] = knobs.write(KNOBS[PATH], size)
