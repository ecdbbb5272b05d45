"""Faults on an axis of the run's progress; a click or a typed number adds a fault.

The knobs hold simulated times, which include outages, so that a link reproduces the run. The axis leaves outages out.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from itertools import islice
from math import floor, log10

import pandas as pd
import streamlit as st

from engine.core.figures import count, figure
from engine.errors import EmberpoolError
from engine.faults.fault import strikes
from engine.insight.power_loss_detail import STRUCK_BATCH, power_loss_detail
from engine.registry import all_variants, load_variant
from engine.results.explanation import too_late_notes
from engine.results.result import Result
from engine.scenario import knobs
from engine.scenario.scenario import KNOBS, Scenario, values
from pages.full_run import training_panel
from pages.graphics import chart
from pages.graphics.charts import EVENTS, FIT_WIDTH, INK, Spec, axis, layer, quantity, rule_mark, tooltip_fields
from pages.ui import session
from pages.ui.plain import escape_markdown

STEP = "Step time [ms]"
FAULT_TO_DROP, SHARE, TURN = "fault to drop", "share of the run", "fault axis turn"
ADD_FAULT, REMOVE_FAULTS = "add the fault", "remove all faults"
DONE_TOLERANCE = 0.01  # of a batch: a batch counts as done when only this part is left
FIRST_FAULT, MOST_PLACES, MOST_FAULTS = "power-loss", 200, 50
ROWS = 6  # of the numbers of faults


@dataclass(frozen=True)
class PlacedStrike:
    """A fault on the simulated clock and on the run's own clock [s].

    instant: simulated time, outages included.
    run_seconds: the run's time until the fault, outages left out.
    fault: the fault's name.
    outage_seconds: difference of both clocks when the run continues.
    """

    instant: float
    run_seconds: float
    fault: str
    outage_seconds: float


def draw(scenario: Scenario, result: Result) -> None:
    """Draw the axis of faults, with a number field for the keyboard.

    result: an estimate or a run of the scenario.
    """
    step, batches = (result.results.get(STEP) or 0.0) / 1e3, scenario.run.batches
    if step <= 0 or batches < 2:
        return
    placed_strikes = first_strikes(scenario, step)
    with st.container(horizontal=True, vertical_alignment="bottom"):
        st.selectbox(
            "Fault", droppable_faults(), key=FAULT_TO_DROP, format_func=lambda name: load_variant("faults", name).title, width=220
        )
        st.number_input("At [% of the run]", 0.0, 100.0, 50.0, 1.0, key=SHARE, width=150)
        st.button(
            "Add the fault",
            key=ADD_FAULT,
            on_click=lambda: _drop(scenario, step, round(st.session_state[SHARE] / 100 * batches)),
        )
        st.button(
            "Remove all faults",
            key=REMOVE_FAULTS,
            on_click=_clear,
            disabled=not any(values(scenario)[instants_knob(name)] for name in droppable_faults()),
        )
    key = f"fault axis {st.session_state.setdefault(TURN, 0)}"

    def clicked() -> None:
        clicked_points = st.session_state[key].selection.get("drop") or []
        if clicked_points:
            st.session_state[TURN] += 1  # a fresh chart, without the choice
            _drop(scenario, step, int(clicked_points[0]["batch"]))

    alt = "Faults over the progress of the run; the button above adds a fault without a mouse"
    struck = [strike for strike in placed_strikes if strike.run_seconds < batches * step]
    run = f"{count(batches, 'batch', 'batches')}, {figure(batches * step, 's')} without outages"
    chart.draw(
        rows(placed_strikes, step, batches),
        spec(),
        key=key,
        title=f"{count(len(struck), 'fault') if struck else 'No fault'} in the run: {run}",
        subtitle="Faults over the progress of the run; click to add a fault at the end of the nearest batch",
        alt=alt,
        on_select=clicked,
    )
    if outages := outage_sentence(struck, batches * step):
        st.caption(outages)
    for sentence in too_late_notes(scenario, batches * step):
        st.warning(escape_markdown(sentence))


def outage_sentence(struck: Sequence[PlacedStrike], seconds: float) -> str:
    """Return the sentence on outages that last longer than the run of `seconds`, "" otherwise."""
    outage_seconds = struck[-1].outage_seconds if struck else 0.0
    if outage_seconds <= seconds:
        return ""
    return (
        f"Outages last {figure(outage_seconds, 's')} in all, the run without them {figure(seconds, 's')}. Detection and restart "
        "take minutes, however short a run is; the page Failures shows their cost over weeks."
    )


def droppable_faults() -> tuple[str, ...]:
    """Return the faults that can be placed at a time, power loss first."""
    fault_names = [name for name in all_variants("faults") if instants_knob(name) in KNOBS and name != "fault-in-recovery"]
    return tuple(sorted(fault_names, key=lambda name: name != FIRST_FAULT))


def instants_knob(name: str) -> str:
    """Return the path of the knob that lists a fault's times."""
    return f"faults.{name.replace('-', '_')}_at_seconds"


def first_strikes(scenario: Scenario, step: float) -> list[PlacedStrike]:
    """Return the first faults, at most MOST_FAULTS, in order of time; step: seconds of a batch."""
    return list(islice(strikes_in_order(scenario, step), MOST_FAULTS))


