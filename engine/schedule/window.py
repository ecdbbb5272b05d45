"""How many batches show a run of any length: all of a short one, else its begin, its end, and whole turns that stand for more."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from ..amounts.expected import spread
from ..systems.system import LogPolicy
from .kernels.template import ONCE, Stretch

WINDOW, TURNS, LONGEST = 64, 3, 2048
LENGTH = 60  # batches repeated: whole turns of pipelines of up to six batches, whose every fifth may take six times as long
EDGE = 8  # batches in which a pipeline fills, or drains; the repeated ones keep that far from both ends


class Window(NamedTuple):
    """The batches to schedule, and those of them that are repeated in the run."""

    batches: int
    stretch: Stretch


def steady_window(log_policy: LogPolicy) -> int:
    """Return how many batches show the steady state: two to begin with, then whole turns of bound + 1 batches.

    A log that cannot keep up makes somebody wait once in a turn; a run of fewer turns may end before the first wait.
    """
    turn = log_policy.mlp_staleness_bound + 1
    turns = min(max(TURNS, -(-WINDOW // turn)), max(LONGEST // turn, 1))
    return 2 + min(turns * turn, LONGEST)


def run_window(log_policy: LogPolicy, batches: int, unlike: Sequence[float] = ()) -> Window:
    """Return what shows a run of so many batches: where some stand for more, the rest of its last turn is there too.

    Of batches `unlike` the others, those that are repeated hold as nearly the shares of all as can be.
    """
    most, turn, edges = steady_window(log_policy), log_policy.mlp_staleness_bound + 1, 2 + 2 * EDGE
    length = _length(unlike) if turn == 1 else 0
    if batches <= (edges + length if length else most):
        return Window(batches, ONCE)
    if length:
        return Window(edges + length, Stretch(1 + EDGE, 1 + EDGE + length, (batches - edges - length) / length))
    if edges + turn > most:
        return Window(most, Stretch(1, most - 1, (batches - most) / (most - 2)))
    shown = most - (most - batches) % turn
    shown += turn if shown < edges + turn else 0
    last, length = shown - 1 - EDGE, (shown - edges) // turn * turn
    return Window(shown, Stretch(last - length, last, (batches - shown) / length))


def _length(shares: Sequence[float]) -> int:
    """Return how many batches after the first ones to repeat: of the least to twice as many, those that hold the shares best."""
    lengths = np.arange(LENGTH, 2 * LENGTH if shares else LENGTH + 1)
    apart = [abs((spread(share, 1 + EDGE + lengths) - spread(share, 1 + EDGE)) / lengths - share) for share in shares]
    return int(lengths[np.argmin(np.max(apart, axis=0))]) if shares else LENGTH
