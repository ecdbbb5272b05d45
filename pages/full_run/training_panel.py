"""The full run on the page Design.

The panel has a button, the live curves, and the finished run with two other models' quality for comparison.
"""

from concurrent.futures import BrokenExecutor, Future
from dataclasses import replace

import pandas as pd
import streamlit as st

from engine.core.arrays import Row
from engine.core.figures import count, exact, figure, with_error
from engine.errors import EmberpoolError
from engine.results import falling_auc
from engine.results.result import Result
from engine.results.run_headline import run_headline
from engine.results.samples_seen import HELD_OUT_ERROR, samples_note
from engine.run import forecast
from engine.run.progress import Progress
from engine.run.shared_training import functional_class
from engine.scenario.scenario import Scenario
from engine.store.status import RequestStatus
from engine.training.shape import with_larger_budget
from engine.training.yardsticks import Yardsticks, yardsticks
from engine.validation.chance import error_bar
from pages.answers import caution, data_file, estimates, later, passes, runs
from pages.answers.headline import STEP
from pages.design_page import tiles
from pages.full_run import run_books, sampled_run
from pages.graphics import chart, charts, run_charts
from pages.ui import downloads, session, tables
from pages.ui.numbers import change, duration, percent
from pages.ui.plain import escape_markdown

TITLE_BATCHES = 20  # batches in the means that a title names at the start and the end
MOST_EVENTS = 8  # a longer list gets a box that scrolls
YARDSTICKS = REGRESSION, TEACHER = "logistic regression", "model that clicks"
RUN_STRUCK, CONTINUED_RUN = "run struck", "run that goes on"
TRAINING_GOES_ON = "recovery restores every batch bit for bit, so the training that runs now goes on"
TRAINING_RESTARTS = "it changes the weights that the model learns, so training has started again at the first batch"
TIMING_RESTARTS = "no weights are trained, so all batches are timed again"


def note_strike(scenario: Scenario) -> None:
    """Let a running full run continue with an added fault; call in a callback."""
    st.session_state[RUN_STRUCK] = scenario


def _go_on(scenario: Scenario) -> None:
    """Start the run with the added fault.

    The run shares the training under way unless the fault may change the learned weights.
    """
    unstruck_scenario: Scenario | None = st.session_state.pop(RUN_STRUCK, None)
    status = runs.request([unstruck_scenario], "full") if unstruck_scenario and unstruck_scenario != scenario else None
    if unstruck_scenario is None or status is None or status.is_ended:
        return
    training_class = functional_class(scenario)
    same_training = training_class is not None and training_class == functional_class(unstruck_scenario)
    if not same_training:
        runs.cancel(status.request)
    runs.start([scenario], "full")
    earlier, trains = st.session_state.get(CONTINUED_RUN, (None, None))
    st.session_state[CONTINUED_RUN] = (
        scenario,
        ((trains if earlier == unstruck_scenario and trains else unstruck_scenario) if same_training else None),
    )


def draw(scenario: Scenario, estimate: Result) -> None:
    """Draw the button with the expected time, the live run, or the finished run."""
    _go_on(scenario)
    passes.draw(scenario)
    result = runs.results([scenario], "full")[0]
    if result and result.ran:
        _finished(result, estimate)
        return
    if result:
        st.error(escape_markdown(run_headline(result)))
        run_books.draw_books(result)
    runs.draw_while_running([scenario], "full", lambda status: _unfinished(scenario, status))


def _start(scenario: Scenario) -> None:
    """Run a scenario and make it the session's; only in a callback."""
    session.hold_scenario(scenario)
    runs.start([scenario], "full")


