"""Table-wise: whole tables are dealt to the parts in turn.

It is the simplest plan, with the least traffic. It is balanced only if there are many tables of similar work.
"""

import numpy as np

from ..sharding import Pieces, PlanRequest, Sharding


def pieces(request: PlanRequest) -> Pieces:
    """Return the plan with table t on part t mod P, for P parts."""
    table = np.arange(request.tables)
    return Pieces(table, np.ones(len(table)), table % request.parts.number)


SHARDING = Sharding("Table-wise", "Whole tables go to the GPUs or nodes in turn.", pieces)
