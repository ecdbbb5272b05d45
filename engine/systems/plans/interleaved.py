"""Interleaved: every part has an even share of everything, as the lines of a group of memory modules lie."""

from ..sharding import PlanRequest, Sharding


def pieces(request: PlanRequest) -> None:
    """Return None: all parts have equal shares."""


SHARDING = Sharding("Interleaved", "Every part has an even share of everything: perfect balance.", pieces)
