"""Assumed constants as attributes, so that a memoised stage depends only on those it reads."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from types import MappingProxyType


@dataclass(frozen=True)
class Assumptions:
    """Assumed constants as attributes, None for constants without an assumption.

    A memoised stage depends only on the attributes that it reads. An attribute's name is the constant's with ":" for its point.
    """

    constants: Mapping[str, float]

    def __getattr__(self, name: str) -> float | None:
        if name.startswith("__"):
            raise AttributeError(name)
        number = self.constants.get(name)
        object.__setattr__(self, name, number)  # the next read finds it without this call
        return number


@lru_cache(maxsize=512)
def assumptions_of(assume: tuple[tuple[str, float], ...]) -> Assumptions:
    """Return assumed constants as attributes."""
    return Assumptions(MappingProxyType({name.replace(".", ":"): number for name, number in assume}))
