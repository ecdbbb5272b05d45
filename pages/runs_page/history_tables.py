"""Past requests as tables and sentences: requests, the store's fullness, their points."""

from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from pathlib import Path

import numpy as np
import pandas as pd

from engine.core.figures import count, exact, figure, percent
from engine.hardware.money.prices import with_year
from engine.results.metrics import ERRORS
from engine.scenario.keys import Fidelity
from engine.scenario.scenario import KNOBS
from engine.service import history
from engine.service.history import PastRequest
from engine.store import metric_columns
from engine.store.quota import Usage
from engine.store.requests import User, may_change
from engine.units import GiB
from pages.ui.numbers import better_direction, duration, label, result_text, unit

REQUEST, PLACE, METRIC_VALUE = "Request", "place", "value"
YEAR_NOTE = "USD of each run's machine.prices"
RANK = "Rank, best first [%]"
LIVE = ("queued", "running")
RUN_KIND_WORDS: dict[Fidelity, str] = {"estimate": "estimated", "full": "trained in full"}
# By the first word of an owner's text; a request of an earlier format has no owner.
OWNER_WORDS = {"visitor": "another visitor's", "session": "another session's", "command": "command line"}
MOST_MARKS = 300  # points of one request's curve; the eye tells no more apart


def request_rows(entries: Sequence[PastRequest], user: User) -> pd.DataFrame:
    """Return a row for each request, in the given order, as a user sees it."""
    return pd.DataFrame(
        {
            REQUEST: [f"#{past_run.request}" for past_run in entries],
            "What": [past_run.title for past_run in entries],
            "How": [RUN_KIND_WORDS[past_run.fidelity] for past_run in entries],
            "State": [_state_text(past_run) for past_run in entries],
            "Owner": [owner_text(past_run.owner, user) for past_run in entries],
            "Points": [_points_text(past_run) for past_run in entries],
            "When": pd.to_datetime([past_run.created for past_run in entries], unit="s", utc=True),
            "Took": ["" if past_run.seconds is None else duration(past_run.seconds) for past_run in entries],
        }
    )


def owner_text(owner: str, user: User) -> str:
    """Return in plain words whose a request is."""
    if owner == user.owner != "":
        return "yours"
    return OWNER_WORDS.get(owner.partition(" ")[0], "unknown")


def others_note(entries: Sequence[PastRequest], user: User) -> str:
    """Return a sentence on the requests that a user may not change; "" if there are none."""
    others = [f"#{past_run.request}" for past_run in entries if not may_change(past_run.owner, user)]
    if not others:
        return ""
    subject, pronoun = (f"{others[0]} is", "it") if len(others) == 1 else (f"{', '.join(others)} are", "them")
    return f"{subject} not yours; to pin, cancel or delete {pronoun}, ask the owner, or whoever has the token of this explorer."


def _state_text(past_run: PastRequest) -> str:
    state = "evicted" if past_run.state == "done" and not past_run.num_results + past_run.num_failures else past_run.state
    if state == "running":
        state = f"running, {percent((past_run.num_results + past_run.num_failures) / past_run.num_points)}"
    return f"{state}, pinned" if past_run.pinned else state


def _points_text(past_run: PastRequest) -> str:
    failed = f", {count(past_run.num_failures)} failed" if past_run.num_failures else ""
    return (
        f"{count(past_run.num_results)}"
        if past_run.num_results == past_run.num_points
        else f"{count(past_run.num_results)} of {count(past_run.num_points)}"
    ) + failed


def answer(entries: Sequence[PastRequest], num_requests: int) -> str:
    """Return the sentence on the number of requests and the newest one."""
    newest = f"; the newest is {entries[0].title} ({_state_text(entries[0])})" if entries else ""
    return f"{count(num_requests, 'run')} {'is' if num_requests == 1 else 'are'} stored{newest}"


def fullness(usage: Usage) -> str:
    """Return a sentence on how full the store is."""
    return (
        f"The store holds {count(usage.results, 'result')} in {_size_text(usage.used_bytes)} of {_size_text(usage.quota)}; "
        "when the store is full, results that were unused for longest are evicted, except those of pinned runs."
    )


def _size_text(nbytes: int) -> str:
    return figure(nbytes / GiB, "GiB")


def points(store: Path, entries: Sequence[PastRequest]) -> pd.DataFrame:
    """Return the requests' points: the request, the varied knobs, every metric."""
    frames = [
        _points_of(store, past_run.request, (past_run.created, past_run.num_results, past_run.num_failures))
        for past_run in entries
    ]
    all_knobs = dict.fromkeys(name for frame in frames for name in varied_knobs(frame))
    frames = [_with_knobs(store, past_run.request, frame, all_knobs) for past_run, frame in zip(entries, frames, strict=True)]
    all_points = pd.concat(frames, ignore_index=True) if frames else pd.DataFrame({REQUEST: []})
    return (
        all_points.assign(**{name: _numbers(all_points[name]) for name in varied_knobs(all_points)})
        if len(all_points)
        else all_points
    )


@lru_cache(maxsize=4)
def _points_of(store: Path, request: int, state: tuple[float, int, int]) -> pd.DataFrame:
    """Return a request's points, cached until its `state` changes.

    100,000 points take seconds to read.
    """
    stored_columns = metric_columns.columns_of_request(store, request)
    ran_points = np.flatnonzero(stored_columns.state == metric_columns.COMPLETED)
    knob_values = {
        title(path): np.array(texts, object)[ran_points] for path, texts in history.varied_texts(store, request).items()
    }
    return pd.DataFrame(
        {REQUEST: f"#{request}", **knob_values, **{name: column[ran_points] for name, column in stored_columns.metrics.items()}}
    )


