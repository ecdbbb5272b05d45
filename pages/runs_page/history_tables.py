"""The history as plain tables and sentences: what was run, how full the store is, and the points of chosen requests."""

from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from pathlib import Path

import numpy as np
import pandas as pd

from engine.core.figures import count, exact, figure, percent
from engine.hardware.prices import with_year
from engine.results.metrics import ERRORS
from engine.scenario.keys import How
from engine.scenario.scenario import KNOBS
from engine.service import history
from engine.service.history import Entry
from engine.store import columns
from engine.store.quota import Usage
from engine.units import GiB
from pages.ui.numbers import better, duration, label, readable, unit

REQUEST, PLACE, VALUE = "Request", "place", "value"
EACH = "USD of each run's machine.prices"
RANK = "Rank, best first [%]"
LIVE = ("queued", "running")
HOW: dict[How, str] = {"estimate": "estimated", "full": "trained in full"}
MOST_MARKS = 300  # of one request's curve; more could not be told apart


def listed(entries: Sequence[Entry]) -> pd.DataFrame:
    """Return one row a request, in the given order."""
    return pd.DataFrame(
        {
            REQUEST: [f"#{entry.request}" for entry in entries],
            "What": [entry.title for entry in entries],
            "How": [HOW[entry.how] for entry in entries],
            "State": [_state(entry) for entry in entries],
            "Points": [_points(entry) for entry in entries],
            "When": pd.to_datetime([entry.created for entry in entries], unit="s", utc=True),
            "Took": ["" if entry.seconds is None else duration(entry.seconds) for entry in entries],
        }
    )


def _state(entry: Entry) -> str:
    state = "made room" if entry.state == "done" and not entry.kept + entry.failed else entry.state
    if state == "running":
        state = f"running, {percent((entry.kept + entry.failed) / entry.total)}"
    return f"{state}, pinned" if entry.pinned else state


def _points(entry: Entry) -> str:
    failed = f", {count(entry.failed)} failed" if entry.failed else ""
    return (f"{count(entry.kept)}" if entry.kept == entry.total else f"{count(entry.kept)} of {count(entry.total)}") + failed


def answer(entries: Sequence[Entry], known: int) -> str:
    """Return how many runs are kept, and which is the newest, as a sentence."""
    newest = f"; the newest: {entries[0].title}, {_state(entries[0])}" if entries else ""
    return f"{count(known, 'run')} kept{newest}"


def fullness(usage: Usage) -> str:
    """Return how full the store is, as a sentence."""
    return (
        f"The store holds {count(usage.results)} results in {_size(usage.used)} of {_size(usage.quota)}; "
        "beyond that, what was used longest ago makes room, but nothing pinned."
    )


def _size(nbytes: int) -> str:
    return figure(nbytes / GiB, "GiB")


def points(store: Path, entries: Sequence[Entry]) -> pd.DataFrame:
    """Return the points of some requests that have results: the request, what varies in any of them, every metric."""
    frames = [_points_of(store, entry.request, (entry.created, entry.kept, entry.failed)) for entry in entries]
    every = dict.fromkeys(name for frame in frames for name in varied(frame))
    frames = [_filled(store, entry.request, frame, every) for entry, frame in zip(entries, frames, strict=True)]
    whole = pd.concat(frames, ignore_index=True) if frames else pd.DataFrame({REQUEST: []})
    return whole.assign(**{name: _numbers(whole[name]) for name in varied(whole)}) if len(whole) else whole


@lru_cache(maxsize=4)
def _points_of(store: Path, request: int, state: tuple[float, int, int]) -> pd.DataFrame:
    """Read a request's points; 100,000 take seconds, so the last few requests' stay until their `state` changes."""
    found = columns.read(store, request)
    done = np.flatnonzero(found.state == columns.RAN)
    where = {title(path): np.array(texts, object)[done] for path, texts in history.places(store, request).items()}
    return pd.DataFrame({REQUEST: f"#{request}", **where, **{name: held[done] for name, held in found.metrics.items()}})


def _filled(store: Path, request: int, frame: pd.DataFrame, every: Iterable[str]) -> pd.DataFrame:
    """Return a request's points with the value that it holds of each knob that only others vary."""
    missing = [name for name in every if name not in frame]
    texts = {title(path): text for path, text in history.held(store, request).items()} if missing else {}
    return frame.assign(**{name: texts.get(name) for name in missing})


def title(path: str) -> str:
    """Return a knob's title, or its path where this version does not know it."""
    return KNOBS[path].title if path in KNOBS else path


