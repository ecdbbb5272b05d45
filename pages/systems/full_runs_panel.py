"""Full runs of the compared systems: shared power losses, start, progress and results."""

from collections.abc import Mapping
from math import floor, log10

import pandas as pd
import streamlit as st
from joblib import cpu_count

from engine.core.arrays import Row
from engine.core.figures import figure
from engine.errors import BadKnob
from engine.faults.fault import strikes_of
from engine.results.result import Result
from engine.run import forecast
from engine.scenario import knobs
from engine.scenario.scenario import KNOBS, Scenario
from engine.store.status import RequestStatus
from engine.training.trained_batches import sampling_words
from pages.answers import caution, estimates, runs
from pages.answers.headline import system_title
from pages.graphics import chart, charts
from pages.systems import compare_charts, full_runs
from pages.systems.full_runs import ELAPSED
from pages.ui import downloads, session, tables
from pages.ui.numbers import duration, error_formats
from pages.ui.plain import escape_markdown

FAULTS, TRAINING = "faults.power_loss_at_seconds", "run.training"
FAULT_FIELD_KEY = "lose power at"
UNIT_NAME = "systems"
Curve = tuple[tuple[Row, ...], tuple[Row, ...], tuple[float, float]]
SHARED_AXES = ("running", "joules", "batch")  # an axis cannot be broken for several systems' outages at once


def draw(results: Mapping[str, Result]) -> None:
    """Draw the shared power losses, and below them the full runs of all systems that can run."""
    points = {system: result.scenario for system, result in results.items() if result.ran}
    st.subheader("What does each system learn, and what does a power loss cost?", anchor=False)
    _draw_faults({system: float(results[system].results[ELAPSED] or 0.0) for system in points})
    if not next(iter(points.values())).run.training:
        with st.container(horizontal=True, vertical_alignment="center"):
            st.caption("Training is off: batches are counted and timed, but not trained.", width="content")
            st.button("Switch training on", key="switch training on", on_click=_set_knob, args=(TRAINING, True))
    runs.draw_while_running(list(points.values()), "full", lambda status: _draw_runs(points, status))


def _draw_faults(seconds: Mapping[str, float]) -> None:
    """Draw the instants of power losses: a field for the knob, and a button.

    The button takes half of the shortest run.
    """
    quickest = min(seconds, key=seconds.__getitem__)
    half = _two_digits(seconds[quickest] / 2)
    strike_text = knobs.write(KNOBS[FAULTS], (half,))
    st.session_state[FAULT_FIELD_KEY] = field_text = str(session.held_value(FAULTS))
    with st.container(horizontal=True, vertical_alignment="bottom"):
        st.text_input(
            "Lose power at [s]",
            key=FAULT_FIELD_KEY,
            on_change=lambda: _set_knob(FAULTS, st.session_state[FAULT_FIELD_KEY]),
            placeholder=f"never; such as {strike_text} or {strike_text};{knobs.write(KNOBS[FAULTS], (2 * half,))}",
            help="Simulated times with ';' between them, the same for all systems: the knob Power loss at of the group Faults.",
            width=260,
        )
        st.button(f"Lose power once, at {strike_text} s", key="lose once", on_click=_set_knob, args=(FAULTS, strike_text))
        st.button("Never lose power", key="lose never", on_click=_set_knob, args=(FAULTS, ""), disabled=not field_text)
    try:
        knobs.parse(KNOBS[FAULTS], field_text)
        st.caption(
            f"The shortest run, of {system_title(quickest)}, takes about {figure(seconds[quickest], 's')} of simulated time "
            "without faults."
        )
    except BadKnob as error:
        st.caption(f":red[{escape_markdown(str(error))}]")


def _two_digits(seconds: float) -> float:
    """Return seconds rounded to two digits."""
    return round(seconds, 1 - floor(log10(seconds))) if seconds > 0 else 0.0


def _set_knob(path: str, setting: str | bool) -> None:
    st.session_state[session.widget(path)] = setting


