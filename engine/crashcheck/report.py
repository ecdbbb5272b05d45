"""The report of an exploration: its coverage and its failures.

The report has a form for people and a form for programs.
"""

import re
from dataclasses import dataclass, field
from typing import Any

from ..errors import CannotRun
from .budget import ENDLESS

COUNTS = ("points", "raw_states", "unique_states", "inconsistent", "refused", "resumed", "damaged", "formatted", "no_verdict")
NO_END, EXCEPTION = "no end", "exception"
RAISED = re.compile(rf"ended in (?!{CannotRun.__name__}:)\w+:")


@dataclass(frozen=True, slots=True)
class Inconsistency:
    """A crash state that broke an invariant or has no verdict.

    line: the replay line of the state.
    problem: a sentence with the reason.
    """

    line: str
    problem: str

    @property
    def evidence(self) -> str:
        """The kind of failure: the broken invariant, such as I2, or NO_END or EXCEPTION.

        NO_END is for a run that does not end, EXCEPTION for an unexpected exception.
        """
        if ENDLESS in self.problem:
            return NO_END
        return EXCEPTION if RAISED.search(self.problem) else self.problem.partition(":")[0]

    @property
    def shows_loss(self) -> bool:
        """True if an invariant of the state is broken.

        An exception, a run without an end and a medium that is not as stated (I9) may hide what is lost.
        """
        return self.evidence not in (NO_END, EXCEPTION, "I9")


@dataclass
class CrashReport:
    """Counts and failures of an exploration.

    points: the number of the medium's operations at which power was lost.
    raw_states: the number of visited states.
    unique_states: the number of different images among the visited states.
    inconsistent: the number of states that broke an invariant.
    refused: the number of recoveries that refused because fenced lines were lost.
    resumed: the number of states from which training continued to its end.
    damaged: the number of states with lost lines or flipped bits.
    formatted: the number of interrupted formats.
    no_verdict: the number of states whose processor time was used up.
    depth: the number of power losses in a row.
    seconds: the time of the exploration.
    models, configurations: the names of the explored persistence models and configurations.
    pairs: the pairs of persistence models of one power loss and the next.
    cut_short: the models whose states were not all visited.
    failures: the states that broke an invariant.
    no_verdict_states: the states without a verdict.
    interrupted: True after an interrupt by the user.
    """

    points: int = 0
    raw_states: int = 0
    unique_states: int = 0
    inconsistent: int = 0
    refused: int = 0
    resumed: int = 0
    damaged: int = 0
    formatted: int = 0
    no_verdict: int = 0
    depth: int = 1
    seconds: float = 0.0
    models: set[str] = field(default_factory=set)
    configurations: set[str] = field(default_factory=set)
    pairs: set[tuple[str, str]] = field(default_factory=set)
    cut_short: set[str] = field(default_factory=set)
    failures: list[Inconsistency] = field(default_factory=list)
    no_verdict_states: list[Inconsistency] = field(default_factory=list)
    interrupted: bool = False

    def add(self, report: "CrashReport") -> None:
        """Add the counts and failures of another report to this report."""
        for name in (*COUNTS, "seconds"):
            setattr(self, name, getattr(self, name) + getattr(report, name))
        for name in ("models", "configurations", "pairs", "cut_short"):
            getattr(self, name).update(getattr(report, name))
        self.depth = max(self.depth, report.depth)
        self.failures += report.failures
        self.no_verdict_states += report.no_verdict_states

    def caught_by(self, evidence: str = "") -> str:
        """Return `evidence` if a failure shows it, else "".

        For evidence "" return that of the first failure, and of one that shows a loss before others.
        """
        failures = sorted(self.failures, key=lambda failure: not failure.shows_loss)
        return next((failure.evidence for failure in failures if evidence in ("", failure.evidence)), "")

    @property
    def shows_loss(self) -> bool:
        """True if a failure breaks an invariant of the state."""
        return any(failure.shows_loss for failure in self.failures)

    def not_explored(self) -> str:
        """Return a sentence that names the states that were not explored."""
        gaps = [
            "no fourth power loss in a row, a third one in few recoveries; no second one while a medium is formatted",
            "damage to more than one line at a time, or flips in the device's own dirty-shutdown counter",
            "only runs of at most nine batches, none with a row twice",
            "batch numbers only from 0 on, and near 2^8, 2^16, 2^32 and 2^53",
            "which lines survive an operation of the simulator's writer that is cut, where the device buffers fenced lines",
            "tables of more than 2^16 rows only in one recovery of each log",
            "the cost of operations too many; the texts of refusals; what a simulated run does with a recovered state",
            "more than two GPUs that write ranges of an MLP log",
            "media whose words of less than 8 B are atomic, and records of 4 GiB or more",
        ]
        if self.cut_short:
            gaps.insert(0, f"not all combinations of line prefixes under {', '.join(sorted(self.cut_short))}")
        if self.no_verdict:
            gaps.insert(0, "what comes after a state without a verdict, in its configuration")
        if self.interrupted:
            gaps.insert(0, "all that came after the interrupt")
        return "Not explored: " + "; ".join(gaps) + "."

    def as_json(self) -> dict[str, Any]:
        """Return the report as a JSON-ready object."""
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
