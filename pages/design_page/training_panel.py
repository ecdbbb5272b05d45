"""The full run on the page Design: start it, watch it, read it, its AUC beside two yardsticks."""

from concurrent.futures import BrokenExecutor, Future
from dataclasses import replace

import pandas as pd
import streamlit as st

from engine.core.arrays import Row
from engine.core.figures import count, exact, figure, with_error
from engine.errors import EmberpoolError
from engine.results import falling_auc
from engine.results.result import Result
from engine.results.samples_seen import HELD_OUT_ERROR, samples_note
from engine.run import forecast
from engine.run.progress import Progress
from engine.run.shared_training import functional_class
from engine.scenario.scenario import Scenario
from engine.store.status import Status
from engine.training.shape import with_larger_budget
from engine.training.yardsticks import Yardsticks, yardsticks
from engine.validation.chance import error_bar
from pages.answers import caution, data_file, estimates, later, passes, runs
from pages.answers.headline import STEP
from pages.design_page import tiles
from pages.graphics import chart, charts
from pages.ui import downloads, session, tables
from pages.ui.numbers import change, duration, percent
from pages.ui.plain import plain

FEW = 20  # batches whose mean begins and ends a title
MOST_EVENTS = 8  # more have a box to scroll
BESIDE = REGRESSION, TEACHER = "logistic regression", "model that clicks"
STRUCK, GOES_ON = "run struck", "run that goes on"
SHARED = "recovery gives back every batch to the bit, so the training under way goes on"
ANEW = "what survives it decides what is learned, so it began again at the first batch"
TIMED = "nothing is trained, so all batches are timed anew"


def strike(scenario: Scenario) -> None:
    """Let a run of the scenario, if one is under way, go on with a fault that is being dropped; only in a callback."""
    st.session_state[STRUCK] = scenario


def _go_on(scenario: Scenario) -> None:
    """Ask for the run with the fault: it shares the training under way, unless the fault may change what is learned."""
    before: Scenario | None = st.session_state.pop(STRUCK, None)
    now = runs.request([before], "full") if before and before != scenario else None
    if before is None or now is None or now.ended:
        return
    shared = functional_class(scenario)
    alike = shared is not None and shared == functional_class(before)
    if not alike:
        runs.cancel(now.request)
    runs.start([scenario], "full")
    earlier, trains = st.session_state.get(GOES_ON, (None, None))
    st.session_state[GOES_ON] = scenario, ((trains if earlier == before and trains else before) if alike else None)


def draw(scenario: Scenario, estimate: Result) -> None:
    """Draw the button with its time, the live run, or the finished one."""
    _go_on(scenario)
    passes.draw(scenario)
    result = runs.results([scenario], "full")[0]
    if result and result.ran:
        _finished(result, estimate)
        return
    if result:
        st.error(plain(result.outcome))
    runs.follow([scenario], "full", lambda status: _unfinished(scenario, status))


def _start(scenario: Scenario) -> None:
    """Run a scenario, which from now on is the session's; only in a callback."""
    session.show(scenario)
    runs.start([scenario], "full")


def _unfinished(scenario: Scenario, status: Status | None) -> None:
    if status is None or status.ended:
        given, scenario = scenario.run.step_budget_GFLOP, with_larger_budget(scenario)
        if (budget := scenario.run.step_budget_GFLOP) != given:
            st.caption(f"A step of this model takes more than the step budget; it is raised to {exact(budget)} GFLOP.")
        reached, batch = runs.stopped(scenario)
        wait = duration(forecast.seconds(scenario))
        label = f"{'Run full training' if scenario.run.training else 'Run every batch, without training'}: about {wait}"
        label = label if batch is None else f"Go on from batch {count(batch)}"
        st.button(label, type="primary", key="run", on_click=_start, args=(scenario,))
        if status and status.state == "cancelled" and scenario.run.training:
            _cancelled(scenario, status, reached, batch)
        else:
            runs.note(status)
        return
    struck, shared = st.session_state.get(GOES_ON, (None, None))
    if struck == scenario:
        st.info(f"The fault strikes in the run: {SHARED if shared else ANEW if scenario.run.training else TIMED}.")
    if struck == scenario and shared and not status.running and (trains := runs.request([shared], "full")) and not trains.ended:
        runs.keep_going(trains)
        status = replace(trains, request=status.request)  # Cancel is of the run with the fault
    runs.progress(status)
    if seen := [point.progress for point in status.running if point.progress]:
        _so_far(scenario, seen[0], live=True)
        st.caption(plain(seen[0].note))


