"""The cache that is asked about: its size in bytes and its hit rate, for the knob that holds it as a share of rows."""

import re
from math import ceil, floor, log10

import streamlit as st

from engine.core.figures import BINARY_PREFIXES, PREFIXES, figure, percent
from engine.errors import BadKnob
from engine.insight.data_profile import LRU, Profile
from engine.scenario import knobs
from engine.scenario.scenario import KNOBS
from pages.data_page.workload_tables import table_bytes
from pages.ui import session
from pages.ui.plain import plain

PATH, FIELD, REFUSED = "policy.cache_load_factor", "cache size", "cache size refused"
RATE = "cache hit rate"
SIZE = re.compile(r"(?P<number>[0-9][0-9,_ ]*\.?[0-9]*|\.[0-9]+)(?P<power>e[+-]?[0-9]+)?\s*(?P<unit>[kmgtp]?i?b?)", re.IGNORECASE)
BARE = "gb"  # the unit of a number without one


def draw(found: Profile, share: float) -> None:
    """Draw the field with the knob's value in the unit that fits, and the sentence that refuses what was typed last."""
    whole = table_bytes(found)
    refused = st.session_state.pop(REFUSED, "")
    if not refused:
        st.session_state[FIELD] = told(found, share)
    st.text_input(
        "Cache size",
        key=FIELD,
        on_change=_take_over,
        args=(whole,),
        help=f"Such as 114 kB, 21.6 MB, 1.5 GB; a bare number is in GB. All tables together have {figure(whole, 'B')}. "
        f"The link keeps it as the share of rows, knob {KNOBS[PATH].label}.",
        width=260,
    )
    st.caption(f"of {plain(told(found, 1))} of tables", width="content")
    best = percent(found.hit_rate(LRU, 1.0))
    st.session_state[RATE] = percent(found.hit_rate(LRU, share)) if share else ""
    st.text_input(
        "Hit rate by LRU",
        key=RATE,
        on_change=_take_rate,
        args=(found,),
        placeholder="99 %",
        help=f"Such as 99 %: brings the smallest cache that hits so many of the lookups, up to {best} with all rows.",
        width=160,
    )
    if refused:
        st.caption(f":red[{plain(refused)}]")


def told(found: Profile, share: float) -> str:
    """Return the size of a cache of a share of all rows: "114 kB"."""
    return figure(share * table_bytes(found), "B") if share else "0 B"


def parsed(text: str) -> float:
    """Return the bytes that a text means: "114 kB", "1.5 GB", "2 MiB"; a bare number is in GB. Raises ValueError."""
    found = SIZE.fullmatch(text.strip())
    if found is None:
        raise ValueError(f"{text!r} is no size")
    number = float(re.sub("[,_ ]", "", found["number"]) + (found["power"] or ""))
    unit = (found["unit"] or BARE).lower()
    prefix = unit.rstrip("b").rstrip("i")
    if "i" in unit:
        return number * BINARY_PREFIXES[prefix.upper()]
    return number * PREFIXES[prefix if prefix in ("", "k") else prefix.upper()]


def _take_rate(found: Profile) -> None:
    """Set the cache to the smallest with the hit rate that was typed."""
    typed = st.session_state[RATE]
    try:
        wanted = float(typed.strip().removesuffix("%")) / 100
    except ValueError:
        wanted = -1.0
    share = found.share_for(LRU, wanted)
    if share is None:
        st.session_state[FIELD] = told(found, session.scenario().policy.cache_load_factor)
        st.session_state[REFUSED] = (
            f"{typed!r} is not a hit rate that a cache has; write one such as 99 %, above 0 and up to "
            f"{percent(found.hit_rate(LRU, 1.0))}."
        )
    else:
        step = 10 ** (floor(log10(share)) - 3)  # four digits, rounded up
        st.session_state[session.widget(PATH)] = knobs.write(KNOBS[PATH], min(1.0, round(ceil(share / step) * step, 12)))


def _take_over(whole: float) -> None:
    typed = st.session_state[FIELD]
    try:
        size = knobs.parse(KNOBS[PATH], str(parsed(typed) / whole)) if typed.strip() else None
    except (ValueError, KeyError, BadKnob):
        size = None
    if size is None:
        st.session_state[REFUSED] = (
            f"{typed!r} is not a cache size; write one such as 21.6 MB, from 0 to {figure(whole, 'B')}, the size of all tables."
        )
    else:
        st.session_state[session.widget(PATH)] = knobs.write(KNOBS[PATH], size)
