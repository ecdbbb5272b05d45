"""Faults in the run's own time: an axis of its progress on which each is drawn, and a click or a number drops another.

The knobs hold simulated instants, outages included, so that a link reproduces the run; here they are seen from the run.
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
from engine.insight.power_loss_detail import STRUCK, power_loss_detail
from engine.registry import every, load
from engine.results.explanation import too_late
from engine.results.result import Result
from engine.scenario import knobs
from engine.scenario.scenario import KNOBS, Scenario, values
from pages.design_page import training_panel
from pages.graphics import chart
from pages.graphics.charts import EVENTS, FIT, INK, ROWS, Spec, axis, hover, layer, quantity, ruled
from pages.ui import session
from pages.ui.plain import plain

STEP = "Step time [ms]"
CLASS, SHARE, TURN = "fault to drop", "share of the run", "fault axis turn"
NEAR = 0.01  # batches before its end at which a batch counts as done
FIRST, MOST_PLACES, MOST_FAULTS = "power-loss", 200, 50


@dataclass(frozen=True)
class Placed:
    """A strike in s: its simulated instant, where the run stands then, and how far apart both clocks are once it goes on."""

    at: float
    own: float
    fault: str
    offset: float


def draw(scenario: Scenario, result: Result) -> None:
    """Draw the axis, and beside it the number for the keyboard; `result` is an estimate or a run of the scenario."""
    step, batches = (result.results.get(STEP) or 0.0) / 1e3, scenario.run.batches
    if step <= 0 or batches < 2:
        return
    placed = list(islice(places(scenario, step), MOST_FAULTS))
    with st.container(horizontal=True, vertical_alignment="bottom"):
        st.selectbox("Fault", classes(), key=CLASS, format_func=lambda name: load("faults", name).title, width=220)
        st.number_input("At [% of the run]", 0.0, 100.0, 50.0, 1.0, key=SHARE, width=150)
        st.button("Drop it there", on_click=lambda: _drop(scenario, step, round(st.session_state[SHARE] / 100 * batches)))
        st.button("Take all away", on_click=_clear, disabled=not any(values(scenario)[knob(name)] for name in classes()))
    key = f"fault axis {st.session_state.setdefault(TURN, 0)}"

    def clicked() -> None:
        found = st.session_state[key].selection.get("drop") or []
        if found:
            st.session_state[TURN] += 1  # a fresh chart, without the choice
            _drop(scenario, step, int(found[0]["batch"]))

    alt = "Faults over the progress of the run; the number beside it drops one, too"
    struck = [one for one in placed if one.own < batches * step]
    run = f"{count(batches, 'batch', 'batches')}, {figure(batches * step, 's')} without outages"
    chart.draw(
        rows(placed, step, batches),
        spec(),
        key=key,
        title=f"{count(len(struck), 'fault') if struck else 'No fault'} in the run: {run}",
        subtitle="Faults over the progress of the run; click to drop one at the nearest batch's end",
        alt=alt,
        on_select=clicked,
    )
    if outages := outage_words(struck, batches * step):
        st.caption(outages)
    for told in too_late(scenario, batches * step):
        st.warning(plain(told))


def outage_words(struck: Sequence[Placed], seconds: float) -> str:
    """Return why outages dwarf a short run, where they do: "" otherwise."""
    down = struck[-1].offset if struck else 0.0
    if down <= seconds:
        return ""
    return (
        f"Outages last {figure(down, 's')} in all, the run {figure(seconds, 's')}: noticing a fault and starting again "
        "take minutes, however short a run is. The page Failures weighs them over weeks."
    )


def classes() -> tuple[str, ...]:
    """Return the faults that have a list of instants, power loss first."""
    listed = [name for name in every("faults") if knob(name) in KNOBS and name != "fault-in-recovery"]
    return tuple(sorted(listed, key=lambda name: name != FIRST))


def knob(name: str) -> str:
    """Return the knob that lists a fault's instants."""
    return f"faults.{name.replace('-', '_')}_at_seconds"


