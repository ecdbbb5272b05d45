"""Interleaved: every part has an equal share of every table, so balance is perfect.

It models modules of one memory, whose lines are interleaved. GPUs cannot be divided in this way.
"""

from ..sharding import PlanRequest, Sharding


def pieces(request: PlanRequest) -> None:
    """Return None: all parts have equal shares."""


SHARDING = Sharding("Interleaved", "Every part gets an equal share of every table, so the balance is perfect.", pieces)
