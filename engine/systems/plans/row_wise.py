"""Row-wise: each table's rows are spread over all parts, which send partial sums.

A part pools its own rows for all samples and sends a partial sum for each. This suits tables that are too large for one part,
but needs much traffic.
"""

import numpy as np

from ..sharding import Pieces, PlanRequest, Sharding, plan_over_runs


def pieces(request: PlanRequest) -> Pieces:
    """Return the plan with the rows of every table spread over all parts."""
    return plan_over_runs([tuple(range(request.parts.number))], np.zeros(request.tables, dtype=np.int64))


SHARDING = Sharding(
    "Row-wise", "Each table's rows are spread over all GPUs or nodes; each sends partial sums for every sample and table.", pieces
)