def _unfinished(scenario: Scenario, status: RequestStatus | None) -> None:
    if status is None or status.is_ended:
        knob_budget, scenario = scenario.run.step_budget_GFLOP, with_larger_budget(scenario)
        if (budget := scenario.run.step_budget_GFLOP) != knob_budget:
            st.caption(f"A step of this model needs more than the step budget; the budget is raised to {exact(budget)} GFLOP.")
        reached, batch = runs.stopped_progress(scenario)
        label = sampled_run.run_label(scenario, forecast.run_seconds(scenario))
        label = label if batch is None else f"Go on from batch {count(batch)}"
        st.button(label, type="primary", key="run", on_click=_start, args=(scenario,))
        sampled_run.draw(scenario, _start)
        if status and status.state == "cancelled" and scenario.run.training:
            _cancelled(scenario, status, reached, batch)
        else:
            runs.draw_end_note(status)
        return
    struck, trained_scenario = st.session_state.get(CONTINUED_RUN, (None, None))
    if struck == scenario:
        restart = TRAINING_RESTARTS if scenario.run.training else TIMING_RESTARTS
        st.info(f"The fault is now part of the run: {TRAINING_GOES_ON if trained_scenario else restart}.")
    if (
        struck == scenario
        and trained_scenario
        and not status.running
        and (trains := runs.request([trained_scenario], "full"))
        and not trains.is_ended
    ):
        runs.renew_request(trains)
        status = replace(trains, request=status.request)  # the Cancel button stops the run with the fault
    runs.progress(status)
    if live_progress := [point.progress for point in status.running if point.progress]:
        _so_far(scenario, live_progress[0], live=True)
        st.caption(escape_markdown(live_progress[0].note))


def _so_far(scenario: Scenario, progress: Progress, live: bool) -> None:
    """Draw the curves of a run that has not ended, once it has trained a batch."""
    if not progress.training:
        return
    frame = tables.curve(progress.training, (), tables.power_pace(estimates.estimate_of(scenario)))
    if scenario.faults == type(scenario.faults)():
        curves(frame, live=live, train_every=scenario.run.train_every)
    else:  # outages are drawn once the run is over; on an axis of time they would flatten the curves
        _pair(frame, "batch", live=live, train_every=scenario.run.train_every)


def _cancelled(scenario: Scenario, status: RequestStatus, reached: Progress | None, batch: int | None) -> None:
    """Draw where a training was cancelled and goes on, and its curves."""
    if live_progress := [point.progress for point in status.running if point.progress]:
        st.info("Cancelled: training stops after the current batch, unless another page waits for its result.")
        _so_far(scenario, live_progress[0], live=True)
        return
    if reached is None or not reached.training:
        st.info("Cancelled before the first batch was trained; a new run starts from the first batch.")
        return
    batches_done, total = reached.training[-1]["Batch"] + 1, reached.total
    stop_sentence = f"Cancelled at batch {count(batches_done)} of {count(total)}"
    if batch is None:
        st.info(escape_markdown(f"{stop_sentence}; a new run starts from the first batch: {reached.note}."))
    else:
        seconds_left = forecast.training_seconds(scenario) * (1 - batch / total) + forecast.counting_seconds(scenario)
        st.info(
            f"{stop_sentence}; the other batches take about {duration(seconds_left)}, and the result will be the same as without "
            "a stop."
        )
    _so_far(scenario, reached, live=False)


def _finished(result: Result, estimate: Result) -> None:
    st.success(escape_markdown(run_headline(result)))
    if falls := falling_auc.falling_auc_advice(result.training, result.scenario, passes.samples(result.scenario)):
        st.warning(escape_markdown(falls))
    for warning in caution.notes_below(result):
        st.caption(f"Note: {escape_markdown(warning)}")
    tiles.draw_run(result)
    if result.training:
        frame = tables.curve(result.training, result.events, tables.power_pace(result))
        breaks, yardsticks_future = tables.breaks(frame, result.events), _ask(result.scenario)
        x_axis = curves(with_yardsticks(frame, yardsticks_future), breaks, train_every=result.scenario.run.train_every)
        run_books.draw(result, frame, x_axis, breaks)
        st.caption(escape_markdown(f"{HELD_OUT_ERROR} {samples_note(result)}"))
        last_evaluation = frame.dropna(subset=["auc"]).iloc[-1]
        rises = float(last_evaluation["auc"]) >= float(frame["auc"].max())
        _note(yardsticks_future, float(last_evaluation["auc"]), bool(falls), last_evaluation["error"], rises)
    else:
        run_books.draw_books(result)
        st.caption(
            "All batches were counted and timed, but none was trained. Switch on Training in the group Run to see loss and AUC."
        )
    if result.events:
        with (
            st.expander(f"What happened? {count(len(result.events), 'event')}"),
            st.container(height=240 if len(result.events) > MOST_EVENTS else "content", border=False),
        ):
            st.markdown("\n".join(map(describe_event, result.events)))
    with st.expander("How far is the estimate from the full run?"):
        st.markdown(escape_markdown(gap_sentence(estimate, result)))
        if result.events:
            st.caption(
                "The estimate has no faults, so results that include outages, such as elapsed time, differ by the outages."
            )
        downloads.show(gap_table(estimate, result))
    downloads.run_zip(result, "full")


