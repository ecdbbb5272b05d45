"""Draws the widget of any knob from its declaration, and the engine's sentence beside a value it refuses."""

from collections.abc import Sequence
from functools import cache
from typing import Any

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from engine import registry
from engine.analysis.in_force import caption, in_force
from engine.core import catalog
from engine.core.catalog import PartNames
from engine.core.figures import exact
from engine.errors import BadKnob
from engine.hardware.devices.pmem import module_bytes
from engine.insight.knob_stops import CAPACITY, settled_or_asked, stops
from engine.registry import every
from engine.scenario import knobs
from engine.scenario.knobs import AUTO, PLACES, Knob
from engine.scenario.scenario import KNOBS, values
from engine.systems.system import readers
from engine.units import GB
from pages.ui import session
from pages.ui.plain import plain


def draw(knob: Knob, refusal: str = "", idle: str = "") -> None:
    """Draw one knob, and under it `refusal` of its last value, or `idle`, why it has no effect, or what its auto stands for."""
    draw_alone(knob)
    say(knob, refusal, idle)


def draw_alone(knob: Knob) -> None:
    """Draw one knob without a word under it."""
    if knob.kind == "switch" and not knob.optional:
        key = session.bring(knob.path)
        st.toggle(knob.title, bool(st.session_state[key]), key=key, help=_help(knob))
    elif knob.kind in ("choice", "switch") and not _is_listed(knob):
        _choice(knob)
    elif knob.main:
        draw_slider(knob)
    else:
        key = session.bring(knob.path)
        st.text_input(knob.title, st.session_state[key], key=key, help=_help(knob) + _extent(knob))


def _is_listed(knob: Knob) -> bool:
    """Whether a knob's widget holds a list with a value per table, which is written, not chosen."""
    return knob.by_table and isinstance(_good(knob, str(session.held(knob.path))), tuple)


def say(knob: Knob, refusal: str, idle: str = "", more: str = "") -> None:
    """Say why a value was refused, or what is in force, why the knob has no effect, and whatever `more` there is."""
    if refusal:
        st.caption(f":red[{plain(refusal)}]")
    elif told := " ".join(line for line in (_in_force(knob, idle), idle, more) if line):
        st.caption(plain(told))


def _in_force(knob: Knob, idle: str) -> str:
    """Return what is in force under an optional knob; nothing where it is idle and has no value at all."""
    if not knob.optional or (idle and in_force(session.scenario(), knob.path).value is None):
        return ""
    return caption(session.scenario(), knob.path)


def _choice(knob: Knob) -> None:
    words = knob.allowed if knob.kind == "choice" else ("on", "off")
    changed = session.to_model if knob.path == "model.name" else None
    options, key = (AUTO, *words) if knob.optional else words, session.bring(knob.path)
    held = st.session_state[key]
    if isinstance(knob.choices, PartNames) and held not in options and knob.choices.settled(held):
        options = (*options, held)  # a part that a link has brought
    st.selectbox(
        knob.title,
        options,
        session.place(options, key),
        key=key,
        help=None if knob.path == "system" else _help(knob),  # stands in the bar, whose words are in the glossary
        on_change=changed,
        format_func=title if knob.path == "system" else str,
    )


@cache
def title(system: str) -> str:
    """Return how a training system is shown: its title, its name in links, and how well it is known."""
    found = registry.load("systems", system)
    own = str(getattr(found, "title", ""))
    doubt = " (headline only)" if getattr(found, "confidence", "") == "headline only" else ""
    return (f"{own} ({system})" if own and own.lower() != system else own or system) + doubt


