"""Draws the widget of any knob from its declaration, and the engine's sentence beside a value it refuses."""

from collections.abc import Mapping
from functools import cache
from math import log10
from typing import Any

import streamlit as st

from engine import registry
from engine.errors import BadKnob
from engine.scenario import knobs
from engine.scenario.knobs import AUTO, Knob
from engine.scenario.scenario import KNOBS, values
from pages.common import session
from pages.common.plain import plain

MANTISSAS = (1.0, 1.5, 2.0, 3.0, 4.0, 6.0, 8.0), (1, 2, 5)


def draw(knob: Knob, refusal: str = "", idle: str = "") -> None:
    """Draw one knob, with `refusal` under it where its last value was refused, else `idle`, why it has no effect."""
    if knob.kind == "switch" and not knob.optional:
        st.toggle(knob.title, key=session.widget(knob.path), help=_help(knob))
    elif knob.kind in ("choice", "switch"):
        _choice(knob)
    elif knob.main:
        _slider(knob)
    else:
        st.text_input(knob.title, key=session.widget(knob.path), help=_help(knob) + _extent(knob))
    if refusal:
        st.caption(f":red[{plain(refusal)}]")
    elif idle:
        st.caption(plain(idle))


def _choice(knob: Knob) -> None:
    words = knob.allowed if knob.kind == "choice" else ("on", "off")
    changed = session.to_model if knob.path == "model.name" else None
    st.selectbox(
        knob.title,
        (AUTO, *words) if knob.optional else words,
        key=session.widget(knob.path),
        help=_help(knob),
        on_change=changed,
        format_func=title if knob.path == "system" else str,
    )


@cache
def title(system: str) -> str:
    """Return how a training system is shown: its name in links, its own title, and whether only its headline is known."""
    found = registry.load("systems", system)
    own = str(getattr(found, "title", ""))
    doubt = " (headline only)" if getattr(found, "confidence", "") == "headline only" else ""
    return (f"{system}: {own}" if own and own.lower() != system else system) + doubt


def _slider(knob: Knob) -> None:
    """Draw round values to slide over, and beside them the exact one to type.

    A value changed by anything else gets a fresh slider: the browser may still be sending the old one's place.
    """
    exact, shown = session.widget(knob.path), f"shown {knob.path}"
    options = with_stop(knob, st.session_state[exact])
    place = nearest_stop(knob, st.session_state[exact], options)
    turn, before = st.session_state.get(shown, (0, place))
    st.session_state[shown] = turn + (place != before), place
    slide = slider(knob.path)
    st.session_state[slide] = place
    left, right = st.columns((5, 3), vertical_alignment="bottom")
    left.select_slider(knob.title, options, key=slide, help=_help(knob), on_change=_take_over, args=(knob.path, slide))
    right.text_input(f"{knob.title}, exact", key=exact, label_visibility="collapsed")


def slider(path: str) -> str:
    """Return the session key of the slider that now stands for a knob."""
    return f"slide {path} {st.session_state[f'shown {path}'][0]}"


def _take_over(path: str, slide: str) -> None:
    if slide == slider(path):
        place = st.session_state[slide]
        st.session_state.update({session.widget(path): place, f"shown {path}": (st.session_state[f"shown {path}"][0], place)})


@cache
def stops(knob: Knob) -> tuple[str, ...]:
    """Return round values over a numeric knob's range, as texts; "auto" first where it is allowed."""
    low, high = knob.low or 0.0, knob.high or 1.0
    mantissas = MANTISSAS[knob.kind == "int"]
    first = int(log10(low)) - 1 if low > 0 else 0 if knob.kind == "int" else -3
    ladder = [mantissa * 10.0**power for power in range(first, int(log10(high)) + 1) for mantissa in mantissas]
    doubling = [
        base * 2.0**power for power in range(-4, 40) for base in (1.0, 1.5) if knob.kind != "int" or base * 2.0**power % 1 == 0
    ]
    rounded = sorted({low, high, *(value for value in (doubling if knob.log else ladder) if low <= value <= high)})
    texts = (knobs.write(knob, knobs.check(knob, value)) for value in rounded)
    return (AUTO, *texts) if knob.optional else tuple(texts)


def with_stop(knob: Knob, held: str) -> tuple[str, ...]:
    """Return the stops with the held value among them, in order, where it is a good one."""
    value = _good(knob, held)
    ordered: Mapping[Any, str] = {_good(knob, text): text for text in stops(knob)}
    if value in ordered:
        return stops(knob)
    numbers = sorted([value, *(number for number in ordered if number is not None)])
    texts = tuple(knobs.write(knob, number) for number in numbers)
    return (AUTO, *texts) if knob.optional else texts


def nearest_stop(knob: Knob, held: str, options: tuple[str, ...]) -> str:
    """Return the option that says the held value, or the last good one where the held one is refused."""
    value = knobs.write(knob, _good(knob, held))
    return value if value in options else options[0]


def _good(knob: Knob, text: str) -> Any:
    try:
        return knobs.parse(knob, text)
    except BadKnob:
        return values(session.scenario())[knob.path]


def _help(knob: Knob) -> str:
    if knob.acts == "always":
        return knob.help
    return f"{knob.help} Acts in a {'campaign' if knob.acts == 'campaign' else 'full run'}, not in the estimate."


def _extent(knob: Knob) -> str:
    """Return the range as a sentence for the help, and "auto" where it is allowed."""
    extent = f" From {knob.low:g} to {knob.high:g}." if knob.low is not None and knob.high is not None else ""
    return extent + (" May be auto." if knob.optional else "")


MAIN = tuple(knob for knob in KNOBS.values() if knob.main)
