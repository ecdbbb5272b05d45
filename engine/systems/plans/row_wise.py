"""Row-wise: each table's rows over all parts, each of which pools its own and sends sums of all samples."""

import numpy as np

from ..sharding import Pieces, PlanRequest, Sharding, plan_over_runs


def pieces(request: PlanRequest) -> Pieces:
    """Return every table spread over all parts."""
    return plan_over_runs([tuple(range(request.parts.number))], np.zeros(request.tables, dtype=np.int64))


SHARDING = Sharding(
    "Row-wise", "Each table's rows over all parts; every part sends partial sums for each sample and table.", pieces
)
