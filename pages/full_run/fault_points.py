"""One fault at several values of one or two knobs: full runs that share their training, side by side.

Each machine loses power at the end of the same batch, so that slower machines do not lose less.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache

import pandas as pd
import streamlit as st
from joblib import cpu_count

from engine.core.arithmetic import total
from engine.core.figures import count, figure
from engine.estimates import estimates
from engine.insight.knobs.strips import Strip, scenario_or_refusal
from engine.results.result import Result
from engine.run import forecast
from engine.scenario.scenario import KNOBS, Scenario, values, with_values
from engine.store.status import RequestStatus
from pages.answers import runs
from pages.full_run import fault_axis
from pages.graphics import chart
from pages.graphics.charts import (
    FIT_WIDTH,
    GAP,
    INK,
    Spec,
    axis,
    bar_scale,
    layer,
    legend_below,
    nominal,
    quantity,
    tooltip_fields,
)
from pages.knob_cards.knob_map import knob_text
from pages.ui import downloads
from pages.ui.numbers import duration

SECTION, FIRST, SECOND, RUN = "fault points", "fault points first", "fault points second", "run fault points"
NO_SECOND = ""
STEP, AUC = "Step time [ms]", "AUC"
ENERGY, LOST = "Energy without outages [J]", "Time lost [s]"
QUANTITIES = {STEP: "ms", ENERGY: "J", LOST: "s", AUC: ""}
TRAINED, OUTAGE = ("useful", "checkpoint"), ("detect", "repair", "restart", "restore")
LANE, LONGEST_EXTENT = 44, "117,000 to 117,000 J"


@dataclass(frozen=True)
class FaultPoint:
    """A machine of the comparison: the texts of its knobs' values, and its scenario with the fault."""

    first: str
    second: str
    scenario: Scenario


def draw(scenario: Scenario, strips_of: Callable[[Scenario], Mapping[str, Strip]], step_seconds: float) -> None:
    """Draw the section, closed at first: knobs, the button that runs their values with the fault, and the results.

    strips_of: function to the strips of a scenario, called once the section is open. step_seconds: seconds of a batch.
    """
    if step_seconds <= 0 or scenario.run.batches < 2:
        return
    section = st.expander("The same fault at other values of a knob", key=SECTION, on_change="rerun")
    if not section.open or not (strips := strips_of(scenario)):
        return
    with section:
        columns = st.columns(2)
        with columns[0]:
            first = _choose("Knob", FIRST, list(strips))
        with columns[1]:
            second = _choose("And", SECOND, [NO_SECOND, *(path for path in strips if path != first)])
        points = fault_points(scenario, strips[first], strips.get(second), step_seconds)
        scenarios = [point.scenario for point in points]
        if scenarios:
            runs.draw_while_running(scenarios, "full", lambda status: _draw_runs(points, first, second, status))


def _choose(label: str, key: str, paths: list[str]) -> str:
    if st.session_state.get(key) not in paths:
        st.session_state[key] = paths[0]
    return str(st.selectbox(label, paths, key=key, format_func=lambda path: KNOBS[path].title if path else "no second knob"))


def fault_points(scenario: Scenario, first: Strip, second: Strip | None, step_seconds: float) -> tuple[FaultPoint, ...]:
    """Return the machines that can run, each with the scenario's faults at the ends of the same batches.

    Without a fault in the scenario, power is lost at half of the run. step_seconds: seconds of a batch of the scenario.
    """
    batches_by_fault = struck_batches(scenario, step_seconds)
    calm = with_values(scenario, {fault_axis.instants_knob(name): () for name in fault_axis.droppable_faults()})
    # Of the second knob its ends and the value in force: more lines cannot be told apart.
    seconds = [None] if second is None else [second.stops[i] for i in sorted({0, second.own_index, len(second.stops) - 1})]
    candidates = []
    for first_stop in first.stops:
        for second_stop in seconds:
            changes = {first.path: first_stop.knob_value}
            if second is not None and second_stop is not None:
                changes[second.path] = second_stop.knob_value
            point = scenario_or_refusal(calm, changes)
            if isinstance(point, Scenario):
                candidates.append(
                    (knob_text(first_stop.knob_value), "" if second_stop is None else knob_text(second_stop.knob_value), point)
                )
    results = estimates([point for *_, point in candidates])
    return tuple(
        FaultPoint(first_text, second_text, _struck(point, (result.results[STEP] or 0.0) / 1e3, batches_by_fault))
        for (first_text, second_text, point), result in zip(candidates, results, strict=True)
        if result.ran
    )


