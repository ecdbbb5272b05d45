"""The widget of any knob, made from the knob's declaration, and the refusal of its value."""

from collections.abc import Sequence
from functools import cache
from typing import Any

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from engine import registry
from engine.analysis.in_force import automatic_caption, find_automatic_value
from engine.core import catalog
from engine.core.catalog import PartNames
from engine.core.figures import exact, in_groups
from engine.errors import BadKnob
from engine.hardware.device import readers
from engine.hardware.devices.pmem import module_bytes
from engine.insight.knobs.stops import CAPACITY, knob_stops, resolved_value, settled_if_possible
from engine.registry import all_variants
from engine.scenario import knobs
from engine.scenario.knobs import AUTO, PLACES, Knob
from engine.scenario.scenario import KNOBS, values
from engine.units import GB
from pages.ui import session
from pages.ui.plain import escape_markdown


def draw(knob: Knob, refusal: str = "", idle: str = "") -> None:
    """Draw a knob, and below it a refusal, a note that it has no effect, or its default.

    refusal: the sentence that refuses its last value. idle: why it has no effect.
    """
    draw_alone(knob)
    draw_note(knob, refusal, idle)


def draw_alone(knob: Knob, has_tip: bool = True) -> None:
    """Draw a knob without text below it; `has_tip` is False where the page explains the knob itself."""
    if knob.kind == "switch" and not knob.optional:
        key = session.prepare_widget(knob.path)
        st.toggle(knob.title, bool(st.session_state[key]), key=key, help=help_text(knob) if has_tip else None)
    elif knob.kind in ("choice", "switch") and not _is_listed(knob):
        _draw_choice(knob, has_tip)
    elif knob.main:
        draw_slider(knob)
    else:
        key = session.prepare_widget(knob.path)
        st.text_input(knob.title, st.session_state[key], key=key, help=help_text(knob) + _range_sentence(knob))


def _is_listed(knob: Knob) -> bool:
    """Whether a knob's widget holds a list with a value per table, to be typed."""
    return knob.by_table and isinstance(_parsed_value(knob, str(session.held_value(knob.path))), tuple)


def draw_note(knob: Knob, refusal: str, idle: str = "", extra_note: str = "") -> None:
    """Draw the text below a knob: its refusal, or its value in force and further notes."""
    if refusal:
        st.caption(f":red[{escape_markdown(refusal)}]")
    elif note := " ".join(line for line in (_in_force(knob, idle), idle, extra_note) if line):
        st.caption(escape_markdown(note))


def derivation(knob: Knob) -> str:
    """Return the sentence on an automatic knob's value in force; "" for other knobs."""
    return _in_force(knob, "")


def _in_force(knob: Knob, idle: str) -> str:
    """Return the value in force of an optional knob, "" if idle and without any."""
    if not knob.optional or (idle and find_automatic_value(session.scenario(), knob.path).setting is None):
        return ""
    return automatic_caption(session.scenario(), knob.path)


def _draw_choice(knob: Knob, has_tip: bool) -> None:
    words = knob.allowed if knob.kind == "choice" else ("on", "off")
    callback = session.to_model if knob.path == "model.name" else None
    options, key = (AUTO, *words) if knob.optional else words, session.prepare_widget(knob.path)
    widget_value = st.session_state[key]
    if isinstance(knob.choices, PartNames) and widget_value not in options and knob.choices.scenario_name(widget_value):
        options = (*options, widget_value)  # a part that a link has brought
    st.selectbox(
        knob.title,
        options,
        session.option_index(options, key),
        key=key,
        help=help_text(knob) if has_tip and knob.path != "system" else None,  # the glossary explains the system in the bar
        on_change=callback,
        format_func=title if knob.path == "system" else str,
    )


@cache
def title(system: str) -> str:
    """Return a system's title for lists, with its link name and confidence."""
    definition = registry.load_variant("systems", system)
    own_title = str(getattr(definition, "title", ""))
    doubt = " (headline only)" if getattr(definition, "confidence", "") == "headline only" else ""
    return (f"{own_title} ({system})" if own_title and own_title.lower() != system else own_title or system) + doubt


