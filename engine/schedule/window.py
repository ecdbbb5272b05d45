"""The batches to schedule so that they represent a run of any length.

A short run is scheduled whole. Of a long run its first batches, its last batches and a stretch between them are scheduled;
the stretch counts several times.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from ..amounts.expected import evenly_spread
from ..core.points.per_point import at_each_point
from ..systems.system import LogPolicy
from .kernels.template import NO_REPEAT, Stretch

WINDOW, TURNS, MAX_WINDOW = 64, 3, 2048
LENGTH = 60  # batches repeated: whole turns of pipelines of up to six batches, whose every fifth may take six times as long
EDGE = 8  # batches in which a pipeline fills, or drains; the repeated batches keep this distance from both ends


class Window(NamedTuple):
    """The number of batches to schedule, and the stretch of them that the run repeats."""

    batches: int
    stretch: Stretch


def steady_window(log_policy: LogPolicy) -> int:
    """Return the number of batches to schedule for the steady state.

    The number is two plus a multiple of the staleness bound + 1, the period of a rolling log (a turn). In each turn, a log that
    cannot keep up makes one batch wait; fewer turns might end before the first wait.
    """
    turn = log_policy.mlp_staleness_bound + 1
    turns = min(max(TURNS, -(-WINDOW // turn)), max(MAX_WINDOW // turn, 1))
    return 2 + min(turns * turn, MAX_WINDOW)


def run_window(log_policy: LogPolicy, batches: int, unlike_shares: Sequence[float] = ()) -> Window:
    """Return the batches to schedule for a run of `batches` batches.

    unlike_shares: the shares of batches that differ from the others; the repeated stretch holds nearly the same shares.

    The stretch repeats whole periods of the log. The batches that are left over are scheduled once.
    """
    steady_batches, turn, edges = steady_window(log_policy), log_policy.mlp_staleness_bound + 1, 2 + 2 * EDGE
    length = int(at_each_point(_length, (unlike_shares,), {})) if turn == 1 else 0  # all design points together, if they agree
    if batches <= (edges + length if length else steady_batches):
        return Window(batches, NO_REPEAT)
    if length:
        return Window(edges + length, Stretch(1 + EDGE, 1 + EDGE + length, (batches - edges - length) / length))
    if edges + turn > steady_batches:
        return Window(steady_batches, Stretch(1, steady_batches - 1, (batches - steady_batches) / (steady_batches - 2)))
    shown_batches = steady_batches - (steady_batches - batches) % turn
    shown_batches += turn if shown_batches < edges + turn else 0
    last_batch, length = shown_batches - 1 - EDGE, (shown_batches - edges) // turn * turn
    return Window(shown_batches, Stretch(last_batch - length, last_batch, (batches - shown_batches) / length))


def _length(shares: Sequence[float]) -> int:
    """Return the number of batches to repeat, from LENGTH to twice that, whose shares of differing batches fit best."""
    lengths = np.arange(LENGTH, 2 * LENGTH if shares else LENGTH + 1)
    errors = [
        abs((evenly_spread(share, 1 + EDGE + lengths) - evenly_spread(share, 1 + EDGE)) / lengths - share) for share in shares
    ]
    return int(lengths[np.argmin(np.max(errors, axis=0))]) if shares else LENGTH
