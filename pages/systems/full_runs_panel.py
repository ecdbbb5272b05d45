"""Full runs of the compared systems: lose power at the same instants, start them, watch them, read them."""

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
from engine.store.status import Status
from pages.answers import caution, estimates, runs
from pages.answers.headline import system_title
from pages.graphics import chart, charts
from pages.systems import compare_charts, full_runs
from pages.systems.full_runs import ELAPSED
from pages.ui import downloads, session, tables
from pages.ui.numbers import duration, error_formats
from pages.ui.plain import plain

FAULTS, TRAINING = "faults.power_loss_at_seconds", "run.training"
FIELD = "lose power at"
WHAT = "systems"
Curve = tuple[tuple[Row, ...], tuple[Row, ...], tuple[float, float]]
ALIKE = ("running", "joules", "batch")  # an axis cannot be broken for several systems' outages at once


def draw(found: Mapping[str, Result]) -> None:
    """Draw the faults that all runs share, and below them the runs of all systems that can run."""
    points = {system: result.scenario for system, result in found.items() if result.ran}
    st.subheader("What does each learn, and what do power losses take?", anchor=False)
    _faults({system: float(found[system].results[ELAPSED] or 0.0) for system in points})
    if not next(iter(points.values())).run.training:
        with st.container(horizontal=True, vertical_alignment="center"):
            st.caption("Training is off here: batches are counted and timed, none is trained.", width="content")
            st.button("Train real weights", on_click=_set, args=(TRAINING, True))
    runs.follow(list(points.values()), "full", lambda status: _runs(points, status))


def _faults(seconds: Mapping[str, float]) -> None:
    """Draw when power is lost: a second field for the knob, and the half of the shortest run as a choice."""
    quickest = min(seconds, key=seconds.__getitem__)
    half = _round(seconds[quickest] / 2)
    once = knobs.write(KNOBS[FAULTS], (half,))
    st.session_state[FIELD] = held = str(session.held(FAULTS))
    with st.container(horizontal=True, vertical_alignment="bottom"):
        st.text_input(
            "Lose power at [s]",
            key=FIELD,
            on_change=lambda: _set(FAULTS, st.session_state[FIELD]),
            placeholder=f"never; {once} or {once};{knobs.write(KNOBS[FAULTS], (2 * half,))}",
            help="Simulated instants, ';' between them, the same for all systems; the knob of that name under Faults.",
            width=260,
        )
        st.button(f"Lose it once, at {once} s", on_click=_set, args=(FAULTS, once))
        st.button("Never", on_click=_set, args=(FAULTS, ""), disabled=not held)
    try:
        knobs.parse(KNOBS[FAULTS], held)
        st.caption(
            f"The shortest of these runs, {system_title(quickest)}'s, takes some {figure(seconds[quickest], 's')} of simulated "
            "time without faults."
        )
    except BadKnob as error:
        st.caption(f":red[{plain(str(error))}]")


def _round(value: float) -> float:
    """Return a value in two digits."""
    return round(value, 1 - floor(log10(value))) if value > 0 else 0.0


def _set(path: str, value: str | bool) -> None:
    st.session_state[session.widget(path)] = value


def _runs(points: Mapping[str, Scenario], status: Status | None) -> None:
    asked = list(points.values())
    found = {name: result for name, result in zip(points, runs.results(asked, "full"), strict=True) if result}
    missing = [point for name, point in points.items() if not (name in found and found[name].results)]
    if missing and status and not status.ended:
        runs.progress(status, WHAT)
    elif missing:
        wait = duration(forecast.sweep_seconds(missing, "full", cpu_count()))
        rest = f"{'the other ' if len(missing) < len(points) else ''}{len(missing)} system{'s' if len(missing) > 1 else ''}"
        does = f"Train {rest} in full" if asked[0].run.training else f"Run every batch of {rest}, without training"
        st.button(f"{does}: about {wait}", type="primary", key="run all", on_click=runs.start, args=(asked, "full"))
        runs.note(status, WHAT)
    _learned(points, found, status)


def _learned(points: Mapping[str, Scenario], found: Mapping[str, Result], status: Status | None) -> None:
    """Draw what is finished, and the curves of what still runs."""
    done = {name: result for name, result in found.items() if result.ran}
    if done:
        st.markdown(f"**{plain(full_runs.finding(done))}**")
        st.markdown(plain(full_runs.alike(done)))
        if said := full_runs.about_auc(done):
            st.caption(plain(said))
    for outcome, names in tables.not_shown(found).items():
        st.caption(f"No result: {', '.join(names)}. {plain(outcome)}")
    live = _live(points, status)
    curves = full_runs.curves(
        {**live, **{name: (result.training, result.events, tables.pace(result)) for name, result in done.items()}}
    )
    if len(curves):
        _curves(curves, tuple(name for name in points if name in set(curves["system"])))
    if done:
        _table(done)


def _live(points: Mapping[str, Scenario], status: Status | None) -> dict[str, Curve]:
    """Return the curves of systems that still run; with faults none, as a snapshot does not tell the outages."""
    calm = {name: point for name, point in points.items() if next(strikes_of(point, "power-loss"), None) is None}
    names = {runs.key_of(point, "full"): name for name, point in calm.items()}
    running = status.running if status else ()
    seen = {names[one.key]: one.progress.training for one in running if one.progress and one.key in names}
    return {name: (rows, (), tables.pace(estimates.estimate_of(points[name]))) for name, rows in seen.items()}


def _curves(frame: pd.DataFrame, names: tuple[str, ...]) -> None:
    against = st.segmented_control(
        "Against", ALIKE, default="running", required=True, format_func=charts.CHOICES.__getitem__, key="curves against"
    )
    for column, field, title, words in zip(
        st.columns(2),
        ("loss", "auc"),
        ("Loss", "AUC"),
        ("Training loss, a mean of some batches", "AUC on held-out samples"),
        strict=True,
    ):
        with column:
            spec = compare_charts.curves(field, title, against, names)
            subtitle = f"{title} over {charts.AGAINST[against]}; a triangle marks a power loss"
            chart.draw(frame, spec, key=f"full {field}", title=words, subtitle=subtitle)


def _table(done: Mapping[str, Result]) -> None:
    again = full_runs.lost(done)
    if len(again):
        spec = compare_charts.lost(tuple(again["system"]))
        subtitle = "Batches that had begun and were lost with the power"
        chart.draw(again, spec, key="lost", title="How much is run again", subtitle=subtitle)
    learned = full_runs.table(done)
    downloads.show(learned, {**full_runs.SHOWN, **error_formats(learned)}, pinned="Training system")
    notes = {name: caution.notes_below(result) for name, result in done.items()}
    for warning in dict.fromkeys(warning for told in notes.values() for warning in told):
        names = [name for name, told in notes.items() if warning in told]
        st.caption(f"Note on {', '.join(names)}: {plain(warning)}")
    downloads.csv(list(done.values()), "full", "emberpool-compare-full", "Download these runs as CSV")