def struck_batches(scenario: Scenario, step_seconds: float) -> dict[str, tuple[int, ...]]:
    """Return the batches after which each fault strikes; a power loss at half of the run if there is none."""
    batches: dict[str, list[int]] = {}
    end = scenario.run.batches * step_seconds
    for strike in fault_axis.first_strikes(scenario, step_seconds):
        if strike.run_seconds < end and values(scenario)[fault_axis.instants_knob(strike.fault)]:
            batches.setdefault(strike.fault, []).append(max(round(strike.run_seconds / step_seconds), 1))
    return {name: tuple(numbers) for name, numbers in batches.items()} or {fault_axis.FIRST_FAULT: (scenario.run.batches // 2,)}


def _struck(point: Scenario, step_seconds: float, batches_by_fault: Mapping[str, Sequence[int]]) -> Scenario:
    """Return a machine with faults at the ends of these batches of its own run."""
    ordered = sorted((batch, name) for name, numbers in batches_by_fault.items() for batch in numbers)
    for batch, name in ordered:
        path = fault_axis.instants_knob(name)
        instant = fault_axis.instant_of_batch(point, step_seconds, batch)
        point = with_values(point, {path: tuple(sorted({*values(point)[path], instant}))})
    return point


def _draw_runs(points: Sequence[FaultPoint], first: str, second: str, status: RequestStatus | None) -> None:
    scenarios = [point.scenario for point in points]
    results = runs.results(scenarios, "full")
    unfinished = [point for point, result in zip(scenarios, results, strict=True) if result is None]
    if unfinished and status and not status.is_ended:
        runs.progress(status)
    elif unfinished:
        wait = duration(forecast.sweep_seconds(unfinished, "full", cpu_count()))
        points_text = count(len(unfinished), "point")
        st.button(
            f"Run these {points_text} with this fault: about {wait}",
            type="primary",
            key=RUN,
            on_click=runs.start,
            args=(scenarios, "full"),
        )
        runs.draw_end_note(status)
    finished = [(point, result) for point, result in zip(points, results, strict=True) if result is not None and result.ran]
    if finished:
        _draw_results(finished, first, second)


def _draw_results(finished: Sequence[tuple[FaultPoint, Result]], first: str, second: str) -> None:
    frame = point_rows(finished)
    second_title = KNOBS[second].title if second else ""
    chart.draw(
        lane_rows(frame),
        spec(second_title, tuple(dict.fromkeys(frame["second"]))),
        key="fault points chart",
        title=finding(frame, KNOBS[first].label),
        subtitle=f"{', '.join(QUANTITIES)} over {KNOBS[first].label}, each from zero; AUC from its least value",
        columns={"first": KNOBS[first].title, "second": second_title or "Second knob", **{name: name for name in QUANTITIES}},
    )
    downloads.csv([result for _, result in finished], "full", "emberpool-fault-points", "Download these runs as CSV")


def time_lost(result: Result) -> float:
    """Return the seconds of a run beyond the first training of batches that stay: outages, replay, waits for slow devices."""
    return total(float(row["Time [s]"]) for row in result.ledger if row["Account"] not in TRAINED)


def energy_without_outages(result: Result) -> float:
    """Return the joules of a run while it trained: all accounts but those of outages."""
    return total(float(row["Energy [J]"]) for row in result.ledger if row["Account"] not in OUTAGE)


def point_rows(finished: Sequence[tuple[FaultPoint, Result]]) -> pd.DataFrame:
    """Return a row for each run: first, second, and a column for each of QUANTITIES."""
    rows = [
        {
            "first": point.first,
            "second": point.second,
            **{name: result.results.get(name) for name in (STEP, AUC)},
            ENERGY: energy_without_outages(result),
            LOST: time_lost(result),
        }
        for point, result in finished
    ]
    return pd.DataFrame(rows, columns=["first", "second", *QUANTITIES]).astype({name: float for name in QUANTITIES})


def lane_rows(frame: pd.DataFrame) -> pd.DataFrame:
    """Return a row for each run and quantity: those of `point_rows`, place, quantity, level, says."""
    places = {text: place for place, text in enumerate(dict.fromkeys(frame["first"]))}
    lanes = []
    for name, unit in QUANTITIES.items():
        numbers = frame[name]
        if numbers.notna().sum() == 0:
            continue
        least, most = float(numbers.min()), float(numbers.max())
        base = least if name == AUC else 0.0
        says = (
            figure(most, unit) if figure(least, unit) == figure(most, unit) else f"{figure(least, unit)} to {figure(most, unit)}"
        )
        level = (numbers - base) / (most - base) if most > base else numbers * 0 + 0.5
        place = frame["first"].map(places)
        lanes.append(
            frame.assign(quantity=name, place=place, level=level, says=[says] + [""] * (len(frame) - 1), last=place.max())
        )
    return pd.concat(lanes, ignore_index=True)


def finding(frame: pd.DataFrame, knob: str) -> str:
    """Return the title: how time lost and AUC differ over the points."""
    least, most = float(frame[LOST].min()), float(frame[LOST].max())
    lost = f"{figure(least, 's')} each" if figure(least) == figure(most) else f"{figure(least, 's')} to {figure(most, 's')}"
    auc = frame[AUC].dropna()
    ends = dict.fromkeys((figure(auc.min()), figure(auc.max())))
    learned = f", and AUC ends at {' to '.join(ends)}" if len(auc) else ""
    return f"The fault costs {lost} over {knob}{learned}"


@cache
def spec(second_title: str, seconds: tuple[str, ...]) -> Spec:
    """Return a chart of a lane for each quantity over the first knob's values, a line for each value of the second.

    Needs the columns of `lane_rows`.
    """
    lane = nominal("quantity", sort=[*QUANTITIES], axis=axis("", domain=False, ticks=False, labelLimit=130))
    x = quantity("place", axis=None, scale={"zero": False, "nice": False, **_room()})
    level = quantity("level", scale={"domain": [0, 1], "range": [LANE - 8, 8]})
    legend = legend_below(max(seconds, key=len, default=""), title=second_title) if second_title else None
    colour = nominal("second", sort=list(seconds), legend=legend)
    tip = tooltip_fields(
        ("first", "Value"),
        *([("second", second_title)] if second_title else []),
        *((name, name, ",.4~r") for name in QUANTITIES),
    )
    line = layer({"type": "line", "strokeWidth": 2}, x=x, y=lane, yOffset=level, color=colour, detail=nominal("quantity"))
    dots = layer(
        {"type": "point", "aria": False, "filled": True, "size": 40}, x=x, y=lane, yOffset=level, color=colour, tooltip=tip
    )
    text = layer(
        {"type": "text", "align": "left", "dx": GAP, "fontSize": 11, "color": INK},
        {"filter": "datum.says !== ''"},
        x={**x, "field": "last"},
        y=lane,
        text={"field": "says"},
    )
    ticks = layer(
        {"type": "text", "fontSize": 10, "color": INK, "baseline": "top"},
        {"filter": f"datum.quantity === '{STEP}'"},
        {"aggregate": [{"op": "min", "field": "place", "as": "place"}], "groupby": ["first"]},
        x=x,
        y={"value": {"expr": "height + 2"}},
        text={"field": "first"},
    )
    return {**FIT_WIDTH, "height": {"step": LANE, "for": "position"}, "layer": [line, dots, text, ticks]}


def _room() -> Spec:
    return {"range": [14, bar_scale(LONGEST_EXTENT)["range"][1]]}
