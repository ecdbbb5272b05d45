"""The panel of a sweep's axes and sampling, whose values the session stores.

An axis is a knob with its values; the sampling chooses points from all combinations.
"""

from functools import lru_cache

import streamlit as st

from engine.analysis import suggested_axes
from engine.core.catalog import own_folder
from engine.core.figures import count as counted
from engine.core.part_files.folder import PartsFolder
from engine.errors import BadInput
from engine.hardware.devices.chassis import MOST_PLACES
from engine.insight.knobs.stops import knob_stops, settled_if_possible
from engine.registry import all_variants
from engine.scenario import knobs
from engine.scenario.keys import Fidelity
from engine.scenario.knobs import Knob
from engine.scenario.scenario import KNOBS, Scenario, values
from engine.sweep import axes as engine_axes
from engine.sweep import sweep as engine_sweep
from engine.sweep.sweep import Sweep
from pages.ui import palette, session
from pages.ui.plain import escape_markdown

MOST_AXES = 6
NO_AXIS = ""
FIRST_CXL_AXES = ("machine.cxl_bandwidth_GBps:0.5,1,2,4,8,16,32", "system:cxl-d,cxl-b,cxl")
FIRST_GPU_FACTORS, FIRST_SYSTEMS = (0.5, 1, 2, 4), ("all-hbm", "torchrec-uvm", "cpu-gpu")
KINDS = {"grid": "All combinations", "random": "Random", "sobol": "Sobol, evenly spread", "lhs": "Latin hypercube"}
ESTIMATE: Fidelity = "estimate"
MODES: dict[Fidelity, str] = {"estimate": "Quick estimate", "full": "Full training"}
MAX_SUGGESTED, NEAR_FACTOR = 8, 16  # suggested values at most; their largest ratio to the present value
KIND, COUNT, MODE_KEY, AXES_UNFOLDED = "sampling kind", "sampling count", "how", "what is swept"
VALUES_SYNTAX = "8,16,32 or 8:64:4 (from:to:count; add :log for equal ratios)"


def panel_axes() -> tuple[tuple[str, ...], str]:
    """Return the panel's axes and sampling as links write them, and store both in the session."""
    texts = list(session.axes() or first_axes(session.scenario()))
    for number in range(MOST_AXES):
        path = st.session_state.get(_knob(number))
        if path is not None:
            texts[number:] = [f"{path}:{st.session_state[_values(number)]}", *texts[number + 1 :]] if path else []
    kind = st.session_state.setdefault(KIND, session.sample().partition(":")[0] or "grid")
    count = st.session_state.setdefault(COUNT, session.sample().partition(":")[2])
    sample = "" if kind == "grid" else f"{kind}:{count.replace(',', '').strip()}"
    st.session_state.update({session.AXES: tuple(texts), session.SAMPLE: sample})
    return tuple(texts), sample


@lru_cache(maxsize=64)
def first_axes(base: Scenario) -> tuple[str, ...]:
    """Return the axes of a sweep that nobody has chosen: of the CXL link where the system has one, else GPUs and systems.

    All points have the same batches, so that their step times can be compared. A target throughput takes the place of GPUs.
    """
    if "cxl" in all_variants("systems")[base.system].devices:
        return FIRST_CXL_AXES
    most, target = KNOBS["machine.num_gpus"].high, base.machine.target_throughput
    most = MOST_PLACES if all_variants("systems")[base.system].one_node else most
    gpus = [int(base.machine.num_gpus * factor) for factor in FIRST_GPU_FACTORS]
    numbers = ",".join(str(number) for number in gpus if number >= 1 and (most is None or number <= most))
    first_axis = f"machine.num_gpus:{numbers}"
    if target is not None:  # which decides the number of GPUs
        first_axis = f"machine.target_throughput:{','.join(repr(target * factor) for factor in FIRST_GPU_FACTORS)}"
    return first_axis, f"system:{','.join(dict.fromkeys((base.system, *FIRST_SYSTEMS)))}"


def own_axes() -> tuple[str, ...]:
    """Return the axes that the visitor has chosen; () while they are the first ones."""
    axes = session.axes()
    return axes if axes and axes != first_axes(session.scenario()) else ()


def mode() -> Fidelity:
    """Return the mode of computation: estimates or full runs."""
    return "full" if session.choice(MODE_KEY) == "full" else ESTIMATE


def set_panel(axes: tuple[str, ...], sample: str) -> None:
    """Set the panel to the axes and sampling of a link; call before widgets are drawn."""
    for number in range(MOST_AXES):
        st.session_state.pop(_knob(number), None)
        st.session_state.pop(_values(number), None)
    for name in (KIND, COUNT, AXES_UNFOLDED):
        st.session_state.pop(name, None)
    st.session_state.update({session.AXES: axes, session.SAMPLE: sample})


