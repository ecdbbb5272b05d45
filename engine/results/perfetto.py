"""The timeline of a result as Chrome trace JSON, which Perfetto shows.

chrome://tracing opens the file too. Each device is a lane.
"""

import json

from .result import Result


def chrome_trace(result: Result) -> str:
    """Return the tasks of a result's timeline as JSON of complete events.

    Times are in microseconds.
    """
    lanes = {device: lane for lane, device in enumerate(dict.fromkeys(row["Device"] for row in result.timeline), 1)}
    names = [
        {"name": "thread_name", "ph": "M", "pid": 1, "tid": lane, "args": {"name": device}} for device, lane in lanes.items()
    ]
    tasks = [
        {
            "name": row["Task"],
            "cat": row["Stage"],
            "ph": "X",
            "ts": row["Start [ms]"] * 1e3,
            "dur": row["End [ms]"] * 1e3 - row["Start [ms]"] * 1e3,
            "pid": 1,
            "tid": lanes[row["Device"]],
            "args": {"batch": row["Batch"], "background": row["Background"]},
        }
        for row in result.timeline
    ]
    return json.dumps({"traceEvents": names + tasks, "displayTimeUnit": "ms"}, default=float) + "\n"
