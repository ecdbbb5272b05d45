"""What a session holds: the last good scenario, the preset under it, and the widgets of those knobs that are drawn.

Streamlit forgets a widget's value with the widget, and copies all that it holds for each one it draws: so that what is not
drawn is held by the scenario alone.
"""

from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from typing import Any

import streamlit as st

from engine.core.catalog import PartNames, own_folder
from engine.core.part_files.known import BETWEEN, OwnPart, add, find
from engine.errors import BadKnob
from engine.scenario import knobs, machine
from engine.scenario.knobs import Knob
from engine.scenario.presets import preset
from engine.scenario.scenario import KNOBS, Scenario, mended, named_model, stale_lists, values, with_values
from engine.sweep.link_parts import is_foreign

PRESET, SCENARIO, AXES, SYSTEMS, CRASH = "preset", "scenario", "axes", "systems", "crash"
SAMPLE, HERE, REFUSED, DROPPED = "sample", "link of this page", "refused", "dropped lists"
OURS, LANDED, PARTS = "redrawn by us", "landed", "parts of a link"


def widget(path: str) -> str:
    """Return the session key of a knob's widget."""
    return f"knob {path}"


def scenario() -> Scenario:
    """Return the last good scenario of this session."""
    found: Scenario = st.session_state[SCENARIO]
    return found


def base() -> str:
    """Return the name of the preset that the session started from."""
    return str(st.session_state[PRESET])


def axes() -> tuple[str, ...]:
    """Return the axes of the sweep that the session holds, as links write them."""
    return tuple(st.session_state.get(AXES, ()))


def sample() -> str:
    """Return which points of the box are swept, as links write it; "" is all of the grid."""
    return str(st.session_state.get(SAMPLE, ""))


def crash() -> str:
    """Return the crash state that a link asked for, as its replay line, or ""."""
    return str(st.session_state.get(CRASH, ""))


def put(start: str, new: Scenario) -> None:
    """Hold `new`, a variation of preset `start`; only before widgets are drawn."""
    st.session_state[PRESET] = start
    show(new)


def put_parts(brought: Iterable[OwnPart]) -> None:
    """Hold the parts that a link has brought and the folder of this computer does not have as they are."""
    st.session_state[PARTS] = tuple(filter(is_foreign, brought))


def brought_parts() -> tuple[OwnPart, ...]:
    """Return the parts that the session's link has brought."""
    return tuple(st.session_state.get(PARTS, ()))


def show(new: Scenario) -> None:
    """Hold a scenario, and set the widgets there are to its values; only in a callback or before widgets are drawn."""
    st.session_state[SCENARIO] = new
    for path, value in values(new).items():
        if widget(path) in st.session_state:
            st.session_state[widget(path)] = shown(KNOBS[path], value)


def shown(knob: Knob, value: Any) -> str | bool:
    """Return what a knob's widget holds for `value`: a switch's bool, a part as lists name it, or the text of links."""
    if isinstance(knob.choices, PartNames) and value is not None:
        return knob.choices.shown(value)
    return value if isinstance(value, bool) and not knob.optional else knobs.write(knob, value)


def offer(name: str, options: Sequence[str], first: str) -> None:
    """Set a widget that is about to be drawn to its last choice or a link's, to `first` where that is not on offer.

    Streamlit forgets a widget's value with the widget, so that the choice is kept beside it.
    """
    if st.session_state.get(name) not in options:
        wanted = st.session_state.get(_choice(name))
        st.session_state[name] = wanted if wanted in options else first
    st.session_state[_choice(name)] = st.session_state[name]


def ask(name: str, choice: str) -> None:
    """Take over a choice from a link, "" for none; before its widget is drawn."""
    st.session_state.pop(name, None)
    st.session_state[_choice(name)] = choice


def choice(name: str) -> str:
    """Return what was chosen, or what a link asked for; "" for neither."""
    return str(st.session_state.get(name) or st.session_state.get(_choice(name), ""))


def _choice(name: str) -> str:
    return f"choice of {name}"


