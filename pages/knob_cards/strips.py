"""Knob strips of the page Design: a card for each knob that moves something, with what it moves.

A card has the knob, a strip of step time, energy and price over its values, and one line. All else stands behind its (?).
"""

from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any

import streamlit as st

from engine.core.catalog import own_folder
from engine.core.part_files.folder import PartsFolder
from engine.insight.knobs.effect import effect
from engine.insight.knobs.front import FrontKnobs, by_effect, front_knobs
from engine.insight.knobs.moves import is_flat, moved_sentence
from engine.insight.knobs.strips import Strip
from engine.insight.knobs.strips import strips as knob_strips
from engine.results.result import Result
from engine.scenario.presets import preset
from engine.scenario.scenario import KNOBS, Scenario, values
from pages.answers import later, question
from pages.graphics import chart
from pages.knob_cards import card_notes, knob_map, strip_charts
from pages.ui import beside_knob, knob_widgets, session
from pages.ui.plain import escape_markdown

STRIPS_ADDED, STRIP_TO_ADD, MAX_ADDED = "strips added", "strip to add", 4
FLAT_SECTION, SHOW_FLAT = "flat knobs", "show flat knobs"
NUMBERS, CHOICE = ("float", "int"), "choice"
KINDS = (*NUMBERS, CHOICE, "switch")


def strip_knobs() -> tuple[str, ...]:
    """Return the knobs that Design draws itself: those in front, those added, and main knobs that the system does not read."""
    scenario = session.scenario()
    return (*front_knobs(scenario, _added()), *by_effect(scenario, ()).unread)


def _added() -> tuple[str, ...]:
    return tuple(path for path in st.session_state.get(STRIPS_ADDED, ()) if path in KNOBS)


def strips_by_knob(scenario: Scenario) -> dict[str, Strip]:
    """Return the strips by knob.

    Knobs without a strip, such as those of full runs only, are left out.
    """
    paths = tuple(path for path in front_knobs(scenario, _added()) if KNOBS[path].kind in KINDS)
    arguments = scenario, paths, question.baseline_scenario(scenario)
    sized = scenario.machine.target_throughput is not None  # each stop tries many counts of nodes
    strip_list = later.cached_result(knob_strips, *arguments) if sized else _cached_strips(own_folder(), *arguments)
    return {strip.path: strip for strip in strip_list}


def acting_strips(scenario: Scenario) -> dict[str, Strip]:
    """Return the strips of the knobs that have a card."""
    strips = strips_by_knob(scenario)
    return {path: strips[path] for path in sorted_knobs(scenario, strips, {}).acting if path in strips}


@lru_cache(maxsize=64)  # a page is drawn several times as its answers come
def _cached_strips(parts: PartsFolder, *arguments: Any) -> tuple[Strip, ...]:
    """Return the strips, cached by the folder of the user's parts, as parts are stops."""
    return knob_strips(*arguments)


def draw(scenario: Scenario, result: Result, refused: Mapping[str, str]) -> None:
    """Draw a card for each knob that acts, one line for all others, and a list from which to add a knob."""
    strips = strips_by_knob(scenario)
    knobs = sorted_knobs(scenario, strips, refused)
    for path in knobs.acting:
        _draw_card(scenario, path, strips.get(path), result, refused.get(path, ""))
    if idle := (*knobs.flat, *knobs.unread):
        _draw_flat_line(idle)
        for path in idle if st.session_state.get(FLAT_SECTION) else ():
            _draw_card(scenario, path, strips.get(path), result, refused.get(path, ""))
    knob_map.draw(scenario, {path: strips[path] for path in knobs.acting if path in strips})
    _draw_list(knobs)


def _draw_flat_line(paths: Sequence[str]) -> None:
    """Draw the grey line with the knobs that move nothing, and the button that shows or hides their cards."""
    is_shown = bool(st.session_state.get(FLAT_SECTION))
    with st.container(horizontal=True, vertical_alignment="center", key="flat-line"):
        st.caption(escape_markdown(f"Move nothing here: {', '.join(KNOBS[path].label for path in paths)}"), width="stretch")
        st.button("Hide" if is_shown else "Show", key=SHOW_FLAT, type="tertiary", on_click=_show_flat, args=(not is_shown,))


def _show_flat(is_shown: bool) -> None:
    st.session_state[FLAT_SECTION] = is_shown