def curves(frame: pd.DataFrame, breaks: tuple[charts.Break, ...] = (), live: bool = False, train_every: int = 1) -> str:
    """Draw loss and AUC side by side, and return the chosen horizontal axis.

    An outage lasts much longer than a run. So the axis of time is broken there.
    """
    time = "broken" if breaks else "elapsed"
    x_axis: str = st.segmented_control(
        "Horizontal axis",
        [time, "batch", "joules"],
        default=time,
        required=True,
        format_func=charts.CHOICES.__getitem__,
        key=f"against{' broken' * bool(breaks)}",
    )
    if x_axis == "joules":
        st.caption("Each batch has the dynamic energy of an average batch; the machine's static power counts for its seconds.")
    _pair(frame, x_axis, breaks, live, train_every)
    return x_axis


def _pair(
    frame: pd.DataFrame, x_axis: str, breaks: tuple[charts.Break, ...] = (), live: bool = False, train_every: int = 1
) -> None:
    """Draw both curves; the titles of `live` ones hold no number.

    A browser rebuilds a chart whenever its words change.
    """
    # The lower line has its name under it, the other one over it.
    last_row = frame.dropna(subset=["auc"]).tail(1)
    yardstick_columns = tuple(
        sorted((name for name in YARDSTICKS if name in frame), key=lambda name: float(last_row[name].iloc[0]))
    )
    frame = run_charts.event_labels(frame, x_axis)
    shaded = "; shaded: batches trained again" if frame["again"].any() else ""
    loss_column, auc_column = st.columns(2)
    with loss_column:
        chart.draw(
            frame,
            charts.curve("loss", "Loss", x_axis, breaks),
            key="loss",
            title="Training loss of each batch" if live else curve_title(frame["loss"], "Training loss"),
            subtitle=f"Loss of {sampled_run.loss_words(train_every)} over {charts.CURVE_AXES[x_axis]}; "
            f"bold: mean of the batches around it{shaded}",
        )
    with auc_column:
        chart.draw(
            frame,
            charts.curve("auc", "AUC", x_axis, breaks, yardstick_columns),
            key="auc",
            title="AUC on held-out samples" if live else auc_title(frame),
            subtitle=f"AUC ± one standard error over {charts.CURVE_AXES[x_axis]}; dashed: the models to compare with"
            f"{sampled_run.subtitle_end(train_every)}{shaded}",
        )


