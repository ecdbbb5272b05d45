"""P6v: the verdict over all systems on Criteo's terabyte model, its first answer and all its rows.

Seconds are compared with limits. TorchRec's planner takes .9 s a plan, and AIConfigurator 10 s, as stated.
"""

from functools import partial
from time import process_time

from benchmarks.benchmark import Benchmark
from engine.analysis.verdict.decide import verdicts
from engine.analysis.verdict.question import VerdictQuestion
from engine.core import memo
from engine.scenario.presets import preset

FIRST_LIMIT, ALL_LIMIT = 3.0, 15.0


def measured() -> tuple[float, float, bool]:
    """Return the seconds to the first answer and to the last, and whether two searches agree.

    The first search compiles, and begins like the second one with empty memos.
    """
    question = VerdictQuestion(preset("dlrm-terabyte").scenario)
    memo.clear_memos()
    warmed = [*verdicts(question)][-1]
    memo.clear_memos()
    start = process_time()
    search = verdicts(question)
    next(search)
    first = process_time() - start
    last = [*search][-1]
    seconds = process_time() - start
    return first, seconds, [row.objective_value for row in last.rows] == [row.objective_value for row in warmed.rows]


def run(is_first: bool) -> tuple[float, float, bool]:
    """Return the seconds of the first answer or of all rows, their limit, and a check."""
    first, seconds, equal = measured()
    return (first, FIRST_LIMIT, equal) if is_first else (seconds, ALL_LIMIT, equal)


BENCHMARKS = (
    Benchmark("P6v", "first answer of a verdict", "its limit, 3 s", "", 1, 3, partial(run, True)),
    Benchmark("P6v-all", "all rows of a verdict", "its limit, 15 s", "", 1, 3, partial(run, False)),
)