def held(path: str) -> str | bool:
    """Return what a knob's widget holds, or would hold if it were drawn."""
    found: str | bool = st.session_state.get(widget(path), shown(KNOBS[path], values(scenario())[path]))
    return found


def bring(path: str) -> str:
    """Return the session key of a knob's widget that is about to be drawn, with its value there."""
    st.session_state[widget(path)] = held(path)
    return widget(path)


def place(options: Sequence[str], key: str) -> int:
    """Return where among its options the held value of a select box is.

    Every widget gets its held value as its default too: a browser that missed the run which set it would send another one.
    """
    held = st.session_state.get(key)
    return options.index(held) if held in options else 0


def read(path: str) -> Any:
    """Return the value of a knob's widget; raises BadKnob with the engine's sentence."""
    found = st.session_state[widget(path)]
    return found if isinstance(found, bool) else knobs.parse(KNOBS[path], found)


def to_preset() -> None:
    """Set every knob to the chosen preset: the answer to a new preset, and to reset."""
    show(preset(base()).scenario)


def take_back(path: str) -> None:
    """Set one knob to the chosen preset's value, with its group, or all, where it cannot go alone; only in a callback."""
    start = values(preset(base()).scenario)
    group = {name: value for name, value in start.items() if name.partition(".")[0] == path.partition(".")[0]}
    for taken in ({path: start[path]}, group, start):
        with suppress(BadKnob):
            show(with_values(scenario(), taken))
            return


def to_model() -> None:
    """Set the model's knobs to the named model that was just chosen."""
    name = held("model.name")
    stale = stale_lists(scenario(), named_model(name)["model.num_tables"])
    show(with_values(scenario(), {"model.name": name, **stale}))
    if stale:
        said = f"{', '.join(stale)} had a value for each table of the model before, and is as it is by default now."
        st.session_state[DROPPED] = said  # shown by the run after this callback


def put_data(digest: str) -> None:
    """Train on the data file of this digest, or on the generator with ""; only in a callback."""
    st.session_state[widget("data.digest")] = digest


def renew_parts() -> list[str]:
    """Take parts of one's own as their files are now; return the names of those that have changed. Before widgets are drawn.

    What a link has brought stays as the link says, and known for as long as the session holds it.
    """
    add(brought := brought_parts())
    changed: dict[str, str] = {}
    for name, choices in machine.PARTS.items():
        if (part := find(choices.kinds, getattr(scenario().machine, name))) and part not in brought:
            now = own_folder().parts.get((part.kind, part.name))
            if now and now.digest != part.digest:
                changed[f"machine.{name}"] = now.reference
    if changed:
        show(with_values(scenario(), changed))
    return [reference.partition(BETWEEN)[0] for reference in changed.values()]


def refusals() -> Mapping[str, str]:
    """Take the widgets over into the scenario; return a sentence for each knob that was refused, by path.

    A refused knob keeps its last good value. A contradiction between knobs has the path "" and changes nothing.
    """
    if dropped := st.session_state.pop(DROPPED, ""):
        st.toast(dropped)
    good, bad = {}, {}
    for path in touched():
        try:
            good[path] = read(path)
        except BadKnob as error:
            bad[path] = str(error)
    held = values(scenario())
    moved, said = mended(scenario(), {path: value for path, value in good.items() if value != held[path]})
    try:
        st.session_state[SCENARIO] = with_values(scenario(), moved)  # an unmoved model's name would bring its own knobs
    except BadKnob as error:
        bad[""] = str(error)
    else:
        if said:
            show(scenario())
            st.toast(said)
    st.session_state[REFUSED] = bad
    return bad


def touched() -> list[str]:
    """Return the knobs that have a widget, or a value that a press has set."""
    return [path for path in KNOBS if widget(path) in st.session_state]


def refused() -> Mapping[str, str]:
    """Return what `refusals` found in this run."""
    found: Mapping[str, str] = st.session_state.get(REFUSED, {})
    return found


def redraw() -> None:
    """Draw the page once more by ourselves: the address that comes along may be from before our last write."""
    st.session_state[OURS] = True
    st.rerun()
