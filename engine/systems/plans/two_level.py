"""Two-level: whole tables dealt out to groups, such as nodes, and within a group each table's rows over its parts."""

import numpy as np

from ..sharding import Pieces, PlanRequest, Sharding, plan_over_runs


def pieces(request: PlanRequest) -> Pieces:
    """Return table t on group t mod N, spread over its parts."""
    parts, group = request.parts, request.parts.group
    group_parts = [tuple(np.flatnonzero(group == group_number).tolist()) for group_number in range(parts.groups)]
    return plan_over_runs(group_parts, np.arange(request.tables) % parts.groups)


SHARDING = Sharding("Two-level", "Whole tables dealt out to nodes, and their rows over the parts of a node.", pieces)
