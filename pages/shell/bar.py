"""The scenario bar: model, system, baseline, target, changed knobs, and undo."""

from collections.abc import Collection, Mapping
from functools import partial
from typing import Any

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from engine.core.figures import count, in_groups
from engine.core.part_files.lists import LISTING
from engine.scenario.knobs import SEPARATOR, Knob, write
from engine.scenario.presets import own_preset_names, preset, preset_names
from engine.scenario.scenario import KNOBS, values
from pages.answers import question
from pages.answers.headline import model_name
from pages.shell import glossary, projector, undo
from pages.ui import knob_widgets, session
from pages.ui.plain import escape_markdown

SLOT = "slot of share"
YOURS = "your"
MOST_CHIPS = 12  # two lines of a window of 1440 pixels
MOST_LETTERS = 20  # characters of a value on a chip


def draw(refused: Mapping[str, str], full_bar: bool = True, keep_line: bool = False) -> None:
    """Draw the scenario bar, and the refused values, which have changed nothing.

    refused: sentences by knob path. full_bar: whether the bar has all its fields.
    keep_line: whether the line of chips is drawn without chips too, so that fields below do not move under the pointer.
    """
    undo.record()
    projector.apply()
    if not full_bar:  # the page has fields for all of this itself
        _say_refused(refused)
        return
    with st.container(key="bar"):
        model_column, system_column, against_column, target_column = st.columns((4, 4, 3, 2), vertical_alignment="bottom")
        with model_column:
            draw_model()
        with system_column:
            knob_widgets.draw(KNOBS["system"], refused.get("system", ""))
        with against_column:
            question.draw_against(session.scenario())
        with target_column:
            question.draw_within()
        draw_chips()
        if keep_line and not changed_knobs():
            with st.container(key="chips"):
                st.caption("All knobs are as in the preset.")
    _say_refused(refused)


def _say_refused(refused: Mapping[str, str]) -> None:
    """Draw which values were refused; the page shows the last scenario without them."""
    if refused:
        knob_names = ", ".join(KNOBS[path].label for path in refused if path)
        reason = refused.get("", f"{knob_names}: the value was refused, and the sentence beside the field says why.")
        with st.container(key="refused"):
            st.error(escape_markdown(f"{reason} The charts below show the last valid scenario."))


def draw_tail() -> None:
    """Draw undo, a place for Share, and the glossary.

    They stand at the top, but the keyboard reaches them after the page.
    """
    with st.container(horizontal=True, vertical_alignment="center", key="tail"):
        st.button("↶ Undo", on_click=undo.undo, disabled=not undo.undo_steps(), key="undo", type="tertiary")
        st.session_state[SLOT] = st.container(horizontal=True, width="content", key="share-slot")
        glossary.draw()


def share_slot() -> DeltaGenerator:
    """Return the container in which a page draws Share."""
    slot: DeltaGenerator = st.session_state[SLOT]
    return slot


def changed_knobs() -> list[str]:
    """Return the knobs that differ from the preset, without the knobs that the bar has fields for."""
    start, scenario_values = values(preset(session.base()).scenario), values(session.scenario())
    return [path for path in KNOBS if scenario_values[path] != start[path] and path not in knob_widgets.BAR_KNOBS]


def draw_model(label: str = "Model and machine") -> None:
    """Draw the choice of the preset; its label says if the model is the visitor's own.

    The options keep their titles: a select box whose options are renamed would choose another preset.
    """
    name = model_name(session.scenario())
    st.session_state[session.PRESET_FIELD] = session.base()
    options = (*preset_names(), *own_preset_names())
    st.selectbox(
        f"Your{name.removeprefix(YOURS)}" if name.startswith(YOURS) else label,
        options,
        session.option_index(options, session.PRESET_FIELD),
        key=session.PRESET_FIELD,
        on_change=_choose_preset,
        format_func=lambda name: preset(name).list_title,
    )


def _choose_preset() -> None:
    session.choose_preset()
    question.start_from(session.base())


def draw_chips(omitted_knobs: Collection[str] = ()) -> None:
    """Draw a chip for each changed knob; a click restores the preset's value.

    Knobs in `omitted_knobs` have no chip.
    """
    paths = [path for path in changed_knobs() if path not in omitted_knobs]
    if not paths:
        return
    with st.container(horizontal=True, vertical_alignment="center", key="chips"):
        _draw_chip_row(paths)


def _draw_chip_row(paths: list[str]) -> None:
    st.caption("Changed:", width="content")
    for path in paths[:MOST_CHIPS]:
        _draw_chip(path)
    if hidden_paths := paths[MOST_CHIPS:]:
        with st.popover(f"{len(hidden_paths)} more", type="tertiary"):
            for path in hidden_paths:
                _draw_chip(path)
    if len(paths) > 1:
        st.button("Reset all", on_click=session.to_preset, type="tertiary", key="reset")


def _draw_chip(path: str) -> None:
    knob, preset_value = KNOBS[path], values(preset(session.base()).scenario)[path]
    knob_value = values(session.scenario())[path]
    st.button(
        escape_markdown(f"{knob.title} {chip_text(knob, knob_value)} ×"),
        on_click=partial(session.reset_knob, path),
        key=f"chip {path}",
        help=escape_markdown(f"Restores the preset's {_shown(knob, preset_value)}."),
    )


def chip_text(knob: Knob, setting: Any) -> str:
    """Return a knob's value as text for a chip.

    A number has all its digits, in groups, so that it reads back as the same number. A name is whole too. A long list is counted,
    a long free text cut.
    """
    if isinstance(setting, tuple):
        is_numbers = all(isinstance(part, int | float) for part in setting)
        text = SEPARATOR.get(knob.kind, LISTING).join(map(in_groups, setting)) if is_numbers else write(knob, setting)
        return text if len(text) <= MOST_LETTERS else count(len(setting), "value")
    if isinstance(setting, int | float) and not isinstance(setting, bool):
        return in_groups(setting)
    text = _shown(knob, setting)
    return f"{text[:MOST_LETTERS]}…" if knob.kind == "text" and len(text) > MOST_LETTERS else text


def _shown(knob: Knob, setting: Any) -> str:
    """Return a knob's value as its widget has it, a switch's as on or off."""
    return write(knob, setting) if knob.kind == "switch" else str(session.widget_content(knob, setting))
