"""Background work that others may interrupt, machine by machine: it has what its server does not need for foreground work."""

from typing import Any

import numpy as np

from ...core.arrays import Ints
from ...core.jit import inner
from .lanes import GAP, READY, Lanes, Program, copy, fill, ready_row
from .template import NOBODY


@inner
def note_low(program: Program, lanes: Lanes, kind: Ints, step: Any, n: int) -> None:
    """Note when such work is ready; let it have the GAP before a task; or let it end, as nothing interrupts it any more."""
    width, k = len(program.server), step.task
    server = program.server[k]
    ready = lanes.end[ready_row(program, lanes, step.later, k)]
    if step.flags & READY:
        lanes.known[server] = n + 1
        copy(ready, lanes.pending[n % program.deep * width + k])
    else:
        until, batches = lanes.took[0], lanes.known[server] if step.flags & GAP else n + 1
        fill(until, np.inf)
        if step.flags & GAP:
            copy(ready, until)
        for lane in range(lanes.wide):
            _use_gap(program, lanes, kind, server, lane, batches, until[lane])


@inner
def _use_gap(program: Program, lanes: Lanes, kind: Ints, server: int, lane: int, batches: int, until: float) -> None:
    """Let such work of so many `batches` have the time from the server's last foreground task on, `until` the next one is ready.

    Who is first of those that are ready at one instant is not certain where a task takes no time.
    """
    k, width, n = program.yields[server], len(program.server), lanes.at[server, lane]
    free = lanes.end[lanes.deep * width + 2 + server, lane]
    while n < batches:
        flat, ready, done = n * width + k, lanes.pending[n % program.deep * width + k, lane], lanes.done[server, lane]
        begin, left = max(ready, free, done), lanes.left[server, lane]
        if begin >= until:
            lanes.gaps[0, lane] = 0.0 if begin == until else lanes.gaps[0, lane]
            break
        if left < 0.0:
            left = lanes.once[k, kind[n]] if lanes.same[k] else lanes.lasts[k, kind[n], lane]
            after: Any = flat - width if done > ready else NOBODY
            lanes.ahead[flat, lane] = lanes.who[server, lane] if free > ready and free >= done else after
        elif begin + left == begin:  # what is left takes no time
            lanes.gaps[1, lane] = 0.0
        if begin + left > until:
            lanes.left[server, lane] = left - (until - begin)
            break
        lanes.end[flat, lane], lanes.done[server, lane], lanes.left[server, lane] = begin + left, begin + left, -1.0
        n += 1
    lanes.at[server, lane] = n