def strikes_in_order(scenario: Scenario, step: float) -> Iterator[PlacedStrike]:
    """Yield the faults in order of time, possibly without end.

    step: seconds of a batch. A fault during an outage has the progress at which the run stopped, and prolongs the outage.
    """
    offset = resumed = run_seconds = 0.0
    for strike in strikes(scenario):
        if strike.seconds >= resumed:
            run_seconds = strike.seconds - offset
        if strike.kind.stops_job:
            whole_batches = floor(run_seconds / step + DONE_TOLERANCE)
            restore, batches_back = _recovery(scenario, max(round(run_seconds / step - whole_batches, 1), 0.0))
            resumed = strike.seconds + strike.detect + strike.repair + scenario.faults.restart_seconds + restore
            offset = resumed - (0.0 if batches_back is None else max(whole_batches - batches_back, 0) * step)
        yield PlacedStrike(strike.seconds, run_seconds, strike.fault, offset)


@lru_cache(maxsize=64)
def _recovery(scenario: Scenario, share: float) -> tuple[float, int | None]:
    """Return a restore's seconds and the whole batches that it goes back, None for all batches.

    Both are those of a power loss that strikes when `share` of a batch has passed.
    """
    try:
        crash = power_loss_detail(scenario, share).crash
    except EmberpoolError:
        return 0.0, 0
    first_batch = crash.resumption.embedding_batch
    return crash.outage.restore_seconds, STRUCK_BATCH - first_batch if first_batch else None


def instant_of_batch(scenario: Scenario, step: float, batch: int) -> float:
    """Return the simulated time [s] at which the run first completes `batch` batches.

    The scenario's faults are included. step: seconds of a batch.
    """
    run_seconds, offset = batch * step, 0.0
    for strike in islice(strikes_in_order(scenario, step), MOST_FAULTS):
        if strike.run_seconds >= run_seconds - DONE_TOLERANCE * step:
            break
        offset = strike.outage_seconds
    return round(run_seconds + offset, 3 - floor(log10(step)))


def _drop(scenario: Scenario, step: float, batch: int) -> None:
    path = instants_knob(st.session_state[FAULT_TO_DROP])
    strike_instant, instants = (
        instant_of_batch(scenario, step, min(max(batch, 1), scenario.run.batches - 1)),
        values(scenario)[path],
    )
    if strike_instant in instants:
        st.toast("This fault strikes there already; choose another batch.")
    training_panel.note_strike(scenario)
    _set(path, tuple(sorted({*instants, strike_instant})))


def _clear() -> None:
    for name in droppable_faults():
        _set(instants_knob(name), ())


def _set(path: str, instants: tuple[float, ...]) -> None:
    st.session_state[session.widget(path)] = knobs.write(KNOBS[path], instants)


def rows(placed_strikes: list[PlacedStrike], step: float, batches: int) -> pd.DataFrame:
    """Return a row for each place to click and for each fault before the run's end.

    Columns: kind, batch, share [%], at [s], fault, number, row.
    """
    every_few = -(-batches // MOST_PLACES)
    chart_rows: list[dict[str, object]] = [
        {"kind": "place", "batch": n, "share": 100 * n / batches} for n in range(every_few, batches, every_few)
    ]
    struck = [strike for strike in placed_strikes if strike.run_seconds < batches * step]
    chart_rows += [
        {
            "kind": "fault",
            "share": 100 * strike.run_seconds / (batches * step),
            "at": strike.instant,
            "fault": load_variant("faults", strike.fault).title,
            "number": number,
            "row": (number - 1) % ROWS,
        }
        for number, strike in enumerate(struck, 1)
    ]
    return pd.DataFrame(chart_rows, columns=["kind", "batch", "share", "at", "fault", "number", "row"])


@cache
def spec() -> Spec:
    """Return a chart of progress from 0 to 100 %.

    The chart has numbered faults and places to click, and needs the columns of `rows`.
    """
    x = quantity("share", scale={"domain": [0, 100]}, axis=axis("Progress of the run without outages [%]"))
    tick = {"type": "tick", "color": INK, "opacity": 0.35, "cursor": "pointer", "height": 14, "y": 70}
    place = {
        "params": [{"name": "drop", "select": {"type": "point", "on": "click", "fields": ["batch"], "nearest": True}}],
        **layer(tick, {"filter": "datum.kind === 'place'"}, x=x, tooltip=tooltip_fields(("batch", "Batches done"))),
    }
    tip = tooltip_fields(
        ("fault", "Fault"), ("at", "Simulated time, outages included [s]", ".9~g"), ("share", "Progress [%]", ".3~g")
    )
    struck = {"filter": "datum.kind === 'fault'"}
    rule = layer(rule_mark(strokeWidth=2, color=EVENTS["fault"]), struck, x=x, tooltip=tip)
    y = quantity("row", axis=None, scale={"domain": [ROWS, -0.7]})
    text = {"type": "text", "align": "left", "dx": 4, "fontWeight": 600, "color": EVENTS["fault"]}
    number = layer(text, struck, x=x, y=y, text={"field": "number"}, tooltip=tip)
    return {**FIT_WIDTH, "height": 84, "layer": [place, rule, number]}
