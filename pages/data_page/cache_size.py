"""Two fields that set the cache: by its size in bytes, or by its hit rate.

The knob stores the cache as a share of all rows.
"""

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
from pages.ui.plain import escape_markdown

PATH, FIELD, REFUSED = "policy.cache_load_factor", "cache size", "cache size refused"
RATE = "cache hit rate"
SIZE = re.compile(r"(?P<number>[0-9][0-9,_ ]*\.?[0-9]*|\.[0-9]+)(?P<power>e[+-]?[0-9]+)?\s*(?P<unit>[kmgtp]?i?b?)", re.IGNORECASE)
DEFAULT_UNIT = "gb"  # the unit of a number without one


def draw(profile: Profile, share: float) -> None:
    """Draw the fields in a suitable unit, and the sentence that refuses the last input."""
    total_bytes = table_bytes(profile)
    refusal = st.session_state.pop(REFUSED, "")
    if not refusal:
        st.session_state[FIELD] = size_text(profile, share)
    st.text_input(
        "Cache size",
        key=FIELD,
        on_change=_take_size,
        args=(total_bytes,),
        help=f"Write a size such as 114 kB, 21.6 MB or 1.5 GB; a number without a unit is in GB. All tables together have "
        f"{figure(total_bytes, 'B')}. A link keeps the size as a share of all rows, the knob {KNOBS[PATH].label}.",
        width=260,
    )
    st.caption(f"of {escape_markdown(size_text(profile, 1))} in all tables", width="content")
    best_rate = percent(profile.hit_rate(LRU, 1.0))
    st.session_state[RATE] = percent(profile.hit_rate(LRU, share)) if share else ""
    st.text_input(
        "LRU hit rate",
        key=RATE,
        on_change=_take_rate,
        args=(profile,),
        placeholder="99 %",
        help=f"Write a hit rate such as 99 %: the cache gets the smallest size that reaches it. With all rows in the cache, "
        f"{best_rate} of the lookups hit.",
        width=160,
    )
    if refusal:
        st.caption(f":red[{escape_markdown(refusal)}]")


def size_text(profile: Profile, share: float) -> str:
    """Return the size of a cache that holds `share` of all rows, such as "114 kB"."""
    return figure(share * table_bytes(profile), "B") if share else "0 B"


def parse_size(text: str) -> float:
    """Return the bytes that a text such as "114 kB" states; a number without unit is GB.

    Raises ValueError.
    """
    match = SIZE.fullmatch(text.strip())
    if match is None:
        raise ValueError(f"{text!r} is no size")
    number = float(re.sub("[,_ ]", "", match["number"]) + (match["power"] or ""))
    unit = (match["unit"] or DEFAULT_UNIT).lower()
    prefix = unit.rstrip("b").rstrip("i")
    if "i" in unit:
        return number * BINARY_PREFIXES[prefix.upper()]
    return number * PREFIXES[prefix if prefix in ("", "k") else prefix.upper()]


def _take_rate(profile: Profile) -> None:
    """Set the cache to the smallest with the typed hit rate."""
    typed = st.session_state[RATE]
    try:
        hit_rate = float(typed.strip().removesuffix("%")) / 100
    except ValueError:
        hit_rate = -1.0
    share = profile.share_for(LRU, hit_rate)
    if share is None:
        st.session_state[FIELD] = size_text(profile, session.scenario().policy.cache_load_factor)
        st.session_state[REFUSED] = (
            f"{typed!r} is not a hit rate that a cache can reach here; write a number above 0 % and up to "
            f"{percent(profile.hit_rate(LRU, 1.0))}."
        )
    else:
        step = 10 ** (floor(log10(share)) - 3)  # four digits, rounded up
        st.session_state[session.widget(PATH)] = knobs.write(KNOBS[PATH], min(1.0, round(ceil(share / step) * step, 12)))


def _take_size(total_bytes: float) -> None:
    typed = st.session_state[FIELD]
    try:
        size = knobs.parse(KNOBS[PATH], str(parse_size(typed) / total_bytes)) if typed.strip() else None
    except (ValueError, KeyError, BadKnob):
        size = None
    if size is None:
        st.session_state[REFUSED] = (
            f"{typed!r} is not a cache size; write a size such as 21.6 MB, from 0 B to {figure(total_bytes, 'B')}, the size of "
            "all tables."
        )
    else:
        st.session_state[session.widget(PATH)] = knobs.write(KNOBS[PATH], size)