def draw_slider(knob: Knob, given: Sequence[float] = ()) -> tuple[DeltaGenerator, DeltaGenerator]:
    """Draw the title with the exact value to type, and below it round values to slide over.

    Returns the container below, and the one beside the title.

    The places are `given`, or else the knob's stops. A value changed by anything else gets a fresh slider:
    the browser may still be sending the old one's place.
    """
    exact, shown = session.bring(knob.path), f"shown {knob.path}"
    held = _good(knob, st.session_state[exact])
    place, options = knobs.write(knob, held), places(knob, held, given)
    turn, before = st.session_state.get(shown, (0, place))
    st.session_state[shown] = turn + (place != before), place
    slide = slider(knob.path)
    st.session_state[slide] = place
    with st.container(horizontal=True, vertical_alignment="center", key=f"line {knob.path}"):
        st.markdown(plain(knob.title), help=_help(knob), width="stretch")
        beside = st.container(width="content")
        st.text_input(f"{knob.title}, exact", st.session_state[exact], key=exact, label_visibility="collapsed", width=EXACT_WIDTH)
    below = st.container(gap=None)
    below.select_slider(
        knob.title,
        tuple(options),
        place,
        key=slide,
        label_visibility="collapsed",
        on_change=_take_over,
        args=(knob.path, slide),
        format_func=options.__getitem__,
    )
    return below, beside


def slider(path: str) -> str:
    """Return the session key of the slider that now stands for a knob."""
    return f"slide {path} {st.session_state[f'shown {path}'][0]}"


def _take_over(path: str, slide: str) -> None:
    if slide == slider(path):
        place = st.session_state[slide]
        st.session_state.update({session.widget(path): place, f"shown {path}": (st.session_state[f"shown {path}"][0], place)})


def places(knob: Knob, held: Any, given: Sequence[float] = ()) -> dict[str, str]:
    """Return the slider's places in order, as texts and as they read; the held value, or auto, has the nearest place."""
    scenario = session.scenario()
    own = in_force(scenario, knob.path).value if held is None else held
    numbers = given or stops(settled_or_asked(scenario), knob)
    nearest = None if own is None else min(numbers, key=lambda number: abs(number - own))
    found = {knobs.write(knob, held if one == nearest else one): stop_label(knob, one) for one in numbers}
    labelled = {text: f"{AUTO}, {label}" if text == AUTO else label for text, label in found.items()}
    return labelled if own is not None else {AUTO: AUTO, **labelled}


def stop_label(knob: Knob, value: float) -> str:
    """Return how a value reads on a slider: whole PMEM modules as 4 × 128 GB, other numbers without their unit."""
    if knob.path != CAPACITY:
        return exact(value)
    module = module_bytes(session.scenario().machine) / GB
    count = value / module
    return f"{exact(count)} × {exact(module)} GB" if count == int(count) else exact(value, "GB")


def _good(knob: Knob, text: str) -> Any:
    try:
        return knobs.parse(knob, text)
    except BadKnob:
        return values(session.scenario())[knob.path]


def _help(knob: Knob) -> str:
    if knob.acts == "always":
        return knob.help + _not_on_sale(knob)
    return f"{knob.help} Acts in {PLACES.get(knob.acts, 'a full run')}, not in the estimate."


def _not_on_sale(knob: Knob) -> str:
    """Return which of a knob's parts cannot be bought, and since when, as a sentence; "" of other knobs."""
    kinds = (kind for name in readers(knob.path) for kind in every("devices")[name].kinds) if knob.choices else ()
    parts = ((kind, name) for kind in dict.fromkeys(kinds) for name in catalog.names(kind) if name in knob.allowed)
    marks = [f"{name} {mark}" for kind, name in parts if (mark := catalog.availability(kind, name).mark)]
    return f" Not on sale: {', '.join(marks)}." if marks else ""


def _extent(knob: Knob) -> str:
    """Return the range as a sentence for the help, and "auto" where it is allowed."""
    extent = f" From {exact(knob.low)} to {exact(knob.high)}." if knob.low is not None and knob.high is not None else ""
    return extent + (" May be auto." if knob.optional else "")


MAIN = tuple(knob for knob in KNOBS.values() if knob.main)
EXACT_WIDTH = 110  # pixels of the field for the exact value
BAR_KNOBS = ("system",)  # those that stand in the bar on top
