"""The report of an exploration: what it has covered and found, for people and for programs."""

from dataclasses import dataclass, field
from typing import Any

COUNTS = ("points", "raw_states", "unique_states", "inconsistent", "refused", "resumed", "damaged")


@dataclass(frozen=True, slots=True)
class Inconsistency:
    """A state that broke an invariant: the line that replays it, and what was wrong."""

    line: str
    problem: str


@dataclass
class CrashReport:
    """Counts of an exploration; `points` are operations of the medium at which power was lost.

    `refused` recoveries said so where fenced lines were gone; `cut_short` names models whose states were not all visited.
    """

    points: int = 0
    raw_states: int = 0
    unique_states: int = 0
    inconsistent: int = 0
    refused: int = 0
    resumed: int = 0
    damaged: int = 0
    depth: int = 1
    seconds: float = 0.0
    models: set[str] = field(default_factory=set)
    configurations: set[str] = field(default_factory=set)
    cut_short: set[str] = field(default_factory=set)
    failures: list[Inconsistency] = field(default_factory=list)
    interrupted: bool = False

    def add(self, other: "CrashReport") -> None:
        """Take in another report."""
        for name in (*COUNTS, "seconds"):
            setattr(self, name, getattr(self, name) + getattr(other, name))
        for name in ("models", "configurations", "cut_short"):
            getattr(self, name).update(getattr(other, name))
        self.depth = max(self.depth, other.depth)
        self.failures += other.failures

    def not_explored(self) -> str:
        """Say in words what was left out."""
        said = [
            "no third power loss inside the recovery of a recovery",
            "damage to more than one line at a time, or flips in the device's own dirty-shutdown counter",
            "only runs of a few batches, and tables of more than 2^16 rows in one recovery of each log alone",
            "media whose words of less than 8 B are atomic, and records of 4 GiB or more",
        ]
        if self.cut_short:
            said.insert(0, f"not all combinations of line prefixes under {', '.join(sorted(self.cut_short))}")
        if self.interrupted:
            said.insert(0, "all that came after the interrupt")
        return "Not explored: " + "; ".join(said) + "."

    def as_json(self) -> dict[str, Any]:
        """Return the report for programs."""
        return {
            **{name: getattr(self, name) for name in COUNTS},
            "depth": self.depth,
            "models": sorted(self.models),
            "configurations": sorted(self.configurations),
            "seconds": self.seconds,
            "failures": [failure.line for failure in self.failures],
            "problems": [failure.problem for failure in self.failures],
            "not_explored": self.not_explored(),
            "interrupted": self.interrupted,
        }
