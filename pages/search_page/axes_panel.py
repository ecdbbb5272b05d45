"""The panel of a sweep's axes and sampling, which the session keeps.

An axis is a knob with its values; the sampling chooses the points.
"""

from functools import lru_cache

import streamlit as st

from engine.analysis import suggested_axes
from engine.core.catalog import own_folder
from engine.core.figures import count as counted
from engine.core.part_files.folder import PartsFolder
from engine.errors import BadInput
from engine.insight.knob_stops import settled_or_asked, stops
from engine.scenario import knobs
from engine.scenario.keys import How
from engine.scenario.knobs import Knob
from engine.scenario.scenario import KNOBS, Scenario, values
from engine.sweep import axes as engine_axes
from engine.sweep import sweep as engine_sweep
from engine.sweep.sweep import Sweep
from pages.ui import palette, session
from pages.ui.plain import plain

MOST_AXES = 6
NONE = ""
FIRST = ("machine.cxl_bandwidth_GBps:0.5,1,2,4,8,16,32", "system:cxl-d,cxl-b,cxl")
KINDS = {"grid": "All combinations", "random": "Random", "sobol": "Sobol, evenly spread", "lhs": "Latin hypercube"}
ESTIMATE: How = "estimate"
HOW: dict[How, str] = {"estimate": "Quick estimate", "full": "Full training"}
SUGGESTED, NEAR = 8, 16  # suggested values at most; their largest ratio to the present value
KIND, COUNT, EXACT, OPEN = "sampling kind", "sampling count", "how", "what is swept"
SHAPE = "8,16,32 or 8:64:4 (from, to, how many; :log for equal ratios)"


def asked() -> tuple[tuple[str, ...], str]:
    """Return the panel's axes and sampling as links write them, and store both in the session."""
    texts = list(session.axes() or FIRST)
    for number in range(MOST_AXES):
        path = st.session_state.get(_knob(number))
        if path is not None:
            texts[number:] = [f"{path}:{st.session_state[_values(number)]}", *texts[number + 1 :]] if path else []
    kind = st.session_state.setdefault(KIND, session.sample().partition(":")[0] or "grid")
    count = st.session_state.setdefault(COUNT, session.sample().partition(":")[2])
    sample = "" if kind == "grid" else f"{kind}:{count.replace(',', '').strip()}"
    st.session_state.update({session.AXES: tuple(texts), session.SAMPLE: sample})
    return tuple(texts), sample


def how() -> How:
    """Return the mode of computation: estimates or full runs."""
    return "full" if session.choice(EXACT) == "full" else ESTIMATE


def put(axes: tuple[str, ...], sample: str) -> None:
    """Set the panel to a link's axes and sampling; only before widgets are drawn."""
    for number in range(MOST_AXES):
        st.session_state.pop(_knob(number), None)
        st.session_state.pop(_values(number), None)
    for name in (KIND, COUNT, OPEN):
        st.session_state.pop(name, None)
    st.session_state.update({session.AXES: axes, session.SAMPLE: sample})


def _knob(number: int) -> str:
    return f"axis {number} knob"


def _values(number: int) -> str:
    return f"axis {number} values"


def sweep(base: Scenario, axes: tuple[str, ...], sample: str) -> Sweep:
    """Return the sweep of the given axes and sampling.

    Raises BadInput if an axis cannot be read, fits no scenario, or the points are too many.
    """
    return _sweep(own_folder(), base, axes, sample)


@lru_cache(maxsize=8)
def _sweep(parts: PartsFolder, base: Scenario, axes: tuple[str, ...], sample: str) -> Sweep:
    """Return the sweep, cached by the folder of the user's parts, as axes may name these."""
    return Sweep(base, tuple(map(engine_axes.parse, axes)), (), engine_sweep.sampling(sample or "grid"))


