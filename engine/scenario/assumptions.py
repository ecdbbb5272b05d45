"""The assumed constants of a machine as attributes, for memoised stages."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from types import MappingProxyType


@dataclass(frozen=True)
class Assumptions:
    """Assumed constants as attributes; None for a constant without an assumption.

    A memoised stage is computed again only if an attribute that it has read changes. The attribute's name is the constant's name
    with ":" instead of the point, as in `pmem:read-rate`.
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
    """Return the value of the knob `machine.assume` as Assumptions."""
    return Assumptions(MappingProxyType({name.replace(".", ":"): number for name, number in assume}))
