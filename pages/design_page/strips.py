"""Knob strips of the page Design, one for each main knob.

A strip has the knob's useful values, the value in force, those of products, and the step time.
"""

from bisect import bisect_left
from collections.abc import Mapping
from functools import cache, lru_cache
from math import isnan, log
from operator import itemgetter
from typing import Any

import pandas as pd
import streamlit as st

from engine.core.catalog import own_folder
from engine.core.part_files.folder import PartsFolder
from engine.insight import knob_strips
from engine.insight.decomposition import RELAXED
from engine.insight.knob_effect import KnobEffect, effect
from engine.insight.knob_strips import Strip
from engine.registry import load_variant
from engine.scenario.scenario import KNOBS, Scenario
from pages.answers import later, question
from pages.graphics.charts import CURVE, INK, Spec, conditional, layer, only_rows, quantity, rule_mark, tooltip_fields
from pages.ui import beside_knob, knob_widgets, session
from pages.ui.numbers import result_text

LINE = "#5b7bb4"
LABEL_SPACING = 0.16  # of a strip: labels closer than this would overlap
STRIPS_ADDED, STRIP_TO_ADD, MAX_ADDED = "strips added", "strip to add", 4
NUMBERS = ("float", "int")
KINDS = (*NUMBERS, "choice", "switch")


def strip_knobs() -> tuple[str, ...]:
    """Return the knobs that have a strip.

    These are main knobs, relaxed lookup if the system has this choice, and added knobs.
    """
    # The answer next to the strips switches relaxed lookup too.
    relaxed = [RELAXED] * load_variant("systems", session.scenario().system).can_relax
    main = [*(knob.path for knob in knob_widgets.MAIN_KNOBS if knob.path not in knob_widgets.BAR_KNOBS), *relaxed]
    return (*main, *(path for path in st.session_state.get(STRIPS_ADDED, ()) if path in KNOBS and path not in main))


def strips_by_knob(scenario: Scenario) -> dict[str, Strip]:
    """Return the strips by knob.

    Knobs without a strip, such as those of full runs only, are left out.
    """
    arguments = scenario, tuple(path for path in strip_knobs() if KNOBS[path].kind in KINDS), question.baseline_scenario(scenario)
    sized = scenario.machine.target_throughput is not None  # each stop tries many counts of nodes
    strip_list = later.cached_result(knob_strips.strips, *arguments) if sized else _cached_strips(own_folder(), *arguments)
    return {strip.path: strip for strip in strip_list}


@lru_cache(maxsize=64)  # a page is drawn several times as its answers come
def _cached_strips(parts: PartsFolder, *arguments: Any) -> tuple[Strip, ...]:
    """Return the strips, cached by the folder of the user's parts, as parts are stops."""
    return knob_strips.strips(*arguments)


