"""The critical paths of machines in lanes where tasks run in the background: walked task by task, as each goes its own way.

A background task counts from the end of the last foreground task that ran beside it, which may be anywhere in the program.
"""

from typing import Any

from ...core.jit import inner, shared
from .lanes import FOREGROUND, LOG, Lanes, Program
from .template import NOBODY


@inner
def last_of(program: Program, lanes: Lanes, n: int, lane: int) -> Any:
    """Return the foreground task of batch n that ends last, the first of several."""
    last: Any = NOBODY
    width = len(program.server)
    for k in range(width):
        flat = n * width + k
        if program.rank[k] == FOREGROUND and (last < 0 or lanes.end[flat, lane] > lanes.end[last, lane]):
            last = flat
    return last


@shared
def walk(program: Program, lanes: Lanes, last: int) -> None:
    """Add up the seconds of each task on the critical paths that end with batch `last` as `expose` does, task by task."""
    width = len(program.server)
    for lane in range(lanes.wide):
        lanes.node[0, lane], lanes.node[1, lane] = last_of(program, lanes, last, lane), last
        lanes.took[0, lane] = lanes.end[lanes.node[0, lane], lane]
    for n in range(last, -1, -1):  # lane by lane within a batch, whose rows are near
        for lane in range(lanes.wide):
            while lanes.node[0, lane] >= n * width and lanes.took[0, lane] > lanes.until[lane]:
                _step_back(program, lanes, lane)


@inner
def _step_back(program: Program, lanes: Lanes, lane: int) -> None:
    """Enter the task that a lane's path has come to, and go on to its cause."""
    width, flat, batch, now = len(program.server), lanes.node[0, lane], lanes.node[1, lane], lanes.took[0, lane]
    k, begin, cause = flat % width, 0.0, NOBODY
    ahead = lanes.ahead[flat, lane if program.open[program.server[k]] else 0]
    for j in range(program.first[k], program.first[k + 1]):
        w = program.waited[j]
        other = flat - k + (w if w < width else w - 2 * width)
        end = lanes.end[other, lane] if other >= 0 else -1.0
        lanes.tied[lane] = 1.0 if end == begin and cause >= 0 else lanes.tied[lane]
        if end > begin or (cause < 0 and end >= 0.0):
            begin, cause = end, other
    if ahead >= 0 and lanes.end[ahead, lane] > begin:
        begin, cause = lanes.end[ahead, lane], cause if program.rank[k] == LOG else ahead
    if program.rank[k] != FOREGROUND:
        for other in range(width):
            flat = batch * width + other
            if program.rank[other] == FOREGROUND and begin < lanes.end[flat, lane] < now:
                begin, cause = lanes.end[flat, lane], flat
    lanes.share[k, lane] += now - max(begin, lanes.until[lane])
    lanes.node[0, lane], lanes.took[0, lane] = cause, begin
    if cause >= 0 and program.rank[cause % width] == FOREGROUND:
        lanes.node[1, lane] = cause // width
