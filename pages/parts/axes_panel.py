"""The axes of a sweep: up to four knobs and the values they take, kept while one looks at other pages."""

from functools import lru_cache

import streamlit as st

from engine import axes as engine_axes
from engine.axes import Axis
from engine.errors import BadInput
from engine.scenario import KNOBS, Scenario
from engine.sweep import Sweep
from pages.parts import session
from pages.parts.plain import plain

MOST_AXES = 4
MOST_POINTS = 5000
NONE = ""
FIRST = ("machine.cxl_bandwidth_GBps:0.5,1,2,4,8,16,32", "system:cxl-d,cxl-b,cxl")


def draw() -> tuple[Axis, ...] | None:
    """Draw the axes and return them, or None after a sentence if one cannot be read."""
    held = session.axes() or FIRST
    texts, good = [], True
    for number in range(MOST_AXES):
        text = _row(number, held[number] if number < len(held) else "")
        if not text:
            break
        texts.append(text)
        good = _reads(text) and good
    st.session_state[session.AXES] = tuple(texts)
    if not good or not texts:
        return None
    return tuple(engine_axes.parse(text) for text in texts)


def _row(number: int, held: str) -> str:
    path, _, written = held.partition(":")
    choice, values = f"axis {number} knob", f"axis {number} values"
    st.session_state.setdefault(choice, path if path in KNOBS else NONE)
    st.session_state.setdefault(values, written)
    left, right = st.columns(2)
    knobs = (NONE, *KNOBS)
    left.selectbox(
        f"Axis {number + 1}", knobs, key=choice, format_func=lambda path: KNOBS[path].title if path else "no more axes"
    )
    if not st.session_state[choice]:
        return ""
    shape = "8,16,32 or 8:64:4 (from, to, how many; :log for equal ratios)"
    right.text_input(f"Values of axis {number + 1}", key=values, placeholder=shape, help=f"Write {shape}.")
    return f"{st.session_state[choice]}:{st.session_state[values]}"


def _reads(text: str) -> bool:
    try:
        engine_axes.parse(text)
    except BadInput as error:
        st.caption(f":red[{plain(str(error))}]")
        return False
    return True


@lru_cache(maxsize=8)
def grid(base: Scenario, axes: tuple[Axis, ...]) -> tuple[Scenario, ...]:
    """Return the points of the sweep; raises BadInput with a sentence where they do not fit together or are too many."""
    size = 1
    for axis in axes:
        size *= len(axis.values)
    if size > MOST_POINTS:
        raise BadInput(f"The axes span {size:,} points; this page draws {MOST_POINTS:,}: for more, run python -m engine sweep.")
    return tuple(Sweep(base, axes))
