"""The tables of a result: devices, training curve, events and a stretch of the timeline, ready to show."""

from collections.abc import Iterable

import numpy as np

from engine.report import Report
from engine.result import Row
from engine.run import Crash, Run
from engine.timeline import Timeline
from engine.units import MS

SHOWN_BATCHES = 3
FROM_BATCH = 4
MOST_POINTS = 2000


def device_rows(report: Report) -> tuple[Row, ...]:
    """Return busy share and energy of each device over the whole run."""
    rows = []
    for name, device in report.machinery.devices.items():
        static, dynamic = report.static[name], report.dynamic[name]
        busy = 100 * report.busy[name] / report.elapsed if report.elapsed else 0.0
        rows.append(
            {
                "Device": name,
                "Busy [%]": busy,
                "Static energy [J]": static,
                "Dynamic energy [J]": dynamic,
                "Energy [J]": static + dynamic,
                "Note": device.title,
            }
        )
    return tuple(rows)


def timeline_rows(line: Timeline) -> tuple[Row, ...]:
    """Return the tasks of a few steady-state batches, times in ms from the first one's start."""
    batches = line.start.shape[0]
    first = min(FROM_BATCH, max(batches - SHOWN_BATCHES, 0))
    shown = range(first, min(first + SHOWN_BATCHES, batches))
    origin = float(np.nanmin(line.start[first]))
    rows = []
    for n in shown:
        for k, task in enumerate(line.graph.tasks):
            start, end = float(line.start[n, k]), float(line.end[n, k])
            if np.isnan(end) or end <= start:
                continue
            lane = " ".join(part for part in task.server if part)
            rows.append(
                {
                    "Device": lane,
                    "Task": task.name,
                    "Stage": task.stage,
                    "Batch": n,
                    "Start [ms]": (start - origin) / MS,
                    "End [ms]": (end - origin) / MS,
                    "Background": task.background or bool(task.during),
                }
            )
    return tuple(rows)


def event_rows(run: Run) -> tuple[Row, ...]:
    """Return faults and recoveries in order, each with a sentence."""
    return tuple(row for crash in run.crashes for row in _crash_rows(run, crash))


def _crash_rows(run: Run, crash: Crash) -> Iterable[Row]:
    strict = run.machinery.ways.strict or not run.machinery.ways.log
    again = f" ({crash.again} more during the recovery)" if crash.again else ""
    yield {"Elapsed [s]": crash.at, "Kind": "fault", "Batch": crash.batch, "What": f"power lost in batch {crash.batch}{again}"}
    state = (
        f"embeddings and MLP at the start of batch {crash.embedding_batch}"
        if strict
        else f"embeddings at the start of batch {crash.embedding_batch}, MLP of batch {crash.mlp_batch}, "
        f"{crash.embedding_batch - crash.mlp_batch} batches older"
    )
    what = f"recovered to {state}; {crash.lost} batches are run again, restore took {crash.restore / MS:.3g} ms"
    yield {"Elapsed [s]": crash.resumed, "Kind": "recovered", "Batch": crash.embedding_batch, "What": what}


def thinned(rows: list[Row], most: int = MOST_POINTS) -> tuple[Row, ...]:
    """Keep at most `most` rows, evenly, and every one that carries an AUC."""
    if len(rows) <= most:
        return tuple(rows)
    every = -(-len(rows) // most)
    return tuple(row for i, row in enumerate(rows) if i % every == 0 or row["AUC"] is not None or i == len(rows) - 1)