def places(scenario: Scenario, step: float) -> Iterator[Placed]:
    """Yield the strikes in order, maybe without end; one during an outage stands where the run stopped, and prolongs it."""
    offset = resumed = own = 0.0
    for strike in strikes(scenario):
        if strike.at >= resumed:
            own = strike.at - offset
        if strike.kind.stops:
            whole = floor(own / step + NEAR)
            restore, back = _recovery(scenario, max(round(own / step - whole, 1), 0.0))
            resumed = strike.at + strike.detect + strike.repair + scenario.faults.restart_seconds + restore
            offset = resumed - (0.0 if back is None else max(whole - back, 0) * step)
        yield Placed(strike.at, own, strike.fault, offset)


@lru_cache(maxsize=64)
def _recovery(scenario: Scenario, share: float) -> tuple[float, int | None]:
    """Return the seconds of a restore and how many whole batches it goes back, None for all of them.

    As a power loss shows it that strikes when `share` of a batch has passed.
    """
    try:
        crash = power_loss_detail(scenario, share).crash
    except EmberpoolError:
        return 0.0, 0
    first = crash.resumption.embedding_batch
    return crash.outage.restore, STRUCK - first if first else None


def instant(scenario: Scenario, step: float, batch: int) -> float:
    """Return the simulated instant, in s, at which a run with the scenario's faults ends so many batches for the first time."""
    own, offset = batch * step, 0.0
    for one in islice(places(scenario, step), MOST_FAULTS):
        if one.own >= own - NEAR * step:
            break
        offset = one.offset
    return round(own + offset, 3 - floor(log10(step)))


def _drop(scenario: Scenario, step: float, batch: int) -> None:
    path = knob(st.session_state[CLASS])
    at, held = instant(scenario, step, min(max(batch, 1), scenario.run.batches - 1)), values(scenario)[path]
    if at in held:
        st.toast("Such a fault strikes there already; choose another batch.")
    training_panel.strike(scenario)
    _set(path, tuple(sorted({*held, at})))


def _clear() -> None:
    for name in classes():
        _set(knob(name), ())


def _set(path: str, instants: tuple[float, ...]) -> None:
    st.session_state[session.widget(path)] = knobs.write(KNOBS[path], instants)


def rows(placed: list[Placed], step: float, batches: int) -> pd.DataFrame:
    """Return a row for each place to click, and for each fault before the end: kind, batch, share, at, fault, number, row."""
    every_few = -(-batches // MOST_PLACES)
    found: list[dict[str, object]] = [
        {"kind": "place", "batch": n, "share": 100 * n / batches} for n in range(every_few, batches, every_few)
    ]
    within = [one for one in placed if one.own < batches * step]
    found += [
        {
            "kind": "fault",
            "share": 100 * one.own / (batches * step),
            "at": one.at,
            "fault": load("faults", one.fault).title,
            "number": number,
            "row": (number - 1) % ROWS,
        }
        for number, one in enumerate(within, 1)
    ]
    return pd.DataFrame(found, columns=["kind", "batch", "share", "at", "fault", "number", "row"])


@cache
def spec() -> Spec:
    """Progress from 0 to 100 %, a numbered rule at each fault, places to click; needs the columns of `rows`."""
    x = quantity("share", scale={"domain": [0, 100]}, axis=axis("Progress of the run, outages apart [%]"))
    tick = {"type": "tick", "color": INK, "opacity": 0.35, "cursor": "pointer", "height": 14, "y": 70}
    place = {
        "params": [{"name": "drop", "select": {"type": "point", "on": "click", "fields": ["batch"], "nearest": True}}],
        **layer(tick, {"filter": "datum.kind === 'place'"}, x=x, tooltip=hover(("batch", "Batches done"))),
    }
    tip = hover(("fault", "Fault"), ("at", "Simulated time, outages included [s]", ".9~g"), ("share", "Progress [%]", ".3~g"))
    struck = {"filter": "datum.kind === 'fault'"}
    rule = layer(ruled(strokeWidth=2, color=EVENTS["fault"]), struck, x=x, tooltip=tip)
    y = quantity("row", axis=None, scale={"domain": [ROWS, -0.7]})
    text = {"type": "text", "align": "left", "dx": 4, "fontWeight": 600, "color": EVENTS["fault"]}
    number = layer(text, struck, x=x, y=y, text={"field": "number"}, tooltip=tip)
    return {**FIT, "height": 84, "layer": [place, rule, number]}
