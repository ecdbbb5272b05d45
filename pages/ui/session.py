"""The session: its last good scenario, its preset, and the widgets of drawn knobs.

Streamlit forgets the value of a widget that is not drawn, and copies all its state for each drawn widget. So the value of a knob
that is not drawn is only stored in the scenario.
"""

from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from typing import Any

import streamlit as st

from engine.core.catalog import PartNames, own_folder
from engine.core.part_files.known import DIGEST_SEPARATOR, OwnPart, add_parts, find_part
from engine.errors import BadKnob
from engine.scenario import knobs, machine
from engine.scenario.knobs import Knob
from engine.scenario.presets import own_preset_names, preset, preset_names, root_of
from engine.scenario.scenario import (
    KNOBS,
    Scenario,
    clear_contradictions,
    fit_bottom_mlp,
    named_model,
    stale_lists,
    values,
    with_values,
)
from engine.sweep.link_parts import is_foreign

PRESET, SCENARIO, AXES, SYSTEMS, CRASH = "held preset", "scenario", "axes", "systems", "crash"
ORIGIN = "own preset of the link"
PRESET_FIELD = "preset"  # the key of the widget, whose content is gone once another page is drawn
SAMPLE, PAGE_LINK, REFUSED, DROPPED = "sample", "link of this page", "refused", "dropped lists"
REDRAWN_BY_US, FOCUS_PAGE, PARTS = "redrawn by us", "landed", "parts of a link"


def widget(path: str) -> str:
    """Return the session key of a knob's widget."""
    return f"knob {path}"


def scenario() -> Scenario:
    """Return the last good scenario of this session."""
    session_scenario: Scenario = st.session_state[SCENARIO]
    return session_scenario


def base() -> str:
    """Return the name of the preset that the session started from.

    For an own preset whose file is gone, it is the shipped preset that the file was based on.
    """
    name = str(st.session_state[PRESET])
    return name if name in preset_names() or name in own_preset_names() else root_of(name)


def origin() -> str:
    """Return the own preset from which the session's link was made, if its file is not here; else ""."""
    name = str(st.session_state[PRESET])
    return name if name != base() else str(st.session_state.get(ORIGIN, ""))


def axes() -> tuple[str, ...]:
    """Return the axes of the sweep that the session holds, as links write them."""
    return tuple(st.session_state.get(AXES, ()))


def sample() -> str:
    """Return the sampling of the axes' points as text for links; "" is the whole grid."""
    return str(st.session_state.get(SAMPLE, ""))


def crash() -> str:
    """Return the crash state that a link has named, as text that replays it; or ""."""
    return str(st.session_state.get(CRASH, ""))


def hold_variation(start: str, variation: Scenario) -> None:
    """Store a variation of preset `start`; call before widgets are drawn."""
    if start != st.session_state.get(PRESET):
        st.session_state[ORIGIN] = ""
    st.session_state[PRESET] = start
    hold_scenario(variation)


def put_origin(name: str) -> None:
    """Store the own preset from which a link was made, "" for none or for one whose file is here."""
    st.session_state[ORIGIN] = name if name not in own_preset_names() else ""


def put_parts(brought: Iterable[OwnPart]) -> None:
    """Store those parts of a link that this computer's folder lacks, or has with other content."""
    st.session_state[PARTS] = tuple(filter(is_foreign, brought))


def brought_parts() -> tuple[OwnPart, ...]:
    """Return the parts that the session's link has brought."""
    return tuple(st.session_state.get(PARTS, ()))


def hold_scenario(new_scenario: Scenario) -> None:
    """Store a scenario and set its widgets; call in callbacks or before widgets are drawn."""
    st.session_state[SCENARIO] = new_scenario
    for path, knob_value in values(new_scenario).items():
        if widget(path) in st.session_state:
            st.session_state[widget(path)] = widget_content(KNOBS[path], knob_value)


def widget_content(knob: Knob, knob_value: Any) -> str | bool:
    """Return the content of a knob's widget for a value.

    It is a bool for a switch, a title as in lists for a part, and otherwise the text of links.
    """
    if isinstance(knob.choices, PartNames) and knob_value is not None:
        return knob.choices.list_name(knob_value)
    return knob_value if isinstance(knob_value, bool) and not knob.optional else knobs.write(knob, knob_value)


def restore_choice(name: str, options: Sequence[str], default: str) -> None:
    """Set a widget to its last choice, or to a link's choice, before it is drawn.

    `default` is used if that choice is not among `options`. The choice is stored separately, since Streamlit forgets the value of
    a widget that is not drawn.
    """
    if st.session_state.get(name) not in options:
        last_choice = st.session_state.get(_choice_key(name))
        st.session_state[name] = last_choice if last_choice in options else default
    st.session_state[_choice_key(name)] = st.session_state[name]


def take_choice(name: str, choice: str) -> None:
    """Store a link's choice for a widget, "" for none; call before the widget is drawn."""
    st.session_state.pop(name, None)
    st.session_state[_choice_key(name)] = choice


def choice(name: str) -> str:
    """Return a widget's choice, or a link's choice; "" without either."""
    return str(st.session_state.get(name) or st.session_state.get(_choice_key(name), ""))


def _choice_key(name: str) -> str:
    return f"choice of {name}"


def held_value(path: str) -> str | bool:
    """Return the content of a knob's widget, also where it is not drawn."""
    widget_value: str | bool = st.session_state.get(widget(path), widget_content(KNOBS[path], values(scenario())[path]))
    return widget_value