def varied(frame: pd.DataFrame) -> list[str]:
    """Return the columns that are knobs."""
    titles = {knob.title for knob in KNOBS.values()}
    return [name for name in frame.columns if name in titles]


def metric_names(frame: pd.DataFrame) -> list[str]:
    """Return the columns that are metrics and differ anywhere; all of them if none does."""
    names = [name for name in frame.columns if name not in (REQUEST, *varied(frame)) and frame[name].notna().any()]
    return [name for name in names if frame[name].nunique() > 1] or names


def _numbers(texts: pd.Series) -> pd.Series:
    """Return numbers where all texts are numbers."""
    numbers = pd.to_numeric(texts, errors="coerce")
    return numbers if numbers.notna().all() else texts


def against(frame: pd.DataFrame) -> list[str]:
    """Return what a metric can be drawn against: its rank, or a knob that every request varies and that is a number."""
    numeric = [name for name in varied(frame) if pd.api.types.is_numeric_dtype(frame[name])]
    return [RANK, *(name for name in numeric if (frame.groupby(REQUEST, sort=False)[name].nunique() > 1).all())]


def marks(frame: pd.DataFrame, metric: str, across: str) -> pd.DataFrame:
    """Return request, place and value of each mark: every point against a knob, or each request's points by rank, thinned."""
    parts = []
    for name, group in frame[frame[metric].notna()].groupby(REQUEST, sort=False):
        if across == RANK:
            values = np.sort(group[metric].to_numpy(float))[:: -1 if better(metric) == "higher" else 1]
            some = np.unique(np.linspace(0, len(values) - 1, min(len(values), MOST_MARKS)).astype(int))
            part = {PLACE: 100 * some / max(len(values) - 1, 1), VALUE: values[some]}
        else:
            part = {PLACE: group[across].to_numpy(float), VALUE: group[metric].to_numpy(float)}
        parts.append(pd.DataFrame({"request": name, **part}))
    return pd.concat(parts, ignore_index=True) if parts else pd.DataFrame(columns=["request", PLACE, VALUE])


def best(frame: pd.DataFrame, metric: str) -> Mapping[str, float]:
    """Return each request's best value of a metric: the highest where higher is better, else the lowest."""
    grouped = frame[frame[metric].notna()].groupby(REQUEST, sort=False)[metric]
    found: Mapping[str, float] = (grouped.max() if better(metric) == "higher" else grouped.min()).to_dict()
    return found


def finding(frame: pd.DataFrame, metric: str) -> str:
    """Return the best value, whose it is and where, and how far the others' best are from it."""
    found = best(frame, metric)
    word = "highest" if better(metric) == "higher" else "lowest"
    order = sorted(found, key=found.__getitem__, reverse=word == "highest")
    if not order:
        return f"No point has a {label(metric)}"
    errors = _errors(frame, metric)
    said = {one: readable(found[one], unit(metric), errors.get(one)) for one in order}
    where = top(frame, metric, 1).iloc[0]
    at = ", ".join(_place(name, where[name]) for name in varied(frame) if pd.notna(where[name]))
    whose = f"{order[0]} reaches the" if len(order) > 1 else "The"
    verb = "," if len(order) > 1 else " is"
    first = f"{whose} {word} {_lower(label(metric))}{verb} {said[order[0]]}"
    first = with_year(first, EACH)
    return first + (f" with {at}" if at else "") + "".join(f"; {one} {said[one]}" for one in order[1:4])


def _errors(frame: pd.DataFrame, metric: str) -> Mapping[str, float]:
    """Return the standard error of each request's best value of a metric, which is its highest; {} where it has none."""
    error = ERRORS.get(metric, "")
    if error not in frame:
        return {}
    places = frame[frame[metric].notna()].groupby(REQUEST, sort=False)[metric].idxmax()
    return dict(zip(places.index, frame.loc[places, error], strict=True))


def _place(name: str, value: object) -> str:
    number = pd.to_numeric(value, errors="coerce")
    return f"{label(name)} {value if pd.isna(number) else exact(number, unit(name))}"


def _lower(words: str) -> str:
    """Return words for the middle of a sentence: AUC stays AUC."""
    return words if words[1:2].isupper() else words[:1].lower() + words[1:]


def top(frame: pd.DataFrame, metric: str, most: int) -> pd.DataFrame:
    """Return the best points by a metric, those of all requests together, with what varies and the metrics that differ."""
    shown = [REQUEST, *varied(frame), *metric_names(frame)]
    return frame[shown].sort_values(metric, ascending=better(metric) != "higher", kind="stable").head(most)
