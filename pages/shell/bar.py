"""The scenario bar: model, training system, baseline and target, the knobs that differ from the preset, and undo."""

from collections.abc import Collection, Mapping
from functools import partial

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from engine.scenario.presets import preset, preset_names
from engine.scenario.scenario import KNOBS, values
from pages.answers import question
from pages.answers.headline import model_name
from pages.shell import glossary, projector, undo
from pages.ui import knob_widgets, session
from pages.ui.numbers import grouped
from pages.ui.plain import plain

SLOT = "slot of share"
YOURS = "your"
MOST_CHIPS = 12  # two lines of a window of 1440 pixels
MOST_LETTERS = 20  # of a value
MOST_VALUES = 4  # of a knob with one value a table


def draw(refused: Mapping[str, str], whole: bool = True, keep_line: bool = False) -> None:
    """Draw the bar, and say what was refused and so has not changed.

    `keep_line` keeps the line of chips where there are none: fields below must not move under the pointer.
    """
    undo.record()
    projector.apply()
    if not whole:  # a page that asks for all of this itself
        st.session_state[session.PRESET] = st.session_state[session.PRESET]
        question.keep_target()
        _say_refused(refused)
        return
    with st.container(key="bar"):
        model, system, against, target = st.columns((4, 4, 3, 2), vertical_alignment="bottom")
        with model:
            draw_model()
        with system:
            knob_widgets.draw(KNOBS["system"], refused.get("system", ""))
        with against:
            question.draw_against(session.scenario())
        with target:
            question.draw_within()
        draw_chips()
        if keep_line and not changed_knobs():
            with st.container(key="chips"):
                st.caption("Nothing differs from the preset.")
    _say_refused(refused)


def _say_refused(refused: Mapping[str, str]) -> None:
    """Say which values were refused, and that the page shows the last scenario without them."""
    if refused:
        where = ", ".join(KNOBS[path].label for path in refused if path)
        why = refused.get("", f"{where}: the value was refused, and the sentence beside the field says why.")
        with st.container(key="refused"):
            st.error(plain(f"{why} The charts below show the last scenario that could be read."))


def draw_tail() -> None:
    """Draw undo, a slot for what the page itself shares, and the words: seen on top, reached by the keyboard after the page."""
    with st.container(horizontal=True, vertical_alignment="center", key="tail"):
        st.button("↶ Undo", on_click=undo.undo, disabled=not undo.undo_steps(), key="undo", type="tertiary")
        st.session_state[SLOT] = st.container(width="content")
        glossary.draw()


def share_slot() -> DeltaGenerator:
    """Return the container in which a page draws Share."""
    found: DeltaGenerator = st.session_state[SLOT]
    return found


def changed_knobs() -> list[str]:
    """Return the knobs that differ from the session's preset, the system aside, which stands in the bar."""
    start, now = values(preset(session.base()).scenario), values(session.scenario())
    return [path for path in KNOBS if now[path] != start[path] and path not in knob_widgets.BAR_KNOBS]


def draw_model(label: str = "Model and machine") -> None:
    """Draw the choice of the preset, named after an own model that began from it.

    The options keep their titles: a select box whose options are renamed would choose another preset by itself.
    """
    name = model_name(session.scenario())
    st.selectbox(
        f"Your{name.removeprefix(YOURS)}" if name.startswith(YOURS) else label,
        preset_names(),
        session.place(preset_names(), session.PRESET),
        key=session.PRESET,
        on_change=session.to_preset,
        format_func=lambda name: preset(name).title,
    )


def draw_chips(aside: Collection[str] = ()) -> None:
    """Draw a chip for each knob that differs, those `aside` left out; pressing it takes the preset's value back."""
    paths = [path for path in changed_knobs() if path not in aside]
    if not paths:
        return
    with st.container(horizontal=True, vertical_alignment="center", key="chips"):
        _each(paths)


def _each(paths: list[str]) -> None:
    st.caption("Differs:", width="content")
    for path in paths[:MOST_CHIPS]:
        _chip(path)
    if more := paths[MOST_CHIPS:]:
        with st.popover(f"{len(more)} more", type="tertiary"):
            for path in more:
                _chip(path)
    if len(paths) > 1:
        st.button("Reset all", on_click=session.to_preset, type="tertiary", key="reset")


def _chip(path: str) -> None:
    knob, was = KNOBS[path], values(preset(session.base()).scenario)[path]
    now = values(session.scenario())[path]
    many = isinstance(now, tuple) and len(now) > MOST_VALUES
    text = f"{len(now)} values" if many else grouped(str(session.shown(knob, now)))
    text = text if len(text) <= MOST_LETTERS else f"{text[:MOST_LETTERS]}…"
    st.button(
        plain(f"{knob.title} {text} ×"),
        on_click=partial(session.take_back, path),
        key=f"chip {path}",
        help=plain(f"Back to the preset's {session.shown(knob, was)!s}."),
    )
