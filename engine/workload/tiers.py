"""How a batch's rows are expected to split: hot ones, cold ones, and cold ones that were trained just before."""

from typing import NamedTuple

from ..scenario.scenario import Scenario, per_table
from .accesses import lookups
from .expected import gap_rate, unused
from .expected_cache import head
from .popularity import popularities
from .spectrum import id_space


class Split(NamedTuple):
    """Shares of a batch's unique rows: those among the hot ones, and cold ones that the batch before has used too."""

    hot: float
    again: float


def hot_split(s: Scenario, capacity: float) -> Split:
    """Return how a batch's unique rows split when the `capacity` most popular rows of all tables count as hot."""
    space = id_space(popularities(s), per_table(s.model, "pooling"))
    x, locality = float(lookups(s).sum()) * gap_rate(space.p), s.data.locality
    void, hot = unused(x, locality), head(space, capacity)
    unique = float(space.rows @ (1 - void))
    both = 1 - 2 * void + unused(2 * x, locality)
    return Split(float(hot @ (1 - void)) / unique, float((space.rows - hot) @ both) / unique)