def prepare_widget(path: str) -> str:
    """Set the value of a knob's widget that will be drawn next; return its key."""
    st.session_state[widget(path)] = held_value(path)
    return widget(path)


def option_index(options: Sequence[str], key: str) -> int:
    """Return the index of a select box's value among its options.

    A widget also gets its stored value as default. Otherwise a browser that has missed the run which set it would send an old
    value.
    """
    selected = st.session_state.get(key)
    return options.index(selected) if selected in options else 0


def read_knob(path: str) -> Any:
    """Return the value of a knob's widget; raises BadKnob with the engine's sentence."""
    widget_value = st.session_state[widget(path)]
    return widget_value if isinstance(widget_value, bool) else knobs.parse(KNOBS[path], widget_value)


def choose_preset() -> None:
    """Start from the preset that the visitor has just chosen; call in a callback."""
    put_origin("")
    hold_variation(name := str(st.session_state[PRESET_FIELD]), preset(name).scenario)


def to_preset() -> None:
    """Set every knob back to the value of the preset; call in a callback."""
    hold_scenario(preset(base()).scenario)


def reset_knob(path: str) -> None:
    """Set one knob to the preset's value; call in a callback.

    If the knob cannot change by itself, its group or all knobs are reset too.
    """
    start = values(preset(base()).scenario)
    group = {name: knob_value for name, knob_value in start.items() if name.partition(".")[0] == path.partition(".")[0]}
    for changes in ({path: start[path]}, group, start):
        with suppress(BadKnob):
            hold_scenario(with_values(scenario(), clear_contradictions(scenario(), changes)[0]))
            return


def to_model() -> None:
    """Set the model's knobs to those of the named model that was just chosen."""
    name = held_value("model.name")
    stale = stale_lists(scenario(), named_model(name)["model.num_tables"])
    hold_scenario(with_values(scenario(), {"model.name": name, **stale}))
    if stale:
        notice = f"{', '.join(stale)} had a value for each table of the earlier model, and now has its default."
        st.session_state[DROPPED] = notice  # the run after this callback shows the notice


def put_data(digest: str) -> None:
    """Set the data file to that with this digest, "" for the generator; call in a callback."""
    st.session_state[widget("data.digest")] = digest


def put_knob(path: str, text: str) -> None:
    """Set one knob to a value as links write it; call in a callback.

    Raises BadKnob for a value that the knob cannot have.
    """
    knob_value = knobs.parse(KNOBS[path], text)
    st.session_state[widget(path)] = widget_content(KNOBS[path], knob_value)


def renew_parts() -> list[str]:
    """Read the visitor's own parts from their files again; return the names of changed parts.

    Call before widgets are drawn. Parts that a link has brought stay as they are in the link while the session uses them.
    """
    add_parts(brought := brought_parts())
    references: dict[str, str] = {}
    for name, choices in machine.PARTS.items():
        if (part := find_part(choices.kinds, getattr(scenario().machine, name))) and part not in brought:
            current_part = own_folder().parts.get((part.kind, part.name))
            if current_part and current_part.digest != part.digest:
                references[f"machine.{name}"] = current_part.reference
    if references:
        hold_scenario(with_values(scenario(), references))
    return [reference.partition(DIGEST_SEPARATOR)[0] for reference in references.values()]


def refusals() -> Mapping[str, str]:
    """Store the widgets' values in the scenario; return refusals by knob path.

    A refused knob keeps its last good value. A contradiction between knobs has the path "" and changes nothing.
    """
    if dropped := st.session_state.pop(DROPPED, ""):
        st.toast(dropped)
    parsed_values, refusal_by_path = {}, {}
    for path in touched_knobs():
        try:
            parsed_values[path] = read_knob(path)
        except BadKnob as error:
            refusal_by_path[path] = str(error)
    scenario_values = values(scenario())
    changes, mlp_notice = fit_bottom_mlp(
        scenario(), {path: knob_value for path, knob_value in parsed_values.items() if knob_value != scenario_values[path]}
    )
    changes, rival_notice = clear_contradictions(scenario(), changes)
    try:
        st.session_state[SCENARIO] = with_values(scenario(), changes)  # else the model's name would set its knobs
    except BadKnob as error:
        refusal_by_path[""] = str(error)
    else:
        if notice := " ".join(filter(None, (mlp_notice, rival_notice))):
            hold_scenario(scenario())
            st.toast(notice)
    st.session_state[REFUSED] = refusal_by_path
    return refusal_by_path


def touched_knobs() -> list[str]:
    """Return the knobs that have a widget, or a value set by a button."""
    return [path for path in KNOBS if widget(path) in st.session_state]


def refused_knobs() -> Mapping[str, str]:
    """Return the refusals by knob path that `refusals` has found in this run of the script."""
    refusal_by_path: Mapping[str, str] = st.session_state.get(REFUSED, {})
    return refusal_by_path


def keep_widgets(*keys: str) -> None:
    """Keep the state of widgets that this run may not draw."""
    st.session_state.update({key: st.session_state[key] for key in keys if key in st.session_state})


def redraw() -> None:
    """Draw the page again by the program's own request, not the visitor's.

    This is noted, since the browser may then send an address from before the program's last change.
    """
    st.session_state[REDRAWN_BY_US] = True
    st.rerun()