def draw(scenario: Scenario, refused: Mapping[str, str]) -> None:
    """Draw all strips, and a list from which to add one."""
    strips, strip_paths = strips_by_knob(scenario), strip_knobs()
    for path in strip_paths:
        with st.container(key=f"strip-{path.replace('.', '-')}"):
            _strip(scenario, path, strips.get(path), refused.get(path, ""))
    addable_paths = [
        path for path, knob in KNOBS.items() if path not in strip_paths and knob.kind in KINDS and knob.acts == "always"
    ]
    st.session_state[STRIP_TO_ADD] = None
    st.selectbox(
        "Add a knob",
        [path for path in addable_paths if path not in knob_widgets.BAR_KNOBS and "." in path],
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


def _strip(scenario: Scenario, path: str, strip: Strip | None, refusal: str) -> None:
    knob, acts = KNOBS[path], KnobEffect(True) if strip and strip.acts else effect(scenario, path)  # `effect` needs estimates
    idle, step_sentence = "" if acts.acts else acts.sentence, sentence(strip) if strip and acts.acts else ""
    if strip and knob.kind in NUMBERS:
        words_area, button_area = knob_widgets.draw_slider(knob, [stop.knob_value for stop in strip.stops])
        with words_area:
            alt = f"Step time over {knob.label}; the sentence below describes it"
            st.vega_lite_chart(
                stop_rows(strip), strip_chart(len(strip.stops) > 1, bool(strip.marks)), key=f"spark {path}", alt=alt
            )
    else:
        with st.container(horizontal=True, vertical_alignment="bottom"):
            with st.container(width="stretch"):
                knob_widgets.draw_alone(knob)
            button_area = st.container(width="content")
        words_area = st.container()
    with words_area:
        knob_widgets.draw_note(knob, refusal, idle, step_sentence)
    with button_area:
        beside_knob.draw(path, scenario, brief=True)
        if path in st.session_state.get(STRIPS_ADDED, ()):
            st.button(
                "× remove",
                key=f"drop {path}",
                on_click=_drop,
                args=(path,),
                type="tertiary",
                help="Moves the knob back to the sidebar.",
            )


def sentence(strip: Strip) -> str:
    """Return a sentence on the value from which the knob has no more effect.

    For a knob of words the sentence has the step time of each word, too.
    """
    if KNOBS[strip.path].kind in NUMBERS:
        return strip.sentence
    steps = (
        f"{stop.text} {'cannot run' if isnan(stop.seconds) else result_text(stop.seconds * 1e3, 'ms')}" for stop in strip.stops
    )
    return f"{', '.join(steps)} a batch. {strip.sentence}"


def stop_rows(strip: Strip) -> pd.DataFrame:
    """Return a row for each stop and for each product.

    A stop has place, value, step [ms] and here (True for the value in force); a product has place and product.
    """
    rows: list[dict[str, object]] = [
        {
            "place": place,
            "value": f"{stop.text} {KNOBS[strip.path].unit}".strip(),
            "step": stop.seconds * 1e3,
            "here": place == strip.own_index,
            "product": "",
            "label": "",
            "refused": stop.refused,
        }
        for place, stop in enumerate(strip.stops)
    ]
    numbers = [stop.knob_value for stop in strip.stops]
    place_by_product, last_label_place = {mark.text: _place_among(mark.knob_value, numbers) for mark in strip.marks}, -1.0
    for text, place in sorted(
        ((text, place) for text, place in place_by_product.items() if place is not None), key=itemgetter(1)
    ):
        room = place - last_label_place > LABEL_SPACING * len(numbers)
        last_label_place = place if room else last_label_place
        rows.append({"place": place, "product": text, "label": text.partition(",")[0] * room})
    frame = pd.DataFrame(rows)
    return frame.assign(baseline=strip.baseline.seconds * 1e3 if strip.baseline else None)


def _place_among(mark_value: float, stops: list[float]) -> float | None:
    """Return the place of a value among evenly spaced stops, None outside them."""
    if not stops[0] <= mark_value <= stops[-1]:
        return None
    upper = max(bisect_left(stops, mark_value), 1)
    low, high = stops[upper - 1], stops[min(upper, len(stops) - 1)]
    part = (
        (log(mark_value / low) / log(high / low))
        if low > 0 and high > low
        else 0.0
        if high == low
        else (mark_value - low) / (high - low)
    )
    return upper - 1 + part


def line_with_dots(x: Spec, y: Spec, tip: list[Spec], size: int) -> tuple[Spec, Spec]:
    """Return a line and its dots.

    The dot of the value in force (`here`) is large and coloured.
    """
    line = layer({"type": "line", "color": LINE, "strokeWidth": 2}, x=x, y=y)
    dot_style = {"size": conditional("datum.here", size, size / 6), "color": conditional("datum.here", CURVE, LINE)}
    dots = {"type": "point", "aria": False, "filled": True, "opacity": 1}  # without a dot its group would have no name
    return line, layer(dots, x=x, y=y, tooltip=tip, **dot_style)


@cache
def strip_chart(many_stops: bool, products: bool) -> Spec:
    """Return a chart of step time over evenly spaced stops, as on the slider.

    The value in force is marked.
    The number of stops is in the data only: a changed specification would make the browser rebuild the chart, which is slower.
    """
    domain = {} if many_stops else {"domain": [0, 1]}
    x = quantity("place", axis=None, scale={"zero": False, "nice": False, **domain})
    y = quantity("step", axis=None, scale={"zero": True, "nice": False, "range": [32, 4]})
    tip = tooltip_fields(
        ("value", "Value"),
        ("step", "Step time [ms]", ",.4~r"),
        ("baseline", "Baseline [ms]", ",.4~r"),
        ("product", "Product"),
        ("refused", "Cannot run"),
    )
    line, dots = ({**only_rows("datum.product == ''"), **layer_spec} for layer_spec in line_with_dots(x, y, tip, 110))
    sold, product = tooltip_fields(("product", "Product")), {"filter": "datum.product != ''"}
    ticks = layer(rule_mark(strokeWidth=2, color=INK), product, x=x, y={"value": 36}, y2={"value": 42}, tooltip=sold)
    product_labels = layer(
        {"type": "text", "baseline": "top", "fontSize": 10, "color": INK},
        {"filter": "datum.label != ''"},
        x=x,
        y={"value": 44},
        text={"field": "label"},
        tooltip=sold,
    )
    padding = {"left": 8, "right": 8, "top": 2, "bottom": 2}
    return {
        "height": 56 if products else 36,
        "padding": padding,
        "layer": [line, dots, *([ticks, product_labels] if products else [])],
    }