def _knob(number: int) -> str:
    return f"axis {number} knob"


def _values(number: int) -> str:
    return f"axis {number} values"


def sweep_of(base: Scenario, axes: tuple[str, ...], sample: str) -> Sweep:
    """Return the sweep of the given axes and sampling.

    Raises BadInput if an axis cannot be read or fits no scenario, or if there are too many points.
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
    tip = "Sets the axes to the systems of this family and the knobs that matter most here."
    st.button("Suggest axes", key="suggest axes", on_click=_put_suggested, help=tip)
    kind_column, count_column, mode_column = st.columns((2, 2, 3))
    kind = kind_column.selectbox("Which points?", tuple(KINDS), key=KIND, format_func=KINDS.__getitem__)
    if kind != "grid":
        count_column.text_input(
            "How many points?", key=COUNT, placeholder="such as 256", help="A power of two is best for Sobol."
        )
    session.restore_choice(MODE_KEY, tuple(MODES), ESTIMATE)
    mode_column.segmented_control("How exact?", MODES, required=True, format_func=MODES.__getitem__, key=MODE_KEY)


def _put_suggested() -> None:
    """Set the panel to suggested axes.

    These are the family's systems and the knobs that change the scenario's time or cost.
    """
    set_panel(tuple(map(str, suggested_axes.suggested_axes(session.scenario())))[:MOST_AXES], "")
    st.session_state[AXES_UNFOLDED] = True


def _row(number: int, axis_text: str) -> None:
    path, _, values_text = axis_text.partition(":")
    knob_key, values_key = _knob(number), _values(number)
    st.session_state.setdefault(knob_key, path if path in KNOBS else NO_AXIS)
    st.session_state.setdefault(values_key, values_text)
    knob_column, values_column = st.columns(2)
    no_axis_text = "add an axis" if number else "choose a knob"
    knob_column.selectbox(
        f"Axis {number + 1}",
        (NO_AXIS, *KNOBS),
        key=knob_key,
        format_func=lambda path: KNOBS[path].title if path else no_axis_text,
        on_change=_suggest,
        args=(knob_key, values_key),
    )
    if st.session_state[knob_key]:
        values_column.text_input(
            f"Values of axis {number + 1}", key=values_key, placeholder=VALUES_SYNTAX, help=f"Write {VALUES_SYNTAX}."
        )
        if axis_text:
            _refusal(axis_text)


def _suggest(knob_key: str, values_key: str) -> None:
    path = st.session_state.get(knob_key)  # None if another button has set other axes
    if path is not None:
        st.session_state[values_key] = suggested_values(KNOBS[path], session.scenario()) if path else ""


def suggested_values(knob: Knob, base: Scenario) -> str:
    """Return values to suggest for a knob as text.

    These are the family's systems, all choices, or round numbers near the knob's value.
    """
    if knob.path == "system":
        return ",".join(palette.family(base.system))
    if knob.kind == "switch":
        return "off,on"
    if knob.kind == "choice" or knob.allowed_numbers:
        return ",".join(knob.allowed or map(str, knob.allowed_numbers))
    if knob.kind not in ("int", "float"):
        return ""
    present_value = values(base)[knob.path]
    if isinstance(present_value, tuple):
        return ""
    numbers = [knobs.write(knob, stop) for stop in knob_stops(settled_if_possible(base), knob)]
    near_values = [
        text for text in numbers if present_value and present_value / NEAR_FACTOR <= float(text) <= present_value * NEAR_FACTOR
    ]
    suggestions = near_values if len(near_values) > 2 else numbers
    return ",".join(suggestions[:: max(-(-len(suggestions) // MAX_SUGGESTED), 1)])


def _refusal(text: str) -> None:
    try:
        engine_axes.parse(text)
    except BadInput as error:
        st.caption(f":red[{escape_markdown(str(error))}]")


def summary(swept: Sweep) -> str:
    """Return a short text on a sweep.

    An example is "21 points: CXL bandwidth (7) × Training system (3)".
    """
    names = " × ".join(f"{KNOBS[axis.path].label} ({len(axis.values) or 'range'})" for axis in swept.axes)
    sampling_text = "" if swept.sampling.kind == "grid" else f", {KINDS[swept.sampling.kind]}"
    return f"{counted(len(swept), 'point')}: {names}{sampling_text}"


def swept_or_error(base: Scenario, axes: tuple[str, ...], sample: str) -> Sweep | BadInput:
    """Return the sweep, or the error that refuses the axes."""
    try:
        return sweep_of(base, axes, sample)
    except BadInput as error:
        return error