def _so_far(scenario: Scenario, progress: Progress, live: bool) -> None:
    """Draw the curves of a run that has not ended, once it has trained a batch."""
    if not progress.training:
        return
    frame = tables.curve(progress.training, (), tables.pace(estimates.estimate_of(scenario)))
    if scenario.faults == type(scenario.faults)():
        curves(frame, live=live)
    else:  # outages are told once the run is over, and on an axis of time they would flatten all else
        _pair(frame, "batch", live=live)


def _cancelled(scenario: Scenario, status: Status, reached: Progress | None, batch: int | None) -> None:
    """Say at which batch a training was cancelled and from which it goes on, and draw its curves so far."""
    if seen := [point.progress for point in status.running if point.progress]:
        st.info("Cancelled: the training stops after the batch under way, unless another page waits for it.")
        _so_far(scenario, seen[0], live=True)
        return
    if reached is None or not reached.training:
        st.info("Cancelled before the first batch was trained; running again starts from the first batch.")
        return
    at, total = reached.training[-1]["Batch"] + 1, reached.total
    where = f"Cancelled at batch {count(at)} of {count(total)}"
    if batch is None:
        st.info(plain(f"{where}; running again starts from the first batch: {reached.note}."))
    else:
        left = forecast.training_seconds(scenario) * (1 - batch / total) + forecast.counting_seconds(scenario)
        st.info(f"{where}; the rest takes about {duration(left)} and gives the same result as a run without a stop.")
    _so_far(scenario, reached, live=False)


def _finished(result: Result, estimate: Result) -> None:
    st.success(plain(result.outcome or "Completed."))
    if falls := falling_auc.advice(result.training, result.scenario, passes.samples(result.scenario)):
        st.warning(plain(falls))
    for warning in caution.notes_below(result):
        st.caption(f"Note: {plain(warning)}")
    tiles.draw(result, {}, [name for name in tiles.OF_A_RUN if result.results.get(name) is not None])
    if result.training:
        frame = tables.curve(result.training, result.events, tables.pace(result))
        breaks, found = tables.breaks(frame, result.events), _ask(result.scenario)
        curves(with_yardsticks(frame, found), breaks)
        st.caption(plain(f"{HELD_OUT_ERROR} {samples_note(result)}"))
        last = frame.dropna(subset=["auc"]).iloc[-1]
        _note(found, float(last["auc"]), bool(falls), last["error"])
    else:
        st.caption("Every batch was counted and timed, none trained: switch Training on under Run to see loss and AUC.")
    if result.events:
        with st.container(height=240 if len(result.events) > MOST_EVENTS else "content", border=False):
            st.markdown("\n".join(map(happened, result.events)))
    st.markdown(f"**How far is the estimate from the full run?** {plain(apart(estimate, result))}")
    if result.events:
        st.caption("The estimate knows no faults: what counts outages, such as elapsed time, differs by them.")
    downloads.show(gap(estimate, result))
    downloads.csv([result], "full", f"emberpool-{result.scenario.system}", "Download this run as CSV")


def curves(frame: pd.DataFrame, breaks: tuple[charts.Break, ...] = (), live: bool = False) -> None:
    """Draw loss and AUC beside each other; an outage lasts so much longer than a run that time is drawn without or broken."""
    offered = [name for name in charts.CHOICES if breaks or name != "broken"]
    key = f"against{' broken' * bool(breaks)}"
    against = st.segmented_control(
        "Against", offered, default="running", required=True, format_func=charts.CHOICES.__getitem__, key=key
    )
    if against == "joules":
        st.caption("Each batch counts with the joules of a mean one, and what the machine draws all the time with its seconds.")
    _pair(frame, against, breaks, live)


def _pair(frame: pd.DataFrame, against: str, breaks: tuple[charts.Break, ...] = (), live: bool = False) -> None:
    """Draw both curves; a `live` one has no number in its title, as a browser makes a chart anew where its words change."""
    known = tuple(name for name in BESIDE if name in frame)
    left, right = st.columns(2)
    with left:
        chart.draw(
            frame,
            charts.curve("loss", "Loss", against, breaks),
            key="loss",
            title="Training loss, batch by batch" if live else fallen(frame["loss"], "Training loss"),
            subtitle=f"Loss of each batch over {charts.AGAINST[against]}; bold: the mean of the batches around it",
        )
    with right:
        chart.draw(
            frame,
            charts.curve("auc", "AUC", against, breaks, known),
            key="auc",
            title="AUC on held-out samples" if live else auc_title(frame),
            subtitle=f"AUC ± a standard error over {charts.AGAINST[against]}; dashed: what else would reach",
        )