def sorted_knobs(scenario: Scenario, strips: Mapping[str, Strip], refused: Mapping[str, str]) -> FrontKnobs:
    """Return the knobs by what they move; a knob that is added, refused, or changed from the preset keeps its card."""
    start, now = values(preset(session.base()).scenario), values(scenario)
    kept = (path for path in strips if path in _added() or path in refused or now[path] != start[path])
    return by_effect(scenario, tuple(strips.values()), tuple(kept))


def _draw_list(knobs: FrontKnobs) -> None:
    drawn = {*knobs.acting, *knobs.flat, *knobs.unread, *knob_widgets.BAR_KNOBS}
    st.session_state[STRIP_TO_ADD] = None
    st.selectbox(
        "Add a knob",
        [
            path
            for path, knob in KNOBS.items()
            if path not in drawn and knob.kind in KINDS and knob.acts == "always" and "." in path
        ],
        key=STRIP_TO_ADD,
        index=None,
        placeholder="+ Add a knob (write its name)",
        format_func=lambda path: KNOBS[path].title,
        on_change=_add,
        label_visibility="collapsed",
    )


def _add() -> None:
    if path := st.session_state[STRIP_TO_ADD]:
        st.session_state[STRIPS_ADDED] = (*st.session_state.get(STRIPS_ADDED, ()), path)[-MAX_ADDED:]


def _drop(path: str) -> None:
    st.session_state[STRIPS_ADDED] = tuple(
        added_path for added_path in st.session_state.get(STRIPS_ADDED, ()) if added_path != path
    )


def _draw_card(scenario: Scenario, path: str, strip: Strip | None, result: Result, refusal: str) -> None:
    with st.container(key=f"strip-{path.replace('.', '-')}"):
        knob, has_numbers = KNOBS[path], strip is not None and KNOBS[path].kind in NUMBERS
        if strip and has_numbers:
            slider_values = [stop.knob_value for stop in strip.stops]
            picture_area, button_area = knob_widgets.draw_slider(knob, slider_values, has_tip=False)
        else:
            with st.container(horizontal=True, vertical_alignment="bottom"):
                with st.container(width="stretch"):
                    knob_widgets.draw_alone(knob, has_tip=False)
                button_area = st.container(width="content")
            picture_area = st.container()
        with picture_area:
            if strip and not is_flat(strip):
                spec = strip_charts.strip_chart(knob.kind != CHOICE, bool(strip.marks))
                alt = f"Step time, energy and price over {knob.label}; the sentence below describes them"
                st.vega_lite_chart(strip_charts.lane_rows(strip), spec, key=f"spark {path}", alt=alt)
            _draw_line(scenario, path, strip, result, refusal)
        with button_area, st.popover("?", type="tertiary", key=f"about {path}", on_change="rerun") as about:
            if about.open:
                _draw_about(scenario, path, strip)


def _draw_line(scenario: Scenario, path: str, strip: Strip | None, result: Result, refusal: str) -> None:
    """Draw the card's one line, and under it what a reader must know to act on it."""
    if refusal:
        st.caption(f":red[{escape_markdown(refusal)}]")
    elif strip and (not is_flat(strip) or strip.acts):
        st.caption(escape_markdown(card_notes.line(scenario, strip, result)))
    else:
        st.caption(escape_markdown(effect(scenario, path).sentence))  # this needs estimates of its own


def _draw_about(scenario: Scenario, path: str, strip: Strip | None) -> None:
    """Draw what stands behind a card's (?): help, the value in force and its reason, pictures and table, constants."""
    knob = KNOBS[path]
    sentences: Sequence[str] = (knob_widgets.help_text(knob), knob_widgets.derivation(knob), strip.sentence if strip else "")
    for sentence in filter(None, sentences):
        st.markdown(escape_markdown(sentence))
    with st.container(horizontal=True):
        if strip:
            title, rows = f"{knob.title}: {moved_sentence(strip)}", strip_charts.stop_rows(strip)
            spec = strip_charts.strip_chart(knob.kind != CHOICE, bool(strip.marks))
            titled = chart.add_titles(spec, title, f"Step time, energy a batch and price over {knob.label}, each from zero")
            columns = strip_charts.COLUMNS
            chart.draw_save_buttons(strip_charts.lane_rows(strip), titled, f"strip {path.replace('.', ' ')}", columns, rows)
        if path in _added():
            st.button("× remove", key=f"drop {path}", on_click=_drop, args=(path,), help="Moves the knob back to the sidebar.")
    for title, constants in beside_knob.constants_by_device(path, scenario).values():
        st.markdown(beside_knob.text(title, constants))