def curve_title(series: pd.Series, curve_name: str) -> str:
    """Return the title of a curve: its first and last means so far."""
    numbers = series.dropna().astype(float)
    if numbers.empty:
        return f"{curve_name} is not known yet"
    window = min(TITLE_BATCHES, max(len(numbers) // 2, 1))
    head, tail = float(numbers[:window].mean()), float(numbers[-window:].mean())
    return f"{curve_name} goes from {figure(head)} to {figure(tail)}"


def auc_title(frame: pd.DataFrame) -> str:
    """Return the title of the AUC curve.

    The title names the last value, and an earlier higher value if AUC fell.
    """
    evaluations = frame.dropna(subset=["auc"])
    if evaluations.empty:
        return "AUC on held-out samples is not known yet"
    end, best_row = evaluations.iloc[-1], evaluations.loc[evaluations["auc"].astype(float).idxmax()]
    reached, highest = (with_error(float(row["auc"]), row["error"]) for row in (end, best_row))
    if not falling_auc.has_fallen(float(best_row["auc"]), float(end["auc"]), best_row["error"]):
        return f"AUC on held-out samples reaches {reached}"
    best_batch = count(best_row["batch"] + 1, "batch", "batches")
    return f"AUC on held-out samples ends at {reached}; its highest value is {highest} after {best_batch}"


def _ask(scenario: Scenario) -> Future[Yardsticks]:
    """Return the future of both yardsticks, which take seconds in a worker process."""
    return later.answer("yardsticks", yardsticks, scenario, data_file.path_for(scenario), long=True)


def with_yardsticks(frame: pd.DataFrame, yardsticks_future: Future[Yardsticks]) -> pd.DataFrame:
    """Return the frame with the AUC of a regression and of the teacher as columns.

    They are the yardsticks for the run's AUC, filled at evaluated batches. The columns are missing until their values are known.
    """
    if not _yardsticks_known(yardsticks_future):
        return frame
    yardstick_lines, evaluated = yardsticks_future.result(), frame["auc"].notna()
    frame = frame.assign(**{REGRESSION: (frame["batch"] + 1).map(dict(yardstick_lines.regression)).where(evaluated)})
    return (
        frame
        if yardstick_lines.teacher is None
        else frame.assign(**{TEACHER: pd.Series(yardstick_lines.teacher, frame.index).where(evaluated)})
    )


def _note(yardsticks_future: Future[Yardsticks], auc: float, falls: bool, error: float | None, rises: bool) -> None:
    """Draw what the yardsticks are and how the run's last AUC compares, or that they follow."""
    if not yardsticks_future.done() or isinstance(yardsticks_future.exception(), later.NobodyWaits):
        st.caption("A logistic regression is being trained on the same batches, to compare with ...")
        later.redraw_after((yardsticks_future,))
        return
    if failure := yardsticks_future.exception():
        if not isinstance(failure, EmberpoolError | BrokenExecutor):
            raise failure
        st.caption(escape_markdown(data_file.sentence(failure, session.scenario())))
        return
    yardstick_lines = yardsticks_future.result()
    line = yardstick_lines.regression[-1][1]
    st.markdown(escape_markdown(yardstick_sentence(auc, line, falls, error, rises)))
    st.caption(yardstick_note(yardstick_lines))


def yardstick_note(yardstick_lines: Yardsticks) -> str:
    """Return what a run's yardsticks are, and the AUC of each."""
    line, error = yardstick_lines.regression[-1][1], yardstick_lines.regression_error
    teacher = with_error(yardstick_lines.teacher, yardstick_lines.teacher_error)
    teacher_sentence = (
        f" The model that generated the clicks reaches {teacher}; no trained model can be better."
        if yardstick_lines.teacher
        else ""
    )
    return (
        "A logistic regression with one weight a row, trained on the same batches, ends at an AUC of "
        f"{with_error(line, error)} (Adagrad with the best of four learning rates, "
        f"{exact(yardstick_lines.rate)}). A model above it has learned from products of features.{teacher_sentence}"
        " All are judged on the same held-out samples, so they share a large part of their errors."
    )


def yardstick_sentence(auc: float, line: float, falls: bool = False, error: float | None = None, rises: bool = True) -> str:
    """Return a sentence that compares a run's last AUC with the regression's, and names a remedy.

    If held-out AUC falls (`falls`), another sentence on the page names the remedy. More batches are a remedy only if the last AUC
    is the highest (`rises`).
    """
    ends = f"This run ends at an AUC of {with_error(auc, error)}"
    if auc >= line:
        return f"{ends}, {figure(auc - line)} above a logistic regression on the same batches."
    sentence = f"{ends}, {figure(line - auc)} below a logistic regression on the same batches"
    more_batches = "train more batches, or " if rises else ""
    return f"{sentence}." if falls else f"{sentence}: {more_batches}change Optimizer, Learning rate or Top MLP."


def _yardsticks_known(yardsticks_future: Future[Yardsticks]) -> bool:
    return yardsticks_future.done() and yardsticks_future.exception() is None


def describe_event(event: Row) -> str:
    """Return an event as a line of a list: its kind, time, batch and text."""
    event_line = f"{event['Kind']} at {figure(event['Elapsed [s]'], 's')}, batch {count(event['Batch'])}: {event['What']}"
    return f"- {escape_markdown(event_line)}"


def gap_sentence(estimate: Result, full_run: Result) -> str:
    """Return a sentence that compares estimated and measured step time, "" if one is unknown."""
    guess, run = estimate.results.get(STEP), full_run.results.get(STEP)
    if not guess or not run:
        return ""
    bar = error_bar(full_run.scenario)[STEP]
    return (
        f"The full run took {figure(run)} ms a batch, the estimate was {figure(guess)} ms, a difference of "
        f"{percent(abs(guess / run - 1))}. The estimate's error bar is ±{figure(bar)} %: it covers chance over this number of "
        "batches, and the simplifications of the estimate."
    )


def gap_table(estimate: Result, full_run: Result) -> pd.DataFrame:
    """Return a row for each result: estimate, full run, and the estimate's error.

    An unknown value is None.
    """
    rows = [
        {
            "Result": name,
            "Estimate": estimate.results.get(name),
            "Full run": run_value,
            "Gap": change(estimate.results.get(name), run_value),
        }
        for name, run_value in full_run.results.items()
    ]
    return pd.DataFrame(rows, columns=["Result", "Estimate", "Full run", "Gap"])
