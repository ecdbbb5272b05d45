"""Interleaved: every part has an equal share of every table, so balance is perfect.

It is the plan of one memory whose lines are interleaved over its modules. GPUs cannot have this plan.
"""

from ..sharding import PlanRequest, Sharding


def pieces(request: PlanRequest) -> None:
    """Return None, which means that all parts have equal shares of all tables."""


SHARDING = Sharding("Interleaved", "Every part gets an equal share of every table, so the balance is perfect.", pieces)