def _with_knobs(store: Path, request: int, frame: pd.DataFrame, knob_names: Iterable[str]) -> pd.DataFrame:
    """Return a request's points with its values of knobs that only others vary."""
    missing_knobs = [name for name in knob_names if name not in frame]
    texts = {title(path): text for path, text in history.first_point_texts(store, request).items()} if missing_knobs else {}
    return frame.assign(**{name: texts.get(name) for name in missing_knobs})


def title(path: str) -> str:
    """Return a knob's title; its path if this version has no such knob."""
    return KNOBS[path].title if path in KNOBS else path


def varied_knobs(frame: pd.DataFrame) -> list[str]:
    """Return the columns that are knobs."""
    titles = {knob.title for knob in KNOBS.values()}
    return [name for name in frame.columns if name in titles]


def metric_names(frame: pd.DataFrame) -> list[str]:
    """Return the columns of metrics that differ between points; all metrics if none differs."""
    names = [name for name in frame.columns if name not in (REQUEST, *varied_knobs(frame)) and frame[name].notna().any()]
    return [name for name in names if frame[name].nunique() > 1] or names


def _numbers(texts: pd.Series) -> pd.Series:
    """Return numbers where all texts are numbers."""
    numbers = pd.to_numeric(texts, errors="coerce")
    return numbers if numbers.notna().all() else texts


def x_axis_choices(frame: pd.DataFrame) -> list[str]:
    """Return the x axis's choices: rank, or a numeric knob that all requests vary."""
    numeric = [name for name in varied_knobs(frame) if pd.api.types.is_numeric_dtype(frame[name])]
    return [RANK, *(name for name in numeric if (frame.groupby(REQUEST, sort=False)[name].nunique() > 1).all())]


def marks(frame: pd.DataFrame, metric: str, x_name: str) -> pd.DataFrame:
    """Return request, place and value of each mark.

    Over a knob every point has a mark; by rank at most MOST_MARKS points of each request have one.
    """
    parts = []
    for name, group in frame[frame[metric].notna()].groupby(REQUEST, sort=False):
        if x_name == RANK:
            values = np.sort(group[metric].to_numpy(float))[:: -1 if better_direction(metric) == "higher" else 1]
            positions = np.unique(np.linspace(0, len(values) - 1, min(len(values), MOST_MARKS)).astype(int))
            part = {PLACE: 100 * positions / max(len(values) - 1, 1), METRIC_VALUE: values[positions]}
        else:
            part = {PLACE: group[x_name].to_numpy(float), METRIC_VALUE: group[metric].to_numpy(float)}
        parts.append(pd.DataFrame({"request": name, **part}))
    return pd.concat(parts, ignore_index=True) if parts else pd.DataFrame(columns=["request", PLACE, METRIC_VALUE])


def best_values(frame: pd.DataFrame, metric: str) -> Mapping[str, float]:
    """Return each request's best value of a metric, in the metric's better direction."""
    grouped = frame[frame[metric].notna()].groupby(REQUEST, sort=False)[metric]
    best_by_request: Mapping[str, float] = (grouped.max() if better_direction(metric) == "higher" else grouped.min()).to_dict()
    return best_by_request


def finding(frame: pd.DataFrame, metric: str) -> str:
    """Return a sentence on the best value, its request and point, and the others' best values."""
    best_by_request = best_values(frame, metric)
    word = "highest" if better_direction(metric) == "higher" else "lowest"
    order = sorted(best_by_request, key=best_by_request.__getitem__, reverse=word == "highest")
    if not order:
        return f"No point has a result for {label(metric)}"
    errors = _best_errors(frame, metric)
    value_texts = {request: result_text(best_by_request[request], unit(metric), errors.get(request)) for request in order}
    best_point = best_points(frame, metric, 1).iloc[0]
    place_text = ", ".join(_knob_text(name, best_point[name]) for name in varied_knobs(frame) if pd.notna(best_point[name]))
    subject = f"{order[0]} reaches the" if len(order) > 1 else "The"
    verb = "," if len(order) > 1 else " is"
    start = f"{subject} {word} {_mid_sentence(label(metric))}{verb} {value_texts[order[0]]}"
    start = with_year(start, YEAR_NOTE)
    return (
        start
        + (f" with {place_text}" if place_text else "")
        + "".join(f"; {request} {value_texts[request]}" for request in order[1:4])
    )


def _best_errors(frame: pd.DataFrame, metric: str) -> Mapping[str, float]:
    """Return the standard error of each request's highest value; {} where unknown."""
    error = ERRORS.get(metric, "")
    if error not in frame:
        return {}
    places = frame[frame[metric].notna()].groupby(REQUEST, sort=False)[metric].idxmax()
    return dict(zip(places.index, frame.loc[places, error], strict=True))


def _knob_text(name: str, knob_value: object) -> str:
    number = pd.to_numeric(knob_value, errors="coerce")
    return f"{label(name)} {knob_value if pd.isna(number) else exact(number, unit(name))}"


def _mid_sentence(words: str) -> str:
    """Return words for the middle of a sentence: AUC stays AUC."""
    return words if words[1:2].isupper() else words[:1].lower() + words[1:]


def best_points(frame: pd.DataFrame, metric: str, max_rows: int) -> pd.DataFrame:
    """Return the best points of all requests by a metric.

    Columns are the varied knobs and the metrics that differ.
    """
    column_names = [REQUEST, *varied_knobs(frame), *metric_names(frame)]
    return frame[column_names].sort_values(metric, ascending=better_direction(metric) != "higher", kind="stable").head(max_rows)