def fallen(series: pd.Series, what: str) -> str:
    """Return the title of a curve: from what to what it has gone so far."""
    known = series.dropna().astype(float)
    if known.empty:
        return f"{what} is not known yet"
    few = min(FEW, max(len(known) // 2, 1))
    head, tail = float(known[:few].mean()), float(known[-few:].mean())
    return f"{what} goes from {figure(head)} to {figure(tail)}"


def auc_title(frame: pd.DataFrame) -> str:
    """Return the title of the curve of AUC: where it ends, and where it was higher before."""
    known = frame.dropna(subset=["auc"])
    if known.empty:
        return "AUC on held-out samples is not known yet"
    end, best = known.iloc[-1], known.loc[known["auc"].astype(float).idxmax()]
    reached, highest = (with_error(float(row["auc"]), row["error"]) for row in (end, best))
    if not falling_auc.is_fall(float(best["auc"]), float(end["auc"]), best["error"]):
        return f"AUC on held-out samples reaches {reached}"
    when = count(best["batch"] + 1, "batch", "batches")
    return f"AUC on held-out samples ends at {reached}; {highest} after {when}"


def _ask(scenario: Scenario) -> Future[Yardsticks]:
    """Ask for both beside the page, which takes seconds."""
    return later.answer("yardsticks", yardsticks, scenario, data_file.path_for(scenario), long=True)


def with_yardsticks(frame: pd.DataFrame, asked: Future[Yardsticks]) -> pd.DataFrame:
    """Return a curve's frame with a column a line, where they are known: after each number of batches that was evaluated."""
    if not _known(asked):
        return frame
    found, evaluated = asked.result(), frame["auc"].notna()
    frame = frame.assign(**{REGRESSION: (frame["batch"] + 1).map(dict(found.regression)).where(evaluated)})
    return frame if found.teacher is None else frame.assign(**{TEACHER: pd.Series(found.teacher, frame.index).where(evaluated)})


def _note(asked: Future[Yardsticks], auc: float, falls: bool, error: float | None = None) -> None:
    """Say what the lines are and how the run's last AUC stands to them, or that they follow."""
    if not asked.done() or isinstance(asked.exception(), later.NobodyWaits):
        st.caption("A logistic regression on the same batches follows ...")
        later.redraw_after((asked,))
        return
    if failure := asked.exception():
        if not isinstance(failure, EmberpoolError | BrokenExecutor):
            raise failure
        st.caption(plain(data_file.sentence(failure, session.scenario())))
        return
    found = asked.result()
    line = found.regression[-1][1]
    st.markdown(plain(learned(auc, line, falls, error)))
    teacher = with_error(found.teacher, found.teacher_error)
    most = f" The model that decides who clicks reaches {teacher}; nothing learned can beat it." if found.teacher else ""
    st.caption(
        f"A logistic regression on the same batches, with a weight a row, ends at {with_error(line, found.regression_error)} (by "
        f"Adagrad at the best of four rates, {exact(found.rate)}): what lies above it is learned from products of features.{most}"
        " All are judged on the same held-out samples, so much of their errors is common to them."
    )


def learned(auc: float, line: float, falls: bool = False, error: float | None = None) -> str:
    """Return the sentence that compares a run's last AUC ± its error with that of the logistic regression, and what to change.

    Where held-out AUC falls while training goes on, more batches would not help: a sentence above says what does.
    """
    ends = f"This run ends at an AUC of {with_error(auc, error)}"
    if auc >= line:
        return f"{ends}, {figure(auc - line)} above a logistic regression on the same batches."
    below = f"{ends}, {figure(line - auc)} below a logistic regression on the same batches"
    return f"{below}." if falls else f"{below}: train more batches, or change Optimizer, Learning rate or Top MLP."


def _known(asked: Future[Yardsticks]) -> bool:
    return asked.done() and asked.exception() is None


def happened(event: Row) -> str:
    """Return an event as a line of a list: when, in which batch, and what."""
    what = f"{event['Kind']} at {figure(event['Elapsed [s]'], 's')}, batch {count(event['Batch'])}: {event['What']}"
    return f"- {plain(what)}"


def apart(estimate: Result, full: Result) -> str:
    """Return the sentence that compares the two step times, or "" where there is none."""
    guess, run = estimate.results.get(STEP), full.results.get(STEP)
    if not guess or not run:
        return ""
    bar = error_bar(full.scenario)[STEP]
    return (
        f"The full run took {figure(run)} ms a batch, the estimate said {figure(guess)}: {percent(abs(guess / run - 1))} apart. "
        f"The estimate's own error bar is ±{figure(bar)} %: what the chance in so many batches can do, and the estimate's form."
    )


def gap(estimate: Result, full: Result) -> pd.DataFrame:
    """Return each result as estimated and as run, with the estimate's error; None where there is none."""
    rows = [
        {
            "Result": name,
            "Estimate": estimate.results.get(name),
            "Full run": value,
            "Gap": change(estimate.results.get(name), value),
        }
        for name, value in full.results.items()
    ]
    return pd.DataFrame(rows, columns=["Result", "Estimate", "Full run", "Gap"])