def _draw_runs(points: Mapping[str, Scenario], status: RequestStatus | None) -> None:
    scenarios = list(points.values())
    results = {name: result for name, result in zip(points, runs.results(scenarios, "full"), strict=True) if result}
    missing_points = [point for name, point in points.items() if not (name in results and results[name].results)]
    if missing_points and status and not status.is_ended:
        runs.progress(status, UNIT_NAME)
    elif missing_points:
        wait = duration(forecast.sweep_seconds(missing_points, "full", cpu_count()))
        article, plural = "the other " * (len(missing_points) < len(points)), "s" * (len(missing_points) > 1)
        rest = f"{article}{len(missing_points)} system{plural}"
        action = f"Train {rest} in full" if scenarios[0].run.training else f"Run every batch of {rest}, without training"
        st.button(f"{action}: about {wait}", type="primary", key="run all", on_click=runs.start, args=(scenarios, "full"))
        runs.draw_end_note(status, UNIT_NAME)
    _draw_results(points, results, status)


def _draw_results(points: Mapping[str, Scenario], results: Mapping[str, Result], status: RequestStatus | None) -> None:
    """Draw the finished runs, and curves of runs that are under way."""
    finished_results = {name: result for name, result in results.items() if result.ran}
    if finished_results:
        st.markdown(f"**{escape_markdown(full_runs.finding(finished_results))}**")
        st.markdown(escape_markdown(full_runs.equal_training_sentence(finished_results)))
        if auc_note := full_runs.auc_notes(finished_results):
            st.caption(escape_markdown(auc_note))
    for outcome, names in tables.systems_by_outcome(results).items():
        st.caption(f"No result: {', '.join(names)}. {escape_markdown(outcome)}")
    live = _live_curves(points, status)
    curves = full_runs.curves(
        {
            **live,
            **{name: (result.training, result.events, tables.power_pace(result)) for name, result in finished_results.items()},
        }
    )
    if len(curves):
        train_every = next(iter(points.values())).run.train_every
        _draw_curves(curves, tuple(name for name in points if name in set(curves["system"])), sampling_words(train_every))
    if finished_results:
        _draw_table(finished_results)


def _live_curves(points: Mapping[str, Scenario], status: RequestStatus | None) -> dict[str, Curve]:
    """Return curves of runs under way without faults; a snapshot tells no outages."""
    calm = {name: point for name, point in points.items() if next(strikes_of(point, "power-loss"), None) is None}
    names = {runs.key_of(point, "full"): name for name, point in calm.items()}
    running = status.running if status else ()
    training_rows = {names[run.key]: run.progress.training for run in running if run.progress and run.key in names}
    return {name: (rows, (), tables.power_pace(estimates.estimate_of(points[name]))) for name, rows in training_rows.items()}


def _draw_curves(frame: pd.DataFrame, names: tuple[str, ...], sampling: str) -> None:
    x_field = st.segmented_control(
        "Horizontal axis",
        SHARED_AXES,
        default="running",
        required=True,
        format_func=charts.CHOICES.__getitem__,
        key="curves against",
    )
    for column, field, title, words in zip(
        st.columns(2),
        ("loss", "auc"),
        ("Loss", "AUC"),
        ("Training loss, the mean of some batches", "AUC on held-out samples"),
        strict=True,
    ):
        with column:
            spec = compare_charts.curves(field, title, x_field, names)
            subtitle = f"{title} over {charts.CURVE_AXES[x_field]}; a triangle marks a power loss{sampling and f'; {sampling}'}"
            chart.draw(frame, spec, key=f"full {field}", title=words, subtitle=subtitle)


def _draw_table(finished_results: Mapping[str, Result]) -> None:
    lost_frame = full_runs.lost_batches_frame(finished_results)
    if len(lost_frame):
        spec = compare_charts.lost_batches_chart(tuple(lost_frame["system"]))
        subtitle = "Batches that power losses destroyed, and that are trained again"
        title = full_runs.most_lost(lost_frame)
        chart.draw(lost_frame, spec, key="lost", title=title, subtitle=subtitle)
    learned = full_runs.table(finished_results)
    downloads.show(learned, {**full_runs.RUN_RESULTS, **error_formats(learned)}, pinned="Training system")
    notes = {name: caution.notes_below(result) for name, result in finished_results.items()}
    for warning in dict.fromkeys(warning for run_notes in notes.values() for warning in run_notes):
        names = [name for name, run_notes in notes.items() if warning in run_notes]
        st.caption(f"Note on {', '.join(names)}: {escape_markdown(warning)}")
    downloads.csv(list(finished_results.values()), "full", "emberpool-compare-full", "Download these runs as CSV")
