"""Two-level: whole tables go to nodes, their rows over the GPUs of a node.

So partial sums only cross the fast fabric inside a node. Tables are divided in the same way over groups of other parts.
"""

import numpy as np

from ..sharding import Pieces, PlanRequest, Sharding, plan_over_runs


def pieces(request: PlanRequest) -> Pieces:
    """Return the plan with table t spread over the parts of group t mod N.

    N is the number of groups.
    """
    parts, group = request.parts, request.parts.group
    group_parts = [tuple(np.flatnonzero(group == group_number).tolist()) for group_number in range(parts.groups)]
    return plan_over_runs(group_parts, np.arange(request.tables) % parts.groups)


SHARDING = Sharding(
    "Two-level", "Whole tables go to nodes in turn; within a node, each table's rows are spread over its GPUs.", pieces
)