def draw(axes: tuple[str, ...]) -> None:
    """Draw the axes, an empty row to add one, the sampling, and the mode of computation."""
    for number in range(min(len(axes) + 1, MOST_AXES)):
        _row(number, axes[number] if number < len(axes) else "")
    st.button("Suggest axes", on_click=_put_suggested, help="The systems of this family, and the knobs that matter here most.")
    kind_column, count_column, mode_column = st.columns((2, 2, 3))
    kind = kind_column.selectbox("Which points?", tuple(KINDS), key=KIND, format_func=KINDS.__getitem__)
    if kind != "grid":
        count_column.text_input("How many points?", key=COUNT, placeholder="such as 256", help="A power of two suits Sobol best.")
    session.offer(EXACT, tuple(HOW), ESTIMATE)
    mode_column.segmented_control("How exact?", HOW, required=True, format_func=HOW.__getitem__, key=EXACT)


def _put_suggested() -> None:
    """Set the panel to suggested axes.

    These are the family's systems and the knobs that change the scenario's time or cost.
    """
    put(tuple(map(str, suggested_axes.axes(session.scenario())))[:MOST_AXES], "")
    st.session_state[OPEN] = True


def _row(number: int, axis_text: str) -> None:
    path, _, values_text = axis_text.partition(":")
    knob_key, values_key = _knob(number), _values(number)
    st.session_state.setdefault(knob_key, path if path in KNOBS else NONE)
    st.session_state.setdefault(values_key, values_text)
    knob_column, values_column = st.columns(2)
    no_axis_text = "add an axis" if number else "choose a knob"
    knob_column.selectbox(
        f"Axis {number + 1}",
        (NONE, *KNOBS),
        key=knob_key,
        format_func=lambda path: KNOBS[path].title if path else no_axis_text,
        on_change=_suggest,
        args=(knob_key, values_key),
    )
    if st.session_state[knob_key]:
        values_column.text_input(f"Values of axis {number + 1}", key=values_key, placeholder=SHAPE, help=f"Write {SHAPE}.")
        if axis_text:
            _refusal(axis_text)


def _suggest(knob_key: str, values_key: str) -> None:
    path = st.session_state.get(knob_key)  # None if another button has set other axes
    if path is not None:
        st.session_state[values_key] = suggestion(KNOBS[path], session.scenario()) if path else ""


def suggestion(knob: Knob, base: Scenario) -> str:
    """Return sensible values for a knob.

    These are the family's systems, all choices, or round numbers near its value.
    """
    if knob.path == "system":
        return ",".join(palette.family(base.system))
    if knob.kind == "switch":
        return "off,on"
    if knob.kind == "choice" or knob.only:
        return ",".join(knob.allowed or map(str, knob.only))
    if knob.kind not in ("int", "float"):
        return ""
    present_value = values(base)[knob.path]
    if isinstance(present_value, tuple):
        return ""
    numbers = [knobs.write(knob, stop) for stop in stops(settled_or_asked(base), knob)]
    near_values = [text for text in numbers if present_value and present_value / NEAR <= float(text) <= present_value * NEAR]
    suggestions = near_values if len(near_values) > 2 else numbers
    return ",".join(suggestions[:: max(-(-len(suggestions) // SUGGESTED), 1)])


def _refusal(text: str) -> None:
    try:
        engine_axes.parse(text)
    except BadInput as error:
        st.caption(f":red[{plain(str(error))}]")


def summary(swept: Sweep) -> str:
    """Return a sweep in a few words.

    An example is "21 points: CXL bandwidth (7) × Training system (3)".
    """
    names = " × ".join(f"{KNOBS[axis.path].label} ({len(axis.values) or 'range'})" for axis in swept.axes)
    sampling_text = "" if swept.sampling.kind == "grid" else f", {KINDS[swept.sampling.kind]}"
    return f"{counted(len(swept), 'point')}: {names}{sampling_text}"


def swept_or_error(base: Scenario, axes: tuple[str, ...], sample: str) -> Sweep | BadInput:
    """Return the sweep, or the error that refuses the axes."""
    try:
        return sweep(base, axes, sample)
    except BadInput as error:
        return error
