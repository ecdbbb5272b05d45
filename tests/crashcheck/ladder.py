"""The ladder: which depth of exploration catches how many of the seeded bugs, from a kill test upwards."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from time import perf_counter
from typing import Any

from engine.crashcheck.bugs import BrokenProtocol
from engine.crashcheck.exploration import OnProgress, explore
from engine.crashcheck.visit import Effort


@dataclass(frozen=True)
class Rung:
    """A depth of exploration; without a size, each bug's own."""

    name: str
    effort: Effort
    models: tuple[str, ...]
    size: str = "small"


@dataclass(frozen=True)
class Row:
    """How many bugs a rung has caught, in how many states and seconds, and which it missed."""

    rung: str
    caught: int
    total: int
    states: int
    seconds: float
    missed: tuple[str, ...]

    def as_json(self) -> dict[str, Any]:
        """Return the row for programs."""
        return {
            "level": self.rung,
            "caught": self.caught,
            "of": self.total,
            "states": self.states,
            "seconds": self.seconds,
            "missed": list(self.missed),
        }


ADR_ONLY = ("adr",)
ALL_MODELS = ("adr", "gpf_fail", "device_fifo", "weak_word")
RUNGS = (
    Rung("program order (a kill test)", Effort(10_000, 0, 0, 0, 0, 256), ("eadr",)),
    Rung("all or nothing at fences", Effort(10_000, 0, 0, 0, 0), ADR_ONLY),
    Rung("one line torn", Effort(10_000, 1, 0, 0, 0), ADR_ONLY),
    Rung("two lines torn", Effort(6_000, 2, 0, 0, 0), ADR_ONLY),
    Rung("every prefix, tiny run", Effort(20_000, None, 0, 0, 0), ADR_ONLY, "tiny"),
    Rung("two lines, crash in recovery", Effort(1_500, 2, 12, 0, 0), ADR_ONLY),
    Rung("and resumed to the end", Effort(1_500, 2, 12, 40, 0), ADR_ONLY),
    Rung("and damaged lines", Effort(1_500, 2, 12, 40, 4), ADR_ONLY),
    Rung("and all persistence models", Effort(600, 2, 12, 40, 4), ALL_MODELS),
    Rung("and formats, sizes and probes", Effort(600, 2, 12, 40, 4, formats=60), ALL_MODELS, ""),
)


def ladder(
    bugs: Sequence[BrokenProtocol], on_progress: OnProgress = lambda share, task: None, rungs: Sequence[Rung] = RUNGS
) -> list[Row]:
    """Try every bug on every rung, on the configuration where it should show, for the evidence that it should leave."""
    rows = []
    for step, rung in enumerate(rungs):
        started, states, missed = perf_counter(), 0, []
        for count, bug in enumerate(bugs):
            on_progress((step + count / len(bugs)) / len(rungs), f"{rung.name}: {bug.name}")
            with bug.install():
                own = bug.configurations[0]
                configuration = replace(own, size=rung.size or own.size)
                report = explore(configuration, bug.wrap, rung.models, rung.effort, evidence=bug.evidence)
            states += report.unique_states
            if not report.caught_by(bug.evidence):
                missed.append(bug.name)
        rows.append(Row(rung.name, len(bugs) - len(missed), len(bugs), states, perf_counter() - started, tuple(missed)))
    return rows


def table(rows: Sequence[dict[str, Any]]) -> str:
    """Write the ladder for people."""
    lines = [f"{'exploration':30} {'caught':>9} {'states':>8} {'s':>6}  missed"]
    for row in rows:
        missed = ", ".join(row["missed"][:3]) + (f" and {len(row['missed']) - 3} more" if len(row["missed"]) > 3 else "")
        lines.append(
            f"{row['level']:30} {row['caught']:>3} of {row['of']:>2} {row['states']:>8} {row['seconds']:>6.1f}  {missed}"
        )
    return "\n".join(lines) + "\n"
