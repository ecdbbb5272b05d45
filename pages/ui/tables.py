"""Results as plain tables for charts: fixed lower-case columns, one row per mark."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from math import isnan
from typing import Any

import numpy as np
import pandas as pd

from engine.core.arithmetic import total
from engine.core.arrays import Floats, Row
from engine.results.result import Result
from pages.ui import palette

Ranges = Mapping[str, tuple[float, float]]
NO_ENDS = (np.nan, np.nan)
TIMELINE = {
    "Device": "device",
    "Task": "task",
    "Stage": "stage",
    "Batch": "batch",
    "Start [ms]": "start",
    "End [ms]": "end",
    "Background": "background",
}
TRAINING = {"Batch": "batch", "Elapsed [s]": "elapsed", "Loss": "loss", "AUC": "auc", "AUC error": "error"}
EVENTS = {"Elapsed [s]": "elapsed", "Kind": "kind", "Batch": "batch", "What": "what"}
FAULT_EVENTS, OUTAGE_ENDS = ("fault", "fault in recovery"), ("recovered", "unrecoverable")
GAP, MOST_GAPS = 0.08, 0.5  # shares of a broken axis for one outage, and for all outages at most
# A bar that dwarfs all others by this factor is cut, and says so, to this multiple of the next.
MAX_BAR_RATIO, CUT_RATIO = 4.0, 1.3
DEVICES = {"Device": "device", "Busy [%]": "busy", "Note": "note"}


def renamed(rows: Sequence[Row], columns: Mapping[str, str]) -> pd.DataFrame:
    """Return rows as a frame with exactly the given columns, renamed."""
    return pd.DataFrame(
        [{column: row.get(key) for key, column in columns.items()} for row in rows], columns=list(columns.values())
    )


def system_columns(frame: pd.DataFrame) -> list[str]:
    """Return the columns that hold only names of training systems."""
    text_columns = (name for name in frame.columns if not pd.api.types.is_numeric_dtype(frame[name]))
    return [name for name in text_columns if _only_systems(frame[name].tolist())]


def _only_systems(cells: Iterable[object]) -> bool:
    """Whether all non-empty cells name training systems, and at least one does."""
    titles, has_system = palette.system_titles(), False
    for cell in cells:
        if isinstance(cell, str):
            if cell not in titles:
                return False
            has_system = True
        elif not (cell is None or cell is pd.NA or (isinstance(cell, float) and isnan(cell))):
            return False
    return has_system


def with_system_titles(frame: pd.DataFrame, columns: Collection[str] | None = None) -> pd.DataFrame:
    """Return a table for readers, with titles of systems; downloaded files keep their names.

    `columns` are the frame's `system_columns`, if the caller has them already.
    """
    titles = palette.system_titles()
    return frame.assign(**{name: frame[name].map(titles) for name in (system_columns(frame) if columns is None else columns)})


def stage_rows(results: Mapping[str, Result], chosen_system: str, ranges: Ranges | None = None) -> pd.DataFrame:
    """Return exposed milliseconds: system, known, part, amount, drawn, chosen, low, high.

    `drawn` is less than `amount` where a bar is cut. `known` says how well a system is known. The first row of a system has as
    low and high the range of its whole bar, from `ranges` by system.
    """
    rows = [
        {"system": system, "part": row["Stage"], "amount": row["Exposed [s]"] * 1e3, "chosen": system == chosen_system}
        for system, result in results.items()
        for row in result.breakdown
    ]
    return _bar_frame(rows, ranges)


def component_rows(results: Mapping[str, Result], chosen_system: str, ranges: Ranges | None = None) -> pd.DataFrame:
    """Return joules of the whole run in the columns of `stage_rows`."""
    rows = [
        {"system": system, "part": row["Device"], "amount": row["Energy [J]"], "chosen": system == chosen_system}
        for system, result in results.items()
        for row in result.devices
    ]
    return _bar_frame(rows, ranges)


def drawn_parts(rows: pd.DataFrame) -> tuple[str, ...]:
    """Return the parts that a stacked chart of these rows draws, sorted."""
    return tuple(sorted(set(rows["part"])))


def _bar_frame(rows: list[dict[str, Any]], ranges: Ranges | None) -> pd.DataFrame:
    """Return a row a system and part, grouped in plain Python.

    Grouping a frame of ten rows takes a tenth of a page's time.
    """
    amounts: dict[tuple[Any, Any, Any], float] = {}
    totals: dict[Any, float] = {}
    for system, part, amount, is_chosen in (row.values() for row in rows):
        amounts[system, part, is_chosen] = amounts.get((system, part, is_chosen), 0.0) + amount
        totals[system] = totals.get(system, 0.0) + amount
    longest = max(totals.values(), default=0.0)
    share = bar_limit(totals.values()) / longest if longest else 1.0
    ends, bar_rows = dict(ranges or {}), []
    for (system, part, is_chosen), amount in amounts.items():
        is_uncut = totals[system] != longest or share == 1
        low, high = ends.pop(system, NO_ENDS) if is_uncut else NO_ENDS
        bar_rows.append(
            (system, part, is_chosen, amount, palette.known_by(system), amount if is_uncut else amount * share, low, high)
        )
    columns = ("system", "part", "chosen", "amount", "known", "drawn", "low", "high")
    cells_by_column = zip(*bar_rows, strict=True) if bar_rows else ((),) * len(columns)
    numbers = {"amount", "drawn", "low", "high"}  # missing ends too
    return pd.DataFrame(
        {
            name: np.array(cells, float) if name in numbers else list(cells)
            for name, cells in zip(columns, cells_by_column, strict=True)
        }
    )


def bar_limit(totals: Iterable[float]) -> float:
    """Return the length at which bars are cut.

    It is the longest bar's length, unless that is much more than all others. One of two bars is never cut.
    """
    *other_totals, longest = sorted(totals)
    if len(other_totals) < 2:  # of two bars none is cut: their ratio is the message
        return longest
    return CUT_RATIO * other_totals[-1] if other_totals and longest > MAX_BAR_RATIO * other_totals[-1] > 0 else longest


def power_pace(result: Result) -> tuple[float, float]:
    """Return the watts that a machine always draws, and the joules that each batch adds.

    They are the mean over batches of a full run, or else those of the steady state.
    """
    elapsed, step = (result.results.get(name) or np.nan for name in ("Elapsed [s]", "Step time [ms]"))
    watts = total(row["Static energy [J]"] for row in result.devices) / elapsed
    if result.training:
        batches = float(_batches_by_row(np.array([float(row["Batch"]) for row in result.training]))[-1])
        return watts, total(row["Dynamic energy [J]"] for row in result.devices) / batches
    return watts, (result.results.get("Energy per batch [J]") or np.nan) - watts * step / 1e3


def _batches_by_row(batch: Floats) -> Floats:
    """Return the batches run by each row of a training curve, repeated ones counted again; rows may be left out."""
    steps = np.diff(batch, prepend=-1.0)
    return np.asarray(np.where(steps > 0, steps, 1.0).cumsum())


def _trained_batches(frame: pd.DataFrame) -> pd.Series:
    """Return the batches run by each row, repeated ones counted again.

    Rows may be left out.
    """
    seconds, batch, trained = (frame[name].astype(float).to_numpy() for name in ("elapsed", "batch", "loss"))
    is_trained = ~np.isnan(trained)
    if not is_trained.any():
        return pd.Series(0.0, frame.index)
    run = _batches_by_row(batch[is_trained])
    batches = np.interp(seconds, seconds[is_trained], run)
    batches[is_trained] = run  # two batches may end at one instant
    return pd.Series(batches, frame.index)


def curve(training: Sequence[Row], events: Sequence[Row], pace: tuple[float, float] = (np.nan, np.nan)) -> pd.DataFrame:
    """Return training points and events in one frame; each kind has its own columns filled.

    `running` is the simulated time without outages, `broken` the time with each outage shortened, `joules` the energy of
    `running` at a `pace` (`power_pace`), `part` the number of outages before, `number` the number of the fault, and `again` is
    True where batches are trained again.
    """
    frame = pd.concat([renamed(training, TRAINING), renamed(events, EVENTS)], ignore_index=True)
    seconds, outage_seconds, outages_over, part = (
        frame["elapsed"].astype(float),
        0.0 * frame["elapsed"],
        0.0 * frame["elapsed"],
        0,
    )
    for begin_seconds, end_seconds in outages(events):
        outage_part = seconds.clip(begin_seconds, end_seconds) - begin_seconds
        outage_seconds, outages_over, part = (
            outage_seconds + outage_part,
            outages_over + outage_part / (end_seconds - begin_seconds),
            part + (seconds >= end_seconds),
        )
    running = seconds - outage_seconds
    number = frame["kind"].isin(FAULT_EVENTS).cumsum().where(frame["kind"].isin(FAULT_EVENTS))
    gap = running.max() * min(GAP, MOST_GAPS / max(outages_over.max(), 1.0))
    joules = pace[0] * running + pace[1] * _trained_batches(frame)
    frame = frame.assign(running=running, broken=running + gap * outages_over, joules=joules, part=part, number=number)
    return frame.assign(again=_again(frame))


def _again(frame: pd.DataFrame) -> pd.Series:
    """Return True for rows of batches that had begun before a fault, and for the recovery from which they are trained again."""
    again, struck = pd.Series(False, frame.index), None
    for event in frame[frame["kind"].notna()].sort_values("elapsed", kind="stable").itertuples():
        if event.kind == FAULT_EVENTS[0]:
            struck = event
        elif event.kind == OUTAGE_ENDS[0] and struck is not None:
            repeated = (frame["part"] == event.part) & frame["batch"].between(event.batch, struck.batch)
            again |= repeated & (frame["loss"].notna() | (frame.index == event.Index))
            struck = None
    return again


def outages(events: Iterable[Row]) -> list[tuple[float, float]]:
    """Return the begin and end of each outage in simulated seconds.

    Faults during an outage belong to it.
    """
    all_outages, begin_seconds = [], None
    for row in events:
        seconds = float(row["Elapsed [s]"])
        if row["Kind"] == FAULT_EVENTS[0] and begin_seconds is None:
            begin_seconds = seconds
        elif row["Kind"] in OUTAGE_ENDS and begin_seconds is not None:
            all_outages += [(begin_seconds, seconds)] if seconds > begin_seconds else []
            begin_seconds = None
    return all_outages


def breaks(frame: pd.DataFrame, events: Iterable[Row]) -> tuple[tuple[float, float, float], ...]:
    """Return for each outage its begin and end on `broken`, and its seconds."""
    place = dict(zip(frame["elapsed"], frame["broken"], strict=True))
    return tuple(
        (place[begin_seconds], place[end_seconds], end_seconds - begin_seconds) for begin_seconds, end_seconds in outages(events)
    )


def results_by_system(results: Mapping[str, Result]) -> pd.DataFrame:
    """Return all results, a row for each result and a column for each training system."""
    names = dict.fromkeys(name for result in results.values() for name in result.results)
    return pd.DataFrame(
        [{"Result": name} | {system: result.results.get(name) for system, result in results.items()} for name in names]
    )


def systems_by_outcome(results: Mapping[str, Result]) -> Mapping[str, list[str]]:
    """Return the training systems that cannot run, by the reason."""
    refused: dict[str, list[str]] = {}
    for system, result in results.items():
        if not result.ran:
            refused.setdefault(result.outcome, []).append(system)
    return refused
