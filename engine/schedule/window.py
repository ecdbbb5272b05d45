"""How many batches show a run of any length: all of a short one, else its begin, its end, and whole turns that stand for more."""

from typing import NamedTuple

from ..systems.system import LogPolicy
from .kernels.template import ONCE, Stretch

WINDOW, TURNS, LONGEST = 64, 3, 2048
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


def run_window(log_policy: LogPolicy, batches: int) -> Window:
    """Return what shows a run of so many batches: where some stand for more, the rest of its last turn is there too."""
    most, turn = steady_window(log_policy), log_policy.mlp_staleness_bound + 1
    if batches <= most:
        return Window(batches, ONCE)
    edges = 2 + 2 * EDGE
    if edges + turn > most:
        return Window(most, Stretch(1, most - 1, (batches - most) / (most - 2)))
    shown = most - (most - batches) % turn
    shown += turn if shown < edges + turn else 0
    last, length = shown - 1 - EDGE, (shown - edges) // turn * turn
    return Window(shown, Stretch(last - length, last, (batches - shown) / length))
