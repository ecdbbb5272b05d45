"""A comparison of systems as plain tables: results, timelines, and bytes of a batch."""

from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache

import pandas as pd

from engine.insight import data_movement
from engine.insight.data_movement import DataMove
from engine.results.result import Result
from pages.systems.comparison import policies, results_that_ran
from pages.ui import palette
from pages.ui.numbers import change, label, quantity, result_text
from pages.ui.tables import bar_limit

STEP, COST = "Step time [ms]", "Capital cost [USD]"
# Results of the table, the most important first, and whether the change against the baseline stands beside them.
COMPARED_RESULTS = {
    STEP: True,
    "Throughput [samples/s]": False,
    "Energy per batch [J]": True,
    COST: True,
    "Nodes": False,
    "GPU memory [GiB]": False,
    "Average power [W]": False,
    "PMEM media written [GB]": False,
}
POLICY, KNOWN_BY = "After a power loss", "Known by"
FORMATS = {**dict.fromkeys(COMPARED_RESULTS, "%.4g"), COST: "%,.0f", "Throughput [samples/s]": "%,.0f"}
LANES = ["lane", "says", "system", "part", "task", "batch", "start", "end", "background", "moves"]
LEAST_BYTES = 0.5  # expected values below half a byte count as none
data_moves_of = lru_cache(maxsize=512)(data_movement.data_moves)


def table(results: Mapping[str, Result], base: str) -> pd.DataFrame:
    """Return a row for each system that can run: results, changes against `base`, power loss.

    "Known by" says how well a system is known. Columns without any number are left out, and nodes if each system has one.
    """
    rows = []
    for system, result in results_that_ran(results).items():
        row: dict[str, object] = {"Training system": system}
        for name, compared in COMPARED_RESULTS.items():
            row[name] = quantity(name, result)
            if compared:
                row[f"{label(name)}, change"] = change(quantity(name, result), quantity(name, results[base]) if base else None)
        rows.append(row | {POLICY: policies(result.scenario).loss_clause, KNOWN_BY: palette.known_by(system)})
    frame = pd.DataFrame(rows)
    return frame.drop(columns=[name for name in frame if not _is_shown(name, frame[name])])


def _is_shown(name: str, column: pd.Series) -> bool:
    return bool(column.notna().any()) and (name != "Nodes" or bool((column > 1).any()))


def labels(base: str, money: str) -> dict[str, str]:
    """Return short column titles for changes against `base`, and for the price in `money`."""
    changes = {f"{label(name)}, change": f"vs {base}" for name, compared in COMPARED_RESULTS.items() if compared}
    return {COST: f"{label(COST)} [{money}]", **changes}


def timelines(results: Mapping[str, Result]) -> pd.DataFrame:
    """Return one steady batch of each system as rows of LANES.

    A system has a lane that spans its step, then a lane for each device or direction of its tasks.
    `part` is the system itself or the task's stage, `says` is the text in the system's own lane.
    A step that is much longer than all others is cut.
    """
    steps = {system: float(result.results[STEP] or 0.0) for system, result in results_that_ran(results).items()}
    max_step = bar_limit(steps.values()) if steps else 0.0
    rows: list[dict[str, object]] = []
    for system, step in steps.items():
        cut = " (cut)" if step > max_step else ""
        doubt = ", headline only" if "headline" in palette.known_by(system) else ""
        lane_label = f"{system}, {result_text(step, 'ms')}{cut}{doubt}"
        rows.append(
            {"lane": system, "says": lane_label, "system": system, "part": system, "start": 0.0, "end": min(step, max_step)}
        )
        rows += _sorted_lanes(_task_bars(results[system], data_moves_of(results[system].scenario), min(step, max_step)))
    return pd.DataFrame(rows, columns=LANES)


def _task_bars(result: Result, device_moves: Sequence[DataMove], end_ms: float) -> Iterator[dict[str, object]]:
    """Yield a bar for each device of each task until `end_ms`."""
    system = result.scenario.system
    for row in result.timeline:
        task_moves = [move for move in device_moves if move.task == row["Task"]]
        if row["Start [ms]"] >= end_ms:
            continue
        for device_lane in dict.fromkeys(" ".join(filter(None, (move.device, move.lane))) for move in task_moves):
            yield {
                "lane": f"{system}|{device_lane}",
                "says": "",
                "system": system,
                "part": row["Stage"],
                "task": row["Task"],
                "batch": row["Batch"],
                "start": row["Start [ms]"],
                "end": min(row["End [ms]"], end_ms),
                "background": row["Background"],
                "moves": ", ".join(f"{move.place} {result_text(move.nbytes, 'B')}" for move in task_moves if move.nbytes)
                or "computes only",
            }


def _sorted_lanes(bars: Iterator[dict[str, object]]) -> list[dict[str, object]]:
    return sorted(bars, key=lambda bar: str(bar["lane"]))


def bytes_moved(results: Mapping[str, Result]) -> pd.DataFrame:
    """Return bytes of a batch by system and place: first, second and metric."""
    rows = [
        {"first": system, "second": move.place, "metric": move.nbytes}
        for system, result in results_that_ran(results).items()
        for move in data_moves_of(result.scenario)
        if move.nbytes >= LEAST_BYTES
    ]
    frame = pd.DataFrame(rows, columns=["first", "second", "metric"])
    order = {system: number for number, system in enumerate(palette.systems())}
    summed = frame.groupby(["first", "second"], as_index=False)["metric"].sum()
    return summed.sort_values(["second", "first"], key=lambda column: column.map(order) if column.name == "first" else column)


def most_moved(bytes_frame: pd.DataFrame) -> str:
    """Return the sentence on the largest number of bytes in a row of `bytes_moved`."""
    if bytes_frame.empty:
        return "No bytes move"
    top = bytes_frame.loc[bytes_frame["metric"].idxmax()]
    return f"{palette.system_titles()[top['first']]} moves most: {result_text(top['metric'], 'B')} a batch at {top['second']}"


def tasks_moved(results: Mapping[str, Result]) -> pd.DataFrame:
    """Return the bytes of a batch that each system's tasks move on each device."""
    columns = ["Training system", "Task", "Stage", "Device", "Lane", "Way", "Bytes per batch [B]"]
    rows = [
        (system, move.task, move.stage, move.device, move.lane, move.way, move.nbytes)
        for system, result in results_that_ran(results).items()
        for move in data_moves_of(result.scenario)
        if move.way
    ]
    return pd.DataFrame(rows, columns=columns)
