"""Interleaved: every part has an even share of everything, as the lines of a group of memory modules lie."""

from ..sharding import Sharding, Wanted


def pieces(request: Wanted) -> None:
    """Return None: all parts have equal shares."""


SHARDING = Sharding("Interleaved", "Every part has an even share of everything: perfect balance.", pieces)
