"""The critical path of a schedule, walked back from its end, shared out over tasks."""

from typing import Any

import numpy as np
from numba import njit
from numpy.typing import NDArray


@njit(cache=True, nogil=True)
def exposed(g: Any, s: Any, last: int, until: float) -> NDArray[np.float64]:
    """Return the seconds each task spends on the critical path from `until` to the end of task `last`.

    `g` and `s` are template.Template and State, `last` a flat index (batch * K + position); shape (K,), and
    the sum is the whole span. Background work counts only from the end of the last foreground task that ran
    beside it in the batch that waited for it.
    """
    width = s.start.shape[1]
    share = np.zeros(width)
    flat, batch = last, last // width
    now = s.end[batch, last % width]
    while flat >= 0 and now > until:
        task = flat % width
        begin = s.start[flat // width, task]
        beside = -1
        if g.background[task] or task == g.roll:
            for other in range(width):
                ended = s.end[batch, other]
                if other != g.roll and not g.background[other] and begin < ended < now:
                    beside, begin = other, ended
        share[task] += now - max(begin, until)
        now = begin
        flat = batch * width + beside if beside >= 0 else s.cause[flat // width, task]
        if flat >= 0 and flat % width != g.roll and not g.background[flat % width]:
            batch = flat // width
    return share
