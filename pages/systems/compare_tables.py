"""A comparison as plain tables: what is read, drawn on aligned timelines, and moved in a batch of each training system."""

from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache

import pandas as pd

from engine.insight import data_movement
from engine.insight.data_movement import DataMove
from engine.results.result import Result
from pages.systems.comparison import policies, that_ran
from pages.ui import palette
from pages.ui.numbers import change, label, readable
from pages.ui.tables import most_drawn

STEP, COST = "Step time [ms]", "Capital cost [USD]"
# Each result that is read, the weightiest first, and whether its change against the baseline stands beside it.
SHOWN = {
    STEP: True,
    "Throughput [samples/s]": False,
    "Energy per batch [J]": True,
    COST: True,
    "Nodes": False,
    "GPU memory [GiB]": False,
    "Average power [W]": False,
    "PMEM media written [GB]": False,
}
POLICY, KNOWN = "A power loss", "Known by"
FORMATS = {**dict.fromkeys(SHOWN, "%.4g"), COST: "%,.0f", "Throughput [samples/s]": "%,.0f"}
LANES = ["lane", "says", "system", "part", "task", "batch", "start", "end", "background", "moves"]
LEAST_BYTES = 0.5  # an expected part of a byte is none
of = lru_cache(maxsize=512)(data_movement.data_moves)


def table(results: Mapping[str, Result], base: str) -> pd.DataFrame:
    """Return one row a system that runs: results, changes against `base`, what a power loss costs, how well it is known.

    Left out is what none of them has, and nodes where each has one.
    """
    before = results[base].results if base else {}
    rows = []
    for system, result in that_ran(results).items():
        row: dict[str, object] = {"Training system": system}
        for name, compared in SHOWN.items():
            row[name] = result.results.get(name)
            if compared:
                row[f"{label(name)}, change"] = change(result.results.get(name), before.get(name))
        rows.append(row | {POLICY: policies(result.scenario).loses, KNOWN: palette.known_by(system)})
    frame = pd.DataFrame(rows)
    return frame.drop(columns=[name for name in frame if not _told(name, frame[name])])


def _told(name: str, column: pd.Series) -> bool:
    return bool(column.notna().any()) and (name != "Nodes" or bool((column > 1).any()))


def labels(base: str, money: str) -> dict[str, str]:
    """Return the short titles under which changes against `base` stand beside their results, and the year of `money`."""
    changes = {f"{label(name)}, change": f"vs {base}" for name, compared in SHOWN.items() if compared}
    return {COST: f"{label(COST)} [{money}]", **changes}


def timelines(results: Mapping[str, Result]) -> pd.DataFrame:
    """Return one steady batch of each system, from the end of the batch before it, as rows of LANES.

    A system has a lane that spans its step, then one for each device or direction that its tasks use; `part` is the
    system itself or the task's stage, `says` is what stands in the system's own lane. A step that dwarfs all others is cut.
    """
    steps = {system: float(result.results[STEP] or 0.0) for system, result in that_ran(results).items()}
    most = most_drawn(steps.values()) if steps else 0.0
    rows: list[dict[str, object]] = []
    for system, step in steps.items():
        cut = " (cut)" if step > most else ""
        doubt = ", headline only" if "headline" in palette.known_by(system) else ""
        says = f"{system}, {readable(step, 'ms')}{cut}{doubt}"
        rows.append({"lane": system, "says": says, "system": system, "part": system, "start": 0.0, "end": min(step, most)})
        rows += _sorted_lanes(_bars(results[system], of(results[system].scenario), min(step, most)))
    return pd.DataFrame(rows, columns=LANES)


def _bars(result: Result, moved: Sequence[DataMove], until: float) -> Iterator[dict[str, object]]:
    """Yield a bar for each device that each task uses within the first `until` ms."""
    system = result.scenario.system
    for row in result.timeline:
        mine = [one for one in moved if one.task == row["Task"]]
        if row["Start [ms]"] >= until:
            continue
        for where in dict.fromkeys(" ".join(filter(None, (one.device, one.lane))) for one in mine):
            yield {
                "lane": f"{system}|{where}",
                "says": "",
                "system": system,
                "part": row["Stage"],
                "task": row["Task"],
                "batch": row["Batch"],
                "start": row["Start [ms]"],
                "end": min(row["End [ms]"], until),
                "background": row["Background"],
                "moves": ", ".join(f"{one.place} {readable(one.nbytes, 'B')}" for one in mine if one.nbytes) or "computes only",
            }


def _sorted_lanes(bars: Iterator[dict[str, object]]) -> list[dict[str, object]]:
    return sorted(bars, key=lambda bar: str(bar["lane"]))


def bytes_moved(results: Mapping[str, Result]) -> pd.DataFrame:
    """Return the bytes of a batch by system and place: first (system), second (place), metric (bytes)."""
    rows = [
        {"first": system, "second": one.place, "metric": one.nbytes}
        for system, result in that_ran(results).items()
        for one in of(result.scenario)
        if one.nbytes >= LEAST_BYTES
    ]
    frame = pd.DataFrame(rows, columns=["first", "second", "metric"])
    order = {system: number for number, system in enumerate(palette.systems())}
    summed = frame.groupby(["first", "second"], as_index=False)["metric"].sum()
    return summed.sort_values(["second", "first"], key=lambda column: column.map(order) if column.name == "first" else column)


def tasks_moved(results: Mapping[str, Result]) -> pd.DataFrame:
    """Return what each task of each system moves on each device, in bytes of a batch."""
    columns = ["Training system", "Task", "Stage", "Device", "Lane", "Way", "Bytes per batch [B]"]
    rows = [
        (system, one.task, one.stage, one.device, one.lane, one.way, one.nbytes)
        for system, result in that_ran(results).items()
        for one in of(result.scenario)
        if one.way
    ]
    return pd.DataFrame(rows, columns=columns)