def draw_slider(knob: Knob, slider_values: Sequence[float] = (), has_tip: bool = True) -> tuple[DeltaGenerator, DeltaGenerator]:
    """Draw a knob's title with a field for the exact value, and a slider below.

    Return the slider's container, and the container next to the title. The slider has `slider_values`, or else the knob's stops.
    If the value is changed elsewhere, a new slider is drawn: the browser may still be sending the old slider's position.
    """
    exact, state_key = session.prepare_widget(knob.path), f"shown {knob.path}"
    knob_value = _parsed_value(knob, st.session_state[exact])
    place, options = knobs.write(knob, knob_value), places(knob, knob_value, slider_values)
    turn, previous_place = st.session_state.get(state_key, (0, place))
    st.session_state[state_key] = turn + (place != previous_place), place
    slide = slider(knob.path)
    st.session_state[slide] = place
    with st.container(horizontal=True, vertical_alignment="center", key=f"line {knob.path}"):
        st.markdown(escape_markdown(knob.title), help=help_text(knob) if has_tip else None, width="stretch")
        title_container = st.container(width="content")
        st.text_input(f"{knob.title}, exact", st.session_state[exact], key=exact, label_visibility="collapsed", width=EXACT_WIDTH)
    slider_container = st.container(gap=None)
    slider_container.select_slider(
        knob.title,
        tuple(options),
        place,
        key=slide,
        label_visibility="collapsed",
        on_change=_take_slider_place,
        args=(knob.path, slide),
        format_func=options.__getitem__,
    )
    return slider_container, title_container


def slider(path: str) -> str:
    """Return the session key of the slider that a knob has at present."""
    return f"slide {path} {st.session_state[f'shown {path}'][0]}"


def _take_slider_place(path: str, slide: str) -> None:
    if slide == slider(path):
        place = st.session_state[slide]
        st.session_state.update({session.widget(path): place, f"shown {path}": (st.session_state[f"shown {path}"][0], place)})


def places(knob: Knob, knob_value: Any, slider_values: Sequence[float] = ()) -> dict[str, str]:
    """Return the slider's positions in order: a text and a label for each.

    The knob's value, or auto, takes the position of the nearest stop, and is its label.
    """
    scenario = session.scenario()
    settled = settled_if_possible(scenario)
    effective_value = find_automatic_value(scenario, knob.path).setting if knob_value is None else knob_value
    numbers, in_force = slider_values or knob_stops(settled, knob), resolved_value(settled, knob.path)
    place = effective_value if in_force is None else in_force  # of a capacity: in whole modules
    nearest = None if effective_value is None else min(numbers, key=lambda number: abs(number - place))
    labels = {
        knobs.write(knob, knob_value if number == nearest else number): stop_label(
            knob, effective_value if number == nearest else number
        )
        for number in numbers
    }
    labelled = {text: f"{AUTO}, {label}" if text == AUTO else label for text, label in labels.items()}
    return labelled if effective_value is not None else {AUTO: AUTO, **labelled}


def stop_label(knob: Knob, number: float) -> str:
    """Return the label of a slider's position: PMEM as "4 × 128 GB", other numbers without unit."""
    if knob.path != CAPACITY:
        return in_groups(number)
    module = module_bytes(session.scenario().machine) / GB
    count = number / module
    return f"{exact(count)} × {exact(module)} GB" if count == int(count) else exact(number, "GB")


def _parsed_value(knob: Knob, text: str) -> Any:
    try:
        return knobs.parse(knob, text)
    except BadKnob:
        return values(session.scenario())[knob.path]


def help_text(knob: Knob) -> str:
    """Return the explanation of a knob, with its parts that are not on sale, or where it acts."""
    if knob.acts == "always":
        return knob.help + _not_on_sale(knob)
    return f"{knob.help} Acts in {PLACES.get(knob.acts, 'a full run')}, not in the estimate."


def _not_on_sale(knob: Knob) -> str:
    """Return the sentence on a knob's parts that are not on sale; "" for none."""
    kinds = (kind for name in readers(knob.path) for kind in all_variants("devices")[name].kinds) if knob.choices else ()
    parts = ((kind, name) for kind in dict.fromkeys(kinds) for name in catalog.part_names_of(kind) if name in knob.allowed)
    marks = [f"{name} {mark}" for kind, name in parts if (mark := catalog.availability(kind, name).mark)]
    return f" Not on sale: {', '.join(marks)}." if marks else ""


def _range_sentence(knob: Knob) -> str:
    """Return the range as a sentence for the help, with "auto" where allowed."""
    extent = f" From {exact(knob.low)} to {exact(knob.high)}." if knob.low is not None and knob.high is not None else ""
    return extent + (" May be auto." if knob.optional else "")


MAIN_KNOBS = tuple(knob for knob in KNOBS.values() if knob.main)
EXACT_WIDTH = 110  # pixels of the field for the exact value
BAR_KNOBS = ("system",)  # knobs in the bar on top
