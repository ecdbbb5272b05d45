"""The report of an exploration: what it has covered and found, for people and for programs."""

import re
from dataclasses import dataclass, field
from typing import Any

from ..errors import CannotRun
from .budget import ENDLESS

COUNTS = ("points", "raw_states", "unique_states", "inconsistent", "refused", "resumed", "damaged", "no_verdict")
NO_END, EXCEPTION = "no end", "exception"
RAISED = re.compile(rf"ended in (?!{CannotRun.__name__}:)\w+:")


@dataclass(frozen=True, slots=True)
class Inconsistency:
    """A state that broke an invariant, or has no verdict: the line that replays it, and a sentence that says why."""

    line: str
    problem: str

    @property
    def evidence(self) -> str:
        """The invariant that does not hold; no end, or an exception that is no refusal, is none of them."""
        if ENDLESS in self.problem:
            return NO_END
        return EXCEPTION if RAISED.search(self.problem) else self.problem.partition(":")[0]


@dataclass
class CrashReport:
    """Counts of an exploration; `points` are operations of the medium at which power was lost.

    `refused` recoveries said so where fenced lines were gone; `cut_short` names models whose states were not all visited.
    `no_verdict` counts states whose processor time was up; `no_verdict_states` are these.
    """

    points: int = 0
    raw_states: int = 0
    unique_states: int = 0
    inconsistent: int = 0
    refused: int = 0
    resumed: int = 0
    damaged: int = 0
    no_verdict: int = 0
    depth: int = 1
    seconds: float = 0.0
    models: set[str] = field(default_factory=set)
    configurations: set[str] = field(default_factory=set)
    cut_short: set[str] = field(default_factory=set)
    failures: list[Inconsistency] = field(default_factory=list)
    no_verdict_states: list[Inconsistency] = field(default_factory=list)
    interrupted: bool = False

    def add(self, other: "CrashReport") -> None:
        """Take in another report."""
        for name in (*COUNTS, "seconds"):
            setattr(self, name, getattr(self, name) + getattr(other, name))
        for name in ("models", "configurations", "cut_short"):
            getattr(self, name).update(getattr(other, name))
        self.depth = max(self.depth, other.depth)
        self.failures += other.failures
        self.no_verdict_states += other.no_verdict_states

    def caught_by(self, evidence: str = "") -> str:
        """Return this evidence if a failure shows it, the first of any if none is named; else ""."""
        return next((failure.evidence for failure in self.failures if evidence in ("", failure.evidence)), "")

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
        if self.no_verdict:
            said.insert(0, "what comes after a state without a verdict, in its configuration")
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
            "no_verdict_states": [state.line for state in self.no_verdict_states],
            "not_explored": self.not_explored(),
            "interrupted": self.interrupted,
        }
